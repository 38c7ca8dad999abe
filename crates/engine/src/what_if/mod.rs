//! What if other rules had been in force: recorded handoffs, decided again under another policy.
//!
//! The ledger is read once, record by record, into two worlds: the one that was, and the one that
//! the same records tell when the other policy is in force, which gives work other limits and opens
//! circuit breakers at other times. Each handoff is decided by itself right before it was recorded;
//! what would have come of a difference is not told, because nobody knows what the agents would
//! have done.

mod rebuild;
mod verdict;

use std::collections::HashSet;

use baton_protocol::command::Submission;
use baton_protocol::event::{Event, StreamId};
use baton_protocol::id::WorkflowId;
use baton_protocol::limits::WHAT_IF_ROWS_MAX;
use baton_protocol::policy::Policy;
use baton_protocol::time::Timestamp;
use baton_protocol::{World, begun_under, decide, evolve};
use baton_store::{Filter, Record};

use crate::engine::Engine;
use crate::judge::{self, Rules, check_policy};
use crate::query::QueryError;
use crate::replay::{AsOf, Reader};
use crate::view::{WhatIf, WhatIfRow};

use rebuild::rebuilt;
use verdict::{Begun, Verdict, verdicts};

/// How far back it looks when nobody says, in microseconds: a week.
const SINCE_MICROS: i64 = 7 * 24 * 60 * 60 * 1_000_000;

impl Engine {
    /// Decides the handoffs that were recorded since a moment again, under another policy, and
    /// lists what would differ. Nothing is recorded.
    pub async fn what_if(
        &self,
        policy: Policy,
        since: Option<Timestamp>,
    ) -> Result<WhatIf, QueryError> {
        check_policy(&policy)?;
        let week = Timestamp::from_micros(self.clock.now().as_micros() - SINCE_MICROS);
        let mut tale = Tale::new(policy, since.unwrap_or(week));
        // What is recorded meanwhile is not asked about.
        let last = AsOf::Record(self.ledger.condition().records);
        let mut reader = Reader::new(self, Some(last), Filter::default());
        let mut together: Vec<Record> = Vec::new();
        while let Some(record) = reader.next().await? {
            // The records of one command stand side by side.
            let apart = together.first().is_some_and(|first| {
                first.command != record.command || first.stream != record.stream
            });
            if apart {
                tale.go_on(&together);
                together.clear();
            }
            together.push(record);
        }
        tale.go_on(&together);
        Ok(tale.found)
    }
}

/// History as it was, and as another policy sees it.
struct Tale {
    since: Timestamp,
    policy: Policy,
    rules: Rules,
    was: World,
    other: World,
    /// Work of which only stubs are left: nothing of it may come to life.
    pruned: HashSet<WorkflowId>,
    found: WhatIf,
}

impl Tale {
    fn new(policy: Policy, since: Timestamp) -> Self {
        let mut other = World::default();
        other.policy = policy.clone();
        Self {
            since,
            rules: Rules::of(&policy),
            policy,
            was: World::default(),
            other,
            pruned: HashSet::new(),
            found: WhatIf { since, ..WhatIf::default() },
        }
    }

    /// Takes the records of the next command: decides it again if it passed something on, and lets
    /// what was recorded happen.
    fn go_on(&mut self, records: &[Record]) {
        if records.first().is_some_and(|record| record.at >= self.since)
            && let Some(ask) = rebuilt(&self.was, records)
        {
            self.decide_again(&ask, records);
        }
        for record in records {
            self.happen(record);
        }
    }

    fn decide_again(&mut self, ask: &rebuild::Rebuilt, records: &[Record]) {
        let Some(first) = records.first() else { return };
        let told = verdicts(records.iter().map(|record| &record.event));
        self.found.handoffs += told.len() as u64;
        let again = decide(&self.was, &ask.as_it_was, first.at);
        // If not even its own rules decide it as they did, it was not understood.
        if again.map(|decision| verdicts(decision.events.iter())) != Ok(told.clone()) {
            self.found.untold += told.len() as u64;
            return;
        }
        let would = self.under_the_other(&ask.plain, first.at);
        for begun in &told {
            let would = match &would {
                Err(refused) => refused.clone(),
                Ok(would) => {
                    let same = would.iter().find(|other| other.handoff == begun.handoff);
                    same.map_or_else(|| begun.verdict.clone(), |same| same.verdict.clone())
                }
            };
            self.compare(records, begun, would);
        }
    }

    fn under_the_other(&self, ask: &Submission, now: Timestamp) -> Result<Vec<Begun>, Verdict> {
        match judge::decided(&self.rules, &self.other, ask, now) {
            Ok(decision) => Ok(verdicts(decision.events.iter())),
            Err(refusal) => Err(Verdict::Refused(Box::new(refusal))),
        }
    }

    fn compare(&mut self, records: &[Record], begun: &Begun, would: Verdict) {
        if begun.verdict == would {
            self.found.same += 1;
            return;
        }
        let kind = format!("{} -> {would}", begun.verdict);
        *self.found.by_kind.entry(kind).or_default() += 1;
        self.found.differ += 1;
        let home = |record: &Record| match record.stream {
            StreamId::Workflow(id) => Some(id),
            StreamId::Agent(_) | StreamId::Workspace => None,
        };
        let of_it = |record: &&Record| match &record.event {
            Event::Initiated { terms, .. } => terms.id == begun.handoff,
            _ => false,
        };
        let Some(record) = records.iter().find(of_it) else { return };
        let (Some(workflow), true) = (home(record), self.found.rows.len() < WHAT_IF_ROWS_MAX)
        else {
            return;
        };
        self.found.rows.push(WhatIfRow {
            seq: record.seq,
            at: record.at,
            workflow,
            handoff: begun.handoff,
            from_agent: begun.from.clone(),
            to_agent: begun.to.clone(),
            then: begun.verdict.to_string(),
            would: would.to_string(),
            code: would.code().map(str::to_owned),
            why: would.why(),
        });
    }

    /// Lets a record happen in both worlds.
    fn happen(&mut self, record: &Record) {
        let Record { stream, event, at, .. } = record;
        if let StreamId::Workflow(id) = stream {
            if let Event::Pruned { .. } = event {
                self.pruned.insert(*id);
            }
            if self.pruned.contains(id) {
                return;
            }
        }
        let other = begun_under(&self.policy, &self.was.policy, event);
        evolve(&mut self.was, stream, event, *at);
        match event {
            // The other policy is in force all the time.
            Event::PolicySet { .. } => (),
            event => evolve(&mut self.other, stream, other.as_ref().unwrap_or(event), *at),
        }
    }
}
