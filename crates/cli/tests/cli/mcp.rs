//! Sessions of coding agents: the real binary, spoken to in MCP over its standard input and output.
//! `scripts/mcp/run` does the same with the official clients.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::desk::Desk;

/// A client at the other end of a session.
struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    sent: u64,
    /// What the server told without being asked.
    heard: Vec<Value>,
    /// What the person at this client answers when it is asked.
    person: Option<Value>,
    /// How often the person was asked.
    asked: usize,
}

impl Client {
    /// A client of an older revision, with these capabilities.
    fn new(desk: &Desk, agent: &str, capabilities: Value) -> Self {
        let mut client = Self::bare(desk, agent, &[]);
        client.greet(capabilities);
        client
    }

    /// Begins the session, and returns what the server says of itself.
    fn greet(&mut self, capabilities: Value) -> Value {
        let begun = self.request(
            "initialize",
            json!({
                "protocolVersion": "2025-06-18",
                "capabilities": capabilities,
                "clientInfo": { "name": "test", "version": "1" },
            }),
        );
        assert_eq!(begun["result"]["serverInfo"]["name"], "baton", "{begun}");
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        begun["result"].clone()
    }

    fn bare(desk: &Desk, agent: &str, env: &[(&str, &str)]) -> Self {
        let mut command = desk.baton(&["mcp", "--agent", agent]);
        command.envs(env.iter().copied());
        Self::at(command)
    }

