//! What a run or a call came to, and how that is told: as a result, as the end of the work, as
//! where it goes next, or as a question to somebody above.

use baton_protocol::command::{
    Actor, Command, CommandObject, Complete, GiveBack, Next, Pass, PassAudit, PassKind, Progress,
    ResultContent, Submission,
};
use baton_protocol::handoff::{ContentType, Handoff, Kind, Matter, ReturnStatus, State};
use baton_protocol::id::{AgentId, CommandId, Fence, HandoffId, WorkflowId};
use baton_protocol::limits::BODY_BYTES_MAX;
use baton_protocol::mask;
use baton_protocol::text::{Body, BodyJson, Text};
use baton_protocol::time::Timestamp;
use baton_store::{LedgerError, Scope};
use serde_json::Value;

use super::output::uncut;
use super::step;
use crate::engine::{Engine, SubmitError};

/// What an agent holds that Baton works for.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) agent: AgentId,
    pub(super) workflow: WorkflowId,
    pub(super) handoff: HandoffId,
    pub(super) fence: Fence,
}

/// Where that stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It is over, or another has it.
    Gone,
    /// It has returned, and its checks run.
    Checked,
    /// Its holder asked somebody above and waits for the answer.
    Waits(HandoffId),
    /// It is to be worked on.
    Held {
        /// As which part of the work.
        part: Part,
        /// When the time of a hold is up whose handoff is over.
        due: Option<Timestamp>,
    },
}

/// Where somebody stands who was asked to look at a hold whose time is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// The decision is to come.
    Open,
    /// It is there.
    Over,
}

/// Which part of the work is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The whole.
    Owner,
    /// The whole, at one step of its definition.
    Step,
    /// A question.
    Question,
    /// A subtask.
    Subtask,
}

impl Part {
    /// Whether somebody above is asked about it if it fails. What becomes of the rest is said by
    /// whoever passed it, or by rules.
    fn asks_above(self) -> bool {
        match self {
            Self::Owner | Self::Question => true,
            Self::Subtask | Self::Step => false,
        }
    }
}

/// What came of it.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    pub(super) status: ReturnStatus,
    pub(super) content: Option<(ContentType, Value)>,
    pub(super) note: Option<String>,
    /// Where the work goes next, if it says so itself.
    pub(super) object: Option<Box<CommandObject>>,
}

impl Outcome {
    /// Output as a result: a command object if it says where the work goes, else JSON if it is
    /// that, words if not.
    pub(super) fn of(output: &[u8], mut cut: bool) -> Self {
        let text = String::from_utf8_lossy(output);
        let text = text.trim();
        let content = match serde_json::from_str::<Value>(text) {
            _ if text.is_empty() => None,
            Ok(json) if !cut && CommandObject::is_meant(&json) => return Self::said(json),
            Ok(json) if !cut => Some((ContentType::Json, json)),
            Ok(_) | Err(_) => {
                let fits = fitting(text, BODY_BYTES_MAX);
                cut |= fits.len() < text.len();
                let most = if cut { uncut(fits.as_bytes()) } else { fits.len() };
                Some((ContentType::Text, Value::String(fits[..most].to_owned())))
            }
        };
        let status = if cut { ReturnStatus::Partial } else { ReturnStatus::Success };
        let note = cut.then(|| "the output was too long and is cut off".to_owned());
        Self { status, content, note, object: None }
    }

    /// A command object, or the failure to make one.
    fn said(json: Value) -> Self {
        match CommandObject::read(json) {
            Ok(object) => {
                let (status, object) = (ReturnStatus::Success, Some(Box::new(object)));
                Self { status, content: None, note: None, object }
            }
            Err(wrong) => {
                let known = serde_json::json!({ "field": wrong.path, "why": wrong.why });
                Self::failed(&format!("it answered with a bad command object: {wrong}"), known)
            }
        }
    }

    /// A failure, with what is known of it.
    pub(super) fn failed(why: &str, known: Value) -> Self {
        let content = Some((ContentType::Json, known));
        Self { status: ReturnStatus::Failed, content, note: Some(why.to_owned()), object: None }
    }

    /// Whether others go on with the work.
    fn goes_on(&self) -> bool {
        self.object.as_ref().is_some_and(|object| match &object.goto {
            Next::End => false,
            Next::Agent(_) | Next::Sends(_) => true,
        })
    }

    pub(super) fn words(&self) -> Option<Text> {
        self.note.as_ref().and_then(|note| words(note))
    }
}

