//! No text breaks the reader of expressions, and what it takes is judged without a panic.

#![no_main]

// The facts of the crate's own tests, which look for the trait where it is in that crate.
#[path = "../../crates/rules/src/testing.rs"]
mod testing;

use baton_rules::expr;
use libfuzzer_sys::fuzz_target;
use serde_json::json;

use crate::expr::expression;
use crate::testing::Given;

fuzz_target!(|text: &str| {
    let facts = json!({"l": [1, 2, {"a": "x"}], "t": "text", "n": 1.5, "m": {"a": null}});
    let facts = Given::new(facts.clone(), facts);
    if let Ok(read) = expression(text) {
        let judged = read.value(&facts).map_err(|error| error.to_string());
        assert!(!judged.is_err_and(|error| error.contains("panicked")));
        read.saw(&facts);
        (read.reads(), read.never(), read.not_yes_or_no(), read.outcomes());
    }
});
