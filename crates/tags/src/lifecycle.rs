//! Which moves of a work item are allowed, and to whom.
//!
//! Pure rules on tags. The life of a piece of work:
//!
//! ```text
//!            a person          a worker         its holder
//!   #needs-X ────────▶ #delegated-X ─▶ #claimed-X ─▶ #done-X
//!          └─────────▶ #next-X ──────▶ ▲    │
//!      ▲                                    │
//!      └──────────── requeued ──────────────┘
//! ```
//!
//! Two things must never be skipped: a person's approval, and the claim that keeps two workers
//! from doing the same work.

use crate::name::{Stage, Tag};

/// Who asks for a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mover {
    /// Somebody with an operator's credential. Only people approve.
    Person,
    /// An agent that does the work.
    Worker,
    /// The dispatch daemon, for work whose holder died.
    Daemon {
        /// Whether the request is unchanged since a person approved it, and may therefore go back
        /// to `#delegated` without asking again. How often, the daemon's policy says.
        approval_stands: bool,
    },
}

/// Why a move was turned away. The file is as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Only a person may let work go ahead.
    #[error("{to} needs a person's approval")]
    ApprovalNeeded {
        /// The tag that was asked for.
        to: Tag,
    },

    /// Work that was never approved cannot be claimed.
    #[error("{to} can only be claimed from #delegated-{kind} or #next-{kind}{}", from_shown(.from))]
    NotApproved {
        /// Where the work stands, if it is tagged at all.
        from: Option<Tag>,
        /// The tag that was asked for.
        to: Tag,
        /// The kind of work.
        kind: String,
    },

    /// Somebody has it, or it is there already.
    #[error("the work is already at {to}")]
    AlreadyThere {
        /// The tag that was asked for.
        to: Tag,
    },

    /// Approved work is finished by the one who claimed it.
    #[error("{from} must be claimed before it is done")]
    NotClaimed {
        /// Where the work stands.
        from: Tag,
    },

    /// What a person approved or finished, only a person takes back.
    #[error("{from} can only be taken back by a person")]
    TakenBack {
        /// Where the work stands.
        from: Tag,
    },

    /// Work that is over begins again as `#needs`.
    #[error("{from} is over; it can only be opened again as #needs-{kind}")]
    Over {
        /// Where the work stands.
        from: Tag,
        /// The kind of work.
        kind: String,
    },

    /// The daemon leaves the immediate path alone.
    #[error("{from} is for the next skill of its session, not for the daemon")]
    Immediate {
        /// Where the work stands.
        from: Tag,
    },

    /// A piece of work is on the Tags line once.
    #[error("the work is at {there} already; {to} cannot stand beside it")]
    Beside {
        /// Where it stands.
        there: Tag,
        /// The tag that was asked for.
        to: Tag,
    },

    /// One kind of work does not become another on the way.
    #[error("{from} cannot become {to}: they are different kinds of work")]
    KindChanged {
        /// Where the work stands.
        from: Tag,
        /// The tag that was asked for.
        to: Tag,
    },
}

impl Refusal {
    /// Returns the name that clients match on. It never changes once released; the sentence may.
    pub fn code(&self) -> &'static str {
        match self {
            Self::ApprovalNeeded { .. } => "approval-needed",
            Self::NotApproved { .. } => "not-approved",
            Self::AlreadyThere { .. } => "already-there",
            Self::NotClaimed { .. } => "not-claimed",
            Self::TakenBack { .. } => "taken-back",
            Self::Over { .. } => "over",
            Self::Immediate { .. } => "immediate",
            Self::KindChanged { .. } => "kind-changed",
            Self::Beside { .. } => "beside",
        }
    }
}

/// Decides whether `mover` may put `to` on new work, beside whatever is there.
///
/// The same rules as for a move: what a worker may not reach by swapping, it may not write down
/// either. `#done` may be added, because work can be settled before anybody asked for it.
pub fn add(to: &Tag, mover: Mover) -> Result<(), Refusal> {
    let Some((stage, kind)) = to.stage() else {
        return Ok(());
    };
    match stage {
        Stage::Needs | Stage::Done => Ok(()),
        Stage::Delegated | Stage::Next => approve(to, mover),
        Stage::Claimed => Err(not_approved(None, to, kind)),
    }
}

