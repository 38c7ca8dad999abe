//! Agents that are web services: Baton calls them with a signed request and does with the answer
//! what it says.

use baton_protocol::command::{Accept, Actor, Command, Reject, Submission, Undelivered};
use baton_protocol::effect::EffectId;
use baton_protocol::handoff::State;
use baton_protocol::id::{AgentId, CommandId, Fence, HandoffId, WorkflowId};
use baton_protocol::limits::CALL_WITHIN;
use baton_protocol::mask;
use baton_protocol::reach::Url;
use baton_protocol::text::Text;
use baton_store::{Hash, LedgerError, Scope};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, StatusCode};

use super::outcome::{Held, Outcome, Told, words};
use super::web::{self, Answered, Asked, Unanswered};
use super::{Outside, sign};
use crate::engine::{Engine, SubmitError};
use crate::query::QueryError;

/// How much of the digest of what is sent stands in its name.
const DELIVERY_DIGITS: usize = 8;

/// One call: to whom, and about what.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) effect: EffectId,
    pub(super) agent: AgentId,
    pub(super) url: Url,
    pub(super) workflow: WorkflowId,
    pub(super) handoff: HandoffId,
}

impl Call {
    fn held(&self, fence: Fence) -> Held {
        let (agent, workflow, handoff) = (self.agent.clone(), self.workflow, self.handoff);
        Held { agent, workflow, handoff, fence }
    }
}

/// Whether there is something to call about.
enum Turn {
    /// Nobody waits for it any more.
    Gone,
    /// The agent holds as much as it can.
    Full,
    /// It asked somebody above, and is called again with the answer.
    Waits(HandoffId),
    /// It waits for its answer, or it was taken before a crash, and the result was lost with it.
    Now(Option<Fence>),
}

/// What came of one call.
enum Came {
    /// It is over; this is to be noted, or another coordinator goes on.
    Over(Option<String>),
    /// The service went on to others or asked somebody above, and is called again if the work
    /// comes back to it or the answer does.
    WentOn,
}

/// Calls the service, again whenever what it sent out or asked is back. Returns what to note;
/// nothing when the coordinator ends first.
pub(super) async fn call(
    engine: &Engine,
    outside: &Outside,
    call: &Call,
) -> Result<Option<String>, LedgerError> {
    let mut asked = None;
    loop {
        match once(engine, outside, call, &mut asked).await? {
            Came::Over(note) => return Ok(note),
            Came::WentOn => (),
        }
    }
}

async fn once(
    engine: &Engine,
    outside: &Outside,
    call: &Call,
    asked: &mut Option<HandoffId>,
) -> Result<Came, LedgerError> {
    let mut changes = engine.changes();
    let fence = loop {
        changes.mark_unchanged();
        match turn(engine, call).await? {
            Turn::Gone => return Ok(Came::Over(Some("nobody waits for it any more".to_owned()))),
            Turn::Now(Some(fence)) if engine.is_out(&call.held(fence)).await? => (),
            Turn::Now(fence) => break fence,
            Turn::Waits(question) => *asked = Some(question),
            Turn::Full => (),
        }
        if !engine.changed(&mut changes).await {
            return Ok(Came::Over(None));
        }
    };
    let request = match request(engine, outside, call, (fence, *asked)).await {
        Ok(request) => request,
        Err(QueryError::Failed(failure)) => return Err(failure),
        Err(why) => return Ok(Came::Over(Some(why.to_string()))),
    };
    let within = CALL_WITHIN.as_duration();
    let answer = tokio::select! {
        answer = web::ask(&request, &outside.allow, within) => answer,
        () = engine.runs.stopped() => return Ok(Came::Over(None)),
    };
    let note = match answer {
        Ok(answer) => return answered(engine, call, &answer).await,
        Err(Unanswered::Forbidden(why)) => turned_away(engine, call, &why).await?,
        Err(Unanswered::Failed(why)) => lost(engine, call, &why).await?,
    };
    Ok(Came::Over(Some(note)))
}

/// Does what the answer says.
async fn answered(engine: &Engine, call: &Call, answer: &Answered) -> Result<Came, LedgerError> {
    let Answered { status, body, cut } = answer;
    let status = *status;
    let later = [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_EARLY, StatusCode::TOO_MANY_REQUESTS];
    if status == StatusCode::ACCEPTED {
        let note = match accept(engine, call).await? {
            Ok(_) => "accepted; it answers later".to_owned(),
            Err(why) => why,
        };
        return Ok(Came::Over(Some(note)));
    }
    if status.is_success() {
        let held = match accept(engine, call).await? {
            Ok(fence) => call.held(fence),
            Err(why) => return Ok(Came::Over(Some(why))),
        };
        let round = engine.round(&held).await?;
        return Ok(match engine.tell(&held, round, Outcome::of(body, *cut)).await? {
            Told::Done(note) => Came::Over(Some(note)),
            // Should its checks fail, it is called again.
            Told::Reported => Came::Over(Some("returned; its checks run".to_owned())),
            Told::WentOn | Told::Asked => Came::WentOn,
            Told::Stopping => Came::Over(None),
        });
    }
    let said = mask(&String::from_utf8_lossy(body)).into_owned();
    let why = match said.trim() {
        "" => status.to_string(),
        said => format!("{status}: {}", said.chars().take(500).collect::<String>()),
    };
    let note = match status.is_client_error() && !later.contains(&status) {
        true => turned_away(engine, call, &why).await?,
        false => lost(engine, call, &why).await?,
    };
    Ok(Came::Over(Some(note)))
}

