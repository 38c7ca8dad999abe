//! Whatever the text, an expression neither panics nor overflows a small stack nor takes long.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::bounded::bounded;
use crate::testing::Given;

/// Facts as large as they can be.
fn large() -> Given {
    let text = "x".repeat(16 * 1024);
    let quote = json!({"price": 3, "by": "somebody", "tags": ["a", "b"]});
    let result = json!({"l": vec![quote; 2_048], "t": text, "n": vec![1; 2_048]});
    Given::new(result, json!({"v": vec!["text"; 2_048]}))
}

fn judge(text: String) {
    bounded(text, |text| {
        if let Ok(read) = expression(text) {
            let judged = read.value(&large());
            let panicked = |error: &ExprError| error.to_string().contains("panicked");
            assert!(!judged.as_ref().is_err_and(panicked), "{text}: {judged:?}");
            read.saw(&large());
        }
    });
}

#[rustfmt::skip]
const PIECES: [&str; 58] = [
    "result", "result.l", "result.t", "result.n", "context", "context.v", "task", "attempt", "p",
    "q", "(", ")", "[", "]", "{", "}", ".", ",", ":", "?", "!", "-", "+", "*", "/", "%", "<", ">=",
    "==", "!=", "&&", "||", "in", "1", "1u", "1.5", "-9223372036854775808", "\"x\"", "'", "\"",
    "b\"a\"", "//", "true", "null", ".exists(p,", ".all(q,", ".filter(p,", ".map(p,", "has(",
    "size(", ".size()", ".contains(", "int(", "string(", ".?a", "[?0]", "\\", "ü",
];

fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(&PIECES[..]);
    prop::collection::vec(piece, 0..80).prop_map(|all| all.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

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
        open in prop::sample::select(vec!["(", "[", "{1:", "!", "-", "1+", "1?1:", "result.",
            "size(", "result.l.all(p,", "[1][0", "true&&", "1 in [", "\"", "'''", "\\",
            "result.l.map(p,[p,p]).map(q,", "{\"a\":"]),
        times in 0_usize..1_200,
        inner in prop::sample::select(vec!["", "!", "-", "1+", "1?1:", "true&&", "1 in "]),
        within in 0_usize..400,
        close in prop::sample::select(vec!["", ")", "]", "}", "1"]),
    ) {
        let inner = inner.repeat(within);
        judge(format!("{}{inner}1{}", open.repeat(times), close.repeat(times)));
        let few = times % 33;
        judge(format!("{}{inner}1{}", open.repeat(few), close.repeat(few)));
    }
}

#[test]
fn the_worst_that_is_taken_ends_in_time() {
    let texts = [
        "result.l.all(p, p in result.l)".to_owned(),
        "result.l == result.l && result.t + result.t != result.t".to_owned(),
        "result.n.map(p, result.t)".to_owned(),
        "result.n.map(p, [p, p, p, p]).map(q, [q, q, q, q])".to_owned(),
        "context.v.filter(p, context.v.exists(q, p == q)).size()".to_owned(),
        format!("{}1 > 0", "-".repeat(500)),
        format!("{}true", "!".repeat(500)),
        format!("{}true", "false || ".repeat(150)),
        format!("{}1 > 0", "1 * ".repeat(250)),
        format!("{}1{}", "(".repeat(32), ")".repeat(32)),
        format!("{}1", "true ? 1 : ".repeat(120)),
        format!("result{}", ".a".repeat(250)),
        format!("has(result{})", ".a".repeat(250)),
    ];
    texts.into_iter().for_each(judge);
}