    fn at(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("piped"));
        Self { child, input, output, sent: 0, heard: Vec::new(), person: None, asked: 0 }
    }

    fn send(&mut self, message: &Value) {
        let input = self.input.as_mut().expect("an open session");
        writeln!(input, "{message}").expect("it is read");
    }

    fn next(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("an answer");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// Asks, and answers what is asked in turn, until the answer comes.
    fn request(&mut self, method: &str, params: Value) -> Value {
        self.sent += 1;
        let id = self.sent;
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.send(&message);
        loop {
            let message = self.next();
            match (message.get("method"), message.get("id")) {
                (None, Some(answered)) if *answered == json!(id) => return message,
                (Some(method), Some(asked)) if method == "elicitation/create" => {
                    self.asked += 1;
                    let answer = self.person.clone().expect("nobody is to be asked");
                    self.send(&json!({ "jsonrpc": "2.0", "id": asked, "result": answer }));
                }
                _ => self.heard.push(message),
            }
        }
    }

    /// What a tool gives.
    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.request("tools/call", json!({ "name": tool, "arguments": arguments }));
        assert_eq!(answer["result"]["isError"], false, "{tool}: {answer}");
        answer["result"]["structuredContent"].clone()
    }

    /// What a tool says that does not do what was asked.
    fn refused(&mut self, tool: &str, arguments: Value) -> String {
        let answer = self.request("tools/call", json!({ "name": tool, "arguments": arguments }));
        assert_eq!(answer["result"]["isError"], true, "{tool}: {answer}");
        answer["result"]["content"][0]["text"].as_str().expect("words").to_owned()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // A session ends with its input.
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

#[test]
fn in_a_folder_that_is_not_ours_a_session_offers_nothing_and_says_why() {
    let (desk, elsewhere) = (Desk::with(&[]), tempfile::tempdir().expect("a folder"));
    let mut command = desk.baton(&["mcp", "--agent", "coder"]);
    command.current_dir(elsewhere.path());
    let mut client = Client::at(command);
    let server = client.greet(json!({}));
    assert!(server["capabilities"].get("tools").is_none(), "{server}");
    assert!(server["instructions"].as_str().expect("words").contains("`baton init`"), "{server}");
    assert_eq!(client.request("tools/list", json!({}))["result"]["tools"], json!([]));
    drop(client.input.take());
    assert!(client.child.wait().expect("it ends").success());
    let mut command = desk.baton(&["mcp", "--workspace", "nowhere"]);
    let refused = command.current_dir(elsewhere.path()).output().expect("it runs");
    assert_eq!(refused.status.code(), Some(4), "what was named should be there");
}

#[test]
fn work_travels_between_two_sessions_and_comes_back() {
    let desk = Desk::new();
    // Nobody was made known before: a session that a person starts does that.
    let mut alice = Client::new(&desk, "alice", json!({}));
    let mut bob = Client::new(&desk, "bob", json!({}));
    let agents = alice.call("find_agents", json!({}));
    assert!(agents["agents"].as_array().expect("agents").iter().any(|a| a["agent"] == "bob"));
    let handed = alice.call(
        "handoff_to_agent",
        json!({ "to": "bob", "reason": "the parser is slow", "task": "make it fast",
                "context": { "hint": "profile first" }, "artifacts": ["src/parser.rs"] }),
    );
    assert_eq!(handed["status"], "sent", "{handed}");
    let handoff = text(&handed["handoff"]).to_owned();
    let pending = alice.call("await_handoff", json!({ "handoff": handoff, "seconds": 0 }));
    assert_eq!(pending["status"], "pending");

    let inbox = bob.call("list_inbox", json!({}));
    assert_eq!(inbox["waiting"][0]["handoff"], handoff.as_str());
    let brief = bob.request("prompts/get", json!({ "name": "accept_handoff" }));
    let brief = text(&brief["result"]["messages"][0]["content"]["text"]).to_owned();
    for part in ["make it fast", "profile first", "src/parser.rs", "return_handoff"] {
        assert!(brief.contains(part), "{part} in {brief}");
    }
    let taken = bob.call("accept_handoff", json!({}));
    assert_eq!((&taken["handoff"], taken["fence"].is_u64()), (&json!(handoff), true));
    let context = &taken["package"]["handoff"]["context"];
    assert_eq!(context["custom"]["hint"], "profile first", "{taken}");
    // With one thing in hand, nothing more must be said.
    bob.call("report_progress", json!({ "note": "half way", "percent": 50 }));
    bob.call("set_variables", json!({ "variables": { "speedup": 3 } }));
    bob.call("add_artifact", json!({ "path": "bench.txt", "description": "figures" }));
    let done = bob.call("return_handoff", json!({ "result": { "speedup": 3 } }));
    assert_eq!(done["status"], "returned");

    let back = alice.call("await_handoff", json!({ "handoff": handoff }));
    assert_eq!(back["status"], "done", "{back}");
    assert!(back["result"].to_string().contains("speedup"), "{back}");
    assert!(text(&back["next"]).contains("return_handoff"), "what is left to do: {back}");
    let uri = format!("baton://handoffs/{handoff}/audit");
    let audit = alice.request("resources/read", json!({ "uri": uri }));
    assert!(audit["result"]["contents"][0]["text"].to_string().contains("initiated"), "{audit}");
    // The work began with alice, who ends it.
    let whole = alice.call("return_handoff", json!({ "result": "faster" }));
    assert_eq!(whole["status"], "completed");
    desk.run(&["audit", "verify"]).ok();
}

#[test]
fn a_session_is_one_agent_and_never_another() {
    let desk = Desk::with(&["alice", "bob"]);
    let token = desk.run(&["token", "create", "--agent", "alice"]).ok().trim().to_owned();
    let by_token = [("BATON_TOKEN", token.as_str())];
    let said = desk.run_with(&["mcp", "--agent", "bob"], &by_token).fails(3);
    assert!(said.contains("this process is agent alice and cannot speak for bob"), "{said}");
    let marked = desk.run_with(&["mcp", "--agent", "bob"], &[("BATON_AGENT", "alice")]).fails(3);
    assert!(marked.contains("cannot speak for bob"), "{marked}");
    let said = desk.run(&["mcp"]).fails(2);
    assert!(said.contains("it is not said which agent this session is"), "{said}");
    // Whoever is marked and has no token of its own gets none made.
    desk.run_with(&["mcp"], &[("BATON_AGENT", "alice")]).fails(3);
    // What the session did is recorded as the agent's own doing, not the operator's.
    let mut alice = Client::new(&desk, "alice", json!({}));
    alice.call("handoff_to_agent", json!({ "to": "bob", "reason": "look" }));
    let audit = desk.run(&["audit", "log", "--json"]).ok();
    assert!(audit.contains("\"by\":\"alice\""), "{audit}");
    let kept = desk.path().join(".baton/sessions/alice.token");
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&fs::metadata(kept).expect("it").permissions());
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn fences_and_files_are_what_they_are_for_everybody_else() {
    let desk = Desk::new();
    fs::create_dir(desk.path().join("src")).expect("a folder");
    fs::write(desk.path().join("src/a.rs"), "").expect("a file");
    std::os::unix::fs::symlink("src", desk.path().join("lib")).expect("a link");
    let mut alice = Client::new(&desk, "alice", json!({}));
    let mut bob = Client::new(&desk, "bob", json!({}));
    for (client, to) in [(&mut alice, "bob"), (&mut bob, "alice")] {
        client.call("handoff_to_agent", json!({ "to": to, "reason": "look at it" }));
    }
    alice.call("accept_handoff", json!({}));
    let taken = bob.call("accept_handoff", json!({}));
    // Both hold two things now: what they began, and what they took.
    let said = alice.refused("lock_files", json!({ "paths": ["src/a.rs"] }));
    assert!(said.contains("several things") && said.contains("code: ambiguous"), "{said}");
    let work = taken["handoff"].clone();
    for (bad, why) in [(json!([]), "no file is named"), (json!(["../x"]), "out of the workspace")] {
        let said = bob.refused("lock_files", json!({ "paths": bad, "work": work }));
        assert!(said.contains(why) && said.contains("code: bad-input"), "{said}");
    }
    bob.call("lock_files", json!({ "paths": ["lib/a.rs"], "work": work }));
    let own = alice.call("list_inbox", json!({}))["holding"][0].clone();
    let lock = json!({ "paths": ["src/a.rs"], "work": own["workflow"] });
    let said = alice.refused("lock_files", lock);
    assert!(said.contains("bob"), "two names of one file are one lock: {said}");
    // A session that did not take it must say the number, and a wrong one is refused.
    let mut again = Client::new(&desk, "bob", json!({}));
    let said = again.refused("report_progress", json!({ "note": "x", "work": work }));
    assert!(said.contains("code: fence-needed"), "{said}");
    let stale = json!({ "note": "x", "work": work, "fence": 99 });
    let said = again.refused("report_progress", stale);
    assert!(said.contains("fence") && !said.contains("fence-needed"), "{said}");
    let fresh = json!({ "note": "x", "work": work, "fence": taken["fence"] });
    again.call("report_progress", fresh);
}

#[test]
fn work_that_is_given_away_for_good_has_a_fence_and_an_end() {
    let desk = Desk::new();
    let mut alice = Client::new(&desk, "alice", json!({}));
    let mut bob = Client::new(&desk, "bob", json!({}));
    let give = json!({ "to": "bob", "reason": "yours now", "mode": "transfer" });
    alice.call("handoff_to_agent", give);
    let taken = bob.call("accept_handoff", json!({}));
    assert_eq!(taken["fence"], 2, "{taken}");
    bob.call("report_progress", json!({ "note": "at it" }));
    // A session beside it would do the work twice; one that comes back gets it once more.
    let mut again = Client::new(&desk, "bob", json!({}));
    let said = again.refused("accept_handoff", json!({ "handoff": taken["handoff"] }));
    assert!(said.contains("already-accepted"), "{said}");
    drop(bob);
    let same = again.call("accept_handoff", json!({ "handoff": taken["handoff"] }));
    assert_eq!((&same["fence"], &same["workflow"]), (&taken["fence"], &taken["workflow"]));
    let done = again.call("return_handoff", json!({ "result": "done" }));
    assert_eq!(done["status"], "completed", "{done}");
    for name in ["operator", "Operator"] {
        let said = desk.run(&["mcp", "--agent", name]).fails(2);
        assert!(!desk.path().join(".baton/sessions/operator.token").exists(), "{said}");
    }
}

#[test]
fn a_question_goes_up_and_its_answer_comes_down() {
    let desk = Desk::new();
    desk.run(&["agent", "add", "carol", "--role", "reviewer"]).ok();
    let mut alice = Client::new(&desk, "alice", json!({}));
    let mut bob = Client::new(&desk, "bob", json!({}));
    let mut carol = Client::new(&desk, "carol", json!({}));
    let handed = alice.call("handoff_to_agent", json!({ "to": "bob", "reason": "clean up" }));
    bob.call("accept_handoff", json!({}));
    let ask = json!({ "question": "delete it?", "assessment": "nobody uses it" });
    let asked = bob.call("escalate_handoff", ask);
    assert_ne!(asked["handoff"], handed["handoff"], "the question has an id of its own");
    let review = carol.request("prompts/get", json!({ "name": "escalation_review" }));
    let review = text(&review["result"]["messages"][0]["content"]["text"]).to_owned();
    for part in ["delete it?", "bob (worker): nobody uses it"] {
        assert!(review.contains(part), "{part} in {review}");
    }
    carol.call("accept_handoff", json!({}));
    carol.call("return_handoff", json!({ "result": "yes, delete it" }));
    let back = bob.call("await_handoff", json!({ "handoff": asked["handoff"] }));
    assert!(back["result"].to_string().contains("yes, delete it"), "{back}");
    bob.call("report_progress", json!({ "note": "deleting" }));
    let seen = alice.call("get_handoff", json!({ "handoff": handed["handoff"] }));
    assert_eq!(seen["progress"], "deleting", "{seen}");
}

#[test]
fn a_session_whose_work_was_taken_away_is_kept_from_writing_and_then_goes_on() {
    let desk = Desk::with(&["carol"]);
    let mut alice = Client::new(&desk, "alice", json!({}));
    let mut bob = Client::new(&desk, "bob", json!({}));
    let first = alice.call("handoff_to_agent", json!({ "to": "bob", "reason": "the first" }));
    bob.call("accept_handoff", json!({}));
    let taken = ["reassign", text(&first["handoff"]), "--to", "carol", "--reason", "it is stuck"];
    desk.run(&taken).ok();
    // What the MCP server noted is what the hook of the same client goes by.
    let hook = ["hook", "pre-tool-use", "--agent", "bob", "--client", "claude-code"];
    let mut hook = desk.baton(&hook);
    let mut hook = hook.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let told = json!({
        "hook_event_name": "PreToolUse", "session_id": "s1", "cwd": desk.path(),
        "tool_name": "Write", "tool_input": { "file_path": "a.rs" },
    });
    let mut input = hook.stdin.take().expect("piped");
    write!(input, "{told}").expect("it is read");
    drop(input);
    let said = hook.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(said.contains("deny") && said.contains("carol"), "{said}");
    let said = bob.refused("report_progress", json!({ "note": "still at it" }));
    assert!(said.contains("fence"), "{said}");
    // The next thing that it takes is the only one it holds.
    alice.call("handoff_to_agent", json!({ "to": "bob", "reason": "the second" }));
    bob.call("accept_handoff", json!({}));
    bob.call("report_progress", json!({ "note": "at the second" }));
}

const POLICY: &str = "approval = [{ name = \"deploys\", when = 'to == \"deployer\"' }]";

fn guarded() -> Desk {
    let desk = Desk::with(&["builder", "deployer"]);
    fs::write(desk.path().join("policy.toml"), POLICY).expect("a policy");
    desk.run(&["policy", "set", "policy.toml"]).ok();
    desk
}

#[test]
fn a_person_approves_through_the_client_only_where_there_is_one() {
    let desk = guarded();
    let ship = json!({ "to": "deployer", "reason": "tests pass" });
    // No way to ask: the model hears how a person approves, and no tool lets it do so itself.
    let mut mute = Client::new(&desk, "builder", json!({}));
    let handed = mute.call("handoff_to_agent", ship.clone());
    assert_eq!(handed["status"], "approval_required", "{handed}");
    assert!(text(&handed["next"]).contains("`baton approve "), "{handed}");
    drop(mute);
    // A client that says yes by itself, to an empty form, is no person.
    let asks = json!({ "elicitation": {} });
    let mut asking = Client::new(&desk, "builder", asks.clone());
    asking.person = Some(json!({ "action": "accept", "content": {} }));
    let handed = asking.call("handoff_to_agent", ship.clone());
    assert_eq!((&handed["status"], asking.asked), (&json!("approval_required"), 1), "{handed}");
    asking.person = Some(json!({ "action": "accept", "content": { "decision": "approve" } }));
    let handed = asking.call("handoff_to_agent", ship.clone());
    assert_eq!((&handed["status"], asking.asked), (&json!("sent"), 2), "{handed}");
    let no = json!({ "decision": "deny", "reason": "not on a Friday" });
    asking.person = Some(json!({ "action": "accept", "content": no }));
    let handed = asking.call("handoff_to_agent", ship.clone());
    assert_eq!(handed["status"], "failed", "{handed}");
    assert!(text(&handed["next"]).contains("not on a Friday"), "{handed}");
    let records = desk.run(&["audit", "log", "--json"]).ok();
    let approved = records.lines().find(|line| line.contains("\"approved\"")).expect("a record");
    assert!(approved.contains("\"by\":\"operator\""), "{approved}");
    // A session that was started as an agent has no person, whatever its client says.
    let token = desk.run(&["token", "create", "--agent", "builder"]).ok().trim().to_owned();
    let env = [("BATON_TOKEN", token.as_str()), ("BATON_AGENT", "builder")];
    let mut marked = Client::bare(&desk, "builder", &env);
    let hello = json!({
        "protocolVersion": "2025-06-18",
        "capabilities": asks,
        "clientInfo": { "name": "test", "version": "1" },
    });
    marked.request("initialize", hello);
    marked.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    let handed = marked.call("handoff_to_agent", ship);
    assert_eq!((&handed["status"], marked.asked), (&json!("approval_required"), 0), "{handed}");
}

#[test]
fn the_newest_revision_asks_a_person_in_two_rounds() {
    let desk = guarded();
    let mut client = Client::bare(&desk, "builder", &[]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "form": {} } },
    });
    let found = client.request("server/discover", json!({ "_meta": meta }));
    let versions = found["result"]["supportedVersions"].to_string();
    assert!(versions.contains("2026-07-28") && versions.contains("2025-06-18"), "{found}");
    let mut call = json!({
        "name": "handoff_to_agent",
        "arguments": { "to": "deployer", "reason": "tests pass" },
        "_meta": meta,
    });
    let asks = client.request("tools/call", call.clone());
    assert_eq!(asks["result"]["resultType"], "input_required", "{asks}");
    let shown = asks["result"]["inputRequests"]["approval"]["params"]["message"].to_string();
    assert!(shown.contains("tests pass") && shown.contains("deployer"), "{asks}");
    call["requestState"] = asks["result"]["requestState"].clone();
    let yes = json!({ "action": "accept", "content": { "decision": "approve" } });
    call["inputResponses"] = json!({ "approval": yes });
    let done = client.request("tools/call", call.clone());
    assert_eq!(done["result"]["structuredContent"]["status"], "sent", "{done}");
    let again = client.request("tools/call", call);
    let said = again["result"]["content"][0]["text"].to_string();
    assert!(said.contains("no-such-question"), "{again}");
    let handoffs = desk.run(&["list", "--json"]).ok();
    assert_eq!(handoffs.matches("tests pass").count(), 1, "a second round is no second handoff");
}

