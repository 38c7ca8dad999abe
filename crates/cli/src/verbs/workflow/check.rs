//! `baton workflow check`: what is wrong with a definition, without running it.

use std::path::PathBuf;

use baton_engine::view::AgentView;
use baton_rules::{Known, Problem, Severity, check, read, render};
use clap::Args;
use serde::Serialize;

use crate::args::Global;
use crate::failure::Failure;
use crate::session::Session;
use crate::show::Output;
use crate::verbs::session;

/// Find what is wrong with definitions, without running them
///
/// States that nobody reaches or leaves, rules that never hold, names that stand
/// for nothing, payload fields that nothing provides, loops without a bound: each
/// with its line and a hint. Needs no workspace, except with --agents.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Ends with 1 if there is an error; warnings alone are fine, unless --strict.

Examples:
  baton workflow check charter.yaml
  baton workflow check --strict --agents workflows/*.yaml
  baton workflow check charter.yaml --json | jq '.[].problems[].code'")]
pub(crate) struct Check {
    /// Files with a definition each
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Let warnings count as errors
    #[arg(long)]
    strict: bool,
    /// Also look whether the workspace knows the agents, and what they can do
    #[arg(long)]
    agents: bool,
}

/// What was found in one file.
#[derive(Serialize)]
struct Found {
    file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    workflow: Option<String>,
    problems: Vec<Problem>,
}

impl Check {
    pub(crate) fn run(self, global: Global, out: Output) -> Result<(), Failure> {
        let known = match self.agents {
            true => known(&session(global, out)?)?,
            false => Known::default(),
        };
        let mut all = Vec::new();
        for path in &self.files {
            let text = super::source::text(path)?;
            let file = path.display().to_string();
            let (workflow, problems) = match read(&text) {
                Ok(read) => (Some(read.definition.id().to_string()), check(&read, &known)),
                Err(problems) => (None, problems),
            };
            if !out.json {
                out.write(&told(&problems, &file, &text, workflow.as_deref()))?;
            }
            all.push(Found { file, workflow, problems });
        }
        if out.json {
            out.value(&all)?;
        }
        let problems = || all.iter().flat_map(|found| &found.problems);
        let counts = |problem: &&Problem| self.strict || problem.severity == Severity::Error;
        let bad = problems().filter(counts).count();
        if bad == 0 {
            return Ok(());
        }
        let files =
            all.iter().filter(|found| found.problems.iter().any(|one| counts(&one))).count();
        let sentence = format!("{} in {}", some(bad, "problem"), some(files, "file"));
        Err(Failure::failed(sentence, "each is told above with its line; mend it and check again"))
    }
}

/// The agents of the workspace, and what they can do.
fn known(session: &Session) -> Result<Known, Failure> {
    let views: Vec<AgentView> = session.client.read("/v1/agents")?.read()?;
    let agents = views.into_iter().map(|view| {
        let skills = view.profile.capabilities.into_iter().map(|skill| skill.id).collect();
        (view.profile.id, skills)
    });
    Ok(Known { agents: Some(agents.collect()) })
}

fn told(problems: &[Problem], file: &str, text: &str, workflow: Option<&str>) -> String {
    let mut told = render(problems, file, text, true);
    if problems.is_empty() {
        let workflow = workflow.unwrap_or_default();
        told.push_str(&format!("{file}: {workflow} is in order\n"));
    }
    told
}

fn some(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