/// Decides whether `mover` may turn `from` into `to`.
///
/// Tags outside the families move freely. Out of a family is as free as removing the tag; into
/// one is as bound as adding it.
pub fn swap(from: &Tag, to: &Tag, mover: Mover) -> Result<(), Refusal> {
    let (Some((stage, kind)), Some((next, next_kind))) = (from.stage(), to.stage()) else {
        return add(to, mover);
    };
    if from == to {
        return Err(Refusal::AlreadyThere { to: to.clone() });
    }
    // Before its approval, work may still be sorted under another kind.
    let sorting = stage == Stage::Needs && next == Stage::Needs;
    if kind != next_kind && !sorting {
        return Err(Refusal::KindChanged { from: from.clone(), to: to.clone() });
    }
    match stage {
        Stage::Needs => match next {
            Stage::Delegated | Stage::Next => approve(to, mover),
            Stage::Claimed => Err(not_approved(Some(from), to, kind)),
            Stage::Done | Stage::Needs => Ok(()),
        },
        Stage::Delegated | Stage::Next => match next {
            Stage::Claimed => claim(stage, from, mover),
            Stage::Done => Err(Refusal::NotClaimed { from: from.clone() }),
            Stage::Delegated | Stage::Next => approve(to, mover),
            Stage::Needs => take_back(from, mover),
        },
        Stage::Claimed => match next {
            Stage::Delegated => requeue(to, mover),
            Stage::Next => approve(to, mover),
            Stage::Done | Stage::Needs | Stage::Claimed => Ok(()),
        },
        Stage::Done => match next {
            Stage::Needs => take_back(from, mover),
            Stage::Delegated | Stage::Next | Stage::Claimed | Stage::Done => {
                Err(Refusal::Over { from: from.clone(), kind: kind.to_owned() })
            }
        },
    }
}

/// Decides whether approved work may go back to `#needs` because nothing covers it any more.
///
/// A person who approved one text has not approved another, so here nobody needs to ask them.
pub fn void(from: &Tag, covered: bool) -> Result<(), Refusal> {
    match from.stage() {
        Some((Stage::Delegated | Stage::Next, _)) if !covered => Ok(()),
        Some(_) | None => Err(Refusal::TakenBack { from: from.clone() }),
    }
}

fn approve(to: &Tag, mover: Mover) -> Result<(), Refusal> {
    match mover {
        Mover::Person => Ok(()),
        Mover::Worker | Mover::Daemon { .. } => Err(Refusal::ApprovalNeeded { to: to.clone() }),
    }
}

fn requeue(to: &Tag, mover: Mover) -> Result<(), Refusal> {
    match mover {
        Mover::Daemon { approval_stands: true } => Ok(()),
        Mover::Person | Mover::Worker | Mover::Daemon { .. } => approve(to, mover),
    }
}

fn claim(stage: Stage, from: &Tag, mover: Mover) -> Result<(), Refusal> {
    match mover {
        Mover::Daemon { .. } if stage == Stage::Next => {
            Err(Refusal::Immediate { from: from.clone() })
        }
        Mover::Person | Mover::Worker | Mover::Daemon { .. } => Ok(()),
    }
}

fn take_back(from: &Tag, mover: Mover) -> Result<(), Refusal> {
    match mover {
        Mover::Person => Ok(()),
        Mover::Worker | Mover::Daemon { .. } => Err(Refusal::TakenBack { from: from.clone() }),
    }
}

fn not_approved(from: Option<&Tag>, to: &Tag, kind: &str) -> Refusal {
    Refusal::NotApproved { from: from.cloned(), to: to.clone(), kind: kind.to_owned() }
}

