//! The view as people see it, at the smallest size that terminals have.

use baton_engine::view::{AgentView, Stats, Status};
use expect_test::{Expect, expect};
use ratatui::crossterm::event::{KeyCode, KeyEvent};
use serde_json::{Value, json};

use super::*;
use crate::top::frame::{Frame, Rate};

const NOW: &str = "2026-03-01T12:00:00Z";

fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("a view")
}

fn id(n: u32) -> String {
    format!("{n:08x}-0000-4000-8000-000000000000")
}

fn agent(name: &str, status: &str, load: usize) -> AgentView {
    let failures = if status == "unhealthy" { 3 } else { 0 };
    read(json!({
        "profile": {"id": name, "max_concurrent_tasks": 2},
        "registered_at": "2026-02-01T12:00:00Z", "load": load, "status": status,
        "health": {"failures": failures, "unavailable_since": null}, "tokens": [],
    }))
}

fn handoff(n: u32, to: &str, state: &str, due: Option<&str>) -> HandoffLine {
    let fence = (state == "accepted").then_some(2);
    read(json!({
        "id": id(0xa0 + n), "workflow": id(1), "title": "make the login page faster",
        "from_agent": "planner", "to_agent": to, "type": "delegation", "priority": "high",
        "reason": "measure first, then\u{1b}[31m change", "state": state, "detail": null,
        "initiated_at": "2026-03-01T11:56:30Z", "fence": fence, "wake_at": due,
        "resends": 1, "reroutes": 0, "broadcast_group_id": null,
    }))
}

fn frame() -> Frame {
    let status: Status = read(json!({
        "version": "0.1.0", "pid": 1, "started_at": "2026-03-01T09:00:00Z", "records": 4210,
        "indexed": 4210, "open_workflows": 2, "agents": 4, "outbox": 1, "cut_at_start": null,
    }));
    let stats: Stats = read(json!({
        "totalHandoffs": 320, "pendingHandoffs": 4, "handoffsByAgent": {}, "recordsByType": {},
        "openWorkflows": 2, "totalWorkflows": 41, "records": 4210,
    }));
    let workflow = |n: u32, title: &str, owner: &str, open: usize| -> WorkflowLine {
        read(json!({
            "id": id(n), "title": title, "status": "open", "owner": owner,
            "started_at": "2026-03-01T10:00:00Z", "open_handoffs": open,
        }))
    };
    Frame::new(
        NOW.parse().expect("a moment"),
        (status, stats),
        vec![
            agent("builder", "healthy", 2),
            agent("idle-one", "healthy", 0),
            agent("planner", "healthy", 1),
            agent("tester", "unhealthy", 0),
        ],
        vec![
            handoff(1, "builder", "accepted", Some("2026-03-01T11:59:00Z")),
            handoff(2, "builder", "queued", None),
            handoff(3, "tester", "initiated", Some("2026-03-01T12:00:20Z")),
            handoff(4, "builder", "suspended", Some("2026-03-01T14:00:00Z")),
        ],
        vec![
            workflow(1, "make the login page faster", "planner", 4),
            workflow(2, "日本語の題名 with words", "operator", 0),
        ],
    )
}

fn live() -> Shown {
    let mut shown = Shown::new(frame(), true, false);
    shown.rate = Some(Rate { records: 12.5, handoffs: 3.0 });
    shown
}

fn drawn(shown: &mut Shown, (width, height): (u16, u16)) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal");
    terminal.draw(|canvas| draw(canvas, shown)).expect("a drawing");
    lines(terminal.backend().buffer())
}

fn check(shown: &mut Shown, size: (u16, u16), expected: &Expect) {
    expected.assert_eq(&drawn(shown, size));
}

fn press(shown: &mut Shown, code: KeyCode) -> bool {
    shown.press(KeyEvent::from(code))
}

