//! What a piece of work may use, and what it has used.
//!
//! A workflow has one account. A delegated part has an account of its own, with a slice of the one
//! above: the slice is reserved when the part is accepted, and what was not used goes back when it
//! ends. So no sum of parts ever passes the limit of the whole.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::handoff::{Handoff, Kind};
use crate::id::{AgentId, Fence};
use crate::policy::{Class, Money, Usage};
use crate::workflow::Workflow;

/// What a piece of work may use; absent means without a limit.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// The class that set them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<Class>,
    /// Handoffs that agents begin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handoffs: Option<u32>,
    /// Agents that take part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agents: Option<u32>,
    /// Tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Money.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Money>,
}

impl Limits {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What was used.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spent {
    /// Handoffs that agents began.
    pub handoffs: u32,
    /// Tokens.
    pub tokens: u64,
    /// Money.
    pub cost: Money,
}

impl Spent {
    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            handoffs: self.handoffs.saturating_add(other.handoffs),
            tokens: self.tokens.saturating_add(other.tokens),
            cost: self.cost.plus(other.cost),
        }
    }
}

/// A limit and what was used of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// What may be used.
    pub limits: Limits,
    /// What was, here and in parts that are over.
    pub spent: Spent,
}

/// Whose account pays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Payer {
    /// The whole work's.
    Work,
    /// That of a part, by its hold.
    Part(Fence),
}

/// What is left of a limit; absent means without end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Left {
    pub(crate) handoffs: Option<u32>,
    pub(crate) tokens: Option<u64>,
    pub(crate) cost: Option<Money>,
}

impl Workflow {
    /// Whose account pays for what is done under the hold `fence`.
    pub(crate) fn payer(&self, fence: Fence) -> Payer {
        let mut fence = fence;
        // Each step goes up to an older hold, so it ends. One that has returned since may have left
        // something behind that is still held: what that uses comes from whoever is above both.
        while fence != self.owner {
            if self.holds.get(&fence).is_some_and(|hold| hold.account.is_some()) {
                return Payer::Part(fence);
            }
            match self.brought(fence) {
                Some(handoff) => fence = handoff.terms.parent,
                None => break,
            }
        }
        Payer::Work
    }

    /// Whose account that of `payer` is a slice of.
    fn above_payer(&self, payer: Payer) -> Option<Payer> {
        match payer {
            Payer::Work => None,
            Payer::Part(fence) => {
                let brought = self.brought(fence);
                Some(brought.map_or(Payer::Work, |handoff| self.payer(handoff.terms.parent)))
            }
        }
    }

    /// The nearest account from `payer` up that limits handoffs.
    pub(crate) fn hop_payer(&self, payer: Payer) -> Payer {
        let mut payer = payer;
        while self.account_of(payer).limits.handoffs.is_none() {
            match self.above_payer(payer) {
                Some(above) => payer = above,
                None => break,
            }
        }
        payer
    }

    /// The account of `payer`.
    pub(crate) fn account_of(&self, payer: Payer) -> Account {
        match payer {
            Payer::Work => self.account,
            Payer::Part(fence) => {
                self.holds.get(&fence).and_then(|hold| hold.account).unwrap_or_default()
            }
        }
    }

    fn account_mut(&mut self, payer: Payer) -> &mut Account {
        match payer {
            Payer::Part(fence) if self.holds.get(&fence).is_some_and(|h| h.account.is_some()) => {
                match self.holds.get_mut(&fence).and_then(|hold| hold.account.as_mut()) {
                    Some(account) => account,
                    None => &mut self.account,
                }
            }
            Payer::Part(_) | Payer::Work => &mut self.account,
        }
    }

    /// What is set aside of the whole work's account for parts that are under way.
    pub fn set_aside(&self) -> Spent {
        self.reserved(Payer::Work)
    }