#[test]
fn a_session_hears_of_news_and_outlives_its_coordinator() {
    let desk = Desk::new();
    let mut alice = Client::new(&desk, "alice", json!({}));
    let mut bob = Client::new(&desk, "bob", json!({}));
    bob.request("resources/subscribe", json!({ "uri": "baton://inbox" }));
    let wrong = bob.request("resources/subscribe", json!({ "uri": "file:///etc/passwd" }));
    assert!(wrong["error"]["message"].to_string().contains("nothing at"), "{wrong}");
    alice.call("handoff_to_agent", json!({ "to": "bob", "reason": "look" }));
    let news = (bob.heard.pop()).unwrap_or_else(|| bob.next());
    assert_eq!(news["method"], "notifications/resources/updated");
    assert_eq!(news["params"]["uri"], "baton://inbox");
    desk.run(&["stop"]).ok();
    let inbox = bob.call("list_inbox", json!({}));
    assert_eq!(inbox["waiting"].as_array().map(Vec::len), Some(1), "another one was started");
}

#[test]
fn parameters_that_a_method_does_not_take_are_told_from_methods_that_are_not_there() {
    let desk = Desk::new();
    let mut alice = Client::new(&desk, "alice", json!({}));
    for (method, params) in [
        ("tools/call", json!({})),
        ("prompts/get", json!({})),
        ("resources/read", json!({ "uri": 7 })),
        ("resources/subscribe", json!({})),
        ("completion/complete", json!({ "ref": {} })),
        ("logging/setLevel", json!({ "level": "loud" })),
    ] {
        let answer = alice.request(method, params);
        assert_eq!(answer["error"]["code"], -32602, "{method}: {answer}");
    }
    let answer = alice.request("tools/juggle", json!({}));
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
}

