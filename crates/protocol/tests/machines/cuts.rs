//! A charter flight whose ledger ends after every one of its records: whoever reads what is there
//! goes on as if nothing had happened.

use baton_protocol::command::SetVariables;

use super::*;

/// The charter of the examples, as far as its states go. What its rules come to is handed in.
fn charter() -> Definition {
    serde_json::from_value(json!({
        "workflow": "charter", "version": 1,
        "agents": {
            "orchestrator": {}, "client-data": {}, "flight-search": {}, "analyst": {},
            "communication": {},
        },
        "start": "created",
        "states": {
            "created": {},
            "analyzing": { "agent": "orchestrator", "timeout": "10m" },
            "fetching": { "agent": "client-data" },
            "searching": { "agent": "flight-search" },
            "awaiting": {
                "agent": "flight-search", "timeout": "24h",
                "wait": { "until": "size(context.quotes) >= 3", "signal": "QUOTES" },
            },
            "comparing": { "agent": "analyst" },
            "sending": { "agent": "communication" },
            "completed": { "end": "completed" },
            "failed": { "end": "failed" },
        },
        "transitions": {
            "created": ["analyzing"], "analyzing": ["fetching", "failed"],
            "fetching": ["searching", "failed"], "searching": ["awaiting"],
            "awaiting": ["comparing", "searching"], "comparing": ["sending"],
            "sending": ["completed", "failed"],
        },
        "signals": { "QUOTES": "an operator sent a quote" },
        "rules": [],
    }))
    .expect("a definition")
}

impl Play {
    fn chosen(&mut self, command: Command, chosen: Chosen) {
        let verdict = Verdict::Chosen(Box::new(chosen));
        self.judged(Actor::Coordinator, command, verdict).expect("it goes on");
    }

    /// The step is done by whoever was asked.
    fn done(&mut self, chosen: Chosen) {
        let (_, who) = self.waiting();
        let fence = self.takes();
        self.completes(who.as_str(), fence, chosen).expect("moved");
    }
}

/// A whole flight: the spreadsheet fails once, no quote comes for a day, nobody takes the
/// comparison at first, somebody comes late, and mail may fail until nobody tries it again.
fn flight(mails: bool) -> Play {
    let mut play = Play::following(charter());
    play.done(to(Some("client-data"), "fetching"));
    let fence = play.takes();
    play.fails("client-data", fence, true);
    play.later("2s");
    play.wakes();
    play.done(to(Some("flight-search"), "searching"));
    play.done(to(None, "awaiting"));
    let late = play.completes("flight-search", fence, to(None, "completed"));
    assert!(late.is_err(), "its number is over");
    play.later("24h");
    let wake = WakeHold { workflow: play.id, fence: play.work().owner };
    play.chosen(Command::WakeHold(wake), to(None, "searching"));
    let fence = play.work().owner;
    play.completes("flight-search", fence, to(None, "awaiting")).expect("moved");
    let (quotes, fence) = (json!({ "quotes": [1, 2, 3] }), play.work().owner);
    let changes = json!({ "workflow": play.id, "fence": fence, "changes": quotes });
    let changes: SetVariables = serde_json::from_value(changes).expect("variables");
    play.ask(agent("flight-search"), Command::SetVariables(changes)).expect("written");
    let stir = Stir { workflow: play.id, depth: 0 };
    play.chosen(Command::Stir(stir), to(Some("analyst"), "comparing"));
    let (handoff, _) = play.waiting();
    play.later("30s");
    play.ask(Actor::Coordinator, Command::Wake(Wake { handoff })).expect("fine");
    play.later("2s");
    play.wakes();
    play.done(to(Some("communication"), "sending"));
    if mails {
        play.done(to(None, "completed"));
        return play;
    }
    for again in ["2s", "4s", "8s", ""] {
        let fence = play.takes();
        play.fails("communication", fence, true);
        if !again.is_empty() {
            play.later(again);
            play.wakes();
        }
    }
    play
}

#[test]
fn a_flight_that_is_cut_after_any_record_goes_on_as_it_did() {
    for (mails, ending) in [(true, "completed"), (false, "failed")] {
        let mut play = flight(mails);
        assert_eq!(play.tells().last().map(String::as_str), Some(ending));
        assert!(play.records.len() > 40, "{}", play.records.len());
        for cut in 0..=play.records.len() {
            goes_on(&play, cut);
        }
    }
}

/// Reads the records before `cut` and asks for everything that was asked after them.
fn goes_on(play: &Play, cut: usize) {
    let mut world = World::default();
    let mut at = 0;
    let mut read = |world: &mut World, until: usize| {
        for (stream, event, when) in &play.records[at..until] {
            let line = serde_json::to_string(event).expect("JSON");
            let event: Event = serde_json::from_str(&line).expect("an event");
            evolve(world, stream, &event, *when);
        }
        at = until;
    };
    read(&mut world, cut);
    // A restart reads a snapshot and the records after it.
    let text = serde_json::to_string(&world).expect("JSON");
    let mut world = serde_json::from_str::<World>(&text).expect("a world").restored();
    for asked in play.asked.iter().filter(|asked| asked.before >= cut) {
        // What was decided at once is recorded at once: nobody is asked before the rest is there.
        read(&mut world, asked.before);
        let came = decided(&world, &asked.ask, &asked.verdict, asked.at);
        assert_eq!(came, asked.came, "after {cut} of {} records", play.records.len());
    }
    read(&mut world, play.records.len());
    assert_eq!(world, play.world, "after {cut} records");
}
