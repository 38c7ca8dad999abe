//! Who asks: the person at the terminal, an agent by its token, or the person on its behalf.
//!
//! The coordinator decides what each may do. Here it is only made sure that a process marked as
//! an agent never speaks as the person whose terminal it happens to run in.

use baton_protocol::id::AgentId;

use crate::failure::{Exit, Failure};

/// Who asks, as the request will say it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    /// The person who runs the workspace.
    Operator,
    /// That person, on behalf of an agent.
    OperatorAs(AgentId),
    /// Whoever a credential says: an agent, a viewer, or the operator, perhaps on behalf of an
    /// agent.
    Bearer { token: String, on_behalf: Option<AgentId> },
}

/// How the operator's tokens begin.
const OPERATORS: &str = "bt1_operator_";

impl Caller {
    /// Whether a person asks in its own name.
    pub(crate) fn is_operator(&self) -> bool {
        match self {
            Self::Operator => true,
            Self::OperatorAs(_) => false,
            Self::Bearer { token, on_behalf } => {
                on_behalf.is_none() && token.starts_with(OPERATORS)
            }
        }
    }

    /// Tells who asks from the environment and `--as`.
    pub(crate) fn from_env(on_behalf: Option<AgentId>) -> Result<Self, Failure> {
        let set = |name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        let marked = set("BATON_AGENT").filter(|value| !value.is_empty());
        Self::tell(set("BATON_TOKEN"), marked, on_behalf)
    }

    fn tell(
        token: Option<String>,
        marked: Option<String>,
        on_behalf: Option<AgentId>,
    ) -> Result<Self, Failure> {
        let refused = |sentence, hint: &str| {
            Err(Failure::new(Exit::Refused, "operator-only", sentence, hint.to_owned()))
        };
        let token = token.map(|token| token.trim().to_owned());
        match (token, marked, on_behalf) {
            // Whoever sets it means to be an agent: a secret that did not arrive must not make it
            // the operator.
            (Some(token), ..) if token.is_empty() => refused(
                "BATON_TOKEN is set and empty".to_owned(),
                "give it an agent's token, or unset it to act as the operator",
            ),
            (Some(token), ..) if !token.bytes().all(|byte| byte.is_ascii_graphic()) => {
                Err(Failure::usage(
                    "BATON_TOKEN holds a line break, a space or another character that no token \
                     has",
                    "set it to one token, as `baton token create` printed it",
                ))
            }
            (Some(token), _, Some(other)) if !token.starts_with(OPERATORS) => refused(
                format!("only the operator may act as {other}, and BATON_TOKEN marks an agent"),
                "leave out --as: an agent acts as itself",
            ),
            (Some(token), _, on_behalf) => Ok(Self::Bearer { token, on_behalf }),
            (None, Some(agent), _) => refused(
                format!("this process is marked as agent {agent} and has no token"),
                &format!(
                    "a person can run `baton token create --agent {agent}` in a terminal of their \
                     own and give the agent BATON_TOKEN"
                ),
            ),
            (None, None, Some(other)) => Ok(Self::OperatorAs(other)),
            (None, None, None) => Ok(Self::Operator),
        }
    }
}

/// What coding agents' programs put into the environment of their shells.
const SHELLS: [(&str, &str); 5] = [
    ("CLAUDECODE", "Claude Code"),
    // The first on macOS only, the second wherever its sandbox keeps it off the network.
    ("CODEX_SANDBOX", "Codex"),
    ("CODEX_SANDBOX_NETWORK_DISABLED", "Codex"),
    ("GEMINI_CLI", "Gemini CLI"),
    ("OPENCODE", "OpenCode"),
];

/// Refuses what only a person may say where a coding agent types. A person has other terminals; the
/// agent is kept from taking their word out of their mouth by accident.
pub(crate) fn a_person_types() -> Result<(), Failure> {
    let set =
        |name| std::env::var_os(name).is_some_and(|value: std::ffi::OsString| !value.is_empty());
    match SHELLS.iter().find(|(name, _)| set(name)) {
        None => Ok(()),
        Some((name, program)) => Err(Failure::new(
            Exit::Refused,
            "person-only",
            format!("this is a shell of {program} ({name} is set), and a person must say this"),
            "run it in a terminal of your own".to_owned(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_marked_as_an_agent_never_acts_as_the_operator() {
        let some = |text: &str| Some(text.to_owned());
        let agent = || "builder".parse().ok();
        assert_eq!(Caller::tell(None, None, None), Ok(Caller::Operator));
        assert!(matches!(Caller::tell(None, None, agent()), Ok(Caller::OperatorAs(_))));
        let token =
            |text: &str, on_behalf| Ok(Caller::Bearer { token: text.to_owned(), on_behalf });
        let by_token = token("bt1_x", None);
        let operators = "bt1_operator_x";
        assert_eq!(Caller::tell(some(operators), None, agent()), token(operators, agent()));
        assert_eq!(Caller::tell(some("bt1_x\n"), some("builder"), None), by_token);
        for refused in [
            Caller::tell(None, some("builder"), None),
            Caller::tell(None, some("builder"), agent()),
            Caller::tell(some("bt1_x"), None, agent()),
            Caller::tell(some(""), None, None),
            Caller::tell(some(" \n"), some("builder"), None),
            Caller::tell(some(""), None, agent()),
        ] {
            assert_eq!(refused.map_err(|failure| failure.exit), Err(Exit::Refused));
        }
    }

    #[test]
    fn a_token_that_cannot_be_one_is_named() {
        for bad in ["bt1_x\nbt1_y", "bt1 x", "bt1_\u{fffd}", "bt1_ü"] {
            let failure = Caller::tell(Some(bad.to_owned()), None, None).expect_err("a bad token");
            assert_eq!(failure.exit, Exit::Usage, "{bad:?}");
            assert!(failure.sentence.starts_with("BATON_TOKEN holds"), "{}", failure.sentence);
        }
    }
}
