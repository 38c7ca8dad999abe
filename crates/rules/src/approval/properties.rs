//! Whatever the text, a rule neither panics nor overflows a small stack nor takes long.

use baton_protocol::limits::{RULE_LIST_MAX, TEXT_BYTES_MAX};
use proptest::prelude::*;

use super::*;
use crate::bounded::bounded;

/// Facts as large as they can be.
fn large() -> Facts {
    let path = |n: usize| format!("{n:04}/{}", "x".repeat(100));
    Facts {
        reason: "r".repeat(TEXT_BYTES_MAX),
        task: "t".repeat(TEXT_BYTES_MAX),
        workflow: "w".repeat(TEXT_BYTES_MAX),
        paths: (0..RULE_LIST_MAX).map(path).collect(),
        capabilities: (0..RULE_LIST_MAX).map(path).collect(),
        tokens: u64::MAX,
        handoffs: u64::MAX,
        cost: f64::INFINITY,
        ..Facts::sample()
    }
}

/// Reads and judges a text on a small stack.
fn judge(text: String) {
    bounded(text, |text| {
        if let Ok(rule) = Rule::compile(text) {
            let _ = rule.holds(&Facts::sample());
            let judged = rule.holds(&large());
            let panicked = |error: &RuleError| error.to_string().contains("panicked");
            assert!(!judged.as_ref().is_err_and(panicked), "{text}: {judged:?}");
        }
    });
}

#[rustfmt::skip]
const PIECES: [&str; 65] = [
    "risk", "paths", "tokens", "cost", "reason", "p", "q", "(", ")", "[", "]", "{", "}", ".", ",",
    ":", "?", "!", "-", "+", "*", "/", "%", "<", ">=", "==", "!=", "&&", "||", "in", "1", "1u",
    "1.5", "-9223372036854775808", "9223372036854775807", "\"x\"", "'", "\"", "\"\"\"", "r'",
    "b\"a\"", "//", "\n", "true", "null", ".exists(p,", ".all(q,", ".filter(p,", ".map(p,",
    "has(", "size(", ".size()", ".contains(", ".startsWith(", "int(", "string(", "double(", "@in",
    "`", "\\", "\u{0}", "ü", "😀", "dyn(", "type(",
];

fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(&PIECES[..]);
    prop::collection::vec(piece, 0..80).prop_map(|all| all.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_text_is_judged_or_refused(text in "\\PC{0,200}") {
        judge(text);
    }

    #[test]
    fn any_row_of_pieces_is_judged_or_refused(text in pieces()) {
        judge(text);
    }

    #[test]
    fn any_nesting_is_judged_or_refused(
        open in prop::sample::select(vec!["(", "[", "{1:", "!", "-", "1+", "1?1:", "a.", "size(",
            "paths.all(p,", "[1][0", "true&&", "1 in [", "\"", "'''", "\\"]),
        times in 0_usize..600,
        close in prop::sample::select(vec!["", ")", "]", "}", "1"]),
    ) {
        judge(format!("{}1{}", open.repeat(times), close.repeat(times)));
    }
}

#[test]
fn the_worst_rules_that_are_taken_end_in_time() {
    let many = |part: &str, n: usize| vec![part; n].join("&&");
    let texts = [
        "paths.all(p, p in paths)".to_owned(),
        "paths.all(p, !(p in capabilities)) && paths == paths".to_owned(),
        format!("paths.all(p,{})", many("reason!=p", 25)),
        many("paths==paths", 60),
        "paths.exists(p, (reason+reason+reason+reason+reason+reason+reason+reason)==p)".to_owned(),
        format!("[{}1].all(x, paths+paths+paths == [\"\"] || x == 1)", "1,".repeat(100)),
        "paths.filter(p, p.contains(\"x\")).size() + capabilities.filter(c, true).size() > 0"
            .to_owned(),
        format!("{}1 > 0", "-".repeat(200)),
        format!("{}true", "!".repeat(200)),
        format!("{}true", "false || ".repeat(60)),
        format!("{}1 > 0", "1 * ".repeat(100)),
        format!("{}true{}", "(".repeat(32), ")".repeat(32)),
        format!("{}true", "true ? true : ".repeat(50)),
    ];
    let taken = texts.iter().filter(|text| Rule::compile(text).is_ok()).count();
    assert!(taken >= 7, "only {taken} are rules");
    texts.into_iter().for_each(judge);
}
