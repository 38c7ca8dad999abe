//! Whole moves on texts, as stories, and what holds for any text.

use proptest::prelude::*;

use super::*;

mod hands;

const REQUEST: &str = "# Login is slow\n**Tags**: #needs-fix #P1\n\n## Topic\nIt is.\n";

fn key(text: &str) -> ItemKey {
    text.parse().unwrap()
}

fn session(name: &str) -> SessionRef {
    format!("sessions/{name}").parse().unwrap()
}

fn held_by(name: &str, fence: u64) -> Holding {
    Holding { session: session(name), fence: Fence(fence) }
}

fn anna() -> Approver {
    "anna".parse().unwrap()
}

fn at(minute: i64) -> Timestamp {
    let noon: Timestamp = "2026-11-16T12:00:00Z".parse().unwrap();
    noon + jiff::SignedDuration::from_mins(minute)
}

fn died() -> Recovery {
    let reason = "Agent PID 1 died, see `#needs-fix`\nand #done-fix".to_owned();
    Recovery { at: at(30), reason, action: "Re-queued for processing".to_owned() }
}

fn approved(text: &[u8], item: &str) -> Vec<u8> {
    approve(text, &key(item), ApproveTo::Delegated, &anna(), at(0)).unwrap().text
}

fn claimed(text: &[u8], item: &str, by: &str) -> Vec<u8> {
    claim(text, &key(item), &session(by), Fence(1)).unwrap().change.text
}

fn show(text: &[u8]) -> String {
    let hash = body_hash(text).to_string();
    String::from_utf8(text.to_vec()).unwrap().replace(&hash, "HASH")
}

#[test]
fn a_request_is_approved_claimed_and_finished() {
    let text = approved(REQUEST.as_bytes(), "#fix");
    let text = claimed(&text, "#fix", "s1");
    let text = finish(&text, &key("#fix"), &held_by("s1", 1), "sessions/s1/RESPONSE.md").unwrap();
    assert_eq!((text.from.as_str(), text.to.as_str()), ("#claimed-fix", "#done-fix"));
    assert_eq!(
        show(&text.text),
        "# Login is slow\n**Tags**: #done-fix #P1\n\
         **Session**: sessions/s1, #fix, fence 1\n\n## Topic\nIt is.\n\n\
         ## Response\n*   **Item**: #fix, [response](sessions/s1/RESPONSE.md)\n"
    );
    assert!(has_response(&text.text, &key("#fix")));
}

#[test]
fn a_crash_is_recovered_once_and_the_next_claim_has_a_higher_fence() {
    let text = claimed(&approved(REQUEST.as_bytes(), "#fix"), "#fix", "s1");
    let (item, old) = (key("#fix"), held_by("s1", 1));
    let requeued = requeue(&text, &item, RequeueTo::Delegated, Some(&old), &died()).unwrap();
    assert!(show(&requeued.text).ends_with(
        "It is.\n\n## Recovery\n*   **Date**: 2026-11-16T12:30:00Z\n\
         *   **Reason**: Agent PID 1 died, see '\\#needs-fix' and \\#done-fix\n\
         *   **Prior Session**: sessions/s1/\n*   **Action**: Re-queued for processing\n"
    ));
    let again = requeue(&requeued.text, &item, RequeueTo::Delegated, Some(&old), &died());
    assert_eq!(again.unwrap_err().code(), "elsewhere");
    assert!(matches!(standing(&requeued.text, &item), Standing::Holds(_)));

    let second = claim(&requeued.text, &item, &session("s2"), Fence(0)).unwrap();
    assert_eq!(second.fence, Fence(2));
    let late = finish(&second.change.text, &item, &old, "a.md").unwrap_err();
    assert_eq!(
        late.to_string(),
        "#fix is held by sessions/s2 with fence 2, not by sessions/s1 with fence 1"
    );
    let late = requeue(&second.change.text, &item, RequeueTo::Needs, Some(&old), &died());
    assert_eq!(late.unwrap_err().code(), "stale");
    assert_eq!(recoveries(&second.change.text, &item), 1);
    assert_eq!(recoveries_since(&second.change.text, &item, at(31)), 0);
}

