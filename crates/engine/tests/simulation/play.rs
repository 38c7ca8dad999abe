//! One run: a cast, a few dozen steps, and an end at which nothing may be left open.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use baton_protocol::command::Actor;
use serde_json::json;

use crate::around::{self, Loans};
use crate::cast;
use crate::invariants::Broken;
use crate::moves;
use crate::stage::{Halt, Memories, Stage, Went};

/// Steps after which it is kept how something is shown, to look back at it in the end.
const STEPS_PER_VIEW: u32 = 80;

/// How a run went that did not go well.
pub(crate) struct Failure {
    pub(crate) seed: u64,
    pub(crate) step: u32,
    pub(crate) broken: Broken,
    pub(crate) tail: String,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { seed, step, broken, tail } = self;
        write!(
            f,
            "seed {seed}, step {step}: {broken}\nthe last records:\n{tail}\
             replay: BATON_SEED={seed} cargo test -p baton-engine --test simulation -- \
             --nocapture replay"
        )
    }
}

/// What a run came to: how often each thing was recorded or refused.
pub(crate) type Counts = BTreeMap<&'static str, u64>;

/// Plays the run of this seed on a ledger in memory.
pub(crate) fn play(seed: u64) -> Result<Counts, Box<Failure>> {
    let mut stage = Stage::in_memory(Memories::new(seed));
    let played = catch_unwind(AssertUnwindSafe(|| block_on(whole(&mut stage))));
    let broken = match played {
        Ok(Ok(())) => return Ok(stage.own.counts),
        Ok(Err(Halt::Broken(broken))) => broken,
        Ok(Err(Halt::Down)) => Broken { id: "I34", how: "the ledger stopped".to_owned() },
        Err(_) => Broken { id: "I34", how: "something panicked; see above".to_owned() },
    };
    let (step, tail) = (stage.own.step, stage.tail());
    Err(Box::new(Failure { seed, step, broken, tail }))
}

/// Nothing here ever waits: the ledger in memory answers at once.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.expect("a runtime").block_on(future)
}

async fn whole(stage: &mut Stage) -> Went<()> {
    open(stage).await?;
    let mut loans = Loans::default();
    let steps = stage.own.chance.between(40, 160);
    for _ in 0..steps {
        stage.own.step += 1;
        step(stage, &mut loans).await?;
        if stage.own.step.is_multiple_of(STEPS_PER_VIEW) {
            stage.keep_view().await?;
        }
    }
    around::finish(stage).await?;
    stage.look_back().await?;
    stage.restart().await?;
    stage.verify("I24").await
}

/// The cast is drawn, once, and everybody is registered who is not.
pub(crate) async fn open(stage: &mut Stage) -> Went<()> {
    if stage.own.players.is_empty() {
        let (players, profiles) = cast::draw(&mut stage.own.chance).into_iter().unzip();
        stage.own.players = players;
        stage.own.players.push(cast::operator());
        stage.own.profiles = profiles;
    }
    for profile in stage.own.profiles.clone() {
        let id = profile["id"].as_str().and_then(|name| name.parse().ok());
        if !id.is_some_and(|id| stage.world.agents.contains_key(&id)) {
            stage.ask(Actor::Operator, json!({ "register": profile })).await?;
        }
    }
    Ok(())
}

/// One step of anybody.
pub(crate) async fn step(stage: &mut Stage, loans: &mut Loans) -> Went<()> {
    let kinds = [(62, 0), (24, 1), (6, 2), (4, 3), (4, 4)];
    match stage.own.chance.weighed(&kinds) {
        0 => {
            let count = stage.own.players.len() as u64;
            let n = usize::try_from(stage.own.chance.below(count)).unwrap_or(0);
            moves::turn(stage, n).await
        }
        1 => around::time(stage).await,
        2 => around::person(stage).await,
        3 => around::news(stage, loans).await,
        _ => {
            loans.forget();
            stage.restart().await
        }
    }
}
