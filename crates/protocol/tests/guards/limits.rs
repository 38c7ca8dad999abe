use serde_json::json;

use crate::desk::Desk;

#[test]
fn agents_begin_five_handoffs_at_most_and_people_as_many_as_they_like() {
    let mut desk = Desk::with(&["a", "b"]);
    let work = desk.starts("a", json!({}));
    let mut fence = 1;
    for (from, to) in [("a", "b"), ("b", "a"), ("a", "b"), ("b", "a"), ("a", "b")] {
        // Something comes of each, or else it would be a loop.
        let set = json!({ "workflow": work, "fence": fence, "changes": { "n": fence } });
        desk.does(from, json!({ "set_variables": set }));
        fence = desk.hands_over(from, work, fence, to);
    }
    let sixth = desk.pass(work, fence, "a", json!({}));
    let (code, words) = desk.refused("b", sixth.clone());
    assert_eq!(code, "handoff-limit-exceeded");
    assert_eq!(words, "the agents of this work may begin 5 handoffs; 5 are used, 1 more asked");

    // Who may raise it is a person.
    let raise = json!({ "set_limits": { "workflow": work, "handoffs": 6 } });
    assert_eq!(desk.refused("b", raise.clone()).0, "operator-only");
    desk.does("operator", raise);
    desk.does("b", sixth);

    let own = desk.starts("operator", json!({}));
    for _ in 0..7 {
        desk.delegates("operator", own, 1, "a", json!({}));
    }
    assert_eq!(desk.work(own).account.spent.handoffs, 0);
}

#[test]
fn each_recipient_counts_and_rerouting_does_not() {
    let mut desk = Desk::with(&["a", "b", "c", "d"]);
    let work = desk.starts("a", json!({}));
    let all = json!({
        "type": "broadcast", "to_agent": null, "to_agents": ["b", "c", "d"],
        "return_protocol": { "timeout": "1h" },
    });
    let pass = desk.pass(work, 1, "b", all.clone());
    desk.does("a", pass);
    assert_eq!(desk.work(work).account.spent.handoffs, 3);
    let again = desk.pass(work, 1, "b", all);
    assert_eq!(desk.refused("a", again).0, "handoff-limit-exceeded");
}

#[test]
fn a_class_limits_handoffs_agents_and_tokens() {
    let mut desk = Desk::with(&["a", "b", "c", "d", "e"]);
    let simple = desk.starts("a", json!({ "class": "simple" }));
    let pass = desk.pass(simple, 1, "b", json!({}));
    // Two limits stand in the way; the first to be named is that nobody else may take part.
    let (code, words) = desk.refused("a", pass);
    assert_eq!(code, "economic-limit-exceeded");
    assert_eq!(words, "this simple work may use 1 agents; 1 are used or set aside, 1 more asked");

    let medium = desk.starts("a", json!({ "class": "medium" }));
    desk.delegates("a", medium, 1, "b", json!({}));
    desk.delegates("a", medium, 1, "c", json!({}));
    let back = json!({ "type": "delegation", "return_protocol": { "timeout": "1h" } });
    let third = desk.pass(medium, 1, "b", back);
    let (code, words) = desk.refused("a", third);
    assert_eq!(code, "economic-limit-exceeded");
    assert!(words.starts_with("this medium work may use 2 handoffs; 2 are used"), "{words}");

    let complex = desk.starts("a", json!({ "class": "complex", "constraints": { "budget": 900 } }));
    let spends = json!({ "audit": { "used": { "tokens_consumed": 901 } } });
    let pass = desk.pass(complex, 1, "b", spends);
    let (_, words) = desk.refused("a", pass);
    assert!(words.starts_with("this complex work may use 900 tokens; 0 are used"), "{words}");
    let raise = json!({ "start": {
        "title": "t", "class": "medium", "constraints": { "budget": 25_001 },
    }});
    assert_eq!(desk.refused("a", raise.clone()).0, "operator-only");
    desk.does("operator", raise);

    let auto = desk.starts("a", json!({ "title": "Fix a typo", "class": "auto" }));
    assert_eq!(desk.work(auto).account.limits.tokens, Some(10_000));
}

#[test]
fn a_part_gets_a_slice_and_gives_back_what_it_did_not_use() {
    let mut desk = Desk::with(&["a", "b", "c"]);
    let work = desk.starts("a", json!({ "constraints": { "budget": 1_000 } }));
    let budget = |tokens: u64| json!({ "context": { "constraints": { "budget": tokens } } });
    let first = desk.delegates("a", work, 1, "b", budget(600));
    let second = desk.delegates("a", work, 1, "c", budget(600));
    let b = desk.accepts("b", first);
    // Both were asked for while there was room; only one can have it.
    let (code, words) = desk.refused("c", json!({ "accept": { "handoff": second } }));
    assert_eq!(code, "economic-limit-exceeded");
    assert_eq!(words, "this work may use 1000 tokens; 600 are used or set aside, 600 more asked");

    // A part of a part comes from the part.
    let deeper = desk.pass(
        work,
        b,
        "c",
        json!({
            "type": "delegation", "return_protocol": { "timeout": "1h" },
            "context": { "constraints": { "budget": 601 } },
        }),
    );
    assert!(desk.refused("b", deeper).1.starts_with("this part of the work may use 600 tokens"));

    let too_much = Desk::returns(first, b, "success", 601);
    assert_eq!(desk.refused("b", too_much).0, "economic-limit-exceeded");
    desk.does("b", Desk::returns(first, b, "success", 100));
    assert_eq!(desk.work(work).account.spent.tokens, 100);
    let c = desk.accepts("c", second);
    // A failure is told whatever it cost; no more than the slice is charged.
    desk.does("c", Desk::returns(second, c, "failed", 5_000));
    assert_eq!(desk.work(work).account.spent.tokens, 700);
    assert_eq!(desk.work(work).tokens_consumed, 5_100);
}