#[test]
fn a_client_hears_in_its_log_what_it_asked_to_hear() {
    let desk = Desk::new();
    let mut alice = Client::new(&desk, "alice", json!({}));
    let to_nobody = json!({ "to": "nobody", "reason": "look" });
    alice.refused("handoff_to_agent", to_nobody.clone());
    assert!(alice.heard.is_empty(), "nobody asked: {:?}", alice.heard);

    let set = alice.request("logging/setLevel", json!({ "level": "warning" }));
    assert_eq!(set["result"], json!({}), "{set}");
    alice.call("list_inbox", json!({}));
    let told = alice.refused("handoff_to_agent", to_nobody.clone());
    let said = alice.heard.pop().expect("a refusal is worth a warning");
    assert!(alice.heard.is_empty(), "a look is not: {:?}", alice.heard);
    assert_eq!(said["method"], "notifications/message");
    assert_eq!(said["params"]["level"], "warning");
    assert_eq!(said["params"]["data"]["tool"], "handoff_to_agent");
    assert!(told.contains(text(&said["params"]["data"]["code"])), "{told}: {said}");

    // In the newest revision each request says it for itself, and nothing is kept.
    let mut bob = Client::bare(&desk, "bob", &[]);
    let mut meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let found = bob.request("server/discover", json!({ "_meta": meta }));
    assert!(found["result"]["capabilities"]["logging"].is_object(), "{found}");
    let set = bob.request("logging/setLevel", json!({ "level": "debug", "_meta": meta }));
    assert_eq!(set["error"]["code"], -32601, "{set}");
    let quiet = json!({ "name": "list_inbox", "_meta": meta });
    meta["io.modelcontextprotocol/logLevel"] = json!("debug");
    bob.request("tools/call", json!({ "name": "list_inbox", "_meta": meta }));
    assert_eq!(bob.heard.pop().expect("it asked")["params"]["level"], "debug");
    bob.request("tools/call", quiet);
    assert!(bob.heard.is_empty(), "{:?}", bob.heard);
}
