//! Both sides of the rule, as tables: what is masked, and what must survive.

use proptest::prelude::*;
use serde_json::json;

use super::*;

/// A text of that length which no vendor would recognise; the whole stands nowhere in this file.
fn random(length: usize) -> String {
    "a1B2c3D4e5F6g7H8".chars().cycle().take(length).collect()
}

#[test]
fn every_vendors_prefix_is_masked_with_enough_behind_it_and_not_with_less() {
    let rows = [
        ("bt1_", 40, "baton-token"),
        ("sk-ant-", 24, "anthropic-key"),
        ("sk-svcacct-", 24, "openai-key"),
        ("sk-or-v1-", 24, "openrouter-key"),
        ("sk_test_", 16, "stripe-key"),
        ("whsec_", 24, "stripe-webhook"),
        ("github_pat_", 40, "github-token"),
        ("glptt-", 20, "gitlab-token"),
        ("gldt-", 20, "gitlab-token"),
        ("glrt-", 20, "gitlab-token"),
        ("npm_", 36, "npm-token"),
        ("pypi-AgE", 50, "pypi-token"),
        ("dckr_pat_", 20, "docker-token"),
        ("hf_", 30, "huggingface-token"),
        ("xapp-", 20, "slack-token"),
        ("xoxa-", 20, "slack-token"),
        ("xoxr-", 20, "slack-token"),
        ("ya29.", 20, "google-oauth"),
        ("GOCSPX-", 20, "google-oauth"),
        ("SG.", 60, "sendgrid-key"),
        ("gsk_", 40, "groq-key"),
        ("xai-", 40, "xai-key"),
        ("r8_", 35, "replicate-token"),
        ("dop_v1_", 60, "digitalocean-token"),
        ("shpat_", 30, "shopify-token"),
        ("AGE-SECRET-KEY-", 50, "age-key"),
        ("eyJ", 60, "jwt"),
        ("AKIA", 16, "aws-key"),
        ("cio", 32, "crates-token"),
    ];
    for (prefix, length, name) in rows {
        let text = format!("see {prefix}{}, please", random(length));
        assert_eq!(mask(&text), format!("see [masked {name}], please"));
        let short = format!("see {prefix}{}, please", random(length - 1));
        assert_eq!(mask(&short), short);
        let inside = format!("word{prefix}{}", random(length));
        assert_eq!(mask(&inside), inside);
    }
}

#[test]
fn structures_are_masked_and_the_words_around_them_stay() {
    let (hex, telegram) = ("0a1b2c3d".repeat(4), random(33));
    let rows = [
        (format!("SK{hex} x"), "[masked twilio-key] x".to_owned()),
        (format!("bot 12345678:AA{telegram} x"), "bot [masked telegram-token] x".to_owned()),
        (
            format!("hooks.slack.com/services/T0/B0/{}", random(20)),
            "hooks.slack.com/services/[masked slack-webhook]".to_owned(),
        ),
        ("Basic dXNlcjpwYXNzd29yZA== x".to_owned(), "Basic [masked basic-auth] x".to_owned()),
        (format!("Bearer {}", random(20)), "Bearer [masked bearer]".to_owned()),
        (
            "postgres://app:s3cr3t@db/x".to_owned(),
            "postgres://app:[masked url-password]@db/x".to_owned(),
        ),
        ("https://u:p@ss@host".to_owned(), "https://u:[masked url-password]@host".to_owned()),
    ];
    for (text, expected) in rows {
        assert_eq!(mask(&text), expected);
    }
    let plain = [
        "Basic knowledge of things is needed",
        "Basic understanding",
        "https://host:8080/a@b",
        "https://user@host/",
        "https://user:${PASSWORD}@host/",
        "https://user:<password>@host/",
        "12:AA and so on",
        "SKU0a1b2c3d",
        "mailto:someone@example.com",
    ];
    for text in plain {
        assert_eq!(mask(text), text);
    }
}

