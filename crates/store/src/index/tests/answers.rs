//! Questions and their answers, compared with a plain search through the records.

use super::*;

/// The records of a story with their places and the times that the index keeps.
fn told(bench: &mut Bench, records: &[Record]) -> Vec<(u64, Position, Record)> {
    let mut latest = i64::MIN;
    let mut all = Vec::new();
    for record in records {
        let (seq, position) = bench.append(record);
        latest = latest.max(record.at);
        all.push((seq, position, Record { at: latest, ..record.clone() }));
    }
    all
}

fn passes(filter: &Filter, seq: u64, record: &Record) -> bool {
    let is = |asked: &Option<String>, found: &Option<String>| asked.is_none() || asked == found;
    let id =
        |asked: &Option<[u8; 16]>, found: Option<u8>| asked.is_none() || *asked == found.map(uuid);
    id(&filter.workflow, record.workflow)
        && id(&filter.handoff, record.handoff)
        && id(&filter.command, record.command)
        && is(&filter.from, &record.from)
        && is(&filter.to, &record.to)
        && is(&filter.file, &record.file)
        && (is(&filter.agent, &record.from) || is(&filter.agent, &record.to))
        && (filter.kinds.is_empty() || filter.kinds.contains(&record.kind))
        && filter.since.is_none_or(|time| record.at >= time)
        && filter.until.is_none_or(|time| record.at < time)
        && filter.after_seq.is_none_or(|after| seq > after)
        && filter.before_seq.is_none_or(|before| seq < before)
}

#[test]
fn every_filter_finds_what_a_search_through_the_log_finds() {
    let mut bench = Bench::new();
    let all = told(&mut bench, &story(12));
    let follower = bench.follow();
    follower.wait_for(all.len() as u64).unwrap();
    let text = |text: &str| Some(text.to_owned());
    let kinds = |kinds: &[&str]| kinds.iter().map(|&kind| kind.to_owned()).collect::<Vec<_>>();
    let base = Filter::default;
    let filters = [
        base(),
        Filter { workflow: Some(uuid(2)), ..base() },
        Filter { workflow: Some(uuid(2)), kinds: kinds(&["accepted"]), ..base() },
        Filter { handoff: Some(uuid(7)), ..base() },
        Filter { handoff: Some(uuid(7)), workflow: Some(uuid(3)), from: text("builder"), ..base() },
        Filter { workflow: Some(uuid(2)), command: Some(uuid(1)), ..base() },
        Filter { from: text("planner"), ..base() },
        Filter { to: text("builder"), ..base() },
        Filter { from: text("planner"), to: text("builder"), ..base() },
        Filter { agent: text("reviewer"), ..base() },
        Filter { file: text("2.md"), ..base() },
        Filter { file: text("2.md"), kinds: kinds(&["accepted"]), ..base() },
        Filter { file: text("none.md"), ..base() },
        Filter { agent: text("reviewer"), kinds: kinds(&["seen", "initiated"]), ..base() },
        Filter { kinds: kinds(&["seen", "returned", "seen", "unheard of"]), ..base() },
        Filter { kinds: kinds(&["unheard of"]), ..base() },
        Filter { from: text("nobody"), ..base() },
        Filter { workflow: Some(uuid(99)), ..base() },
        Filter { after_seq: Some(5), before_seq: Some(30), ..base() },
        Filter { after_seq: Some(u64::MAX), ..base() },
    ];
    for filter in filters {
        for (since, until) in [(None, None), (Some(1_050), Some(1_200)), (Some(9_999), None)] {
            for (limit, newest_first) in [(0, false), (3, false), (3, true), (0, true)] {
                let filter = Filter { since, until, limit, newest_first, ..filter.clone() };
                let mut expected: Vec<(u64, Position)> = all
                    .iter()
                    .filter(|(seq, _, record)| passes(&filter, *seq, record))
                    .map(|(seq, position, _)| (*seq, *position))
                    .collect();
                if newest_first {
                    expected.reverse();
                }
                expected.truncate(if limit == 0 { usize::MAX } else { limit as usize });
                assert_eq!(follower.index().records(&filter).unwrap(), expected, "{filter:?}");
            }
        }
    }
}

