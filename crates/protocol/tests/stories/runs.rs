//! Work that Baton itself brings to commands and web services.

use baton_protocol::effect::Effect;
use expect_test::expect;
use serde_json::{Value, json};

use crate::teller::check;

/// How an agent is reached, in the words of a story.
pub(crate) fn reached(by: Option<&str>) -> Value {
    match by {
        Some("command") => json!({ "command": { "argv": ["work"] } }),
        Some("service") => json!({ "http": { "url": "https://example.org" } }),
        Some(other) => panic!("nobody is reached by {other}"),
        None => json!("pull"),
    }
}

/// What follows for those that Baton reaches by itself.
pub(crate) fn brought(effects: &[Effect]) -> String {
    let told = effects.iter().filter_map(|effect| match effect {
        Effect::Notify { .. } => None,
        Effect::Announce { .. } => Some("; tell people".to_owned()),
        Effect::Accept { agent, .. } => Some(format!("; accept for {agent}")),
        Effect::Run { agent, fence, .. } => Some(format!("; run {agent} under fence {fence}")),
        Effect::Call { agent, .. } => Some(format!("; call {agent}")),
        Effect::Check { fence, .. } => Some(format!("; check fence {fence}")),
    });
    told.collect()
}

#[test]
fn a_command_is_accepted_for_and_then_run_each_time_it_has_room() {
    check(
        "
        0s operator registers smith knowing iron as command
        0s planner starts
        1s planner delegates to smith within 20s retrying fence 1
        2s smith accepts h1
        3s planner delegates to smith within 1h fence 1
        22s time passes
        32s time passes
        33s time passes
        34s time passes
        ",
        expect![[r#"
            0s registered
            0s started by planner
            1s h1 delegation to smith answer by 31s; accept for smith
            2s h1 accepted by smith fence 2 back by 22s; run smith under fence 2
            3s h2 delegation to smith answer by 3603s queued
            22s h1 reminded, timeout at 32s
            32s h1 timed out, fence 2 ends, again at 34s
            33s h2 sent again; accept for smith
            34s h1 sent again; accept for smith
        "#]],
    );
}

#[test]
fn a_service_that_is_not_reached_is_called_three_times_more_and_then_another_is_asked() {
    check(
        "
        0s operator registers smith knowing iron as service
        0s operator registers welder knowing iron as command
        0s planner starts
        1s planner delegates to smith within 1h needing iron fence 1
        2s smith misses smith with h1
        2s coordinator misses welder with h1
        2s coordinator misses smith with h1
        3s coordinator misses smith with h1
        3s time passes
        4s time passes
        5s coordinator misses smith with h1
        9s time passes
        10s coordinator misses smith with h1
        18s time passes
        19s coordinator misses smith with h1
        20s welder accepts h1
        ",
        expect![[r#"
            0s registered
            0s registered
            0s started by planner
            1s h1 delegation to smith answer by 31s; call smith
            2s refused [coordinator-only]: only the coordinator itself may ask this
            2s nothing new
            2s h1 did not get to smith, again at 4s
            3s nothing new
            3s nothing is due
            4s h1 sent again; call smith
            5s h1 did not get to smith, again at 9s
            9s h1 sent again; call smith
            10s h1 did not get to smith, again at 18s
            18s h1 sent again; call smith
            19s h1 rejected by smith: no answer, h1 rerouted to welder answer by 49s on
                timeout; accept for welder
            20s h1 accepted by welder fence 2 back by 3620s; run welder under fence 2
        "#]],
    );
}
