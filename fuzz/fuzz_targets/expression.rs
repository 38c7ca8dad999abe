//! No text breaks the reader of expressions, and what it takes is judged without a panic.

#![no_main]

use baton_rules::Facts;
use baton_rules::expr::expression;
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

struct Given(Value);

impl Facts for Given {
    fn result(&self) -> &Value {
        &self.0
    }

    fn context(&self, name: &str) -> Option<Value> {
        self.0.get(name).cloned()
    }

    fn contexts(&self) -> Value {
        self.0.clone()
    }

    fn task(&self) -> &Value {
        &self.0
    }

    fn attempt(&self) -> i64 {
        1
    }
}

fuzz_target!(|text: &str| {
    let facts = Given(json!({"l": [1, 2, {"a": "x"}], "t": "text", "n": 1.5, "m": {"a": null}}));
    if let Ok(read) = expression(text) {
        let judged = read.value(&facts).map_err(|error| error.to_string());
        assert!(!judged.is_err_and(|error| error.contains("panicked")));
        read.saw(&facts);
    }
});
