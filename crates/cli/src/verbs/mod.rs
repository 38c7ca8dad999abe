//! The verbs: each reads its arguments, asks, and prints. One file for each, or for a few that
//! belong together.

mod agent;
mod alert;
mod answer;
mod artifact;
mod audit;
mod await_tag;
mod backup;
mod cancel;
mod completions;
mod demo;
mod doctor;
mod draft;
mod escalate;
mod events;
mod flow;
mod front;
mod goto;
mod guard;
mod health;
mod holder;
mod hook;
mod import;
mod inbox;
mod init;
mod life;
mod list;
mod lock;
mod machine;
mod mcp;
mod packet;
mod pass;
mod passed;
mod prime;
mod proof;
mod reached;
mod reassign;
mod replay;
mod rows;
mod run;
mod secrets;
mod serve;
mod setup;
mod show;
mod start;
mod stats;
mod step;
mod switch;
mod tag;
mod token;
mod told;
mod top;
mod used;
mod vars;
mod wait;
mod work;
mod workflow;

pub(crate) use mcp::Mcp;
pub(crate) use packet::keep_own;
pub(crate) use rows::word_of;

use clap::Subcommand;

use crate::args::{Cli, Global};
use crate::caller::Caller;
use crate::client::Client;
use crate::failure::Failure;
use crate::line::Line;
use crate::session::Session;
use crate::show::{Output, time};
use crate::tagging::{Ground, spool};
use crate::workspace::Workspace;

/// Everything that can be asked at the command line.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Init(init::Init),
    Agent(agent::Agent),
    Token(token::Token),
    Secrets(secrets::Secrets),
    Start(start::Start),
    Pass(Box<pass::Pass>),
    Escalate(escalate::Escalate),
    Goto(goto::Goto),
    Wait(wait::Wait),
    Cancel(cancel::Cancel),
    Reassign(reassign::Reassign),
    Inbox(inbox::Inbox),
    Accept(answer::Accept),
    Reject(answer::Reject),
    Defer(answer::Defer),
    Progress(holder::Progress),
    Return(holder::Return),
    Decide(escalate::Decide),
    Complete(holder::Complete),
    Fail(Box<step::Fail>),
    Signal(step::Signal),
    Vars(vars::Vars),
    Artifact(artifact::Artifact),
    Switch(Box<switch::Switch>),
    Packet(Box<packet::Packet>),
    Mcp(mcp::Mcp),
    Setup(setup::Setup),
    Doctor(doctor::Doctor),
    Prime(prime::Prime),
    Hook(hook::Hook),
    Statusline(hook::Statusline),
    Tag(tag::Tag),
    AwaitTag(await_tag::AwaitTag),
    Alert(alert::Alert),
    Run(run::Run),
    Work(work::Work),
    Workflow(workflow::Workflow),
    Attach(work::Attach),
    Lock(lock::Lock),
    Unlock(lock::Unlock),
    List(list::List),
    Show(show::Show),
    Replay(replay::Replay),
    Flow(flow::Flow),
    Logs(reached::Logs),
    Events(events::Events),
    Stats(stats::Stats),
    Top(top::Top),
    Audit(audit::Audit),
    #[command(flatten)]
    Guard(guard::Verb),
    Status(serve::Status),
    Serve(serve::Serve),
    Stop(serve::Stop),
    Backup(backup::Backup),
    Completions(completions::Completions),
    Demo(demo::Demo),
    /// Answer as a scripted agent of `baton demo charter`
    #[command(hide = true)]
    DemoActor,
    Bench(demo::Bench),
}

/// The verbs for tags in files, which tell errors in their own way.
pub(crate) const TAG_VERBS: [&str; 6] = ["tag", "await-tag", "alert", "run", "work", "attach"];

/// Moves that one verb tells the coordinator of beside its own.
const DELIVERED_MAX: usize = 200;

