//! Every limit on what comes from outside, in one place.
//!
//! Over a limit means a clear refusal and nothing recorded. Two only shorten an answer: the rows of
//! one page, and the wait in one request.

use crate::time::Allowance;

/// Bytes of an agent, capability or variable name.
pub const NAME_BYTES_MAX: usize = 64;
/// Bytes of a title, a reason, a rationale or a note.
pub const TEXT_BYTES_MAX: usize = 4 * 1024;
/// Bytes of one variable's value as JSON.
pub const VALUE_BYTES_MAX: usize = 16 * 1024;
/// Bytes of a result as JSON, and of what travels of a conversation.
pub const BODY_BYTES_MAX: usize = 1024 * 1024;
/// A body above this many bytes is kept beside the ledger as a blob and named by its hash.
pub const BODY_INLINE_BYTES_MAX: usize = 4 * 1024;
/// Bytes of one request as it arrives, before anything is parsed.
pub const REQUEST_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Nesting of arrays and objects in JSON from outside.
pub const JSON_DEPTH_MAX: usize = 64;
/// Messages of a conversation as it comes.
pub const HISTORY_MESSAGES_MAX: usize = 20_000;
/// Bytes of a conversation as it comes, as JSON.
pub const HISTORY_BYTES_MAX: usize = 6 * 1024 * 1024;
/// How long a summariser has to answer, unless the configuration says otherwise.
pub const SUMMARISER_WITHIN: Allowance = Allowance::from_secs(30);
/// Summarisers that run at once; the others wait their turn.
pub const SUMMARISERS_AT_ONCE: usize = 4;
/// Variables of one workflow.
pub const VARIABLES_MAX: usize = 256;
/// Artifacts of one workflow.
pub const ARTIFACTS_MAX: usize = 512;
/// Tokens of a compact handoff artifact, as it is written.
pub const COMPACT_TOKENS_MAX: usize = 500;
/// Compact artifacts that are kept; the oldest goes when there is one more.
pub const COMPACT_KEPT_MAX: usize = 3;
/// Decisions that a compact artifact tells of.
pub const COMPACT_DECISIONS_MAX: usize = 5;
/// Files that a compact artifact names.
pub const COMPACT_FILES_MAX: usize = 10;
/// Blockers that a compact artifact tells of.
pub const COMPACT_BLOCKERS_MAX: usize = 3;
/// Bytes of a compact artifact that somebody else wrote, comments included.
pub const COMPACT_BYTES_MAX: usize = 64 * 1024;
/// Bytes of an agent's profile that is read for a switch.
pub const PROFILE_BYTES_MAX: usize = 1024 * 1024;
/// Bytes of one line of a transcript; a longer one is skipped and counted.
pub const TRANSCRIPT_LINE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Handoffs of one workflow that are not over.
pub const OPEN_HANDOFFS_MAX: usize = 256;
/// Handoffs of one workflow in all: a bound for memory. The guardrail for people is far lower.
pub const HANDOFFS_MAX: usize = 4_096;
/// Handoffs that the agents of one workflow may begin, unless its policy or class says otherwise.
pub const HANDOFFS_PER_WORKFLOW: u32 = 5;
/// The most that anybody can raise that to.
pub const HANDOFFS_ALLOWED_MAX: u32 = 4_096;
/// Rules of a policy that make handoffs wait for a person.
pub const APPROVAL_RULES_MAX: usize = 64;
/// Prices in a policy.
pub const PRICES_MAX: usize = 256;
/// Notifiers in a policy.
pub const NOTIFIERS_MAX: usize = 8;
/// Tokens that one return, pass or completion can say were used.
pub const TOKENS_USED_MAX: u64 = 1_000_000_000_000;
/// Definitions of a workspace, every version of each.
pub const DEFINITIONS_MAX: usize = 256;
/// Bytes of what travels with a handoff that a rule begins, as JSON.
pub const PAYLOAD_BYTES_MAX: usize = 64 * 1024;
/// Bytes of the name that Baton gives to an error.
pub const ERROR_TYPE_BYTES_MAX: usize = 64;
/// Failures of one workflow that are remembered; the oldest go.
pub const FAILURES_KEPT_MAX: usize = 16;
/// States that a workflow was in that are remembered; the oldest go.
pub const MOVES_KEPT_MAX: usize = 64;
/// Bytes of a definition as JSON, in which it is recorded.
pub const DEFINITION_JSON_BYTES_MAX: usize = 2 * DEFINITION_BYTES_MAX;
/// How often a step that failed is tried again at most.
pub const RETRIES_MAX: u8 = 10;
/// Moves that follow from each other by themselves, one at once after the other.
pub const MOVES_AT_ONCE_MAX: usize = 8;
/// Failures in a row that open the circuit breaker of an agent.
pub const BREAKER_FAILURES: u8 = 3;
/// How long a circuit breaker stays open before one handoff is let through.
pub const BREAKER_COOL_DOWN: Allowance = Allowance::from_secs(60);
/// Handoffs of a workflow that are looked back on to find one that repeats.
pub const HOPS_REMEMBERED: usize = 3;
/// How long a holder that waits for a lock counts as waiting, unless it asks again.
pub const LOCK_WANTED_FOR: Allowance = Allowance::from_secs(60);
/// A holder that asks again with less than this left is written down again.
pub const LOCK_WANTED_AGAIN: Allowance = Allowance::from_secs(30);
/// Capabilities of an agent, or asked for by a handoff.
pub const CAPABILITIES_MAX: usize = 64;
/// Write scopes of an agent.
pub const SCOPES_MAX: usize = 64;
/// Agents of one workspace.
pub const AGENTS_MAX: usize = 10_000;
/// Tokens of one agent that are not revoked.
pub const TOKENS_MAX: usize = 32;
/// Bytes of a path that can be locked or is named by an artifact.
pub const PATH_BYTES_MAX: usize = 1_024;
/// Locks in one workspace.
pub const LOCKS_MAX: usize = 10_000;
/// Files that one holding can have locked: the record that ends it names them all.
pub const LOCKS_PER_HOLD_MAX: usize = 1_024;
/// Paths in one lock or unlock.
pub const LOCK_PATHS_MAX: usize = 256;
/// Workflows that one record of a prune names.
pub const PRUNED_WORKFLOWS_MAX: usize = 1_000;
/// Bytes of a rule in a policy.
pub const RULE_BYTES_MAX: usize = 1_024;
/// Words and signs of a rule: it is never deeper than it has of these.
pub const RULE_TOKENS_MAX: usize = 256;
/// Opening brackets of a rule: the parser takes most room for these.
pub const RULE_BRACKETS_MAX: usize = 32;
/// Additions in a rule: each makes a text or a list longer.
pub const RULE_ADDITIONS_MAX: usize = 8;
/// Entries of a list that a rule looks at.
pub const RULE_LIST_MAX: usize = 2_048;
/// Steps that a rule may take at worst.
pub const RULE_STEPS_MAX: usize = 1_000_000;
/// Steps that all rules of a policy together may take at worst, for one recipient.
pub const POLICY_STEPS_MAX: usize = 4 * RULE_STEPS_MAX;
/// Bytes of an expression in a workflow's definition.
pub const EXPRESSION_BYTES_MAX: usize = 2 * 1024;
/// Words and signs of such an expression.
pub const EXPRESSION_TOKENS_MAX: usize = 384;
/// Opening brackets of such an expression.
pub const EXPRESSION_BRACKETS_MAX: usize = 32;
/// Lists that such an expression goes over inside or after each other.
pub const EXPRESSION_NESTED_MAX: usize = 2;
/// Entries of a list or a map that such an expression looks at.
pub const EXPRESSION_LIST_MAX: usize = 2_048;
/// Bytes of a text that such an expression looks at.
pub const EXPRESSION_TEXT_BYTES_MAX: usize = 16 * 1024;
/// Steps that such an expression may take at worst with what it looks at.
pub const EXPRESSION_STEPS_MAX: usize = 1_000_000;
/// Steps that all expressions of one judgement may take together.
pub const JUDGEMENT_STEPS_MAX: usize = 4 * EXPRESSION_STEPS_MAX;
/// Bytes of a workflow's definition as it is written.
pub const DEFINITION_BYTES_MAX: usize = 128 * 1024;
/// Keys, values, lists and maps in the text of a workflow's definition.
pub const DEFINITION_NODES_MAX: usize = 16 * 1024;
/// Words and signs of all expressions of a workflow's definition; each expression counts as four
/// more.
pub const DEFINITION_TOKENS_MAX: usize = 12 * 1024;
/// Nesting of a workflow's definition.
pub const DEFINITION_DEPTH_MAX: usize = 64;
/// Agents of a workflow's definition.
pub const DEFINITION_AGENTS_MAX: usize = 64;
/// States of a workflow's definition.
pub const DEFINITION_STATES_MAX: usize = 256;
/// Rules of a workflow's definition.
pub const DEFINITION_RULES_MAX: usize = 256;
/// Signals that a workflow's definition declares.
pub const DEFINITION_SIGNALS_MAX: usize = 512;
/// Schemas that payloads of a workflow's definition refer to.
pub const DEFINITION_SCHEMAS_MAX: usize = 64;
/// Fields of one payload, and variables that one rule writes.
pub const DEFINITION_FIELDS_MAX: usize = 128;
/// Nodes of all schemas of a workflow's definition, each counted where it is referred to. A pattern
/// counts as 500, because to read one may take that long, and eight values of `enum` or `const` as
/// one.
pub const SCHEMA_NODES_MAX: usize = 20_000;
/// Differences that one answer to a what-if lists; the rest is counted.
pub const WHAT_IF_ROWS_MAX: usize = 1_000;
/// Words of a command that Baton starts.
pub const WORDS_MAX: usize = 64;
/// Bytes of one such word.
pub const WORD_BYTES_MAX: usize = 4 * 1024;
/// Bytes of an address on the web.
pub const URL_BYTES_MAX: usize = 2 * 1024;
/// Times that an unanswered or unreturned handoff is sent to the same agent again.
pub const RESENDS_MAX: u8 = 3;
/// Times that a handoff goes to another agent before a person is asked.
pub const REROUTES_MAX: u8 = 3;
/// Levels that a question climbs: reviewer, architect, person.
pub const ESCALATION_LEVELS_MAX: u8 = 3;
/// How often an agent that Baton reaches by itself is checked.
pub const HEALTH_EVERY: Allowance = Allowance::from_secs(60);
/// How long a health check may take before it has failed.
pub const HEALTH_WITHIN: Allowance = Allowance::from_secs(10);
/// Health checks in a row that fail before an agent counts as unhealthy.
pub const HEALTH_FAILURES_MAX: u8 = 3;
/// Heartbeats in a row that an agent may miss before it counts as unhealthy.
pub const HEARTBEATS_MISSED_MAX: u8 = HEALTH_FAILURES_MAX;
/// Bytes that are kept of what a command agent says while it works on one handoff.
pub const RUN_LOG_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Bytes of a run's standard output that can be its result; a longer one is cut and marked partial.
pub const RUN_RESULT_BYTES_MAX: usize = BODY_BYTES_MAX / 2;
/// Bytes of the end of a failed run's output that its result shows.
pub const RUN_TAIL_BYTES_MAX: usize = 2 * 1024;
/// Acceptance checks of one handoff.
pub const CHECKS_MAX: usize = 16;
/// How long a check may take, unless it says so itself.
pub const CHECK_WITHIN: Allowance = Allowance::from_secs(5 * 60);
/// The longest that a check can be given.
pub const CHECK_WITHIN_MAX: Allowance = Allowance::from_secs(60 * 60);
/// Returns of one handoff that may fail their checks; after the last it has failed.
pub const CHECK_ROUNDS_MAX: u8 = 3;
/// Returns whose checks run at once; the others wait their turn.
pub const CHECKS_AT_ONCE: usize = 4;
/// Commands that a policy lets agents use as checks.
pub const ALLOWED_CHECKS_MAX: usize = 64;
/// How long a run has between being asked to end and being killed.
pub const RUN_GRACE: Allowance = Allowance::from_secs(5);
/// How long the logs of runs are kept.
pub const RUN_LOGS_KEPT: Allowance = Allowance::from_secs(30 * 24 * 60 * 60);
/// Bytes of a log in one answer.
pub const LOG_PAGE_BYTES_MAX: usize = 64 * 1024;
/// How long a web service may take to answer one call, before it counts as not reached.
pub const CALL_WITHIN: Allowance = Allowance::from_secs(20);
/// Bytes of a web service's answer.
pub const CALL_ANSWER_BYTES_MAX: usize = BODY_BYTES_MAX;
/// Times that one call is sent on to another address.
pub const REDIRECTS_MAX: usize = 5;
/// Ranges and hosts that a workspace can allow to be called.
pub const ALLOWED_MAX: usize = 256;
/// Recipients of one broadcast.
pub const RECIPIENTS_MAX: usize = 64;
/// Bytes of a phase, a step or an open key.
pub const LABEL_BYTES_MAX: usize = 128;
/// Steps of one workflow that are done, or that remain.
pub const STEPS_MAX: usize = 256;
/// Open keys of one handoff, or open metrics of one workflow.
pub const OPEN_KEYS_MAX: usize = 64;
/// Bytes of all of them as JSON.
pub const OPEN_BYTES_MAX: usize = 16 * 1024;
/// Tasks that one agent can be set to hold at once.
pub const CONCURRENT_TASKS_MAX: u32 = 10_000;
/// Bytes of the key by which a caller names a command.
pub const KEY_BYTES_MAX: usize = 255;
/// How long a reader may wait for news in one request.
pub const WAIT_MAX: Allowance = Allowance::from_secs(60);
/// Streams of events that are open at once.
pub const STREAMS_MAX: usize = 1_024;
/// Streams of events that one token has open at once.
pub const STREAMS_PER_TOKEN_MAX: usize = 32;
/// Requests of one token that are under way at once, those that wait for news among them.
pub const REQUESTS_PER_TOKEN_MAX: usize = 256;
/// Lines of one batch of commands.
pub const BATCH_LINES_MAX: usize = 10_000;
/// Bytes of one batch of commands.
pub const BATCH_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Commands of one batch that are under way at once.
pub const BATCH_AT_ONCE_MAX: usize = 64;
/// Rows of one answer to a query.
pub const PAGE_ROWS_MAX: usize = 1_000;

/// How long a lock lasts unless its holder renews it by progress or by asking again.
pub const LOCK_LEASE: Allowance = Allowance::from_secs(600);
/// How long after a reminder the `on_timeout` policy acts; never longer than the timeout itself.
pub const REMINDER_GRACE: Allowance = Allowance::from_secs(10);
/// How long an agent that Baton reaches by itself has to answer. One that pulls has no limit of its
/// own; a delegation to it waits as long as the subtask may take. People are never timed.
pub const ANSWER_WITHIN: Allowance = Allowance::from_secs(30);
/// The pause before the first resend; it doubles with each (2, 4, 8 s).
pub const RESEND_BACKOFF: Allowance = Allowance::from_secs(2);
/// How long what a command object sends out may take, if neither it nor its sender's time says.
pub const GOTO_WITHIN: Allowance = Allowance::from_secs(60 * 60);
/// When a deferred handoff comes back, if the agent that defers does not say.
pub const DEFER_FOR: Allowance = Allowance::from_secs(300);
