//! Drawings of small stories, as they are in `pictures/`. `UPDATE_EXPECT=1` writes them anew.

mod any;
mod cast;

use baton_flow::{Flow, FlowKind, Standing, dot, mermaid, svg, terminal};
use expect_test::expect_file;

fn in_terminal(flow: &Flow, width: usize) -> String {
    anstream::adapter::strip_str(&terminal(flow, width)).to_string()
}

#[test]
fn a_pipeline_with_a_retry_a_broadcast_a_question_and_a_no() {
    let flow = cast::pipeline();
    expect_file!["pictures/pipeline.txt"].assert_eq(&in_terminal(&flow, 80));
    expect_file!["pictures/pipeline.mmd"].assert_eq(&mermaid(&flow));
    expect_file!["pictures/pipeline.dot"].assert_eq(&dot(&flow));
    expect_file!["pictures/pipeline.svg"].assert_eq(&svg(&flow));
}

#[test]
fn work_that_goes_on_shows_who_has_it_and_what_waits() {
    let flow = cast::open();
    expect_file!["pictures/open.txt"].assert_eq(&in_terminal(&flow, 80));
    expect_file!["pictures/open.svg"].assert_eq(&svg(&flow));
}

#[test]
fn much_work_is_drawn_together_and_said_so() {
    let flow = cast::large(60, 300);
    expect_file!["pictures/large.txt"].assert_eq(&in_terminal(&flow, 80));
    expect_file!["pictures/large.mmd"].assert_eq(&mermaid(&flow));
    expect_file!["pictures/large.svg"].assert_eq(&svg(&flow));
}

#[test]
fn work_without_handoffs_has_a_picture_too() {
    let flow = cast::with_agents(cast::bare("Nothing yet"));
    expect_file!["pictures/bare.txt"].assert_eq(&in_terminal(&flow, 80));
}

#[test]
fn work_that_goes_round_is_drawn_round() {
    let mut flow = cast::bare("Fix the build");
    let pass = |number, from, to| cast::handoff(number, from, to, FlowKind::Sequential);
    flow.handoffs = vec![
        pass(1, "operator", "builder"),
        pass(2, "builder", "tester"),
        pass(3, "tester", "builder"),
        pass(4, "builder", "tester"),
        pass(5, "tester", "tester"),
        pass(6, "tester", "operator"),
    ];
    flow.handoffs[4].standing = Standing::Held;
    let flow = cast::with_agents(flow);
    expect_file!["pictures/round.txt"].assert_eq(&in_terminal(&flow, 80));
    expect_file!["pictures/round.svg"].assert_eq(&svg(&flow));
}

#[test]
fn every_standing_has_a_sign_and_a_word_of_its_own() {
    let all = [
        Standing::Completed,
        Standing::Held,
        Standing::Suspended,
        Standing::Waiting,
        Standing::Approval,
        Standing::Rejected,
        Standing::Failed,
        Standing::PassedOn,
        Standing::Cancelled,
    ];
    let mut flow = cast::bare("All of them");
    for (number, standing) in (1..).zip(all) {
        let to = format!("agent-{number}");
        let mut one = cast::handoff(number, "operator", &to, FlowKind::Delegation);
        one.standing = standing;
        flow.handoffs.push(one);
    }
    expect_file!["pictures/standings.svg"].assert_eq(&svg(&cast::with_agents(flow)));
    let told: std::collections::BTreeSet<_> =
        all.iter().flat_map(|one| [one.sign().to_string(), one.word().to_owned()]).collect();
    assert_eq!(told.len(), 2 * all.len());
}
