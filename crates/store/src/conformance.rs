//! The meaning of the [`Ledger`] trait: stories that every ledger must tell alike.
//!
//! They use real commands and the real rules. A ledger that passes them keeps its promises as far
//! as its callers can tell; what only its own disk can show (power cuts, failing calls) is tested
//! beside it.

use std::sync::Arc;

use crate::ledger::Ledger;

mod answers;
pub(crate) mod desk;
mod past;
mod repeats;
mod work;

pub use answers::{
    a_command_is_recorded_whole_and_in_order, a_decision_that_panics_harms_nobody_else,
    a_look_sees_every_answered_command, a_refusal_records_nothing, an_answer_is_durable,
    of_many_who_accept_exactly_one_does, streams_are_chained_each_by_itself,
    time_never_runs_back_in_the_record, what_is_over_or_unknown_is_refused_by_its_name,
    what_is_too_large_to_record_is_refused,
};
pub use desk::{Desk, handoff, request, submission, workflow};
pub use past::{
    a_body_comes_back_as_it_was, a_check_names_the_first_bad_record, a_state_comes_back_as_it_was,
    an_effect_is_lent_to_one_at_a_time_and_never_lost, history_sees_what_was_just_written,
    records_are_counted_by_type_and_pair, what_an_id_begins_with_finds_it,
    whoever_listens_hears_of_every_record, workflows_are_listed_live_and_closed,
};
pub use repeats::{
    a_command_that_many_ask_at_once_is_recorded_once, a_repeated_command_is_answered_as_before,
    a_stream_that_remembers_no_more_still_answers_as_before,
};
pub use work::{Step, agents, story};

/// A ledger that can be stopped, started and spoilt, as the stories need it.
pub trait Bench: Send + Sync {
    /// The ledger as it is now.
    fn ledger(&self) -> Arc<dyn Ledger>;

    /// Stops the ledger and starts it again. What was answered must survive.
    fn restart(&mut self, how: Stop);

    /// Changes a byte in the middle of a record, as a meddler would.
    fn spoil(&mut self, seq: u64);
}

/// How a ledger is stopped. One that knows no difference takes all of them alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It is closed.
    Clean,
    /// Whatever was not durable is gone.
    PowerCut,
    /// It is closed, and what only speeds up questions about the past is deleted.
    WithoutIndex,
}

/// All ways to stop a ledger.
pub const STOPS: [Stop; 3] = [Stop::Clean, Stop::PowerCut, Stop::WithoutIndex];

/// Makes a test of every story, told to the ledger that `$bench` makes.
#[macro_export]
macro_rules! conformance {
    ($bench:expr) => {
        $crate::conformance! { $bench;
            a_body_comes_back_as_it_was
            a_check_names_the_first_bad_record
            a_command_is_recorded_whole_and_in_order
            a_command_that_many_ask_at_once_is_recorded_once
            a_decision_that_panics_harms_nobody_else
            a_look_sees_every_answered_command
            a_refusal_records_nothing
            a_repeated_command_is_answered_as_before
            a_state_comes_back_as_it_was
            a_stream_that_remembers_no_more_still_answers_as_before
            an_answer_is_durable
            an_effect_is_lent_to_one_at_a_time_and_never_lost
            history_sees_what_was_just_written
            of_many_who_accept_exactly_one_does
            records_are_counted_by_type_and_pair
            streams_are_chained_each_by_itself
            time_never_runs_back_in_the_record
            what_an_id_begins_with_finds_it
            what_is_over_or_unknown_is_refused_by_its_name
            what_is_too_large_to_record_is_refused
            whoever_listens_hears_of_every_record
            workflows_are_listed_live_and_closed
        }
    };
    ($bench:expr; $($story:ident)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $story() {
                $crate::conformance::$story($crate::conformance::Desk::new($bench)).await;
            }
        )*
    };
}