fn from_shown(from: &Option<Tag>) -> String {
    match from {
        Some(from) => format!(", not from {from}"),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAEMON: Mover = Mover::Daemon { approval_stands: false };

    fn tag(text: &str) -> Tag {
        text.parse().unwrap()
    }

    /// Says for each mover, in the order person, worker, daemon, whether the move is allowed.
    fn answers(from: &str, to: &str) -> [&'static str; 3] {
        [Mover::Person, Mover::Worker, DAEMON].map(|mover| {
            let answer = match from {
                "" => add(&tag(to), mover),
                _ => swap(&tag(from), &tag(to), mover),
            };
            answer.map_or_else(|refusal| refusal.code(), |()| "yes")
        })
    }

    #[test]
    fn every_move_between_stages_has_its_answer() {
        let table: &[(&str, &str, [&str; 3])] = &[
            ("needs", "delegated", ["yes", "approval-needed", "approval-needed"]),
            ("needs", "next", ["yes", "approval-needed", "approval-needed"]),
            ("needs", "claimed", ["not-approved"; 3]),
            ("needs", "done", ["yes"; 3]),
            ("delegated", "needs", ["yes", "taken-back", "taken-back"]),
            ("delegated", "next", ["yes", "approval-needed", "approval-needed"]),
            ("delegated", "claimed", ["yes"; 3]),
            ("delegated", "done", ["not-claimed"; 3]),
            ("next", "needs", ["yes", "taken-back", "taken-back"]),
            ("next", "delegated", ["yes", "approval-needed", "approval-needed"]),
            ("next", "claimed", ["yes", "yes", "immediate"]),
            ("next", "done", ["not-claimed"; 3]),
            ("claimed", "needs", ["yes"; 3]),
            ("claimed", "delegated", ["yes", "approval-needed", "approval-needed"]),
            ("claimed", "next", ["yes", "approval-needed", "approval-needed"]),
            ("claimed", "done", ["yes"; 3]),
            ("done", "needs", ["yes", "taken-back", "taken-back"]),
            ("done", "delegated", ["over"; 3]),
            ("done", "next", ["over"; 3]),
            ("done", "claimed", ["over"; 3]),
        ];
        assert_eq!(table.len(), 5 * 4);
        for (from, to, expected) in table {
            let (from, to) = (format!("#{from}-fix"), format!("#{to}-fix"));
            assert_eq!(answers(&from, &to), *expected, "{from} to {to}");
            assert_eq!(answers(&from, &from), ["already-there"; 3], "{from}");
        }
    }

    #[test]
    fn adding_obeys_the_same_rules() {
        assert_eq!(answers("", "#needs-fix"), ["yes"; 3]);
        assert_eq!(answers("", "#next-fix"), ["yes", "approval-needed", "approval-needed"]);
        assert_eq!(answers("", "#delegated-fix")[1], "approval-needed");
        assert_eq!(answers("", "#claimed-fix"), ["not-approved"; 3]);
        assert_eq!(answers("", "#done-fix"), ["yes"; 3]);
        assert_eq!(answers("", "#P0"), ["yes"; 3]);
    }

    #[test]
    fn tags_outside_the_families_move_freely_but_open_no_back_door() {
        assert_eq!(answers("#draft", "#final"), ["yes"; 3]);
        assert_eq!(answers("#active-alert", "#done-alert"), ["yes"; 3]);
        assert_eq!(answers("#needs-fix", "#draft"), ["yes"; 3]);
        assert_eq!(answers("#draft", "#delegated-fix")[1], "approval-needed");
        assert_eq!(answers("#draft", "#claimed-fix"), ["not-approved"; 3]);
    }

    #[test]
    fn work_keeps_its_kind_once_it_is_approved() {
        assert_eq!(answers("#needs-fix", "#needs-chores"), ["yes"; 3]);
        assert_eq!(answers("#delegated-fix", "#claimed-chores"), ["kind-changed"; 3]);
    }

    #[test]
    fn a_standing_approval_lets_the_daemon_requeue_and_nothing_else() {
        let daemon = Mover::Daemon { approval_stands: true };
        assert_eq!(swap(&tag("#claimed-x"), &tag("#delegated-x"), daemon), Ok(()));
        assert!(swap(&tag("#needs-x"), &tag("#delegated-x"), daemon).is_err());
        assert!(add(&tag("#delegated-x"), daemon).is_err());
    }

    #[test]
    fn only_waiting_work_without_an_approval_is_voided() {
        assert_eq!(void(&tag("#delegated-x"), false), Ok(()));
        assert_eq!(void(&tag("#next-x"), false), Ok(()));
        for (from, covered) in [("#delegated-x", true), ("#claimed-x", false), ("#x", false)] {
            assert!(void(&tag(from), covered).is_err(), "{from}");
        }
    }

    #[test]
    fn a_refusal_says_the_reason() {
        let refusal = swap(&tag("#needs-fix"), &tag("#claimed-fix"), Mover::Worker).unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "#claimed-fix can only be claimed from #delegated-fix or #next-fix, not from #needs-fix"
        );
        let refusal = add(&tag("#delegated-fix"), Mover::Worker).unwrap_err();
        assert_eq!(refusal.to_string(), "#delegated-fix needs a person's approval");
    }
}
