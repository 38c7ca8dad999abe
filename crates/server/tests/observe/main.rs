//! What others can see of a coordinator while it works: metrics and traces.

mod collector;
mod desk;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use self::collector::Collector;
use self::desk::{Desk, Reply};

const GIVEN: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const TAKING: &str = "00-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-bbbbbbbbbbbbbbbb-01";

const DASHBOARD: &str = include_str!("../../../../docs/grafana.json");
const DOCUMENT: &str = include_str!("../../../../docs/observability.md");

fn delegate(to: &str) -> Value {
    json!({"pass": {
        "to_agent": to, "type": "delegation", "reason": "build it",
        "return_protocol": {"timeout": "1h"},
    }})
}

fn give_back(handoff: &Value, fence: &Value) -> Value {
    json!({"return": {"handoff": handoff, "fence": fence, "status": "success"}})
}

/// Passes work to the builder, who takes it and gives it back.
async fn whole_delegation(desk: &Desk) -> Value {
    let passed = desk.command(&[], delegate("builder")).await;
    let handoff = passed["handoff"].clone();
    let by = [("baton-as", "builder")];
    let taken = desk.command(&by, json!({"accept": {"handoff": handoff}})).await;
    desk.command(&by, give_back(&handoff, &taken["fence"])).await;
    passed
}

/// The names of the series that metrics have, as the text says them.
fn series(text: &str) -> BTreeSet<&str> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split(['{', ' ']).next()).collect()
}

/// Whether a series is of this family of metrics.
fn of_family(series: &str, family: &str) -> bool {
    let parts = ["", "_total", "_bucket", "_count", "_sum"];
    series.strip_prefix(family).is_some_and(|part| parts.contains(&part))
}

fn value(text: &str, series: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix(series)?.trim().parse().ok())
}

#[tokio::test]
async fn metrics_tell_what_is_there_and_what_happened() {
    let desk = Desk::open(None, &["builder", "planner"]).await;
    whole_delegation(&desk).await;
    desk.command(&[], delegate("builder")).await;
    let Reply { status, text } = desk.ask("GET", "/metrics", &[], "").await;
    assert_eq!(status, 200, "{text}");
    assert!(text.ends_with("# EOF\n"), "{text}");
    let took = "baton_handoff_acceptance_duration_seconds_count{type=\"delegation\"}";
    let work =
        "baton_handoff_work_duration_seconds_count{type=\"delegation\",outcome=\"completed\"}";
    let commands = "baton_http_request_duration_seconds_count\
                    {method=\"POST\",route=\"/v1/commands\",status=\"200\"}";
    for (series, expected) in [
        ("baton_handoffs{state=\"initiated\",type=\"delegation\"}", 1.0),
        ("baton_handoffs{state=\"queued\",type=\"escalation\"}", 0.0),
        ("baton_workflows_open", 2.0),
        ("baton_agent_queue_depth{agent=\"builder\"}", 1.0),
        ("baton_agent_load{agent=\"builder\"}", 0.0),
        ("baton_agent_health{agent=\"builder\",state=\"healthy\"}", 1.0),
        ("baton_agent_health{agent=\"builder\",state=\"unhealthy\"}", 0.0),
        ("baton_records_total{kind=\"initiated\"}", 2.0),
        ("baton_records_total{kind=\"accepted\"}", 1.0),
        (took, 1.0),
        (work, 1.0),
        (commands, 6.0),
        ("baton_requests_total{role=\"operator\",credential=\"none\"}", 6.0),
    ] {
        assert_eq!(value(&text, series), Some(expected), "{series} in\n{text}");
    }
    let syncs = value(&text, "baton_ledger_sync_duration_seconds_count").expect("syncs");
    let records = value(&text, "baton_ledger_sync_records_sum").expect("records");
    assert!(syncs >= 1.0 && records >= 8.0, "{text}");
    let again = desk.ask("GET", "/metrics", &[], "").await.text;
    assert_eq!(value(&again, took), Some(1.0), "what was counted is not counted again");
    desk.close().await;
}

