//! Pictures of a workflow, through the real binary.

use crate::desk::Desk;

#[test]
fn a_workflow_is_drawn_in_every_format() {
    let desk = Desk::with(&["builder", "tester"]);
    let workflow = desk.start("Add a \"login\" page");
    let pass = ["pass", &workflow, "--to", "builder", "--reason", "the design is <done>", "-q"];
    let handoff = desk.run(&pass).ok().trim().to_owned();
    let drawn = desk.run(&["flow", &workflow[..8]]).ok();
    assert!(drawn.contains("not answered yet") && drawn.contains("1○"), "{drawn}");
    assert!(!drawn.contains('\u{1b}'), "colour only for a terminal: {drawn}");
    let colored = desk.run(&["flow", &workflow, "--color", "always"]).ok();
    assert!(colored.contains('\u{1b}'), "{colored}");

    desk.run(&["accept", &handoff, "--as", "builder"]).ok();
    desk.run(&["complete", &workflow, "--as", "builder", "--fence", "2"]).ok();
    let drawn = desk.run(&["flow", &workflow]).ok();
    assert!(drawn.contains("◉ completed") && drawn.contains("1✓"), "{drawn}");
    assert!(drawn.lines().all(|line| line.chars().count() <= 80), "{drawn}");

    let mermaid = desk.run(&["flow", &workflow, "--format", "mermaid"]).ok();
    assert!(mermaid.contains("flowchart TD") && mermaid.contains("#60;done#62;"), "{mermaid}");
    let dot = desk.run(&["flow", &workflow, "--format", "dot"]).ok();
    assert!(dot.starts_with("digraph flow {") && dot.contains("the design is <done>"), "{dot}");
    let told = desk.run(&["flow", &workflow, "--output", "flow.svg"]).ok();
    assert_eq!(told, "drawn in flow.svg\n");
    let svg = std::fs::read_to_string(desk.path().join("flow.svg")).expect("a file");
    assert!(svg.starts_with("<svg ") && svg.contains("the design is &lt;done&gt;"), "{svg}");
    let json = desk.json(&["flow", &workflow]);
    assert_eq!(json["handoffs"][0]["standing"], "completed");
    assert_eq!(json["agents"][0]["party"], "person");
}

#[test]
fn what_cannot_be_drawn_is_said() {
    let desk = Desk::with(&["builder"]);
    let workflow = desk.start("Release");
    let pass = ["pass", &workflow, "--to", "builder", "--reason", "r", "-q"];
    let handoff = desk.run(&pass).ok().trim().to_owned();
    let said = desk.run(&["flow", &handoff[..13]]).fails(2);
    assert!(said.contains("names a handoff; expected a workflow"), "{said}");
    let said = desk.run(&["flow", &workflow, "--output", "no/such/folder.svg"]).fails(1);
    assert!(said.contains("cannot write no/such/folder.svg"), "{said}");
    desk.run(&["flow", &workflow, "--format", "png"]).fails(2);
    desk.run(&["flow", &workflow, "--format", "svg", "--json"]).fails(2);
    desk.run(&["flow", "ffffffff"]).fails(4);
}
