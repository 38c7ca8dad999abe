//! Drawings of small stories, as they are.

mod cast;

#[test]
fn dump() {
    for (name, flow) in [("pipeline", cast::pipeline()), ("open", cast::open()), ("large", cast::large(60, 300)), ("bare", cast::with_agents(cast::bare("Nothing yet")))] {
        std::fs::write(format!("/tmp/flow-{name}.svg"), baton_flow::svg(&flow)).unwrap();
        std::fs::write(format!("/tmp/flow-{name}.dot"), baton_flow::dot(&flow)).unwrap();
        std::fs::write(format!("/tmp/flow-{name}.mmd"), baton_flow::mermaid(&flow)).unwrap();
        std::fs::write(format!("/tmp/flow-{name}.txt"), anstream::adapter::strip_str(&baton_flow::terminal(&flow, 80)).to_string()).unwrap();
    }
}