#[test]
fn back_to_a_person_the_approval_is_used_up() {
    let text = claimed(&approved(REQUEST.as_bytes(), "#fix"), "#fix", "s1");
    let holder = held_by("s1", 1);
    let text = requeue(&text, &key("#fix"), RequeueTo::Needs, Some(&holder), &died()).unwrap();
    assert_eq!(standing(&text.text, &key("#fix")), Standing::Unrecorded);
    assert_eq!(text.to.as_str(), "#needs-fix");
    let text = claimed(&approved(&text.text, "#fix"), "#fix", "s2");
    assert_eq!(session_of(&text, &key("#fix")), Some(held_by("s2", 2)));
}

#[test]
fn a_changed_request_is_not_the_approved_one() {
    let text = show(&approved(REQUEST.as_bytes(), "#fix"));
    let hash = body_hash(REQUEST.as_bytes()).to_string();
    let text = text.replace("HASH", &hash).replace("It is.", "Delete all.");
    let item = key("#fix");
    assert!(matches!(standing(text.as_bytes(), &item), Standing::Void(_)));
    let refused = claim(text.as_bytes(), &item, &session("s1"), Fence(1)).unwrap_err();
    assert_eq!(refused.to_string(), "#fix has changed since anna approved it");
    let back = set_aside(text.as_bytes(), &item).unwrap().text;
    assert_eq!(show(&back), REQUEST.replace("It is.", "Delete all."));
    let renewed = approved(text.as_bytes(), "#fix");
    assert!(matches!(standing(&renewed, &item), Standing::Holds(_)));
}

#[test]
fn inline_items_move_one_by_one_and_are_named() {
    let text = "\u{feff}# Plan\r\n\r\n- a #delegated-fix, a #delegated-fix\r\n- b #claimed-fix";
    let second = item::items(text.as_bytes())[1].key.clone();
    let text = claimed(text.as_bytes(), &second.to_string(), "s1");
    assert_eq!(
        String::from_utf8(text.clone()).unwrap(),
        format!(
            "\u{feff}# Plan\r\n**Session**: sessions/s1, {second}, fence 1\r\n\r\n\
             - a #delegated-fix, a #claimed-fix\r\n- b #claimed-fix"
        )
    );
    let holder = held_by("s1", 1);
    let text = requeue(&text, &second, RequeueTo::Needs, Some(&holder), &died()).unwrap().text;
    assert_eq!((recoveries(&text, &second), recoveries(&text, &key("#fix"))), (1, 0));
    let said = String::from_utf8(text).unwrap();
    assert!(said.contains(&format!("#claimed-fix\r\n\r\n## Recovery\r\n*   **Item**: {second}\r")));
    assert_eq!(said.matches('\n').count(), said.matches("\r\n").count());
}

#[test]
fn a_worker_may_change_the_line_that_it_works_on() {
    let text = "# Plan\n\n- [ ] a #delegated-fix\n- [ ] b #delegated-fix\n";
    let old = item::items(text.as_bytes())[1].key.clone();
    let text = claimed(text.as_bytes(), &old.to_string(), "s1");
    let text = show(&text).replace("[ ] b", "[x] b");
    let new = item::items(text.as_bytes())[1].key.clone();
    let holder = held_by("s1", 1);
    for name in [&old, &new] {
        assert_eq!(session_of(text.as_bytes(), name), Some(holder.clone()));
        let done = finish(text.as_bytes(), name, &holder, "sessions/s1/R.md").unwrap().text;
        assert!(show(&done).contains("- [x] b #done-fix\n"));
        assert!(has_response(&done, &new));
        let to = RequeueTo::Needs;
        let back = requeue(text.as_bytes(), name, to, Some(&holder), &died()).unwrap().text;
        let back = approved(&back, &new.to_string());
        let again = claim(&back, &new, &session("s2"), Fence(1)).unwrap();
        assert_eq!(again.fence, Fence(2));
    }
    let two = text.replace("a #delegated-fix", "a #claimed-fix");
    let unclear = finish(two.as_bytes(), &old, &holder, "sessions/s1/R.md").unwrap_err();
    assert_eq!(unclear.code(), "missing-item");
}