#[test]
fn ids_are_found_by_how_they_begin() {
    let mut bench = Bench::new();
    told(&mut bench, &story(12));
    let follower = bench.follow();
    follower.wait_for(48).unwrap();
    let index = follower.index();
    let found = |prefix: &str| {
        let mut ids: Vec<u8> =
            index.find_handoffs(prefix).unwrap().iter().map(|row| row.uuid[15]).collect();
        ids.sort_unstable();
        ids
    };
    assert_eq!(found("0"), [0, 1, 10, 11]);
    assert_eq!(found("00"), [0, 1]);
    assert_eq!(found("35"), [2, 3]);
    assert_eq!(found("350"), [2, 3]);
    assert_eq!(found("3503"), [3]);
    assert_eq!(found("d"), [8, 9]);
    assert_eq!(found("D40909"), [9]);
    assert_eq!(found("d4090909-0909-0909-0909-090909090909"), [9]);
    assert_eq!(found("d4090909-0909-0909-0909-09090909090a"), [0_u8; 0]);
    for wrong in ["", "-", "xyz", "d40909090909090909090909090909090", "ä"] {
        let error = index.find_workflows(wrong).unwrap_err();
        assert!(matches!(error, IndexError::Prefix { .. }), "{wrong}");
    }
    let row = &index.find_handoffs("3503").unwrap()[0];
    assert_eq!(
        (row.workflow, row.state.as_deref(), row.first_seq),
        (Some(uuid(1)), Some("closed"), 13)
    );
    assert_eq!((row.from.as_deref(), row.to.as_deref()), (Some("planner"), Some("reviewer")));
}

#[test]
fn workflows_are_listed_newest_first_by_page_and_know_their_end() {
    let mut bench = Bench::new();
    told(&mut bench, &story(12));
    let follower = bench.follow();
    follower.wait_for(48).unwrap();
    let index = follower.index();
    let ids = |page| {
        let rows = index.workflows(page).unwrap();
        rows.iter().map(|row| row.uuid[15]).collect::<Vec<_>>()
    };
    assert_eq!(ids(WorkflowPage::default()), [5, 4, 3, 2, 1, 0]);
    assert_eq!(ids(WorkflowPage { open: Some(true), ..Default::default() }), [4, 2, 0]);
    assert_eq!(ids(WorkflowPage { open: Some(false), limit: 2, ..Default::default() }), [5, 3]);
    assert_eq!(ids(WorkflowPage { before: Some(17), ..Default::default() }), [1, 0]);
    assert_eq!(index.workflow_closed(&uuid(1)).unwrap().as_deref(), Some("completed"));
    assert_eq!(index.workflow_closed(&uuid(0)).unwrap(), None);
    assert_eq!(index.workflow_closed(&uuid(77)).unwrap(), None);
    let row = index.find_workflows(&"0".repeat(32)).unwrap().remove(0);
    assert_eq!((row.title.as_deref(), row.started), (Some("work 0"), 1_010));
    assert_eq!((row.first_seq, row.head_seq, row.closed), (1, 7, None));
}

#[test]
fn counts_are_kept_by_kind_and_pair() {
    let mut bench = Bench::new();
    let all = told(&mut bench, &story(12));
    let follower = bench.follow();
    // Counted across several transactions.
    for seq in [5, 6, 48] {
        follower.wait_for(seq).unwrap();
    }
    let counts = follower.index().counts().unwrap();
    assert_eq!(counts.iter().map(|tally| tally.count).sum::<u64>(), 48);
    for tally in counts {
        let same = all.iter().filter(|(_, _, record)| {
            (&record.kind, &record.from, &record.to) == (&tally.kind, &tally.from, &tally.to)
        });
        assert_eq!(same.count() as u64, tally.count, "{tally:?}");
    }
}