/// Masks a secret, is told of tokens, and refuses a command.
async fn guarded(desk: &Desk) {
    let mut asked = delegate("builder");
    asked["pass"]["reason"] = json!(format!("use AKIA{}", "Z".repeat(16)));
    let passed = desk.command(&[], asked).await;
    let by = [("baton-as", "builder")];
    let accept = json!({"accept": {"handoff": passed["handoff"]}});
    let taken = desk.command(&by, accept.clone()).await;
    let mut back = give_back(&passed["handoff"], &taken["fence"]);
    back["return"]["audit"] = json!({"tokens_consumed": 5420});
    desk.command(&by, back).await;
    let late = desk.ask("POST", "/v1/commands", &by, &accept.to_string()).await;
    assert_eq!(late.status, 409, "{}", late.text);
}

#[tokio::test]
async fn the_dashboard_and_the_documentation_name_what_is_exported() {
    let desk = Desk::open(None, &["builder"]).await;
    whole_delegation(&desk).await;
    guarded(&desk).await;
    desk.ask("GET", "/metrics", &[], "").await;
    let text = desk.ask("GET", "/metrics", &[], "").await.text;
    let exported = series(&text);
    let dashboard: Value = serde_json::from_str(DASHBOARD).expect("a dashboard");
    let mut asked = BTreeSet::new();
    for panel in dashboard["panels"].as_array().expect("panels") {
        for target in panel["targets"].as_array().into_iter().flatten() {
            let query = target["expr"].as_str().expect("a query");
            let words = query.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            asked.extend(words.filter(|word| word.starts_with("baton_")).map(str::to_owned));
        }
    }
    assert!(asked.len() > 10, "{asked:?}");
    for name in &asked {
        assert!(exported.contains(name.as_str()), "{name} is not exported:\n{text}");
    }
    let families = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    for family in families {
        assert!(DOCUMENT.contains(family), "docs/observability.md says nothing of {family}");
        // The version is to be read, not watched.
        let watched = family != "baton_build_info";
        assert!(!watched || asked.iter().any(|name| of_family(name, family)), "no {family}");
    }
    desk.close().await;
}

#[tokio::test]
async fn on_the_network_metrics_are_for_the_operator_and_who_may_look() {
    let desk = Desk::on_the_network(&["builder"]).await;
    let token = |reply: Reply| -> String {
        let made: Value = serde_json::from_str(&reply.text).expect("a token");
        format!("Bearer {}", made["token"].as_str().expect("a secret"))
    };
    let make = |body: Value| desk.ask_with("POST", "/v1/tokens", body);
    let agent = token(make(json!({"agent": "builder"})).await);
    let viewer = token(make(json!({"agent": "operator", "grant": "view"})).await);
    let look = async |auth: Option<&str>| desk.over_the_network("/metrics", auth).await;
    assert_eq!(look(None).await.status, 401);
    let refused = look(Some(&agent)).await;
    assert_eq!(refused.status, 403, "{}", refused.text);
    let seen = look(Some(&viewer)).await;
    assert_eq!(seen.status, 200, "{}", seen.text);
    let turned_away = "baton_requests_total{role=\"refused\",credential=\"none\"}";
    assert_eq!(value(&seen.text, turned_away), Some(1.0), "{}", seen.text);
    let secret = agent.strip_prefix("Bearer ").expect("a token");
    assert!(!seen.text.contains(secret));
    desk.close().await;
}

