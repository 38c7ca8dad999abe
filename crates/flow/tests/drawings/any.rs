//! Whatever the workflow and whatever was said in it, every drawing is well formed.

use baton_flow::{Flow, FlowBroadcast, FlowHandoff, FlowKind, FlowStatus, FlowTry, Standing};
use baton_flow::{dot, mermaid, svg};
use baton_protocol::handoff::{Aggregation, ReturnStatus};
use baton_protocol::id::GroupId;
use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;

use crate::cast;
use crate::in_terminal;

/// What somebody could say to break out of a drawing.
const WORDS: [&str; 14] = [
    "the design is done",
    "",
    "\"quoted\" and 'single'",
    "</text><script>alert(1)</script>",
    "]]> <!-- & &amp; &#x; %%{init: {}}%%",
    "a\\ b\\\" c\\",
    "line one\nline two\r\n\tline three",
    "\u{202e}backwards\u{2066} \u{200b}\u{feff}\u{ffff}",
    "日本語のとても長い題名がここに入ります、もっと長くなります",
    "`code` #quot; |pipe| {a} [b] (c) --> end; subgraph",
    "averylongwordwithoutanyplacetobreakitanywhereinsideofit-and-more-of-it-still",
    "e\u{301}\u{301} 👩‍👩‍👧 ﷽",
    "digraph { a -> b } // x",
    "\u{1b}[31mred\u{7}",
];

fn word() -> impl Strategy<Value = String> {
    proptest::sample::select(WORDS.as_slice()).prop_map(str::to_owned)
}

fn handoff() -> impl Strategy<Value = FlowHandoff> {
    let kinds =
        [FlowKind::Sequential, FlowKind::Delegation, FlowKind::Broadcast, FlowKind::Escalation];
    let standings = [
        Standing::Completed,
        Standing::Held,
        Standing::Waiting,
        Standing::Rejected,
        Standing::Failed,
        Standing::Cancelled,
    ];
    let who = (0..30_u8, 0..30_u8, 0..30_u8);
    let how =
        (proptest::sample::select(kinds.to_vec()), proptest::sample::select(standings.to_vec()));
    let said = (word(), word(), proptest::collection::vec(word(), 0..3));
    let times = (0..4_u8, 0..4_u8, any::<bool>(), proptest::option::of(0..4_u8));
    (who, how, said, times).prop_map(|(who, how, said, times)| {
        let name = |number: u8| format!("agent-{number}");
        let mut one = cast::handoff(1, &name(who.0), &name(who.1), how.0);
        one.standing = how.1;
        one.detail = Some(format!("rejected: {}", said.1));
        (one.resends, one.reroutes) = (times.0, times.1);
        if times.1 > 2 {
            let agent = name(who.2).parse().expect("a name");
            let tried =
                FlowTry { agent, ended: "rejected".to_owned(), reason: Some(said.1.clone()) };
            one.tries.push(tried);
        }
        one.artifacts = said.2.clone();
        let paths: Vec<&str> = said.2.iter().map(String::as_str).collect();
        one.returned = times.2.then(|| cast::back(ReturnStatus::Partial, &paths, Some(&said.1)));
        one.group = times.3.map(|group| GroupId::from_bytes([group; 16]));
        one.reason = said.0;
        one
    })
}

/// A workflow of up to `most` handoffs.
fn flow(most: usize) -> impl Strategy<Value = Flow> {
    let handoffs = proptest::collection::vec(handoff(), 0..most);
    (word(), handoffs, any::<bool>()).prop_map(|(title, handoffs, over)| {
        let mut flow = cast::bare(&title);
        flow.handoffs = handoffs;
        for (number, handoff) in (1..).zip(&mut flow.handoffs) {
            handoff.number = number;
        }
        flow.broadcasts = (0..4)
            .map(|group| FlowBroadcast {
                group: GroupId::from_bytes([group; 16]),
                aggregation: Aggregation::All,
                expected: 3,
                successes: 1,
                failures: 1,
                success: None,
            })
            .collect();
        if over {
            flow.status = FlowStatus::Cancelled;
            let by = flow.started_by.clone();
            flow.ended = Some(baton_flow::FlowEnd { at: cast::at(9), by, words: Some(title) });
        }
        cast::with_agents(flow)
    })
}

fn check(flow: &Flow) -> Result<(), TestCaseError> {
    let drawn = svg(flow);
    let read = roxmltree::Document::parse(&drawn);
    let document = read.map_err(|error| TestCaseError::fail(format!("{error}\n{drawn}")))?;
    for node in document.descendants().filter(roxmltree::Node::is_element) {
        let name = node.tag_name().name();
        prop_assert!(!["script", "foreignObject", "a", "image", "use"].contains(&name), "{}", name);
        for attribute in node.attributes() {
            prop_assert!(!attribute.name().starts_with("on") && attribute.name() != "href");
        }
    }
    let drawn = mermaid(flow);
    prop_assert!(!drawn.contains("%%{"), "{}", drawn);
    for line in drawn.lines().skip(2) {
        prop_assert!(line.matches('"').count() % 2 == 0, "{}", line);
        prop_assert!(!line.contains('\\'), "{}", line);
    }
    let drawn = dot(flow);
    let (mut open, mut escaped) = (false, false);
    for c in drawn.chars() {
        prop_assert!(!(open && c == '\n'), "{}", drawn);
        prop_assert!(open || c.is_ascii(), "{}", drawn);
        open ^= c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
    }
    prop_assert!(!open, "{}", drawn);
    for width in [60, 80, 140] {
        let drawn = in_terminal(flow, width);
        for line in drawn.lines() {
            let columns: usize = line.chars().map(|c| c.to_string().width()).sum();
            prop_assert!(columns <= width, "{} of {}:\n{}", columns, width, drawn);
            prop_assert!(!line.chars().any(char::is_control), "{:?}", line);
        }
    }
    Ok(())
}

/// So many cases, and no file about those that failed.
fn bounded(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(bounded(64))]

    #[test]
    fn a_small_workflow_is_well_formed_in_every_drawing(flow in flow(12)) {
        check(&flow)?;
    }
}

proptest! {
    #![proptest_config(bounded(6))]

    #[test]
    fn a_large_workflow_is_well_formed_in_every_drawing(flow in flow(200)) {
        check(&flow)?;
    }
}