#[test]
fn everything_is_seen_in_the_smallest_terminal() {
    check(
        &mut live(),
        (80, 24),
        &expect![[r#"
            baton 0.1.0  up 3h  records 4210 (12.5/s)  outbox 1
            workflows 2 open of 41  handoffs 4 open, 2 waiting, 320 ever (3.0/min)
            ┏ Agents 4 ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┓
            ┃ AGENT                STATUS      LOAD    QUEUE HOLDS                         ┃
            ┃>tester               unhealthy   0/2     1                                   ┃
            ┃ builder              healthy     2/2     1     make the login page faster    ┃
            ┃ planner              healthy     1/2     0     make the login page faster    ┃
            ┃ idle-one             healthy     0/2     0                                   ┃
            ┗━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┛
            ┌ Handoffs 4 ──────────────────────────────────────────────────────────────────┐
            │ ID       STATE      FROM         TO           AGE  DUE      TITLE            │
            │ 000000a1 accepted   planner      builder      3m   late 1m  make the login p…│
            │ 000000a3 initiated  planner      tester       3m   in 20s   make the login p…│
            │ 000000a4 suspended  planner      builder      3m   in 2h    make the login p…│
            │ 000000a2 queued     planner      builder      3m   -        make the login p…│
            │                                                                              │
            │                                                                              │
            └──────────────────────────────────────────────────────────────────────────────┘
            ┌ Workflows 2 ─────────────────────────────────────────────────────────────────┐
            │ ID       OWNER                OPEN AGE  TITLE                                │
            │ 00000001 planner              4    2h   make the login page faster           │
            │ 00000002 operator             0    2h   日本語の題名 with words              │
            └──────────────────────────────────────────────────────────────────────────────┘
            q quit  Tab list  ↑↓ row  Enter details  ? keys
        "#]],
    );
}

#[test]
fn enter_shows_all_of_a_row_and_nothing_in_it_can_move_the_cursor() {
    let mut shown = live();
    assert!(press(&mut shown, KeyCode::Tab) && press(&mut shown, KeyCode::Enter));
    check(
        &mut shown,
        (80, 24),
        &expect![[r#"
            baton 0.1.0  up 3h  records 4210 (12.5/s)  outbox 1
            workflows 2 open of 41  handoffs 4 open, 2 waiting, 320 ever (3.0/min)
            ┌ Agents 4 ────────────────────────────────────────────────────────────────────┐
            │ AGENT                STATUS      LOAD    QUEUE HOLDS                         │
            │ tester               unhealthy   0/2     1                                   │
            │ b┏ Handoff 000000a1-0000-4000-8000-000000000000 ━━━━━━━━━━━━━━━━━━━━━━━━━━┓  │
            │ p┃workflow    00000001 make the login page faster                         ┃  │
            │ i┃from        planner                                                     ┃  │
            └──┃to          builder                                                     ┃──┘
            ┏ H┃type        delegation                                                  ┃━━┓
            ┃ I┃priority    high                                                        ┃  ┃
            ┃>0┃state       accepted                                                    ┃p…┃
            ┃ 0┃reason      measure first, then\u{1b}[31m change                        ┃p…┃
            ┃ 0┃began       2026-03-01 11:56:30Z (3m ago)                               ┃p…┃
            ┃ 0┃due         2026-03-01 11:59:00Z (1m ago)                               ┃p…┃
            ┃  ┃tries       sent again 1 times, rerouted 0                              ┃  ┃
            ┃  ┃more        baton show 000000a1                                         ┃  ┃
            ┗━━┗━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┛━━┛
            ┌ Workflows 2 ─────────────────────────────────────────────────────────────────┐
            │ ID       OWNER                OPEN AGE  TITLE                                │
            │ 00000001 planner              4    2h   make the login page faster           │
            │ 00000002 operator             0    2h   日本語の題名 with words              │
            └──────────────────────────────────────────────────────────────────────────────┘
            q quit  Tab list  ↑↓ row  Enter details  ? keys
        "#]],
    );
    assert!(press(&mut shown, KeyCode::Char('q')), "q closes what lies over the lists first");
    assert!(!press(&mut shown, KeyCode::Char('q')));
}

#[test]
fn a_selection_stays_on_a_row_that_is_there() {
    let mut shown = live();
    for code in [KeyCode::Char('G'), KeyCode::Char('j'), KeyCode::Down] {
        press(&mut shown, code);
    }
    assert_eq!(shown.selected(), Some(3));
    let mut fewer = frame();
    fewer.agents.truncate(2);
    shown.renew(fewer, None);
    assert_eq!(shown.selected(), Some(1));
    press(&mut shown, KeyCode::Char('k'));
    assert_eq!(shown.selected(), Some(0));
}

#[test]
fn the_selected_row_is_marked_for_those_who_see_no_colours() {
    let mut shown = live();
    press(&mut shown, KeyCode::Tab);
    press(&mut shown, KeyCode::Down);
    let drawn = drawn(&mut shown, (80, 24));
    let marked: Vec<_> = drawn.lines().filter(|line| line.contains('>')).collect();
    assert_eq!(marked.len(), 1, "{drawn}");
    assert!(marked[0].starts_with("┃>000000a3 initiated"), "{drawn}");
}

#[test]
fn a_long_title_goes_on_below_itself_and_ends_in_dots() {
    let mut shown = live();
    shown.frame.workflows[0].title = "a title of very many words ".repeat(20);
    shown.frame.workflows[1].title = "題".repeat(40);
    press(&mut shown, KeyCode::BackTab);
    press(&mut shown, KeyCode::Enter);
    check(
        &mut shown,
        (60, 24),
        &expect![[r#"
            baton 0.1.0  up 3h  records 4210 (12.5/s)  outbox 1
            workflows 2 open of 41  handoffs 4 open, 2 waiting, 320 ever
            ┌ A┏ Workflow 00000001-0000-4000-8000-000000000000 ━━━━━┓──┐
            │ A┃title       a title of very many words a title of   ┃  │
            │ t┃            very many words a title of very many    ┃  │
            │ b┃            words a title of very many words a title┃ …│
            │ p┃            of very many words a title of very many…┃ …│
            │ i┃status      open                                    ┃  │
            └──┃owner       planner                                 ┃──┘
            ┌ H┃began       2026-03-01 10:00:00Z (2h ago)           ┃──┐
            │ I┃open        4 handoffs                              ┃  │
            │ 0┃handoff     000000a1 accepted planner → builder:    ┃ …│
            │ 0┃            measure first, then\u{1b}[31m change    ┃0s│
            │ 0┃handoff     000000a3 initiated planner → tester:    ┃h │
            │ 0┃            measure first, then\u{1b}[31m change    ┃  │
            │  ┃handoff     000000a4 suspended planner → builder:   ┃  │
            │  ┃            measure first, then\u{1b}[31m change    ┃  │
            └──┃handoff     000000a2 queued planner → builder:      ┃──┘
            ┏ W┃            measure first, then\u{1b}[31m change    ┃━━┓
            ┃ I┃more        baton show 00000001                     ┃  ┃
            ┃>0┗━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┛ …┃
            ┃ 00000002 operator             0    2h   題題題題題題題題…┃
            ┗━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┛
            q quit  Tab list  ↑↓ row  Enter details  ? keys
        "#]],
    );
    press(&mut shown, KeyCode::Down);
    check(
        &mut shown,
        (60, 24),
        &expect![[r#"
            baton 0.1.0  up 3h  records 4210 (12.5/s)  outbox 1
            workflows 2 open of 41  handoffs 4 open, 2 waiting, 320 ever
            ┌ Agents 4 ────────────────────────────────────────────────┐
            │ AGENT                STATUS      LOAD    QUEUE HOLDS     │
            │ tester               unhealthy   0/2     1               │
            │ builder              healthy     2/2     1     make the …│
            │ planner              healthy     1/2     0     make the …│
            │ i┏ Workflow 00000002-0000-4000-8000-000000000000 ━━━━━┓  │
            └──┃title       題題題題題題題題題題題題題題題題題題題題┃──┘
            ┌ H┃            題題題題題題題題題題題題題題題題題題題題┃──┐
            │ I┃status      open                                    ┃  │
            │ 0┃owner       operator                                ┃ …│
            │ 0┃began       2026-03-01 10:00:00Z (2h ago)           ┃0s│
            │ 0┃open        0 handoffs                              ┃h │
            │ 0┃more        baton show 00000002                     ┃  │
            │  ┗━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┛  │
            │                                                          │
            └──────────────────────────────────────────────────────────┘
            ┏ Workflows 2 ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┓
            ┃ ID       OWNER                OPEN AGE  TITLE            ┃
            ┃ 00000001 planner              4    2h   a title of very …┃
            ┃>00000002 operator             0    2h   題題題題題題題題…┃
            ┗━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┛
            q quit  Tab list  ↑↓ row  Enter details  ? keys
        "#]],
    );
}

#[test]
fn a_sheet_that_is_higher_than_the_terminal_ends_in_dots() {
    let mut shown = live();
    press(&mut shown, KeyCode::Char('?'));
    check(
        &mut shown,
        (50, 7),
        &expect![[r#"
        bat┏ Keys ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┓ox
        wor┃q, Ctrl-C   quit; q and Esc close a sheet ┃ing
        ┏ A┃            first                         ┃━━┓
        ┃ A┃Tab, ← →    go to the next or the last    ┃E ┃
        ┃>t┃            list                          ┃  ┃
        ┗━━┃…                                         ┃━━┛
        q q┗━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┛
    "#]],
    );
}

#[test]
fn a_low_terminal_shows_the_list_that_has_the_focus() {
    let mut shown = live();
    press(&mut shown, KeyCode::Tab);
    check(
        &mut shown,
        (60, 9),
        &expect![[r#"
            baton 0.1.0  up 3h  records 4210 (12.5/s)  outbox 1
            workflows 2 open of 41  handoffs 4 open, 2 waiting, 320 ever
            ┏ Handoffs 4 ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┓
            ┃ ID       STATE      FROM         TO           AGE  DUE   ┃
            ┃>000000a1 accepted   planner      builder      3m   late …┃
            ┃ 000000a3 initiated  planner      tester       3m   in 20s┃
            ┃ 000000a4 suspended  planner      builder      3m   in 2h ┃
            ┗━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┛
            q quit  Tab list  ↑↓ row  Enter details  ? keys
        "#]],
    );
}

#[test]
fn a_tiny_terminal_says_what_it_lacks() {
    check(
        &mut live(),
        (20, 5),
        &expect![[r#"
        Too small: 20x5.
        Needs 40x7. q quits



    "#]],
    );
}

#[test]
fn an_agent_is_told_of_its_work_and_not_how_much_there_ever_was() {
    let mut shown = live();
    shown.frame.stats.records = None;
    let said = headlines(&shown)[1].to_string();
    assert!(said.contains("open") && !said.contains(" of ") && !said.contains("ever"), "{said}");
}

#[test]
fn no_terminal_is_too_small_to_draw_in() {
    for width in [1, 3, 10, 20, 40, 41] {
        for height in [1, 2, 5, 7, 9, 14, 24] {
            for over in [Over::Nothing, Over::Details, Over::Keys] {
                let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("one");
                let mut shown = live();
                shown.over = over;
                terminal.draw(|canvas| draw(canvas, &mut shown)).expect("a drawing");
            }
        }
    }
}

#[test]
fn on_paper_there_are_all_rows_and_no_keys() {
    let text = text(Shown::new(frame(), false, false), 80);
    expect![[r#"
        baton 0.1.0  up 3h  records 4210  outbox 1
        workflows 2 open of 41  handoffs 4 open, 2 waiting, 320 ever
        ┌ Agents 4 ────────────────────────────────────────────────────────────────────┐
        │AGENT                STATUS      LOAD    QUEUE HOLDS                          │
        │tester               unhealthy   0/2     1                                    │
        │builder              healthy     2/2     1     make the login page faster     │
        │planner              healthy     1/2     0     make the login page faster     │
        │idle-one             healthy     0/2     0                                    │
        └──────────────────────────────────────────────────────────────────────────────┘
        ┌ Handoffs 4 ──────────────────────────────────────────────────────────────────┐
        │ID       STATE      FROM         TO           AGE  DUE      TITLE             │
        │000000a1 accepted   planner      builder      3m   late 1m  make the login pa…│
        │000000a3 initiated  planner      tester       3m   in 20s   make the login pa…│
        │000000a4 suspended  planner      builder      3m   in 2h    make the login pa…│
        │000000a2 queued     planner      builder      3m   -        make the login pa…│
        └──────────────────────────────────────────────────────────────────────────────┘
        ┌ Workflows 2 ─────────────────────────────────────────────────────────────────┐
        │ID       OWNER                OPEN AGE  TITLE                                 │
        │00000001 planner              4    2h   make the login page faster            │
        │00000002 operator             0    2h   日本語の題名 with words               │
        └──────────────────────────────────────────────────────────────────────────────┘
    "#]]
    .assert_eq(&text);
    assert!(text.lines().all(|line| Span::raw(line).width() <= 80));
}
