//! The act with guardrails: a limit, and a handoff that a person must approve.

use serde_json::json;

use super::Work;
use super::stage::{Actor, Stage};
use crate::failure::Failure;

/// One handoff too many is refused, and the next waits for the person who looks on.
pub(super) fn approved(stage: &Stage, work: &Work, builder: &Actor) -> Result<String, Failure> {
    stage.act("4. One handoff too many, and one that a person must approve")?;
    let pass = json!({ "pass": {
        "workflow": work.id, "fence": work.fence(), "to_agent": "ann",
        "reason": "please review and merge",
        "validation": { "required_capabilities": ["review"] },
    }});
    let refusal = builder.is_refused(pass.clone())?;
    stage.tell(builder, "passes the work to ann, who reviews: its sixth handoff");
    stage.refused(&refusal);
    stage.runs(&["limits", &work.id, "--handoffs", "8"])?;
    stage.rules(json!({ "approval": [{ "name": "merges", "when": "to == \"ann\"" }] }))?;
    stage.coordinator("has a new rule from you: whatever goes to ann waits for a person");
    let passed = builder.does(pass)?;
    let handoff = passed.handoff.map(|id| id.to_string()).unwrap_or_default();
    stage.tell(builder, "passes it again: it is recorded, and ann does not see it yet");
    stage.runs(&["approvals", &handoff])?;
    stage.runs(&["approve", &handoff])?;
    Ok(handoff)
}