#[tokio::test]
async fn a_handoff_is_one_span_in_the_trace_it_was_passed_in_also_across_a_restart() {
    let mut collector = Collector::open().await;
    let desk = Desk::open(Some(collector.url()), &["builder"]).await;
    let passed = desk.command(&[("traceparent", GIVEN)], delegate("builder")).await;
    let handoff = passed["handoff"].clone();
    let by = [("baton-as", "builder"), ("traceparent", TAKING)];
    let taken = desk.command(&by, json!({"accept": {"handoff": handoff}})).await;
    let path = format!("/v1/handoffs/{}/package", handoff.as_str().expect("an id"));
    let package = desk.ask("GET", &path, &by[..1], "").await.json();
    let own = package["traceparent"].as_str().expect("a span").to_owned();
    let [_, trace, span, _] = own.split('-').collect::<Vec<_>>()[..] else { panic!("{own}") };
    assert_eq!(trace, "0af7651916cd43dd8448eb211c80319c");

    let desk = desk.restart().await;
    desk.command(&by, give_back(&handoff, &taken["fence"])).await;
    let told = collector.next().await;
    assert_eq!(told.name, "handoff delegation");
    assert_eq!((told.trace.as_str(), told.span.as_str()), (trace, span));
    assert_eq!(told.parent, "b7ad6b7169203331");
    let link = ("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa".to_owned(), "bbbbbbbbbbbbbbbb".to_owned());
    assert_eq!(told.links, [link]);
    assert_eq!(told.events, ["initiated", "accepted", "completed"]);
    assert_eq!(told.attributes["baton.agent.to"], "builder");
    assert_eq!(told.service, "baton");
    assert!(told.ended > told.began, "{told:?}");
    desk.close().await;
}

#[tokio::test]
async fn without_a_trace_the_workflow_is_one_and_what_hangs_from_a_handoff_says_so() {
    let mut collector = Collector::open().await;
    let desk = Desk::open(Some(collector.url()), &["builder", "tester"]).await;
    let first = desk.command(&[], delegate("builder")).await;
    let by = [("baton-as", "builder")];
    let held = desk.command(&by, json!({"accept": {"handoff": first["handoff"]}})).await;
    let mut below = delegate("tester");
    below["pass"]["workflow"] = first["workflow"].clone();
    below["pass"]["fence"] = held["fence"].clone();
    let second = desk.command(&by, below).await;
    let other = [("baton-as", "tester")];
    let taken = desk.command(&other, json!({"accept": {"handoff": second["handoff"]}})).await;
    let failing = json!({"return": {
        "handoff": second["handoff"], "fence": taken["fence"], "status": "failed",
    }});
    desk.command(&other, failing).await;
    let told = collector.next().await;
    let plain = |id: &Value| id.as_str().expect("an id").replace('-', "");
    assert_eq!(told.trace, plain(&first["workflow"]));
    assert_eq!(told.parent, plain(&first["handoff"])[..16]);
    assert_eq!((told.failed.as_str(), told.links.len()), ("error", 0), "{told:?}");

    let unsampled = GIVEN.replace("-01", "-00");
    let mut quiet = desk.command(&[("traceparent", &unsampled)], delegate("tester")).await;
    let handoff = quiet["handoff"].take();
    let taken = desk.command(&other, json!({"accept": {"handoff": handoff}})).await;
    desk.command(&other, give_back(&handoff, &taken["fence"])).await;
    desk.command(&by, give_back(&first["handoff"], &held["fence"])).await;
    let told = collector.next().await;
    assert_eq!(told.span, plain(&first["handoff"])[..16], "what nobody samples is not sent");
    assert_eq!(told.parent, "");
    desk.close().await;
}

#[tokio::test]
async fn what_a_collector_refuses_for_good_is_not_sent_again() {
    let mut collector = Collector::refusing(&[(400, None), (401, None)]).await;
    let desk = Desk::open(Some(collector.url()), &["builder"]).await;
    let of = |passed: &Value| passed["handoff"].as_str().expect("an id").to_owned();
    for _ in 0..2 {
        let lost = whole_delegation(&desk).await;
        assert_eq!(collector.next_refused().await.attributes["baton.handoff.id"], of(&lost));
    }
    let taken = whole_delegation(&desk).await;
    let told = collector.next().await;
    assert_eq!(told.attributes["baton.handoff.id"], of(&taken), "what was refused came again");
    desk.close().await;
}

#[tokio::test]
async fn a_collector_that_is_too_busy_is_asked_again() {
    let mut collector = Collector::refusing(&[(429, Some("0")), (503, Some("0"))]).await;
    let desk = Desk::open(Some(collector.url()), &["builder"]).await;
    whole_delegation(&desk).await;
    let first = collector.next_refused().await.span;
    assert_eq!(collector.next_refused().await.span, first);
    assert_eq!(collector.next().await.span, first);
    desk.close().await;
}