async fn turn(engine: &Engine, call: &Call) -> Result<Turn, LedgerError> {
    let (id, agent) = (call.handoff, call.agent.clone());
    let (runs, effect) = (engine.runs.clone(), call.effect);
    engine
        .look(Scope::Agent(agent.clone()), move |world| {
            let (Ok((_, workflow, handoff)), Some(known)) =
                (world.handoff(id), world.agents.get(&agent))
            else {
                return Turn::Gone;
            };
            let mut holds = workflow.holds.iter();
            let held = holds.find(|(_, hold)| hold.handoff == Some(id) && hold.agent == agent);
            if let Some(waiting) = held.and_then(|(_, hold)| hold.suspended) {
                return Turn::Waits(waiting.escalation);
            }
            match &handoff.state {
                _ if handoff.to != agent => Turn::Gone,
                State::Accepted { fence, .. } => Turn::Now(Some(*fence)),
                State::Initiated { .. } => match runs.may_call(&agent, id, effect, known.room()) {
                    Some(true) => Turn::Now(None),
                    Some(false) => Turn::Full,
                    None => Turn::Gone,
                },
                // Passed for good it is over, and still held by whom it went to.
                State::Completed { .. } => {
                    held.map_or(Turn::Gone, |(fence, _)| Turn::Now(Some(*fence)))
                }
                State::AwaitingApproval { .. }
                | State::Queued { .. }
                | State::Deferred { .. }
                | State::Suspended { .. }
                | State::Returned { .. }
                | State::Failed { .. } => Turn::Gone,
            }
        })
        .await
}

/// The signed request.
async fn request(
    engine: &Engine,
    outside: &Outside,
    call: &Call,
    (fence, answered): (Option<Fence>, Option<HandoffId>),
) -> Result<Asked, QueryError> {
    let mut package = engine.package(Actor::Agent(call.agent.clone()), call.handoff).await?;
    package.fence = fence;
    let body = serde_json::to_vec(&package).map_err(crate::query::unreadable)?;
    let secret = sign::secret(&outside.data(), &call.agent).map_err(|error| {
        let what = "cannot read the key that signs calls".to_owned();
        QueryError::Failed(LedgerError::Failed { what, source: Box::new(error) })
    })?;
    let signature = sign::signature(&secret, engine.clock.now(), &body);
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let mut add = |name: &'static str, value: String| {
        // Ids and digits are always fit for a header.
        let value = HeaderValue::from_str(&value);
        value.map(|value| headers.insert(HeaderName::from_static(name), value)).ok()
    };
    add("baton-signature", signature);
    // What it is called about may have gone on meanwhile, and then it is another call.
    let told = Hash::of(&body).to_string();
    add("baton-delivery", format!("{}-{}", call.effect, &told[..DELIVERY_DIGITS]));
    if let Some(question) = answered {
        add("baton-answer", question.to_string());
    }
    add("baton-agent", call.agent.to_string());
    add("baton-handoff", call.handoff.to_string());
    add("baton-workflow", call.workflow.to_string());
    add("traceparent", package.traceparent.to_string());
    Ok(Asked { method: Method::POST, url: call.url.to_string(), headers, body })
}

/// Takes the handoff in the agent's name. Returns its fence, or why there is none.
async fn accept(engine: &Engine, call: &Call) -> Result<Result<Fence, String>, LedgerError> {
    if let Turn::Now(Some(fence)) = turn(engine, call).await? {
        return Ok(Ok(fence));
    }
    let accept = Accept::of(call.handoff);
    let none = || "accepted without a fence".to_owned();
    Ok(match submit(engine, call, Command::Accept(accept)).await? {
        Ok(answer) => {
            // From now on it counts as held, and must not count twice.
            engine.runs.call_is_over(call.effect);
            answer.fence.ok_or_else(none)
        }
        Err(why) => Err(why),
    })
}

/// Turns the handoff away in the agent's name.
async fn turned_away(engine: &Engine, call: &Call, why: &str) -> Result<String, LedgerError> {
    let reject = Reject { handoff: call.handoff, reason: reason(why) };
    let rejected = submit(engine, call, Command::Reject(reject)).await?;
    Ok(rejected.map_or_else(|why| why, |_| format!("rejected: {why}")))
}

/// It did not get there; when it is sent again is for the rules to say.
async fn lost(engine: &Engine, call: &Call, why: &str) -> Result<String, LedgerError> {
    let (handoff, agent) = (call.handoff, call.agent.clone());
    let command = Command::Undelivered(Undelivered { handoff, agent, reason: reason(why) });
    let id = CommandId::from_key("coordinator", &format!("undelivered {}", call.effect));
    let lost = Submission { id, actor: Actor::Coordinator, command };
    match engine.submit(lost).await {
        Ok(_) | Err(SubmitError::Refused(_)) => Ok(format!("not reached: {why}")),
        Err(SubmitError::Failed(failure)) => Err(failure),
    }
}

fn reason(why: &str) -> Text {
    words(why).unwrap_or_else(|| "no reason was given".parse().expect("a fixed text"))
}

/// Submits a command in the agent's name, once for each call.
async fn submit(
    engine: &Engine,
    call: &Call,
    command: Command,
) -> Result<Result<crate::view::Answer, String>, LedgerError> {
    let key = format!("{} {}", call.effect, command.digest());
    let id = CommandId::from_key("call", &key);
    let actor = Actor::Agent(call.agent.clone());
    match engine.submit(Submission { id, actor, command }).await {
        Ok(answer) => Ok(Ok(answer)),
        Err(SubmitError::Refused(refusal)) => Ok(Err(refusal.to_string())),
        Err(SubmitError::Failed(failure)) => Err(failure),
    }
}
