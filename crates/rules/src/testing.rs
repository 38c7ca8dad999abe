//! Facts for tests.

use serde_json::{Value, json};

use crate::expr::Facts;

/// Facts that are written down.
pub(crate) struct Given {
    pub(crate) result: Value,
    pub(crate) context: Value,
    pub(crate) task: Value,
    pub(crate) attempt: i64,
}

impl Given {
    pub(crate) fn new(result: Value, context: Value) -> Self {
        let task = json!({"id": "t-1", "type": "search", "payload": {"rfpId": "r-1"}});
        Self { result, context, task, attempt: 1 }
    }
}

impl Facts for Given {
    fn result(&self) -> &Value {
        &self.result
    }

    fn context(&self, name: &str) -> Option<Value> {
        self.context.get(name).cloned()
    }

    fn contexts(&self) -> Value {
        self.context.clone()
    }

    fn task(&self) -> &Value {
        &self.task
    }

    fn attempt(&self) -> i64 {
        self.attempt
    }
}