#[test]
fn the_name_of_an_item_is_no_work() {
    let text = b"- a #delegated-next-step\n- #claimed-x\n";
    let item = item::items(text)[0].key.clone();
    let text = claimed(text, &item.to_string(), "s1");
    let text = finish(&text, &item, &held_by("s1", 1), "sessions/s1/R.md").unwrap().text;
    assert!(show(&text).ends_with(&format!("**Item**: {item}, [response](sessions/s1/R.md)\n")));
    assert_eq!(item::items(&text).len(), 2);
}

#[test]
fn an_answer_of_an_earlier_round_does_not_count() {
    let text = b"**Tags**: #claimed-fix\n**Session**: sessions/s2, #fix, fence 2\n\n\
        ## Response\n*   **Item**: #fix, [response](sessions/s1/RESPONSE.md)\n\n## Notes\n";
    assert!(!has_response(text, &key("#fix")));
    let holder = held_by("s2", 2);
    let refused = finish_answered(text, &key("#fix"), Some(&holder)).unwrap_err();
    assert_eq!(refused.to_string(), "#fix stands at #claimed-fix, expected a response");
    let done = finish(text, &key("#fix"), &holder, "sessions/s2/RESPONSE.md").unwrap().text;
    assert!(show(&done).ends_with("s2/RESPONSE.md)\n\n## Notes\n"), "{}", show(&done));
    let by_hand = b"**Tags**: #claimed-fix\n\n## Response\nIt was the index.\n";
    assert!(has_response(by_hand, &key("#fix")));
    let done = finish_answered(by_hand, &key("#fix"), None).unwrap().text;
    assert!(show(&done).starts_with("**Tags**: #done-fix\n"));
}

#[test]
fn what_cannot_be_ended_is_not_begun() {
    let text = b"**Tags**: #delegated-fix\n\ntext\n```\ncode\n";
    let refused = claim(text, &key("#fix"), &session("s"), Fence(1)).unwrap_err();
    assert_eq!(refused.to_string(), "the code block on line 4 is never closed; close it first");
    let text = b"**Tags**: #claimed-fix\n**Session**: sessions/s, #fix, fence 1\n";
    for link in ["../x", "/etc/passwd", "a b", "x)](y", ""] {
        let refused = finish(text, &key("#fix"), &held_by("s", 1), link).unwrap_err();
        assert_eq!(refused.code(), "bad-link", "{link}");
    }
}

#[test]
fn the_hash_covers_the_body_and_nothing_of_ours() {
    let base = body_hash(REQUEST.as_bytes());
    for same in [
        "# Login is slow\n\n## Topic\nIt is.",
        "# Login is slow\n**Tags**: #done-x\n\n## Topic\nIt is.\n\n## Response\nx\n### y\nz\n",
        "# Login is slow\n\n## Recovery\nx\n## Topic\nIt is.\n",
    ] {
        assert_eq!(body_hash(same.as_bytes()), base, "{same}");
    }
    for other in [
        "# Login is slow\n\n## Topic\nIt  is.",
        "# Login is slow\n**Session**: x, #fix, fence 1 and more\n\n## Topic\nIt is.\n",
        "# Login is slow\n\n## Topic\nIt is.\n\n## Response\nx\n## More\n",
        "# Login is slow\n\n## Topic\nIt is.\n\n```\n## Response\n```\n",
        "# Login is slow\n\n## Topic\nIt is.\n**Session**: sessions/x, #fix, fence 1\n",
    ] {
        assert_ne!(body_hash(other.as_bytes()), base, "{other}");
    }
    assert_eq!(body_hash(b"a #needs-x"), body_hash(b"a #done-x"));
    assert_ne!(body_hash(b"a `#needs-x`"), body_hash(b"a `#done-x`"));
}

