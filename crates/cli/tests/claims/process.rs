//! Claimants that are processes of their own, to be killed: this test binary, run once more.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::claimant::{Claimant, Line, Offer, Won};
use crate::wire::Caller;

/// The test that a process runs instead of its own, and the file that tells it who it is.
pub(crate) const TEST: &str = "claims_as_a_process_if_told_to";
const ORDERS: &str = "BATON_TEST_CLAIMANT";
const READY: &str = "ready";

/// A claimant's process, which ends with the test.
pub(crate) struct Process {
    orders: PathBuf,
    child: Child,
}

impl Process {
    /// Starts the claimant `name`; it waits to be let go.
    pub(crate) fn start(
        folder: &Path,
        name: &str,
        socket: &Path,
        caller: &Caller,
        offers: &[Offer],
    ) -> Self {
        let orders = folder.join(format!("{name}.json"));
        let (_, credential) = caller.header.as_ref().expect("a claimant is an agent");
        let offers: Vec<_> =
            offers.iter().map(|o| json!([o.workflow, o.handoff, o.delegated])).collect();
        let told =
            json!({"name": name, "socket": socket, "credential": credential, "offers": offers});
        fs::write(&orders, told.to_string()).expect("a file");
        let child = spawn(&orders);
        let mut process = Self { orders, child };
        process.wait_until_ready();
        process
    }

    fn wait_until_ready(&mut self) {
        let out = self.child.stdout.as_mut().expect("piped");
        let mut lines = BufReader::new(out).lines();
        // The harness says a few words of its own before.
        let ready = lines.any(|line| line.is_ok_and(|line| line.ends_with(READY)));
        assert!(ready, "a claimant ended before it began");
    }

    /// Lets it claim.
    pub(crate) fn go(&mut self) {
        drop(self.child.stdin.take());
    }

    /// Ends it without warning. Another takes its place.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("our own child can be killed");
        self.child.wait().expect("our own child can be collected");
        self.child = spawn(&self.orders);
        self.wait_until_ready();
        self.go();
    }

    /// Waits until it has tried everything, and returns what it and its predecessors won.
    pub(crate) fn finish(mut self) -> Vec<Won> {
        let ended = self.child.wait().expect("our own child can be collected");
        assert!(ended.success(), "{}: {ended}", self.orders.display());
        let wins = fs::read_to_string(wins(&self.orders)).unwrap_or_default();
        wins.lines().map(read_win).collect()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Without `expect`: a second panic would hide the first one.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(orders: &Path) -> Child {
    Command::new(std::env::current_exe().expect("this binary"))
        .args(["--exact", TEST, "--nocapture", "--test-threads=1"])
        .env(ORDERS, orders)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("this binary runs")
}

fn wins(orders: &Path) -> PathBuf {
    orders.with_extension("wins")
}

fn read_win(line: &str) -> Won {
    let (offer, fence) = line.split_once(' ').expect("an offer and a fence");
    let number = |text: &str| text.parse::<u64>().expect("a number");
    Won { offer: number(offer) as usize, fence: number(fence) }
}

/// What a claimant's process does. Nothing, if this process is none.
pub(crate) fn run_if_told() {
    let Some(orders) = std::env::var_os(ORDERS).map(PathBuf::from) else { return };
    let told = fs::read(&orders).expect("orders");
    let told: Value = serde_json::from_slice(&told).expect("orders are JSON");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let caller = Caller { header: Some(("authorization", text(&told["credential"]))) };
    let line = Line::new(PathBuf::from(text(&told["socket"])), caller);
    let mut claimant = Claimant { name: text(&told["name"]), line };

    println!("{READY}");
    let mut gate = String::new();
    std::io::stdin().read_line(&mut gate).expect("a gate");
    let wins = File::options().create(true).append(true).open(wins(&orders));
    let mut wins = wins.expect("a file");
    for (n, offer) in told["offers"].as_array().expect("offers").iter().enumerate() {
        let delegated = offer[2] == true;
        let offer = Offer { workflow: text(&offer[0]), handoff: text(&offer[1]), delegated };
        claimant.claim(n, &offer, |won| {
            // One write, so that a kill leaves the whole line or none of it.
            let line = format!("{} {}\n", won.offer, won.fence);
            wins.write_all(line.as_bytes()).expect("a line");
        });
    }
}
