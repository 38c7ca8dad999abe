//! What rules say, and how texts that are none are refused.

use super::*;
use baton_protocol::limits::RULE_BYTES_MAX;

fn holds(text: &str) -> Result<bool, String> {
    let rule = Rule::compile(text).map_err(|error| error.to_string())?;
    rule.holds(&Facts::sample()).map_err(|error| error.to_string())
}

#[test]
fn rules_compare_facts() {
    for text in [
        "true",
        r#"risk == "high""#,
        r#"risk_level >= 3 && risk in ["high", "critical"]"#,
        r#"from == "planner" && to != "reviewer" && role_of_to == "worker""#,
        r#"type == "sequential" && priority == "normal""#,
        "tokens + 1 == 1001 && tokens > 999 && -tokens < 0",
        "cost > 1.0 && cost > 1 && cost * 2.0 == 3.0",
        "handoffs % 2 == 1",
        r#"paths.exists(p, p.startsWith("src/") && p.endsWith(".rs"))"#,
        r#"paths.all(p, p.contains("main")) && size(paths) == 1"#,
        r#"paths.filter(p, p != "x").size() == 1 && capabilities.exists_one(c, c == "rust")"#,
        r#""rust" in capabilities && !("go" in capabilities)"#,
        r#"reason.contains("reason") || task == """#,
        r#"workflow.size() > 3 ? true : false"#,
        "paths[0] == \"src/main.rs\"\n// a remark\n&& true",
    ] {
        assert_eq!(holds(text), Ok(true), "{text}");
    }
    assert_eq!(holds(r#"risk == "low""#), Ok(false));
}

#[test]
fn a_text_that_is_no_rule_is_refused_with_its_place_and_a_way_out() {
    let said = |text: &str| Rule::compile(text).expect_err(text).to_string();
    let has = |text: &str, parts: &[&str]| {
        let said = said(text);
        assert!(parts.iter().all(|part| said.contains(part)), "{text}: {said}");
    };
    has("", &["line 1"]);
    has("risk ==", &["line 1, column 8"]);
    has("true &&\n  riks == \"high\"", &["line 2, column 3", "no fact `riks`", "risk, risk_level"]);
    has("paths.exists(p, p == q)", &["column 22", "no fact `q`"]);
    has("p == \"a\" && paths.exists(p, p == \"a\")", &["column 1", "no fact `p`"]);
    has("reason.matches(\"x\")", &["no function `matches`", "contains", "exists"]);
    has("now() > 1", &["no function `now`"]);
    has("workflow.title == \"x\"", &["facts have no fields"]);
    has("paths.map(p, p + p) == []", &["without map", "exists"]);
    has("paths.map(p, p != \"\", [p]) == []", &["without map"]);
    has("tokens", &["it comes to a number", "yes or no"]);
    has("risk", &["a text"]);
    has("risk > 3", &["cannot be judged", "overload"]);
    has("tokens > \"many\"", &["cannot be judged"]);
    has("paths.exists(p, paths.exists(q, p == q))", &["side by side"]);
    has("paths.filter(p, true).filter(q, true).size() > 1", &["side by side"]);
    has("paths.all(p, p in paths && p in paths && p in paths)", &["steps at worst"]);
    has(
        "reason + reason + reason + reason + reason + reason + reason + reason + reason + \"\" == \
         \"\"",
        &["9 additions", "at most 8"],
    );
    has(&"1+".repeat(RULE_BYTES_MAX), &["2048 bytes", "1024"]);
    has(&format!("{}1", "1+".repeat(500)), &["words and signs"]);
    has(&"(".repeat(200), &["brackets"]);
    has("\u{7}", &["control character"]);
}

#[test]
fn what_goes_wrong_with_the_facts_at_hand_is_an_error_and_not_a_no() {
    let rule = Rule::compile("paths[3] == \"x\"").expect("a rule");
    let error = rule.holds(&Facts::sample()).expect_err("no such entry");
    assert!(error.to_string().starts_with("it cannot be judged"), "{error}");
    let mut facts = Facts::sample();
    facts.paths = vec![String::new(); baton_protocol::limits::RULE_LIST_MAX + 1];
    let rule = Rule::compile("paths.size() > 1").expect("a rule");
    assert!(matches!(rule.holds(&facts), Err(RuleError::TooMuch { what: "paths", .. })));
    let rule = Rule::compile("cost > 1.0").expect("a rule");
    assert_eq!(rule.holds(&facts), Ok(true));
}