/// Texts of what could trip a move, with items among them.
fn texts() -> impl Strategy<Value = Vec<u8>> {
    let pieces: Vec<&'static [u8]> = vec![
        b"#delegated-fix",
        b"#next-fix",
        b"#claimed-a",
        b"#needs-a",
        b"#needs-next-a",
        b"#delegated-fix/#x",
        b"#P0",
        b"\n**Tags**: #delegated-fix #needs-a\n",
        b"\n**Tags**:",
        b"\n**Session**: sessions/z, #fix, fence 3\n",
        b"\n# ",
        b"\n## Response\n",
        b"\n## Recovery\n",
        b"\n## More\n",
        b"### x",
        b"`",
        b"\n```\n",
        b"\n~~~\n",
        b" ",
        b"\n",
        b"\r\n",
        b"- ",
        b"> ",
        b"\n---\n",
        b"===",
        b"word",
        b"\xff",
        b"\t",
        b"\xef\xbb\xbf",
        b"    ",
    ];
    let piece = prop::sample::select(pieces);
    prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn a_whole_life_keeps_the_body_and_the_other_items(text in texts()) {
        let hash = body_hash(&text);
        for item in item::items(&text) {
            let others = |text: &[u8]| -> Vec<_> {
                let others = item::items(text).into_iter();
                others.filter(|other| other.key != item.key)
                    .map(|other| (other.key, other.stage)).collect()
            };
            let Ok(there) = approve(&text, &item.key, ApproveTo::Next, &anna(), at(0)) else {
                continue;
            };
            prop_assert_eq!(body_hash(&there.text), hash.clone());
            let holds = matches!(standing(&there.text, &item.key), Standing::Holds(_));
            prop_assert!(holds);
            let taken = claim(&there.text, &item.key, &session("s"), Fence(1));
            let taken = taken.expect("what was approved can be claimed");
            prop_assert_eq!(body_hash(&taken.change.text), hash.clone());
            let holder = Holding { session: session("s"), fence: taken.fence };
            let twice = claim(&taken.change.text, &item.key, &session("t"), Fence(1));
            prop_assert!(twice.is_err());

            let done = finish(&taken.change.text, &item.key, &holder, "sessions/s/R.md");
            let done = done.expect("what was claimed can be ended").text;
            prop_assert_eq!(body_hash(&done), hash.clone());
            prop_assert!(has_response(&done, &item.key));
            prop_assert_eq!(others(&done), others(&text));

            let before = recoveries(&taken.change.text, &item.key);
            let to = RequeueTo::Delegated;
            let back = requeue(&taken.change.text, &item.key, to, Some(&holder), &died());
            let back = back.expect("what was claimed can go back").text;
            prop_assert_eq!(body_hash(&back), hash.clone());
            prop_assert_eq!(recoveries(&back, &item.key), before + 1);
            prop_assert!(requeue(&back, &item.key, to, Some(&holder), &died()).is_err());
        }
    }

    #[test]
    fn items_are_found_again_when_lines_are_put_above(text in texts(), lines in 1..5_usize) {
        // Behind the first line there can be front matter or a heading; above it is only prose.
        let above = "more\n\n".repeat(lines).into_bytes();
        let mut body = text.clone();
        while let Some(rest) = body.strip_prefix(b"\xef\xbb\xbf") {
            body = rest.to_vec();
        }
        if body.starts_with(b"---") || body.windows(4).any(|at| at == b"\n---") {
            return Ok(());
        }
        let keys = |text: &[u8]| -> Vec<_> {
            item::items(text).into_iter().map(|item| (item.key, item.stage)).collect()
        };
        prop_assert_eq!(keys(&[above, body.clone()].concat()), keys(&body));
    }

    #[test]
    fn any_other_byte_of_the_body_counts(
        words in "[a-z]{1,8}( [a-z]{1,8}){0,5}",
        at in 0..40_usize,
        byte in b'a'..=b'z',
    ) {
        let text = |words: &str| format!("# A\n**Tags**: #needs-x\n\n## T\n{words}\n\nend\n");
        let mut other = words.clone().into_bytes();
        let at = at % other.len();
        if other[at] == byte {
            return Ok(());
        }
        other[at] = byte;
        let other = String::from_utf8(other).unwrap();
        prop_assert_ne!(body_hash(text(&words).as_bytes()), body_hash(text(&other).as_bytes()));
    }
}
