//! The stage for bad input: work in every state that a refusal needs, and names for its ids.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::coordinator::Coordinator;
use crate::wire::{Caller, Reply, Request, Wire};

/// A workspace with work in it. `$name` in a row stands for an id of the scene.
pub(crate) struct Scene {
    pub(crate) coordinator: Coordinator,
    wire: Wire,
    callers: BTreeMap<&'static str, Caller>,
    names: BTreeMap<String, String>,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let coordinator = Coordinator::new();
        let [builder, tester, busy] = coordinator.agents(["builder", "tester", "busy"]);
        let header = |name, value: &str| Caller { header: Some((name, value.to_owned())) };
        let callers = BTreeMap::from([
            ("operator", Caller::OPERATOR),
            ("builder", builder),
            ("tester", tester),
            ("busy", busy),
            ("stranger", Caller::agent("bt1_builder_0000")),
            ("nonsense", header("authorization", "Basic YTpi")),
            ("misnamed", header("baton-as", "Bad Name")),
            ("ghost", header("baton-as", "ghost")),
        ]);
        let wire = coordinator.wire();
        let mut scene = Self { coordinator, wire, callers, names: BTreeMap::new() };
        scene.set();
        scene
    }

    fn set(&mut self) {
        self.grant("operator", json!({"register": {"id": "busy", "max_concurrent_tasks": 1}}));
        let clerk = json!({"id": "clerk", "write_scopes": ["task_status"]});
        self.grant("operator", json!({"register": clerk}));
        // `$open1` to `$open9`: workflows that the operator holds.
        for n in 1..=9 {
            let started = self.grant("operator", json!({"start": {"title": "Work"}}));
            self.name(&format!("open{n}"), &started["workflow"]);
        }
        // `$waiting1` to `$waiting5`: delegations that builder has not answered.
        for n in 1..=5 {
            let passed = self.delegate("builder");
            self.name(&format!("waiting{n}"), &passed["handoff"]);
        }
        self.held("held", "builder");
        self.held("returned", "builder");
        let give = json!({"handoff": self.id("returned"), "fence": 2, "status": "success"});
        self.grant("builder", json!({"return": give}));
        self.held("filling", "busy");
        let more = self.delegate("busy");
        self.name("overflow", &more["handoff"]);
        // Work that was passed for good: the operator's fence 1 is stale, builder has 2.
        let passed = self.sequential("builder");
        self.name("moved", &passed["handoff"]);
        self.name("moved_work", &passed["workflow"]);
        self.grant("builder", json!({"accept": {"handoff": passed["handoff"]}}));
        let under_way = self.sequential("tester");
        self.name("under_way", &under_way["workflow"]);
        // Work that is over, and a handoff in it.
        let passed = self.sequential("builder");
        self.name("closed_handoff", &passed["handoff"]);
        self.name("closed", &passed["workflow"]);
        self.grant("builder", json!({"accept": {"handoff": passed["handoff"]}}));
        let complete = json!({"workflow": passed["workflow"], "fence": 2});
        self.grant("builder", json!({"complete": complete}));
        self.things();
        self.name("nil", &json!("00000000-0000-4000-8000-000000000000"));
        self.name("digest", &json!("0123456789abcdef".repeat(4)));
    }

    /// A lock, an artifact, a variable and a token to be wrong about.
    fn things(&mut self) {
        let open = self.id("open9");
        self.grant("operator", json!({"lock": {"workflow": open, "paths": ["taken.rs"]}}));
        let artifact = json!({"path": "a.rs"});
        let added = self
            .grant("operator", json!({"add_artifact": {"workflow": open, "artifact": artifact}}));
        self.name("artifact", &added["events"][0]["artifact"]["id"]);
        let set = json!({"workflow": open, "changes": {"branch": "main"}});
        self.grant("operator", json!({"set_variables": set}));
        let issue = json!({"agent": "clerk", "digest": "0".repeat(64)});
        let issued = self.grant("operator", json!({"issue_token": issue}));
        self.name("token", &issued["events"][0]["token"]["id"]);
    }

    fn delegate(&mut self, to: &str) -> Value {
        let pass = json!({
            "to_agent": to, "reason": "r", "type": "delegation",
            "return_protocol": {"timeout": "1h"},
        });
        self.grant("operator", json!({"pass": pass}))
    }

    fn sequential(&mut self, to: &str) -> Value {
        self.grant("operator", json!({"pass": {"to_agent": to, "reason": "r"}}))
    }

    /// A delegation that `agent` holds under fence 2: `$name`, and `$name_work` for its workflow.
    fn held(&mut self, name: &str, agent: &'static str) {
        let passed = self.delegate(agent);
        self.name(name, &passed["handoff"]);
        self.name(&format!("{name}_work"), &passed["workflow"]);
        self.grant(agent, json!({"accept": {"handoff": passed["handoff"]}}));
    }

    fn name(&mut self, name: &str, id: &Value) {
        self.names.insert(format!("${name}"), id.as_str().expect("an id").to_owned());
    }

    fn id(&self, name: &str) -> String {
        self.names[&format!("${name}")].clone()
    }

    /// The text with every `$name` replaced.
    pub(crate) fn spelled(&self, text: &str) -> String {
        // The longest names first: `$moved_work` is not `$moved` with something behind it.
        let mut names: Vec<_> = self.names.iter().collect();
        names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        names.iter().fold(text.to_owned(), |text, (name, id)| text.replace(*name, id))
    }

    #[track_caller]
    pub(crate) fn grant(&mut self, who: &str, command: Value) -> Value {
        self.command(who, None, command.to_string().as_bytes()).granted()
    }

    pub(crate) fn command(&mut self, who: &str, key: Option<&str>, body: &[u8]) -> Reply {
        self.ask("POST", "/v1/commands", who, key, body)
    }

    /// Asks, and fails the test if no answer comes.
    pub(crate) fn ask(
        &mut self,
        method: &'static str,
        path: &str,
        who: &str,
        key: Option<&str>,
        body: &[u8],
    ) -> Reply {
        let caller = self.callers.get(who).unwrap_or_else(|| panic!("nobody is called {who}"));
        let request = Request { method, path, caller, key, body };
        self.wire.ask(&request).unwrap_or_else(|error| panic!("{error}: {who} {method} {path}"))
    }

    /// A fresh connection, for when a refusal has left the last one in the middle of a request.
    pub(crate) fn reconnect(&mut self) {
        self.wire = self.coordinator.wire();
    }

    /// How many records the ledger has.
    pub(crate) fn records(&mut self) -> u64 {
        let status = self.wire.ask(&Request::read("/v1/status")).expect("an answer").granted();
        status["records"].as_u64().expect("a count")
    }
}
