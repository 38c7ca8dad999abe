//! What the rules of a definition see of work.

use baton_protocol::Stirred;
use baton_protocol::variables::VariableName;
use baton_rules::Facts;
use serde_json::{Map, Value, json};

/// What rules see.
pub(super) struct WorkFacts<'a> {
    work: &'a Stirred<'a>,
    result: Value,
    task: Value,
}

impl<'a> WorkFacts<'a> {
    /// What they see of this work, now. `given` is a result that was too large for a record.
    pub(super) fn of(work: &'a Stirred<'a>, given: Option<&Value>) -> Self {
        let step = &work.machine.step;
        let task = json!({
            "id": work.id,
            "type": step.task,
            "state": work.machine.state,
            "payload": step.payload,
            "priority": work.workflow.priority,
        });
        Self { work, result: work.result(given), task }
    }

    /// What is known of any work, whatever its variables.
    fn built_in(&self, name: &str) -> Option<Value> {
        let (id, workflow) = (self.work.id, self.work.workflow);
        Some(match name {
            "requestId" => id.to_string().into(),
            "sessionId" => id.to_string().replace('-', "").into(),
            "userId" => workflow.started_by.as_str().into(),
            "workflow" => workflow.title.as_str().into(),
            _ => return None,
        })
    }
}

impl Facts for WorkFacts<'_> {
    fn result(&self) -> &Value {
        &self.result
    }

    fn context(&self, name: &str) -> Option<Value> {
        // No variable can pass for what is known anyway.
        self.built_in(name).or_else(|| {
            let name = name.parse::<VariableName>().ok()?;
            let known = self.work.workflow.variables.find(&name)?;
            Some(known.value.as_value().clone())
        })
    }

    fn contexts(&self) -> Value {
        let built_in = ["requestId", "sessionId", "userId", "workflow"];
        let built_in =
            built_in.into_iter().filter_map(|name| Some((name.to_owned(), self.built_in(name)?)));
        let own = self.work.workflow.variables.iter();
        let own = own.map(|(name, known)| (name.to_string(), known.value.as_value().clone()));
        Value::Object(own.chain(built_in).collect::<Map<_, _>>())
    }

    fn task(&self) -> &Value {
        &self.task
    }

    fn attempt(&self) -> i64 {
        i64::from(self.work.attempt())
    }
}