    /// What parts that are under way may still use of `payer`'s account.
    pub(crate) fn reserved(&self, payer: Payer) -> Spent {
        let parts = self.holds.iter().filter_map(|(fence, hold)| {
            let account = hold.account.filter(|_| *fence != self.owner)?;
            Some((self.above_payer(Payer::Part(*fence))?, account.limits))
        });
        parts.fold(Spent::default(), |sum, (above, slice)| {
            let (here, hops) = (above == payer, self.hop_payer(above) == payer);
            sum.plus(Spent {
                handoffs: slice.handoffs.filter(|_| hops).unwrap_or(0),
                tokens: slice.tokens.filter(|_| here).unwrap_or(0),
                cost: slice.cost.filter(|_| here).unwrap_or_default(),
            })
        })
    }

    /// What is left of `payer`'s account.
    pub(crate) fn left(&self, payer: Payer) -> Left {
        let account = self.account_of(payer);
        let used = account.spent.plus(self.reserved(payer));
        Left {
            handoffs: account.limits.handoffs.map(|most| most.saturating_sub(used.handoffs)),
            tokens: account.limits.tokens.map(|most| most.saturating_sub(used.tokens)),
            cost: account.limits.cost.map(|most| most.minus(used.cost)),
        }
    }

    /// Takes in what was used under the hold `fence`.
    pub(crate) fn used(&mut self, fence: Fence, usage: &Usage) {
        self.tokens_consumed = self.tokens_consumed.saturating_add(usage.tokens);
        self.charge(fence, usage);
    }

    /// Charges what was used under the hold `fence`. More than is left is not charged: it is told
    /// with the result, and no limit is passed by it.
    fn charge(&mut self, fence: Fence, usage: &Usage) {
        let payer = self.payer(fence);
        let left = self.left(payer);
        let spent = &mut self.account_mut(payer).spent;
        let tokens = left.tokens.map_or(usage.tokens, |left| usage.tokens.min(left));
        let cost = left.cost.map_or(usage.cost, |left| usage.cost.min(left));
        *spent = spent.plus(Spent { handoffs: 0, tokens, cost });
    }

    /// Counts a handoff that was begun under the hold `fence`.
    pub(crate) fn count_handoff(&mut self, fence: Fence) {
        let payer = self.hop_payer(self.payer(fence));
        let spent = &mut self.account_mut(payer).spent;
        spent.handoffs = spent.handoffs.saturating_add(1);
    }

    /// Gives what a part that ends has used to the account above it. Its slice is free again once
    /// its hold is gone.
    pub(crate) fn settle(&mut self, fence: Fence) {
        let part = Payer::Part(fence);
        let Some(account) = self.holds.get(&fence).and_then(|hold| hold.account) else { return };
        let above = self.above_payer(part).filter(|_| fence != self.owner);
        if let Some(hold) = self.holds.get_mut(&fence) {
            hold.account = None;
        }
        let above = above.unwrap_or(Payer::Work);
        let spent = &mut self.account_mut(above).spent;
        *spent = spent.plus(Spent { handoffs: 0, ..account.spent });
        // Handoffs count against the nearest account that limits them.
        let hops = self.hop_payer(above);
        let spent = &mut self.account_mut(hops).spent;
        *spent = spent.plus(Spent { handoffs: account.spent.handoffs, ..Spent::default() });
    }

    /// Who may be asked while no more agents may take part; nothing if another may. `asked` is who
    /// was asked so far, unless that is a person: people do not count.
    pub(crate) fn only_members(&self, asked: Option<&AgentId>) -> Option<&BTreeSet<AgentId>> {
        let most = usize::try_from(self.account.limits.agents?).unwrap_or(usize::MAX);
        let more = asked.is_some_and(|asked| !self.members.contains(asked));
        let all = self.members.len() + usize::from(more);
        (all >= most).then_some(&self.members)
    }
}

/// Whether a handoff's holder gets an account of its own.
pub(crate) fn is_part(handoff: &Handoff) -> bool {
    match &handoff.terms.kind {
        Kind::Delegation(_) => true,
        Kind::Broadcast(copy) => copy.back.is_some(),
        Kind::Sequential | Kind::Escalation(_) => false,
    }
}
