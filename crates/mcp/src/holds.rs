//! What a session holds, so that a model need not repeat numbers that it was given.
//!
//! Only what this session took itself is remembered. A fence that it does not know must be said:
//! otherwise a session that lost its work would act under the number of the one that got it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde_json::Value;

use crate::desk::{Said, Talk};

/// Something that this session holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hold {
    /// Of which work.
    pub workflow: String,
    /// The handoff that brought it; nothing if this session began the work.
    pub handoff: Option<String>,
    /// The number of the hold.
    pub fence: u64,
}

impl Hold {
    fn is_named(&self, id: &str) -> bool {
        let begins = |whole: &String| whole.starts_with(id);
        !id.is_empty() && (begins(&self.workflow) || self.handoff.as_ref().is_some_and(begins))
    }
}

/// All of them, as far as this session knows: others may have taken some away.
#[derive(Debug, Default)]
pub(crate) struct Holds {
    all: Mutex<Vec<Hold>>,
    /// Whether something happened that speaks against the list.
    doubtful: AtomicBool,
}

impl Holds {
    fn lock(&self) -> MutexGuard<'_, Vec<Hold>> {
        // A list of values is whole whatever became of whoever had it.
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers what was taken; returns all that is held now.
    pub(crate) fn took(&self, hold: Hold) -> Vec<Hold> {
        let mut all = self.lock();
        all.retain(|other| (&other.workflow, &other.handoff) != (&hold.workflow, &hold.handoff));
        all.push(hold);
        all.clone()
    }

    /// Forgets what is over; returns what is left.
    pub(crate) fn ended(&self, hold: &Hold) -> Vec<Hold> {
        let mut all = self.lock();
        all.retain(|other| (&other.workflow, &other.handoff) != (&hold.workflow, &hold.handoff));
        all.clone()
    }

    /// Something was refused, or given away: the list is looked at before it is believed again.
    pub(crate) fn doubt(&self) {
        self.doubtful.store(true, Ordering::Relaxed);
    }

    /// Forgets what the coordinator does not confirm.
    async fn confirm(&self, talk: &Talk<'_>) -> Result<(), Said> {
        let inbox = talk.read("/v1/inbox").await?;
        let held: Vec<Hold> = inbox["holding"].as_array().into_iter().flatten().map(hold).collect();
        let still = |own: &Hold| {
            held.iter().any(|hold| (&hold.workflow, hold.fence) == (&own.workflow, own.fence))
        };
        let left = {
            let mut all = self.lock();
            all.retain(still);
            all.clone()
        };
        self.doubtful.store(false, Ordering::Relaxed);
        talk.desk.note(&left);
        Ok(())
    }

    /// The hold that is meant: by the id of its handoff or work, or because there is only one.
    fn meant(&self, id: Option<&str>) -> Vec<Hold> {
        let all = self.lock();
        let meant = all.iter().filter(|hold| id.is_none_or(|id| hold.is_named(id)));
        meant.cloned().collect()
    }

    /// The hold under which something is done.
    pub(crate) async fn find(
        &self,
        talk: &Talk<'_>,
        work: Option<&str>,
        fence: Option<u64>,
    ) -> Result<Hold, Said> {
        if self.doubtful.load(Ordering::Relaxed) || self.meant(work).len() > 1 {
            self.confirm(talk).await?;
        }
        let mine = self.meant(work);
        match (mine.as_slice(), fence) {
            ([hold], None) => return Ok(hold.clone()),
            ([hold], Some(fence)) => return Ok(Hold { fence, ..hold.clone() }),
            ([_, _, ..], None) => return Err(ambiguous()),
            ([] | [_, _, ..], _) => (),
        }
        let inbox = talk.read("/v1/inbox").await?;
        let held = inbox["holding"].as_array().into_iter().flatten().map(hold);
        let mut held: Vec<Hold> =
            held.filter(|hold| work.is_none_or(|id| hold.is_named(id))).collect();
        if held.len() > 1 {
            held.retain(|hold| fence.is_none_or(|fence| hold.fence == fence));
        }
        match (held.as_slice(), fence) {
            // Whether the number is still in force is for the coordinator to say.
            ([hold], Some(fence)) => Ok(Hold { fence, ..hold.clone() }),
            ([], _) => {
                let message = match work {
                    Some(id) => format!("you do not hold {id}"),
                    None => "you hold nothing".to_owned(),
                };
                Err(Said::new("not-holder", message, "accept_handoff takes work from the inbox"))
            }
            ([_], None) => Err(Said::new(
                "fence-needed",
                "this session did not take that work, so its fence must be said",
                "give the `fence` that accept_handoff gave; list_inbox shows what you hold",
            )),
            ([_, _, ..], _) => Err(ambiguous()),
        }
    }
}

fn ambiguous() -> Said {
    let message = "you hold several things, and it is not said which is meant";
    Said::new("ambiguous", message, "say its handoff's id as `work`")
}

fn hold(view: &Value) -> Hold {
    Hold {
        workflow: view["workflow"].as_str().unwrap_or_default().to_owned(),
        handoff: view["handoff"].as_str().map(str::to_owned),
        fence: view["fence"].as_u64().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_alone_need_not_be_named() {
        let holds = Holds::default();
        let one = Hold { workflow: "aa-1".into(), handoff: Some("bb-1".into()), fence: 2 };
        let two = Hold { workflow: "aa-2".into(), handoff: None, fence: 1 };
        holds.took(one.clone());
        assert_eq!(holds.meant(None), vec![one.clone()]);
        holds.took(two.clone());
        assert_eq!(holds.meant(None).len(), 2);
        assert_eq!(holds.meant(Some("bb")), vec![one.clone()]);
        assert_eq!(holds.meant(Some("aa-2")), vec![two.clone()]);
        assert_eq!(holds.meant(Some("")), [], "nothing is no beginning of an id");
        assert_eq!(holds.ended(&one), [two]);
    }
}