#[test]
fn private_keys_are_masked_whole_cut_off_and_inside_of_json() {
    for kind in ["RSA PRIVATE KEY", "PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"] {
        let (begin, end) = (format!("-----BEGIN {kind}-----"), format!("-----END {kind}-----"));
        assert_eq!(mask(&format!("a {begin}\nMII\n{end} b")), "a [masked private-key] b");
        let one_line = format!(r#"{{"private_key": "{begin}\nMII\n{end}\n", "b": 1}}"#);
        assert_eq!(mask(&one_line), r#"{"private_key": "[masked private-key]\n", "b": 1}"#);
        assert_eq!(mask(&format!("a {begin}\nMII")), "a [masked private-key]");
    }
    for plain in ["-----BEGIN PUBLIC KEY-----\nMII\n-----END PUBLIC KEY-----", "-----BEGIN X"] {
        assert_eq!(mask(plain), plain);
    }
}

/// Each value between `«` and `»` is masked, the rest stays.
const MASKED: &[&str] = &[
    "DB_PASSWORD=«hunter»",
    "export API_KEY=\"«abcdef»\"",
    "DB_PASSWORD=\"«correct horse battery»\"",
    "AWS_SECRET_ACCESS_KEY=«wJalrXUtnFEMI/K7MDENG/bPxRfiCY0aKEY»",
    "aws_secret_access_key = «wJalrXUtnFEMI/K7MDENG/bPxRfiCY0aKEY»",
    "SMTP_PASS=«letmein!» next",
    "SECRET_KEY_BASE=«0123456789abcdef»",
    "API_KEY_2=«qwertyuiop»",
    "DB_PASSWORD_PROD=«qwertyuiop»",
    "A=1\nTOKEN=«abcdefgh»\nB=2",
    r"A=1\nTOKEN=«abcdefgh»\nB=2",
    "docker run -e DB_PASSWORD=«secret99» image",
    "password: «hunter22»",
    "  password: '«hunter22»' # the old one",
    "db.password=«hunter22»",
    "password = «p@ssword!»,",
    "{\"client_secret\": \"«abcdefghij»\"}",
    r#"{\"password\": \"«hunter22»\", \"b\": 1}"#,
    "{'apiKey': '«abcdef123»'}",
    "clientSecret: \"«abcdef123»\",",
    "let password = \"«hunter22»\";",
    "const TOKEN: &str = \"«abc123def456»\";",
    "password: str = '«hunter22»'",
    "os.environ[\"API_KEY\"] = \"«abcdef»\"",
    "token: «abc123def456»",
    "auth_token = «9f8e7d6c5b4a»",
    "https://host/?access_token=«9f8e7d6c5b4a»&page=2",
    "Server=db;Password=«hunter22»;Timeout=5",
    "AccountKey=«abcDEF123==»;EndpointSuffix=core",
    "curl --password «hunter22» host",
    "tool --api-key=«abcdef123»",
    "tool --token «abc123def456»",
    "PGPASSWORD: «hunter22»",
    "if password == \"«hunter22»\":",
    "$password = '«hunter22»';",
    ":password => '«hunter22»'",
    "//registry.npmjs.org/:_authToken=«0f1e2d3c4b5a»",
    "passphrase: \"«väldigt-hemligt»\"",
    "private_key=«MIIEvQIBADANBg1»",
];

const PLAIN: &[&str] = &[
    "let token = next_token();",
    "max_tokens=500",
    "MAX_TOKENS=500000",
    "tokens_used: 5",
    "password: String",
    "password: String,",
    "pub password: Option<String>,",
    "secret: &'static str",
    "secret_name = config.name",
    "secret = config.secret2",
    "token: limits",
    "The token: limits are checked.",
    "secret: see docs/secrets2.md",
    "password: forgotten?",
    "password = input2;",
    "password = get_password",
    "password=<password>",
    "DB_PASSWORD=${DB_PASSWORD}",
    "DB_PASSWORD=$DB_PASSWORD",
    "DB_PASSWORD=$(pass show db)",
    "format!(\"DB_PASSWORD={password}\")",
    "DB_PASSWORD=changeme",
    "DB_PASSWORD=xxxxxxxx",
    "DB_PASSWORD=********",
    "DB_PASSWORD=",
    "DB_PASSWORD=abc",
    "API_KEY=your-api-key",
    "API_KEY=YOUR_API_KEY",
    "API_KEY=os.environ[\"API_KEY\"]",
    "DB_PASSWORD_FILE=/run/secrets/db",
    "DB_PASSWORD=/run/secrets/db",
    "SECRET=null",
    "GITHUB_AUTH=enabled",
    "PWD=/home/somebody/work",
    "OLDPWD=/home/somebody/work",
    "password: null",
    "password: true",
    "password: \"string\"",
    "\"password\": \"Password\"",
    "\"password\": \"Enter your password\"",
    "\"token\": \"limits\"",
    "\"next_token\": \"abc123def456\"",
    "\"token_type\": \"bearer2000x1\"",
    "credentials: \"include\"",
    "auth: oauth2-proxy",
    "auth: aws-us-east-1",
    "token: u64, secret: u64",
    "token: Optional[str] = None",
    "password: !vault |",
    "Secret::new(password: abc)",
    "password::hash2(x)",
    "if token == tok3n5x7abc {",
    "secret: https://docs.example/secret2",
    "key: abc123def456",
    "api_key_env: OPENAI_API_KEY",
    "passwords: abc123",
    "tool --token TOKEN",
    "tool --password PASSWORD",
    "tool --password-stdin abc123",
    "compass=north123",
    "author: somebody1999",
    "secretary: somebody1999",
    "eos_token: abc123def456",
    "password_hash = argon2id",
    "token = lexer.next2()?;",
    "(token: Token)",
    "secret={{ vault.secret }}",
    "<input type=\"password\" name=\"password\">",
];

#[test]
fn values_are_masked_if_their_name_says_so_and_they_look_like_one() {
    assert!(MASKED.len() + PLAIN.len() >= 60);
    for row in MASKED {
        let text = row.replace(['«', '»'], "");
        let (before, rest) = row.split_once('«').unwrap();
        let (_, after) = rest.split_once('»').unwrap();
        assert_eq!(mask(&text), format!("{before}[masked env-value]{after}"));
    }
    for text in PLAIN {
        assert_eq!(mask(text), *text);
    }
}

#[test]
fn a_field_of_an_object_is_masked_by_its_name() {
    use crate::text::VariableValue;
    let key = format!("AKIA{}", random(16));
    let given = json!({
        "password": "hunter", "apiKey": key, "token": "limits", "db": {"client_secret": "abcdef1"},
        "max_tokens": 5, "secret": 12, "auth": ["abc123def456"],
    });
    let masked = VariableValue::try_from(given).unwrap();
    let expected = json!({
        "password": "[masked env-value]", "apiKey": "[masked aws-key]", "token": "limits",
        "db": {"client_secret": "[masked env-value]"},
        "max_tokens": 5, "secret": 12, "auth": ["abc123def456"],
    });
    assert_eq!(masked.as_value(), &expected);
    let counted = count_masks_in(masked.as_value());
    assert_eq!(counted, Masks::from([("aws-key".into(), 1), ("env-value".into(), 2)]));
    assert_eq!(VariableValue::try_from(expected).unwrap(), masked);
}

fn rules(json: serde_json::Value) -> Result<Rules, String> {
    serde_json::from_value(json).map_err(|error| error.to_string())
}

#[test]
fn a_workspace_adds_shapes_and_names_and_says_what_is_no_secret() {
    let example = format!("AKIA{}", random(16));
    let own = rules(json!({
        "secret": [{"name": "acme-very-long-name", "prefix": "acme-", "length_min": 8}],
        "name": [{"word": "deploy_code"}, {"word": "pin"}],
        "allow": [example, "hunter22"],
    }));
    let own = own.unwrap();
    let text = format!("acme-{} {example} password: hunter22 deployCode: a1b2c3!", random(8));
    let once = own.clone().mask(&text);
    let kept = format!("{example} password: hunter22 deployCode: [masked env-value]");
    assert_eq!(once, format!("[masked acme-very-long-name] {kept}"));
    assert_eq!(own.clone().mask(&once), once, "a rule does not match its own mask");
    assert_eq!(own.clone().mask("PIN=123456"), "PIN=[masked env-value]");
    assert_eq!(own.mask("spin=a123456"), "spin=a123456");
}

#[test]
fn a_rule_that_makes_no_sense_is_named() {
    let said = |json| rules(json).unwrap_err();
    let secret = |name: &str, prefix: &str, least: u32| {
        let one = json!({"name": name, "prefix": prefix, "length_min": least});
        json!({"secret": [one]})
    };
    assert!(said(secret("A", "acme", 8)).starts_with("name `A`; expected 1 to 40 of a-z"));
    assert!(said(secret("a", "ac", 8)).starts_with("prefix `ac`; expected 3 to 40"));
    assert!(said(secret("a", "acme", 1)).starts_with("length_min 1; expected 4 to 200"));
    assert!(said(json!({"name": [{"word": "__-"}]})).starts_with("word `__-`; expected"));
    assert!(said(json!({"allow": ["a"]})).starts_with("allow `a`; expected"));
    assert!(said(json!({"allow": vec!["abcd"; 101]})).starts_with("101 of `allow`"));
    assert!(said(json!({"secrets": []})).starts_with("unknown field `secrets`"));
}

#[test]
fn no_text_makes_masking_slow() {
    let pieces = [
        "-----BEGIN ",
        "-----BEGIN PRIVATE KEY",
        "password",
        "password:",
        "password=",
        "token:",
        "password: x ",
        "password=\"",
        "password=\\\"",
        "://",
        "://a:b",
        "://a:b@",
        "eyJ",
        "eyJ.",
        "cio",
        "cio.",
        "Basic ",
        "Basic QQ",
        "--token ",
        "--token",
        "=",
        ":",
        "\"",
        "a=",
        " ",
        "[masked ",
        "[masked env-value]",
        ":AA",
        "1234567:AA",
        "token: a.",
        "password: &x,y",
        "PASSWORD=a1b2c3 ",
        "token:a1,token",
        "password=a;b;c;",
        "sk-",
        "sk-.",
        "é",
    ];
    for piece in pieces {
        let text = piece.repeat(1024 * 1024 / piece.len());
        steps::take();
        mask(&text);
        let steps = steps::take() / text.len();
        assert!(steps <= 80, "{steps} looks at each byte of {piece:?}, again and again");
    }
}

fn fragments() -> impl Strategy<Value = String> {
    let texts: Vec<String> = MASKED
        .iter()
        .chain(PLAIN)
        .map(|row| row.replace(['«', '»'], ""))
        .chain(
            ["-----BEGIN PRIVATE KEY-----", "-----END ", "-----", "://", "@host", "[masked "]
                .map(str::to_owned),
        )
        .chain(
            ["[masked env-value]", "[masked aws-key]", "\"", "'", "\\", "=", ": ", " ", "\n"]
                .map(str::to_owned),
        )
        .chain(
            ["ghp_", "Bearer ", "Basic ", "12345678:AA", "https://a:", "password", "é", "]"]
                .map(str::to_owned),
        )
        .chain([random(16), random(40)])
        .collect();
    let one = prop_oneof![prop::sample::select(texts), ".{0,6}"];
    prop::collection::vec(one, 0..8).prop_map(|parts| parts.concat())
}

/// Whether `masked` is `text` with some stretches replaced by masks.
fn keeps_the_rest(text: &str, masked: &str) -> bool {
    let mut rest = text;
    for (n, part) in masked.split(MASK_BEGIN).enumerate() {
        let kept = match n {
            0 => part,
            _ => part.split_once(']').map_or(part, |(_, kept)| kept),
        };
        let found = if n == 0 { rest.strip_prefix(kept).map(|_| 0) } else { rest.find(kept) };
        let Some(at) = found else { return false };
        rest = &rest[at + kept.len()..];
    }
    true
}

proptest! {
    #[test]
    fn masking_is_done_once_and_keeps_what_is_no_secret(text in fragments()) {
        let once = mask(&text).into_owned();
        prop_assert_eq!(mask(&once), once.as_str());
        if !text.contains(MASK_BEGIN) {
            prop_assert!(keeps_the_rest(&text, &once), "{}", once);
        }
    }

    #[test]
    fn any_text_is_masked_without_panic_and_only_once(text in ".{0,200}") {
        let once = mask(&text).into_owned();
        prop_assert_eq!(mask(&once), once.as_str());
    }
}