/// Does what was asked.
pub(crate) fn run(cli: Cli) -> Result<(), Failure> {
    let Cli { global, verb } = cli;
    let (json, quiet, color) = (global.json, global.quiet, global.color());
    let out = Output { json, quiet, color, begun: time::now() };
    match verb {
        Verb::Init(init) => here(&global, || init.run(out)),
        Verb::Completions(completions) => here(&global, || completions.run(out)),
        Verb::Demo(demo) => here(&global, || demo.run(out)),
        Verb::DemoActor => crate::demo::charter::act(),
        Verb::Bench(bench) => here(&global, || bench.run(out)),
        Verb::Switch(switch) => here(&global, || switch.run(workspace(&global), out)),
        Verb::Packet(packet) => here(&global, || packet.run(workspace(&global), out)),
        Verb::Mcp(mcp) => mcp.run(&global),
        Verb::Prime(prime) => prime.run(global, out),
        Verb::Hook(hook) => hook.run(global),
        Verb::Statusline(statusline) => statusline.run(global),
        Verb::Secrets(secrets) => here(&global, || secrets.run(workspace(&global), out)),
        Verb::Setup(setup) => here(&global, || setup.run(&global, out)),
        Verb::Doctor(doctor) => here(&global, || doctor.run(&global, out)),
        Verb::Tag(tag) => of_tags(&global, |ground| tag.run(ground, &global, out)),
        Verb::AwaitTag(wait) => of_tags(&global, |ground| wait.run(ground, out)),
        Verb::Alert(alert) => of_tags(&global, |ground| alert.run(ground, &global, out)),
        Verb::Run(run) => of_tags(&global, |ground| run.run(ground.clone(), out)),
        Verb::Work(work) => of_tags(&global, |ground| work.run(ground, out)),
        Verb::Attach(attach) => of_tags(&global, |ground| attach.run(ground)),
        Verb::Workflow(workflow) => workflow.run(global, out),
        Verb::Serve(serve) => here(&global, || serve.run(&workspace(&global)?)),
        Verb::Agent(agent) => agent.run(&session(global, out)?),
        Verb::Token(token) => token.run(&session(global, out)?),
        Verb::Start(start) => start.run(&session(global, out)?),
        Verb::Pass(pass) => pass.run(&session(global, out)?),
        Verb::Escalate(escalate) => escalate.run(&session(global, out)?),
        Verb::Goto(goto) => goto.run(&session(global, out)?),
        Verb::Wait(wait) => wait.run(&session(global, out)?),
        Verb::Cancel(cancel) => cancel.run(&session(global, out)?),
        Verb::Reassign(reassign) => reassign.run(&session(global, out)?),
        Verb::Inbox(inbox) => inbox.run(&session(global, out)?),
        Verb::Accept(accept) => accept.run(&session(global, out)?),
        Verb::Reject(reject) => reject.run(&session(global, out)?),
        Verb::Defer(defer) => defer.run(&session(global, out)?),
        Verb::Progress(progress) => progress.run(&session(global, out)?),
        Verb::Return(give) => give.run(&session(global, out)?),
        Verb::Decide(decide) => decide.run(&session(global, out)?),
        Verb::Complete(complete) => complete.run(&session(global, out)?),
        Verb::Fail(fail) => fail.run(&session(global, out)?),
        Verb::Signal(signal) => signal.run(&session(global, out)?),
        Verb::Vars(vars) => vars.run(&session(global, out)?),
        Verb::Artifact(artifact) => artifact.run(&session(global, out)?),
        Verb::Lock(lock) => lock.run(&session(global, out)?),
        Verb::Unlock(unlock) => unlock.run(&session(global, out)?),
        Verb::List(list) => list.run(&session(global, out)?),
        Verb::Show(show) => show.run(&session(global, out)?),
        Verb::Replay(replay) => replay.run(&session(global, out)?),
        Verb::Flow(flow) => flow.run(&session(global, out)?),
        Verb::Logs(logs) => logs.run(&session(global, out)?),
        Verb::Events(events) => events.run(&session(global, out)?),
        Verb::Top(top) => top.run(session(global, out)?),
        Verb::Stats(stats) => stats.run(&session(global, out)?),
        Verb::Audit(audit) => match audit.offline(out) {
            Some(done) => done,
            None => audit.run(&session(global, out)?),
        },
        Verb::Guard(guard) => guard.run(&session(global, out)?),
        Verb::Status(status) => status.run(&session(global, out)?),
        Verb::Stop(stop) => stop.run(&session(global, out)?),
        Verb::Backup(backup) => backup.run(&session(global, out)?),
    }
}

/// Does what needs files alone. A coordinator that runs hears what it has not heard of yet; none
/// is started, and it is no error if there is none.
fn of_tags(
    global: &Global,
    run: impl FnOnce(&Ground) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let tagged = |ground: Ground| {
        let done = run(&ground);
        spool::deliver(&ground, DELIVERED_MAX);
        done
    };
    here(global, || Ground::find(global).and_then(tagged)).map_err(Failure::of_tags)
}

fn workspace(global: &Global) -> Result<Workspace, Failure> {
    Workspace::find(global.workspace.as_deref())
}

/// Does what asks no coordinator elsewhere. Whoever typed the address of one must not find out
/// later that nobody heeded it.
fn here(global: &Global, run: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    if global.url_typed {
        let sentence = "this verb works on this machine and asks no coordinator elsewhere";
        let hint = "leave out --url; --workspace DIR names a workspace here";
        return Err(Failure::usage(sentence, hint));
    }
    run()
}

/// Who asks comes first: a marked agent without a token hears so wherever it stands.
fn session(global: Global, out: Output) -> Result<Session, Failure> {
    let on_behalf = global.on_behalf.clone();
    let caller = Caller::from_env(global.on_behalf)?;
    let line = match (global.url, &caller) {
        (Some(_), Caller::Operator | Caller::OperatorAs(_)) => {
            let hint = "set BATON_TOKEN; `baton token create --operator` makes one for a person";
            return Err(Failure::usage("a coordinator on the network wants a token", hint));
        }
        (Some(address), Caller::Bearer { .. }) => Line::Network(address),
        (None, _) => Line::Socket(Workspace::find(global.workspace.as_deref())?),
    };
    Ok(Session { client: Client::new(line, caller, global.key)?, out, on_behalf })
}
