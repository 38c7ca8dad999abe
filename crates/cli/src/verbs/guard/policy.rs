//! `baton policy`: the rules of the workspace.

use std::fs;

use baton_protocol::command::Command;
use baton_protocol::event::Event;
use baton_protocol::limits::REQUEST_BYTES_MAX;
use baton_protocol::policy;
use clap::{Args, Subcommand};

use crate::caller::a_person_types;
use crate::failure::Failure;
use crate::session::Session;
use crate::verbs::told::told;

/// Show or set the rules of the workspace
///
/// The policy says how many handoffs agents may begin, what each class of work may use, which
/// handoffs wait for a person, when an agent gets no new work for a while, and what tokens cost. It
/// is recorded like everything else. docs/guardrails.md explains each part.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton policy > policy.toml
  baton policy set policy.toml
  baton policy check policy.toml")]
pub(crate) struct Policy {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Print the rules in force, as a file that can be set again
    #[command(after_long_help = "Examples:\n  baton policy show > policy.toml")]
    Show,
    /// Set the rules; what the file leaves out is as it is by default
    #[command(after_long_help = "Examples:\n  baton policy set policy.toml")]
    Set(File),
    /// Read a file and say whether it could be set, without setting it
    #[command(after_long_help = "Examples:\n  baton policy check policy.toml")]
    Check(File),
}

#[derive(Debug, Args)]
struct File {
    /// The rules, in TOML
    #[arg(value_name = "FILE")]
    file: String,
}

impl Policy {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        match self.what.unwrap_or(What::Show) {
            What::Show => show(session),
            What::Set(File { file }) => {
                let policy = Box::new(from_file(&file)?);
                a_person_types()?;
                let (reply, answer) = session.submit(Command::SetPolicy(policy))?;
                told(session, (&reply, &answer), "policy", |event| match event {
                    Event::PolicySet { policy } => {
                        let sentence = format!("set: {}", said(policy));
                        Some(("policy".to_owned(), sentence))
                    }
                    _ => None,
                })
            }
            What::Check(File { file }) => {
                let policy = from_file(&file)?;
                baton_engine::check_policy(&policy).map_err(|refusal| {
                    Failure::usage(format!("{file}: {refusal}"), refusal.hint())
                })?;
                let out = session.out;
                if out.json {
                    return out.value(&policy);
                }
                out.page(|page| {
                    page.line(format!("{file} can be set: {}", said(&policy)));
                    Ok(())
                })
            }
        }
    }
}

fn show(session: &Session) -> Result<(), Failure> {
    let reply = session.client.read("/v1/policy")?;
    session.out.answer(&reply, |page| {
        let policy: policy::Policy = reply.read()?;
        let text = toml::to_string_pretty(&policy).map_err(|error| {
            let sentence = format!("the policy cannot be written as TOML: {error}");
            Failure::failed(sentence, "add --json to see it as it is")
        })?;
        // It is read back as it is, so every line stays one.
        text.lines().for_each(|line| page.line(line));
        Ok(())
    })
}

/// The policy in one line.
fn said(policy: &policy::Policy) -> String {
    let count = |n: usize, one: &str, many: &str| match n {
        1 => format!("1 {one}"),
        n => format!("{n} {many}"),
    };
    format!(
        "{} handoffs a workflow, {}, {}",
        policy.max_handoffs,
        count(policy.approval.len(), "approval rule", "approval rules"),
        count(policy.prices.len(), "price", "prices"),
    )
}

/// Reads rules from a file.
pub(crate) fn from_file(name: &str) -> Result<policy::Policy, Failure> {
    let unreadable = |error| {
        let hint = "`baton policy > policy.toml` writes one to begin with";
        Failure::usage(format!("cannot read {name}: {error}"), hint)
    };
    let text = fs::read_to_string(name).map_err(unreadable)?;
    if text.len() > REQUEST_BYTES_MAX {
        let sentence = format!("{name} is too large: at most {REQUEST_BYTES_MAX} bytes");
        return Err(Failure::usage(sentence, "a policy has 64 approval rules at most"));
    }
    toml::from_str(&text).map_err(|error| {
        let sentence = format!("{name} is not a policy: {}", error.to_string().trim_end());
        Failure::usage(sentence, "docs/guardrails.md lists what a policy can say")
    })
}
