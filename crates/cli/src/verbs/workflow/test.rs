//! `baton workflow test`: scenarios, played without agents.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use baton_engine::rehearsal::{Played, Scenario, Script, rehearse};
use baton_protocol::definition::{Definition, RuleId};
use clap::Args;
use serde_json::json;

use super::source::{Source, text};
use crate::failure::{Exit, Failure};
use crate::show::Output;

/// Try a definition without agents: scripted results in, expected handoffs out
///
/// Each scenario plays on a clock of its own that is moved by hand, so 24 hours take no time.
/// What is expected and is not so is told with the step it stands at; rules that no scenario
/// reached are named.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton workflow test workflows/charter.yaml scenarios.yaml
  baton workflow test scenarios.yaml                  # it names its definition itself
  baton workflow test scenarios.yaml --only \"no client\"")]
pub(crate) struct Test {
    /// The definition and its scenarios, or scenarios that name their definition
    #[arg(value_name = "FILE", num_args = 1..=2, required = true)]
    files: Vec<PathBuf>,
    /// Only scenarios whose name has this in it
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
}

impl Test {
    pub(crate) fn run(self, out: Output) -> Result<(), Failure> {
        let (definition, script) = self.read()?;
        let wanted = |scenario: &&Scenario| {
            self.only.as_ref().is_none_or(|part| scenario.name.contains(part.as_str()))
        };
        let scenarios: Vec<&Scenario> = script.scenarios.iter().filter(wanted).collect();
        if scenarios.is_empty() {
            let sentence = "there is no scenario to play";
            return Err(Failure::usage(
                sentence,
                "look at --only, and at `scenarios:` in the file",
            ));
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .map_err(|error| Failure::failed(format!("cannot begin: {error}"), "try again"))?;
        let mut played = Vec::new();
        for scenario in scenarios {
            played.push(runtime.block_on(rehearse(&definition, scenario)));
        }
        let missed = missed(&definition, &played);
        match out.json {
            true => out.value(&json!({ "scenarios": played, "rules_not_reached": missed }))?,
            false => out.write(&report(&played, &missed))?,
        }
        match played.iter().filter(|one| one.failure.is_some()).count() {
            0 => Ok(()),
            failed => {
                let sentence = format!("{failed} of {} scenarios failed", played.len());
                let hint = "correct the rules, or what is expected";
                Err(Failure::new(Exit::Failure, "scenarios-failed", sentence, hint))
            }
        }
    }

    fn read(&self) -> Result<(Definition, Script), Failure> {
        let script_at = self.files.last().map(PathBuf::as_path).unwrap_or(Path::new(""));
        let shown = script_at.display();
        let mut options = serde_saphyr::Options::default();
        options.strict_booleans = true;
        let read = serde_saphyr::from_str_with_options(&text(script_at)?, options);
        let script: Script = read.map_err(|error| {
            Failure::usage(
                format!("{shown}: {error}"),
                "docs/workflows.md shows what a step can be",
            )
        })?;
        let definition_at = match (self.files.as_slice(), &script.workflow) {
            ([definition, _], _) => definition.clone(),
            (_, Some(named)) => script_at.parent().unwrap_or(Path::new("")).join(named),
            (_, None) => {
                let sentence = format!("{shown} does not say which definition it is about");
                let hint = "begin it with `workflow: FILE`, or name the definition first";
                return Err(Failure::usage(sentence, hint));
            }
        };
        Ok((Source::read(&definition_at)?.definition, script))
    }
}

/// The rules that no scenario reached.
fn missed(definition: &Definition, played: &[Played]) -> Vec<RuleId> {
    let reached: BTreeSet<&RuleId> = played.iter().flat_map(|one| &one.rules).collect();
    let rules = definition.rules.iter().map(|rule| &rule.id);
    rules.filter(|id| !reached.contains(id)).cloned().collect()
}

fn report(played: &[Played], missed: &[RuleId]) -> String {
    let mut text = String::new();
    for one in played {
        match &one.failure {
            None => text += &format!("ok      {}\n", one.name),
            Some(mismatch) => {
                let at = mismatch.step.map(|n| format!(" (step {n})")).unwrap_or_default();
                text += &format!("FAILED  {}{at}\n", one.name);
                for why in &mismatch.why {
                    text += &format!("        {}\n", why.replace('\n', "\n        "));
                }
            }
        }
    }
    let good = played.iter().filter(|one| one.failure.is_none()).count();
    text += &format!("\n{good} of {} scenarios went as expected\n", played.len());
    if !missed.is_empty() {
        let names: Vec<&str> = missed.iter().map(|rule| rule.as_str()).collect();
        text += &format!("no scenario reached the rules {}\n", names.join(", "));
    }
    text
}
