//! `baton token`: the credentials by which callers are known.

use baton_engine::view::{AgentView, TokenView};
use baton_protocol::agent::Grant;
use baton_protocol::command::{self, Command};
use baton_protocol::event::Event;
use baton_protocol::id::AgentId;
use baton_protocol::time::{Allowance, Timestamp};
use clap::{Args, Subcommand};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::caller::a_person_types;
use crate::failure::{Exit, Failure};
use crate::session::Session;
use crate::show::table::Table;
use crate::show::time::{now, relative};
use crate::value::Id;
use crate::verbs::told::told;

/// Make credentials, and take them away
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  export BATON_TOKEN=$(baton token create --agent builder)
  baton token list
  baton token revoke 5c0e")]
pub(crate) struct Token {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Create(Create),
    List(List),
    Revoke(Revoke),
}

impl Token {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        match self.verb {
            Verb::Create(create) => create.run(session),
            Verb::List(list) => list.run(session),
            Verb::Revoke(revoke) => revoke.run(session),
        }
    }
}

/// Make a token; it is printed once and stored nowhere
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton token create --agent builder --for 24h
  baton token create --operator --for 8h
  baton token create --viewer
  export BATON_TOKEN=$(baton token create --agent builder)")]
struct Create {
    #[command(flatten)]
    whose: Whose,
    /// For how long [default: until revoked]
    #[arg(long = "for", value_name = "DURATION")]
    span: Option<Allowance>,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Whose {
    /// For this agent, to act as itself
    #[arg(long, value_name = "AGENT")]
    agent: Option<AgentId>,
    /// For a person who runs this workspace from elsewhere, to do anything
    #[arg(long)]
    operator: bool,
    /// For looking at everything and changing nothing
    #[arg(long)]
    viewer: bool,
}

#[derive(Deserialize)]
struct Created {
    token: String,
    expires_at: Option<Timestamp>,
}

impl Create {
    fn run(self, session: &Session) -> Result<(), Failure> {
        let out = session.out;
        if self.whose.operator {
            // It would be a way round what only a person may say.
            a_person_types()?;
        }
        let agent = self.whose.agent.clone().unwrap_or_else(AgentId::operator);
        let grant = if self.whose.viewer { Grant::View } else { Grant::Act };
        let mut ask = json!({ "agent": agent, "grant": grant });
        if let Some(span) = self.span {
            ask["for"] = json!(span);
        }
        let reply = session.client.post("/v1/tokens", &ask)?;
        let created: Created = reply.read()?;
        out.answer(&reply, |page| {
            page.line(&created.token);
            Ok(())
        })?;
        let end = created.expires_at.map(|at| format!(", which ends {}", relative(at, now())));
        let whom = match (&self.whose.agent, grant) {
            (Some(agent), _) => agent.to_string(),
            (None, Grant::Act) => "an operator".to_owned(),
            (None, Grant::View) => "whoever shall look".to_owned(),
        };
        out.next(&[format!("give it to {whom} as BATON_TOKEN{}", end.unwrap_or_default())]);
        Ok(())
    }
}

/// A token and whose it is.
#[derive(Serialize)]
struct Owned {
    agent: AgentId,
    #[serde(flatten)]
    token: TokenView,
}

fn tokens(session: &Session, of: Option<&AgentId>) -> Result<Vec<Owned>, Failure> {
    let agents: Vec<AgentView> = match of {
        Some(agent) => vec![session.client.read(format!("/v1/agents/{agent}"))?.read()?],
        None => session.client.read("/v1/agents")?.read()?,
    };
    let owned = |view: AgentView| {
        let agent = view.profile.id;
        view.tokens.into_iter().map(move |token| Owned { agent: agent.clone(), token })
    };
    Ok(agents.into_iter().flat_map(owned).collect())
}

/// List tokens, without their secrets
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton token list
  baton token list --agent builder")]
struct List {
    /// Only this agent's
    #[arg(long, value_name = "AGENT")]
    agent: Option<AgentId>,
}

impl List {
    fn run(self, session: &Session) -> Result<(), Failure> {
        let out = session.out;
        let tokens = tokens(session, self.agent.as_ref())?;
        if out.json {
            return out.value(&tokens);
        }
        out.page(|page| {
            if out.quiet {
                tokens.iter().for_each(|owned| page.line(owned.token.id));
                return Ok(());
            }
            let mut table = Table::new(&["ID", "AGENT", "TO", "ISSUED", "ENDS"], &[]);
            for Owned { agent, token } in &tokens {
                let ends = token.expires_at.map(|at| relative(at, page.now));
                table.row([
                    token.id.short(),
                    agent.to_string(),
                    match token.grant {
                        Grant::Act => "act".to_owned(),
                        Grant::View => "view".to_owned(),
                    },
                    relative(token.issued_at, page.now),
                    ends.unwrap_or_else(|| "never".to_owned()),
                ]);
            }
            if table.is_empty() {
                page.line("no token yet");
            } else {
                page.table(table);
            }
            Ok(())
        })
    }
}

/// Take a token away
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton token revoke 5c0e")]
struct Revoke {
    /// Which one, from `baton token list`
    #[arg(value_name = "TOKEN")]
    token: Id,
    /// Whose, if that is not plain
    #[arg(long, value_name = "AGENT")]
    agent: Option<AgentId>,
}

impl Revoke {
    fn run(self, session: &Session) -> Result<(), Failure> {
        let all = tokens(session, self.agent.as_ref())?;
        let meant = |owned: &Owned| self.token.begins(&owned.token.id.to_string());
        let mut meant: Vec<_> = all.into_iter().filter(meant).collect();
        let hint = "`baton token list` shows them";
        let Some(Owned { agent, token }) = meant.pop() else {
            let sentence = format!("there is no token {}", self.token);
            return Err(Failure::new(Exit::NotFound, "unknown-token", sentence, hint));
        };
        if !meant.is_empty() {
            let sentence = format!("{} names {} tokens", self.token, meant.len() + 1);
            return Err(Failure::new(Exit::Refused, "ambiguous-id", sentence, hint));
        }
        let revoke = command::RevokeToken { agent: agent.clone(), token: token.id };
        let (reply, answer) = session.submit(Command::RevokeToken(revoke))?;
        told(session, (&reply, &answer), token.id, |event| match event {
            Event::TokenRevoked { token } => {
                Some((token.to_string(), format!("revoked {} of {agent}", token.short())))
            }
            _ => None,
        })
    }
}