/// How telling it went.
#[derive(Debug)]
pub(super) enum Told {
    /// It is recorded, or nobody waits for it any more.
    Done(String),
    /// Somebody above was asked, by the run itself or because it failed.
    Asked,
    /// It has returned, and comes back to this one if its checks fail.
    Reported,
    /// It went on to others, and comes back to this one if they do not keep it.
    WentOn,
    /// The coordinator ends; another one goes on.
    Stopping,
}

/// As much of a text as takes so many bytes in JSON.
fn fitting(text: &str, most: usize) -> &str {
    let mut weight = 2;
    let over = text.char_indices().find(|(_, letter)| {
        weight += match letter {
            '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
            letter if *letter < ' ' => 6,
            letter => letter.len_utf8(),
        };
        weight > most
    });
    over.map_or(text, |(at, _)| &text[..at])
}

/// As much of a text as a note can hold. Secrets are masked first: half of one is not known as one.
pub(crate) fn words(text: &str) -> Option<Text> {
    let text = mask(text);
    let most = baton_protocol::limits::TEXT_BYTES_MAX;
    let end = (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let shown = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
    text[..end].chars().filter(shown).collect::<String>().parse().ok()
}

impl Engine {
    /// Where what is held stands.
    pub(super) async fn standing(&self, held: &Held) -> Result<Standing, LedgerError> {
        let Held { workflow, fence, agent, .. } = held.clone();
        self.look(Scope::Workflow(workflow), move |world| {
            let workflow = world.workflows.get(&workflow);
            let hold = workflow.and_then(|workflow| workflow.holds.get(&fence));
            let Some((workflow, hold)) = workflow.zip(hold).filter(|(_, hold)| hold.agent == agent)
            else {
                return Standing::Gone;
            };
            if let Some(waiting) = hold.suspended {
                return Standing::Waits(waiting.escalation);
            }
            let brought = hold.handoff.and_then(|id| workflow.handoffs.get(&id));
            if let Some(State::Returned { .. }) = brought.map(|handoff| &handoff.state) {
                return Standing::Checked;
            }
            let part = match brought.map(|handoff| &handoff.terms.kind) {
                Some(Kind::Escalation(_)) => Part::Question,
                Some(Kind::Delegation(_) | Kind::Broadcast(_)) => Part::Subtask,
                Some(Kind::Sequential) | None if workflow.machine.is_some() => Part::Step,
                Some(Kind::Sequential) | None => Part::Owner,
            };
            Standing::Held { part, due: hold.due }
        })
        .await
    }

    /// How often what was returned under this hold did not pass its checks.
    pub(super) async fn round(&self, held: &Held) -> Result<u8, LedgerError> {
        let (workflow, handoff) = (held.workflow, held.handoff);
        self.look(Scope::Workflow(workflow), move |world| {
            world.handoff(handoff).map_or(0, |(_, _, handoff)| handoff.unverified)
        })
        .await
    }

    /// Tells what came of it in this `round`, once nothing that was passed on is still out.
    pub(super) async fn tell(
        &self,
        held: &Held,
        round: u8,
        outcome: Outcome,
    ) -> Result<Told, LedgerError> {
        let mut changes = self.changes();
        let mut outcome = outcome;
        let mut doubted = false;
        loop {
            changes.mark_unchanged();
            let part = match self.standing(held).await? {
                Standing::Gone => return Ok(Told::Done("answered by itself".to_owned())),
                Standing::Waits(_) => return Ok(Told::Asked),
                // It has returned by itself.
                Standing::Checked => return Ok(Told::Reported),
                Standing::Held { .. } if self.round(held).await? != round => {
                    return Ok(Told::Reported);
                }
                Standing::Held { part, .. } => part,
            };
            let failed = outcome.status == ReturnStatus::Failed;
            if failed && part.asks_above() {
                if self.raise(held, &outcome).await? {
                    return Ok(Told::Asked);
                }
                // Nobody may ask while what was passed on is still out.
                if self.is_open_under(held).await? {
                    match self.changed(&mut changes).await {
                        true => continue,
                        false => return Ok(Told::Stopping),
                    }
                }
            }
            let command = match (&outcome.object, part, failed) {
                (Some(object), ..) => Ok(going(held, object)),
                (None, Part::Step, _) => step::told(held, &outcome),
                (None, Part::Owner, true) => return self.noted(held, &outcome).await,
                (None, Part::Owner, false) => completing(held, &outcome),
                (None, Part::Question | Part::Subtask, _) => returning(held, &outcome),
            };
            let refusal = match command {
                Ok(command) => match self.submit(self.by_agent(held, command)).await {
                    Ok(_) if outcome.goes_on() => return Ok(Told::WentOn),
                    Ok(answer) if answer.has("returned") => return Ok(Told::Reported),
                    Ok(_) => return Ok(Told::Done(how(&outcome))),
                    Err(SubmitError::Failed(failure)) => return Err(failure),
                    Err(SubmitError::Refused(refusal)) => refusal.to_string(),
                },
                Err(why) => why,
            };
            let open = self.is_open_under(held).await?;
            if !open && doubted {
                return Ok(Told::Done(format!("could not be told: {refusal}")));
            }
            if !open {
                doubted = true;
                let known = serde_json::json!({ "refused": refusal });
                outcome = Outcome::failed(&format!("its result was refused: {refusal}"), known);
                continue;
            }
            // What it passed on is still out; its result is told when that is back.
            if !self.changed(&mut changes).await {
                return Ok(Told::Stopping);
            }
        }
    }

    /// Asks somebody above about work that failed and cannot just come back. Returns whether there
    /// was anybody to ask.
    async fn raise(&self, held: &Held, outcome: &Outcome) -> Result<bool, LedgerError> {
        let Some(words) = outcome.words() else { return Ok(false) };
        let command = Command::Pass(Box::new(Pass {
            workflow: Some(held.workflow),
            fence: Some(held.fence),
            to_agent: None,
            to_agents: Vec::new(),
            aggregation: Default::default(),
            peers_visible: false,
            kind: PassKind::Escalation,
            reason: words.clone(),
            trigger: None,
            priority: None,
            context: Default::default(),
            validation: Default::default(),
            return_protocol: Default::default(),
            audit: PassAudit { decision_rationale: Some(words), ..PassAudit::default() },
            routing: Default::default(),
            matched: Default::default(),
            step: None,
        }));
        match self.submit(self.by_agent(held, command)).await {
            Ok(_) => Ok(true),
            Err(SubmitError::Refused(_)) => Ok(false),
            Err(SubmitError::Failed(failure)) => Err(failure),
        }
    }

    /// Notes on the hold what came of it: whoever looks at the work finds it there.
    pub(super) async fn noted(&self, held: &Held, outcome: &Outcome) -> Result<Told, LedgerError> {
        let (workflow, fence) = (held.workflow, held.fence);
        let said = Progress { workflow, fence, note: outcome.words(), percent: None };
        match self.submit(self.by_agent(held, Command::Progress(said))).await {
            Ok(_) | Err(SubmitError::Refused(_)) => Ok(Told::Done(how(outcome))),
            Err(SubmitError::Failed(failure)) => Err(failure),
        }
    }

    /// Whether it went on to others, and what it holds waits until they are done with it.
    pub(super) async fn is_out(&self, held: &Held) -> Result<bool, LedgerError> {
        let (workflow, fence) = (held.workflow, held.fence);
        self.look(Scope::Workflow(workflow), move |world| {
            let Some(workflow) = world.workflows.get(&workflow) else { return false };
            let waits = |out: &Handoff| match &out.terms.kind {
                Kind::Sequential => true,
                kind => kind.is_blocking() && workflow.blocks(out),
            };
            workflow.open_under(fence).any(waits)
        })
        .await
    }

    /// The last look that somebody was asked to take because the time of this hold was up.
    pub(super) async fn looked_at(
        &self,
        held: &Held,
    ) -> Result<Option<(HandoffId, Look)>, LedgerError> {
        let (workflow, fence) = (held.workflow, held.fence);
        self.look(Scope::Workflow(workflow), move |world| {
            let all = world.workflows.get(&workflow)?.handoffs.values();
            let looks = all.filter(|one| match &one.terms.kind {
                Kind::Escalation(asked) => asked.matter == Matter::Overdue,
                Kind::Sequential | Kind::Delegation(_) | Kind::Broadcast(_) => false,
            });
            let last = looks
                .filter(|look| look.terms.parent == fence)
                .max_by_key(|look| (look.initiated_at, look.terms.id))?;
            let how = if last.state.is_over() { Look::Over } else { Look::Open };
            Some((last.terms.id, how))
        })
        .await
    }

    async fn is_open_under(&self, held: &Held) -> Result<bool, LedgerError> {
        let (workflow, fence) = (held.workflow, held.fence);
        self.look(Scope::Workflow(workflow), move |world| {
            let workflow = world.workflows.get(&workflow);
            workflow.is_some_and(|workflow| workflow.open_under(fence).next().is_some())
        })
        .await
    }

    /// A command in the agent's name. Each asking is one of its own: what was refused a moment ago
    /// may be taken now.
    fn by_agent(&self, held: &Held, command: Command) -> Submission {
        let Held { agent, handoff, fence, .. } = held;
        let key = format!("{handoff} {fence} {} {}", command.digest(), self.clock.now());
        let id = CommandId::from_key("run", &key);
        Submission { id, actor: Actor::Agent(agent.clone()), command }
    }
}

fn how(outcome: &Outcome) -> String {
    match outcome.status {
        ReturnStatus::Success | ReturnStatus::Partial => "done".to_owned(),
        ReturnStatus::Failed | ReturnStatus::Timeout => {
            outcome.note.clone().unwrap_or_else(|| "failed".to_owned())
        }
    }
}

fn body(value: &Value) -> Result<Body, String> {
    let json = BodyJson::try_from(value.clone());
    json.map(Body::Inline).map_err(|error| error.to_string())
}

fn returning(held: &Held, outcome: &Outcome) -> Result<Command, String> {
    let result = match &outcome.content {
        Some((content_type, value)) => {
            Some(ResultContent { content_type: *content_type, body: body(value)? })
        }
        None => None,
    };
    let mut give = GiveBack {
        handoff: held.handoff,
        fence: held.fence,
        status: outcome.status,
        result,
        context_updates: Default::default(),
        audit: Default::default(),
    };
    give.audit.notes = outcome.words();
    Ok(Command::Return(Box::new(give)))
}

fn going(held: &Held, object: &CommandObject) -> Command {
    Command::Goto(Box::new(object.clone().about(held.workflow, Some(held.fence))))
}

pub(super) fn completing(held: &Held, outcome: &Outcome) -> Result<Command, String> {
    let result = outcome.content.as_ref().map(|(_, value)| body(value)).transpose()?;
    let (workflow, fence) = (held.workflow, Some(held.fence));
    let (context_updates, used) = Default::default();
    let note = outcome.words();
    Ok(Command::Complete(Complete { workflow, fence, result, note, context_updates, used }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_too_long_is_cut_between_words_and_fits() {
        let key = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
        let said = format!("{} {}", "x".repeat(1_000), &key[..20]);
        let cut = Outcome::of(said.as_bytes(), true).content.expect("words").1;
        assert_eq!(cut, Value::String("x".repeat(1_000)), "half a secret is left out");
        for (said, letters) in [(vec![0xff_u8; 400_000], 349_524), (vec![1; 400_000], 174_762)] {
            let outcome = Outcome::of(&said, false);
            assert_eq!(outcome.status, ReturnStatus::Partial);
            let (_, content) = outcome.content.expect("words");
            assert_eq!(content.as_str().expect("words").chars().count(), letters);
            assert!(BodyJson::try_from(content).is_ok(), "it can be recorded");
        }
        let long = format!("{}{key} and more", "y ".repeat(2_020));
        let note = words(&long).expect("a note").to_string();
        assert!(!note.contains("ghp_"), "{}", &note[4_000..]);
    }

    #[test]
    fn output_is_json_if_it_reads_as_that_and_words_if_not() {
        let of = |bytes: &[u8]| Outcome::of(bytes, false).content;
        assert_eq!(of(b" {\"a\": 1}\n"), Some((ContentType::Json, json!({ "a": 1 }))));
        assert_eq!(of(b"all good\n"), Some((ContentType::Text, json!("all good"))));
        assert_eq!(of(b"\xff"), Some((ContentType::Text, json!("\u{fffd}"))));
        assert_eq!(of(b" \n"), None);
        let cut = Outcome::of(b"7", true);
        assert_eq!(cut.content, Some((ContentType::Text, json!("7"))));
        assert_eq!(cut.status, ReturnStatus::Partial);
    }

    #[test]
    fn output_with_a_goto_says_where_the_work_goes_or_what_is_wrong_with_it() {
        let good = Outcome::of(br#" {"goto": "END", "update": {"context": {"a": 1}}} "#, false);
        assert!(good.object.is_some() && good.content.is_none());
        let bad = Outcome::of(br#"{"goto": [["builder", {"task": 7}]]}"#, false);
        assert_eq!((bad.status, bad.object.is_some()), (ReturnStatus::Failed, false));
        let note = bad.note.expect("words");
        assert!(note.contains("goto[0][1].task: invalid type"), "{note}");
        assert_eq!(bad.content.expect("facts").1["field"], "goto[0][1].task");
        let words = Outcome::of(br#"[{"goto": "END"}]"#, false);
        assert!(words.object.is_none() && words.content.is_some());
    }

    #[test]
    fn a_note_is_cut_to_what_a_note_can_hold() {
        let long = "ä".repeat(baton_protocol::limits::TEXT_BYTES_MAX);
        assert!(words(&long).is_some());
        assert_eq!(words("a\u{1b}[2Jb").map(String::from), Some("a[2Jb".to_owned()));
        assert_eq!(words(" "), None);
    }
}
