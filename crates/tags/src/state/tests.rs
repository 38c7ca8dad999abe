//! Whether a worker lives, on machines that are restarted, sleep and reuse numbers.

use jiff::SignedDuration;
use tempfile::TempDir;

use super::*;

/// A machine with one process.
struct Machine {
    boot: &'static str,
    process: Option<Process>,
    awake: u64,
}

impl Processes for Machine {
    fn boot(&self) -> io::Result<String> {
        Ok(self.boot.to_owned())
    }

    fn machine(&self) -> io::Result<String> {
        Ok("m1".to_owned())
    }

    fn awake(&self) -> Duration {
        Duration::from_secs(self.awake)
    }

    fn look(&self, pid: u32) -> io::Result<Option<Process>> {
        Ok(self.process.filter(|_| pid == 7))
    }
}

fn process() -> ProcessId {
    let (boot, machine) = ("b1".to_owned(), "m1".to_owned());
    ProcessId { pid: 7, started: 100, boot, machine, beat: Some(Duration::from_secs(1_000)) }
}

fn state() -> State {
    State {
        process: process(),
        skill: "/fix".to_owned(),
        phase: Phase::Running,
        status: Status::Working,
        heartbeat: "2026-11-16T12:00:00.5Z".parse().unwrap(),
        file: "requests/a.md".to_owned(),
        item: "#fix@0123abcd".parse().unwrap(),
        fence: Fence(2),
    }
}

fn after(seconds: i64) -> Timestamp {
    state().heartbeat + SignedDuration::from_secs(seconds)
}

#[test]
fn a_worker_is_alive_only_as_the_same_process_of_the_same_boot() {
    let alive = Some(Process { started: 100, zombie: false });
    let says = |boot, process, seconds: i64| {
        let awake = u64::try_from(1_000 + seconds).unwrap_or_default();
        let machine = Machine { boot, process, awake };
        match state().liveness(&machine, after(0)).unwrap() {
            Liveness::Alive => "alive".to_owned(),
            Liveness::Dead(death) => death.to_string(),
        }
    };
    assert_eq!(says("b1", alive, 90), "alive");
    assert_eq!(says("b1", alive, -3600), "alive");
    assert_eq!(says("b1", alive, 91), "no sign of life for 91 s");
    assert_eq!(says("b2", alive, 0), "the machine was restarted");
    assert_eq!(says("b1", None, 0), "the process is gone");
    let reused = Some(Process { started: 101, zombie: false });
    assert_eq!(says("b1", reused, 0), "another process has its number");
    let zombie = Some(Process { started: 100, zombie: true });
    assert_eq!(says("b1", zombie, 0), "the process has ended");
}

#[test]
fn what_was_written_is_read_again_and_nothing_else_is_left() {
    let folder = TempDir::new().unwrap();
    state().write(folder.path()).unwrap();
    let done = State { status: Status::Done, phase: Phase::Finishing, ..state() };
    done.write(folder.path()).unwrap();
    let read = State::read(folder.path()).unwrap();
    assert!(read.heartbeat > done.heartbeat && read.process.beat != done.process.beat);
    let (heartbeat, process) = (done.heartbeat, done.process.clone());
    assert_eq!(State { heartbeat, process, ..read }, done);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_wrong_file_is_told_by_its_field() {
    let good = String::from_utf8(state().to_json()).unwrap();
    let complaint = |old: &str, new: &str| {
        assert!(good.contains(old), "{good}");
        let (field, why) = State::parse(good.replace(old, new).as_bytes()).unwrap_err();
        format!("{field}: {why}")
    };
    assert!(complaint("\"pid\": 7", "\"pid\": -7").starts_with("pid: "));
    assert!(complaint("running", "runing").starts_with("phase: unknown variant"));
    assert!(complaint("#fix@", "fix@").starts_with("item: found `fix@0123abcd`"));
    assert!(complaint("2026-11-16T", "16.11.2026 ").starts_with("heartbeat: "));
    assert!(complaint("\"fence\": 2", "\"x\": 2").contains("missing field `fence`"));
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join(STATE_FILE), vec![b' '; 64 * 1024 + 1]).unwrap();
    let refused = State::read(folder.path()).unwrap_err();
    assert!(matches!(refused, StateError::TooLarge { .. }));
}

#[test]
fn this_process_is_alive_and_its_dead_child_is_not() {
    let own = Proc.name(std::process::id()).unwrap();
    assert!(!own.machine.is_empty() && own.beat.is_some());
    let state = State { process: own, heartbeat: Timestamp::now(), ..state() };
    assert_eq!(state.liveness(&Proc, state.heartbeat).unwrap(), Liveness::Alive);
    let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let process = Proc.name(child.id()).unwrap();
    let of_child = State { process, ..state };
    assert_eq!(of_child.liveness(&Proc, of_child.heartbeat).unwrap(), Liveness::Alive);
    child.kill().unwrap();
    child.wait().unwrap();
    let dead = of_child.liveness(&Proc, of_child.heartbeat).unwrap();
    assert_eq!(dead, Liveness::Dead(Death::Gone));
    let odd = stat_line("7 (a) b) Z 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 99 x");
    assert_eq!(odd, Some(Process { started: 99, zombie: true }));
}

#[test]
fn neither_sleep_nor_a_clock_that_was_set_kills_a_worker() {
    let process = Some(Process { started: 100, zombie: false });
    let machine = |awake| Machine { boot: "b1", process, awake };
    let day = 24 * 3_600;
    assert_eq!(state().liveness(&machine(1_010), after(day)).unwrap(), Liveness::Alive);
    let silent = Liveness::Dead(Death::Silent { age: Duration::from_secs(91) });
    assert_eq!(state().liveness(&machine(1_091), after(-day)).unwrap(), silent);
    let old = State { process: ProcessId { beat: None, ..self::process() }, ..state() };
    assert_eq!(old.liveness(&machine(9_999), after(90)).unwrap(), Liveness::Alive);
    assert_eq!(old.liveness(&machine(9_999), after(91)).unwrap(), silent);
}

#[test]
fn of_a_worker_on_another_machine_only_the_time_of_day_is_known() {
    let here = Machine { boot: "b2", process: None, awake: 5 };
    let there = ProcessId { machine: "m2".to_owned(), ..process() };
    let there = State { process: there, ..state() };
    assert_eq!(there.liveness(&here, after(90)).unwrap(), Liveness::Alive);
    let silent = Liveness::Dead(Death::Silent { age: Duration::from_secs(91) });
    assert_eq!(there.liveness(&here, after(91)).unwrap(), silent);
    let unknown = ProcessId { machine: String::new(), ..process() };
    let unknown = State { process: unknown, ..state() };
    assert_eq!(unknown.liveness(&here, after(0)).unwrap(), Liveness::Dead(Death::Rebooted));
}
