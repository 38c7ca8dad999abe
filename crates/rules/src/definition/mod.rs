//! Reads a definition as people write it: YAML, with the place of everything in it.
//!
//! The text is limited before it is parsed, and what parsing it may cost is limited by the parser's
//! own budget. References to other parts of the text are refused: one that refers to itself many
//! times over is how a small text becomes a large one.

mod positions;
mod problem;

#[cfg(test)]
mod tests;

pub use positions::Positions;
pub use problem::{Problem, Severity, Span};

use baton_protocol::definition::Definition;
use baton_protocol::limits::{
    DEFINITION_AGENTS_MAX, DEFINITION_BYTES_MAX, DEFINITION_DEPTH_MAX, DEFINITION_FIELDS_MAX,
    DEFINITION_NODES_MAX, DEFINITION_RULES_MAX, DEFINITION_SCHEMAS_MAX, DEFINITION_SIGNALS_MAX,
    DEFINITION_STATES_MAX,
};
use serde_saphyr::{Budget, Error, Options};

/// A definition that was read, and where everything stands in its text.
#[derive(Debug)]
pub struct Read {
    /// What it says.
    pub definition: Definition,
    /// Where it says so.
    pub positions: Positions,
}

/// Reads a definition.
pub fn read(text: &str) -> Result<Read, Vec<Problem>> {
    if text.len() > DEFINITION_BYTES_MAX {
        let message = format!("{} bytes; expected at most {DEFINITION_BYTES_MAX}", text.len());
        return Err(vec![Problem::error("too-large", message)]);
    }
    let positions = Positions::of(text);
    let read = serde_saphyr::from_str_with_options::<Definition>(text, options());
    let definition = read.map_err(|error| vec![unreadable(&error, &positions)])?;
    let problems = too_many(&definition, &positions);
    if problems.is_empty() { Ok(Read { definition, positions }) } else { Err(problems) }
}

fn options() -> Options {
    let mut budget = Budget::default();
    budget.max_aliases = 0;
    budget.max_depth = DEFINITION_DEPTH_MAX;
    budget.flow_nesting_limit = DEFINITION_DEPTH_MAX;
    budget.max_documents = 1;
    budget.max_nodes = DEFINITION_NODES_MAX;
    let mut options = Options::default();
    options.budget = Some(budget);
    // `on`, `no` and `y` are words; only `true` and `false` are yes and no.
    options.strict_booleans = true;
    options
}

/// The first thing that is wrong with a text, as a problem with its place.
fn unreadable(error: &Error, positions: &Positions) -> Problem {
    let message = said(error);
    let mut problem = Problem::error("unreadable", message);
    if let Some(at) = error.location().filter(|at| at.line() > 0) {
        let number = |n: u64| usize::try_from(n).unwrap_or(1).max(1);
        let (line, column) = (number(at.line()), number(at.column()));
        problem.path = positions.path_at(line, column).unwrap_or_default().to_owned();
        problem.span = Some(positions.token_at(line, column));
    }
    if problem.message.contains("alias") {
        problem.hint = Some("write it out; `schemas` keeps what several payloads share".to_owned());
    }
    problem
}

/// What the parser says, without the place, which we show in our own way.
fn said(error: &Error) -> String {
    let options = serde_saphyr::RenderOptions::default();
    let mut options = options;
    options.snippets = serde_saphyr::SnippetMode::Off;
    let said = error.render_with_options(options);
    let said = said.lines().next().unwrap_or_default();
    let said = said.strip_prefix("error: ").unwrap_or(said);
    let end = said.rfind(" at line ").unwrap_or(said.len());
    crate::language::cut(said[..end].trim())
}

/// What there is more of than there may be.
pub(crate) fn too_many(definition: &Definition, positions: &Positions) -> Vec<Problem> {
    let counts = [
        ("agents", definition.agents.len(), DEFINITION_AGENTS_MAX),
        ("states", definition.states.len(), DEFINITION_STATES_MAX),
        ("rules", definition.rules.len(), DEFINITION_RULES_MAX),
        ("signals", definition.signals.len(), DEFINITION_SIGNALS_MAX),
        ("schemas", definition.schemas.len(), DEFINITION_SCHEMAS_MAX),
    ];
    let mut problems = Vec::new();
    let mut bounded = |path: String, what: &str, found: usize, most: usize| {
        if found > most {
            let message = format!("{found} {what}; expected at most {most}");
            problems.push(Problem::error("too-many", message).at(path, positions));
        }
    };
    for (what, found, most) in counts {
        bounded(what.to_owned(), what, found, most);
    }
    for (n, rule) in definition.rules.iter().enumerate() {
        let fields = rule.payload.as_ref().map_or(0, |payload| payload.map.len());
        bounded(format!("rules[{n}].payload.map"), "fields", fields, DEFINITION_FIELDS_MAX);
        bounded(format!("rules[{n}].set"), "variables", rule.set.len(), DEFINITION_FIELDS_MAX);
        let states = rule.states.len();
        bounded(format!("rules[{n}].states"), "states", states, DEFINITION_STATES_MAX);
        let signals = rule.trigger.all().len();
        bounded(format!("rules[{n}].trigger"), "signals", signals, DEFINITION_SIGNALS_MAX);
    }
    for (state, after) in &definition.transitions {
        let path = format!("transitions.{state}");
        bounded(path, "states", after.len(), DEFINITION_STATES_MAX);
    }
    problems
}
