//! Work that goes round in circles: the same passed again, or to and fro without a change.

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::Begins;
use crate::command::{Pass, PassContext, PassKind, Recipient};
use crate::limits::HOPS_REMEMBERED;
use crate::machine::Step;
use crate::refusal::{Deadlock, Refusal};
use crate::workflow::{ContextHash, Hop, Workflow};

/// A digest of what travels with a pass: everything that its receiver would see of it.
pub(super) fn context(pass: &Pass, workflow: &Workflow) -> ContextHash {
    #[derive(Serialize)]
    struct Travels<'a> {
        kind: PassKind,
        reason: &'a str,
        context: &'a PassContext,
        to_agents: &'a [Recipient],
        /// What a rule passes on travels with all variables as they are.
        #[serde(skip_serializing_if = "Option::is_none")]
        step: Option<(&'a Step, &'a str)>,
    }
    let mut context = pass.context.clone();
    // How it is traced, what it may cost and what was used so far is not what it says.
    (context.traceparent, context.constraints, context.report) = Default::default();
    let travels = Travels {
        kind: pass.kind,
        reason: pass.reason.as_str(),
        context: &context,
        // Each may have a task of its own.
        to_agents: &pass.to_agents,
        step: pass.step.as_deref().map(|step| (step, workflow.variables.digest())),
    };
    // It is held only against digests that were made here, of values whose names are in order.
    let bytes = serde_json::to_vec(&travels).expect("plain data always serialises");
    let digest: [u8; 32] = Sha256::digest(&bytes).into();
    ContextHash(crate::hex::hex(&digest[..8]))
}

/// Refuses a handoff that repeats one of the last, or goes to and fro once more.
pub(super) fn check(begins: &Begins<'_>, context: &ContextHash) -> Result<(), Refusal> {
    let hops = &begins.workflow.hops;
    let recent = &hops[hops.len().saturating_sub(HOPS_REMEMBERED)..];
    for to in &begins.to {
        let to = &to.profile.id;
        let same =
            |hop: &Hop| hop.from == *begins.agent && hop.to == *to && hop.context == *context;
        if recent.iter().any(same) {
            let (from, to) = (begins.agent.clone(), to.clone());
            return Err(Refusal::DeadlockDetected(Deadlock::Repeated { from, to }));
        }
    }
    // What a definition lets go to and fro is bounded by its limit on handoffs.
    match begins.pass.step {
        Some(_) => Ok(()),
        None => to_and_fro(begins, recent),
    }
}

/// Two rounds between the same two, for good each time, after which nothing is as much as a
/// variable or an artifact further.
fn to_and_fro(begins: &Begins<'_>, recent: &[Hop]) -> Result<(), Refusal> {
    let [to] = begins.to.as_slice() else { return Ok(()) };
    let (one, other) = (begins.agent, &to.profile.id);
    let context = &begins.pass.context;
    let brings = !context.context_variables.is_empty() || !context.artifacts.is_empty();
    if begins.pass.kind != PassKind::Sequential || recent.len() < HOPS_REMEMBERED || brings {
        return Ok(());
    }
    let now = begins.workflow.progress();
    let round = recent.iter().rev().enumerate().all(|(n, hop)| {
        let (from, to) = if n % 2 == 0 { (other, one) } else { (one, other) };
        hop.sequential && hop.from == *from && hop.to == *to && hop.progress == now
    });
    match round {
        true => {
            let (one, other) = (one.clone(), other.clone());
            Err(Refusal::DeadlockDetected(Deadlock::PingPong { one, other }))
        }
        false => Ok(()),
    }
}