#[test]
fn without_a_number_a_part_gets_an_even_share() {
    let mut desk = Desk::with(&["a", "b"]);
    let work = desk.starts("a", json!({ "constraints": { "budget": 6_000 } }));
    let first = desk.delegates("a", work, 1, "b", json!({}));
    let fence = desk.accepts("b", first);
    // Four more handoffs may come; one share stays with the sender.
    let hold = &desk.work(work).holds[&baton_protocol::id::Fence(fence)];
    assert_eq!(hold.account.expect("it is a part").limits.tokens, Some(1_000));
}

#[test]
fn a_part_can_be_given_handoffs_and_never_has_longer_than_its_parent() {
    let mut desk = Desk::with(&["a", "b", "c"]);
    let work = desk.starts("a", json!({}));
    let slice = json!({ "context": { "constraints": {
        "handoffs": 1, "deadline": "1970-01-01T02:00:00Z",
    }}});
    let part = desk.delegates("a", work, 1, "b", slice);
    let b = desk.accepts("b", part);
    let long = json!({ "context": { "constraints": { "deadline": "1970-01-01T03:00:00Z" } } });
    let below = desk.delegates("b", work, b, "c", long);
    let deadline = desk.work(work).handoffs[&below].terms.constraints.deadline;
    assert_eq!(deadline, Some("1970-01-01T02:00:00Z".parse().expect("a time")));
    let more = desk.pass(
        work,
        b,
        "c",
        json!({
            "type": "delegation", "return_protocol": { "timeout": "1h" },
        }),
    );
    let (code, words) = desk.refused("b", more);
    assert_eq!((code, words.contains("may begin 1 handoffs")), ("handoff-limit-exceeded", true));
}

#[test]
fn tokens_cost_what_the_price_table_says() {
    let policy = json!({ "prices": {
        "small": { "input": 1.0, "output": 2.0 }, "large": { "input": 10, "output": 50 },
    }});
    let mut desk = Desk::ruled(&["a", "b"], policy);
    let work = desk.starts("a", json!({ "constraints": { "cost": 1.0 } }));
    let part = desk.delegates(
        "a",
        work,
        1,
        "b",
        json!({
            "context": { "constraints": { "cost": 0.5 } },
        }),
    );
    let fence = desk.accepts("b", part);
    let with = |model: Option<&str>, tokens: u64, output: u64| {
        let audit = json!({ "tokens_consumed": tokens, "output_tokens": output, "model": model });
        json!({ "return": {
            "handoff": part, "fence": fence, "status": "success", "audit": audit,
        }})
    };
    // 10 000 tokens that nobody prices cost as much as the dearest: 0.50 and a bit more.
    let (code, words) = desk.refused("b", with(None, 10_001, 10_001));
    assert_eq!(code, "economic-limit-exceeded");
    assert!(words.contains("0.50 in money") && words.contains("0.50005 more asked"), "{words}");
    desk.does("b", with(Some("small"), 100_000, 20_000));
    assert_eq!(desk.work(work).account.spent.cost.to_string(), "0.12");

    let mut bare = Desk::with(&["a"]);
    let limited = json!({ "start": { "title": "t", "constraints": { "cost": 1 } } });
    assert_eq!(bare.refused("a", limited).0, "no-prices");
}

#[test]
fn in_independent_mode_agents_keep_their_work_and_a_fallback_is_recorded() {
    let mut desk = Desk::ruled(&["a", "b"], json!({ "mode": "independent" }));
    let alone = desk.starts("a", json!({}));
    let pass = desk.pass(alone, 1, "b", json!({}));
    assert_eq!(desk.refused("a", pass).0, "handoffs-disabled");
    let enable = json!({ "start": { "title": "t", "enable_handoffs": true } });
    assert_eq!(desk.refused("a", enable).0, "operator-only");
    let work = desk.starts("operator", json!({ "enable_handoffs": true }));
    let fence = desk.hands_over("operator", work, 1, "a");
    let fall = json!({ "fall_back": { "workflow": work, "fence": fence, "reason": "b is down" } });
    assert_eq!(desk.does("a", fall.clone()).events.len(), 1);
    assert_eq!(desk.does("a", fall).events.len(), 0, "it is recorded once");
    let pass = desk.pass(work, fence, "b", json!({}));
    assert_eq!(desk.refused("a", pass).0, "handoffs-disabled");
}
