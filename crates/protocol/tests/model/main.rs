//! Every state that a small world can reach by our rules: who accepts, returns, is late, asks
//! above, is cancelled, crashes, or comes back with an old fence, in every order.
//!
//! The rules are the real `decide` and `evolve`; what is written here is only what may never be.
//! One workflow is begun by a planner that delegates to a builder or passes it on; above them stand
//! a reviewer, an architect and two people. Time goes from one deadline to the next, and a deadline
//! that has come may be recorded at once, or after whatever anybody does meanwhile.
//!
//! Mistakes that were made on purpose in the rules and found are listed in `docs/testing.md`.

mod deeds;
mod laws;
mod monitor;
#[cfg(feature = "planted")]
mod planted;
mod scene;

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError, RwLock};

use baton_protocol::handoff::OnTimeout;
use stateright::{Checker, Model};

use scene::Forms;

/// How much may happen in a small world.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// What becomes of a delegation that is late; `None` means that the work is passed for good.
    pub(crate) policy: Option<OnTimeout>,
    /// Agents ask somebody above while there are fewer handoffs than this.
    pub(crate) handoffs_max: usize,
    /// So many answers are swallowed by a crash.
    pub(crate) crashes_max: u8,
    /// So often the operator gives work to another.
    pub(crate) reassigns_max: u8,
    /// Whether anything goes wrong: time passes, agents say no or fail, the operator steps in.
    pub(crate) disturbed: bool,
}

/// A small world.
pub(crate) struct Small {
    pub(crate) size: Size,
    pub(crate) forms: Forms,
    /// What happened on the way, to show that the walk has met it.
    pub(crate) met: Mutex<BTreeSet<&'static str>>,
}

/// No way in these worlds is longer.
const DEPTH_MAX: usize = 80;

/// Held to write by whoever plants a bug: that is in force for the whole process.
static RULES: RwLock<()> = RwLock::new(());

/// Walks the whole world, and fails with the way to the first bad state.
fn walk(mut size: Size, expected: &[&str]) {
    if std::env::var_os("BATON_MODEL_LARGE").is_some() {
        size.crashes_max = 1;
        size.reassigns_max = 1;
    }
    let _sound = RULES.read().unwrap_or_else(PoisonError::into_inner);
    let checker = Small::new(size).checker().threads(2).spawn_bfs().join();
    println!("{} states, {} deeds: {size:?}", checker.unique_state_count(), checker.state_count());
    if checker.discoveries().keys().any(|law| laws::is_always(law)) {
        let (law, way) = shortest(size).expect("it was found before");
        panic!("broken: {law}\n{way}");
    }
    checker.assert_properties();
    let met = checker.model().met.lock().expect("nobody panicked").clone();
    let missing: Vec<_> = expected.iter().filter(|word| !met.contains(*word)).collect();
    assert!(missing.is_empty(), "never met: {missing:?}, met: {met:?}");
}

/// The shortest way to a state that breaks a law, and that law.
fn shortest(size: Size) -> Option<(&'static str, String)> {
    (2..DEPTH_MAX).find_map(|depth| {
        let checker = Small::new(size).checker().target_max_depth(depth).spawn_bfs().join();
        let mut broken: Vec<_> = checker.discoveries().into_iter().collect();
        broken.retain(|(law, _)| laws::is_always(law));
        broken.sort_by_key(|(law, _)| *law);
        let (law, way) = broken.into_iter().next()?;
        let last = format!("{:?}", way.last_state());
        let deeds = way.into_actions().into_iter().map(|deed| format!("- {deed:?}\n"));
        Some((law, format!("{}{last}", deeds.collect::<String>())))
    })
}

impl Small {
    fn new(size: Size) -> Self {
        Self { size, forms: Forms::new(), met: Mutex::default() }
    }
}

#[test]
fn a_delegation_fails_when_it_is_late() {
    let size = Size {
        policy: Some(OnTimeout::Fail),
        handoffs_max: 2,
        crashes_max: 1,
        reassigns_max: 1,
        disturbed: true,
    };
    walk(size, &["accepted late", "returned late", "reminded", "failed for good", "reassigned"]);
}

#[test]
fn a_delegation_goes_to_the_next_above_when_it_is_late() {
    let size = Size {
        policy: Some(OnTimeout::Escalate),
        handoffs_max: 2,
        crashes_max: 1,
        reassigns_max: 0,
        disturbed: true,
    };
    walk(size, &["accepted late", "passed on above", "level 3", "escalated"]);
}

#[test]
fn a_delegation_is_tried_again_when_it_is_late() {
    let size = Size {
        policy: Some(OnTimeout::Retry),
        handoffs_max: 1,
        crashes_max: 1,
        reassigns_max: 0,
        disturbed: true,
    };
    walk(size, &["accepted late", "resent", "third resend", "failed for good", "heard later"]);
}

#[test]
fn work_is_passed_on_for_good() {
    let size =
        Size { policy: None, handoffs_max: 3, crashes_max: 0, reassigns_max: 0, disturbed: true };
    walk(size, &["accepted late", "completed", "closed", "rerouted", "escalated"]);
}

#[test]
fn a_question_climbs_and_its_answer_comes_down() {
    let size = Size {
        policy: Some(OnTimeout::Fail),
        handoffs_max: 7,
        crashes_max: 1,
        reassigns_max: 0,
        disturbed: false,
    };
    walk(size, &["level 1", "level 2", "level 3", "an answer went all the way down"]);
}
