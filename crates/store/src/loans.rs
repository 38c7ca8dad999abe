//! Who has which effect in hand. Loans are no part of the truth: a restart forgets them, and then
//! an effect that was under way is lent again.

use std::collections::{BTreeMap, HashMap};

use baton_protocol::effect::{Effect, EffectId};
use baton_protocol::time::Timestamp;

use crate::ledger::Loan;

/// The loans that run now. There are never more than unsettled effects.
#[derive(Debug, Default)]
pub(crate) struct Loans {
    until: HashMap<EffectId, Timestamp>,
}

impl Loans {
    /// Lends up to `limit` effects of `outbox` that nobody has at `now`, the oldest first.
    pub(crate) fn lend(
        &mut self,
        outbox: &BTreeMap<EffectId, Effect>,
        now: Timestamp,
        until: Timestamp,
        limit: usize,
    ) -> Vec<Loan> {
        self.until.retain(|id, until| *until > now && outbox.contains_key(id));
        let free = outbox.iter().filter(|(id, _)| !self.until.contains_key(id));
        let lent = |(id, effect): (&EffectId, &Effect)| Loan { id: *id, effect: effect.clone() };
        let loans: Vec<Loan> = free.take(limit).map(lent).collect();
        self.until.extend(loans.iter().map(|loan| (loan.id, until)));
        loans
    }

    /// Forgets the loans of effects that were never recorded: others will get their numbers.
    pub(crate) fn forget_after(&mut self, last: u64) {
        self.until.retain(|id, _| id.seq <= last);
    }
}
