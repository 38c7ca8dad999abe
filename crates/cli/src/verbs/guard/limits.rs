//! `baton limits` and `fall-back`: what work may use, and going on alone.

use baton_engine::view::WorkflowView;
use baton_protocol::command::{self, Command, SetLimits};
use baton_protocol::event::Event;
use baton_protocol::id::Fence;
use baton_protocol::policy::Money;
use baton_protocol::text::Text;
use clap::Args;

use crate::failure::Failure;
use crate::session::Session;
use crate::show::table::Table;
use crate::value::Id;
use crate::verbs::told::told;

/// Show what a workflow may use and has used, or change it
///
/// Only the operator may change it. What is not named stays as it is.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton limits 3f2a
  baton limits 3f2a --handoffs 8 --tokens 50000
  baton limits 3f2a --cost 2.50")]
pub(crate) struct Limits {
    /// Which work
    #[arg(value_name = "WORKFLOW")]
    workflow: Id,
    /// Handoffs that its agents may begin
    #[arg(long, value_name = "N")]
    handoffs: Option<u32>,
    /// Agents that may take part
    #[arg(long, value_name = "N")]
    agents: Option<u32>,
    /// Tokens
    #[arg(long, value_name = "N")]
    tokens: Option<u64>,
    /// Money, by the prices of the policy
    #[arg(long, value_name = "AMOUNT")]
    cost: Option<Money>,
}

impl Limits {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        let workflow = session.workflow(&self.workflow)?;
        let Self { handoffs, agents, tokens, cost, .. } = self;
        if (handoffs, agents, tokens, cost) == (None, None, None, None) {
            let reply = session.client.read(format!("/v1/workflows/{workflow}"))?;
            let view: WorkflowView = reply.read()?;
            return session.out.answer(&reply, |page| {
                page.table(table(&view));
                if view.account.independent {
                    page.line("agents do not pass it on");
                }
                Ok(())
            });
        }
        let set = SetLimits { workflow, handoffs, agents, tokens, cost };
        let (reply, answer) = session.submit(Command::SetLimits(set))?;
        told(session, (&reply, &answer), workflow, |event| match event {
            Event::LimitsSet { .. } => {
                Some((workflow.to_string(), format!("limits of {} changed", workflow.short())))
            }
            _ => None,
        })
    }
}

fn table(view: &WorkflowView) -> Table {
    let account = &view.account;
    let (limits, spent, aside) = (&account.limits, &account.spent, &account.set_aside);
    let mut table = Table::new(&["OF", "MAY USE", "USED", "SET ASIDE"], &[0]);
    let most = |most: Option<String>| most.unwrap_or_else(|| "no limit".to_owned());
    let mut row = |of: &str, may: Option<String>, used: String, aside: String| {
        table.row([of.to_owned(), most(may), used, aside]);
    };
    let text = |n: u32| n.to_string();
    row("handoffs", limits.handoffs.map(text), text(spent.handoffs), text(aside.handoffs));
    row("agents", limits.agents.map(text), account.agents.len().to_string(), String::new());
    let text = |n: u64| n.to_string();
    row("tokens", limits.tokens.map(text), text(spent.tokens), text(aside.tokens));
    let money = limits.cost.map(|cost| cost.to_string());
    row("money", money, spent.cost.to_string(), aside.cost.to_string());
    table
}

/// Say that you go on alone, because passing on failed you
///
/// It is recorded, and from then on agents keep what they have of the work. Whoever holds it may.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton fall-back 3f2a --fence 2 --because \"no reviewer answers\"")]
pub(crate) struct FallBack {
    /// Which work
    #[arg(value_name = "WORKFLOW")]
    workflow: Id,
    /// The number of your hold; only the operator may leave it out
    #[arg(long, value_name = "N", env = "BATON_FENCE", hide_env_values = true)]
    fence: Option<u64>,
    /// Why
    #[arg(long, value_name = "TEXT")]
    because: Text,
}

impl FallBack {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        let workflow = session.workflow(&self.workflow)?;
        let (fence, reason) = (self.fence.map(Fence), self.because);
        let fall = command::FallBack { workflow, fence, reason };
        let (reply, answer) = session.submit(Command::FallBack(fall))?;
        told(session, (&reply, &answer), workflow, |event| match event {
            Event::FellBack { by, .. } => {
                Some((workflow.to_string(), format!("{by} goes on with it alone")))
            }
            _ => None,
        })
    }
}
