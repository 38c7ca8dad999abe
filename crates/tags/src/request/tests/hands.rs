//! What is done by hand beside workers, and what is used up on the way.

use super::*;

fn by_hand(text: &[u8], old: &str, new: &str, at: Place) -> Result<Vec<u8>, RequestError> {
    let old = [old.parse().unwrap()];
    swap(text, &old, &new.parse().unwrap(), at, None).map(|change| change.text)
}

fn as_worker(text: &[u8], item: Option<&str>, name: &str) -> Result<Changed, RequestError> {
    let bearer = Bearer { holding: held_by(name, 1), item: item.map(key) };
    let (old, new) = (["#claimed-fix".parse().unwrap()], "#done-fix".parse().unwrap());
    swap(text, &old, &new, Place::TagsLine, Some(&bearer))
}

#[test]
fn a_claim_by_hand_takes_the_item_from_its_worker() {
    let text = claimed(&approved(REQUEST.as_bytes(), "#fix"), "#fix", "s1");
    let text = by_hand(&text, "#claimed-fix", "#delegated-fix", Place::TagsLine).unwrap();
    let text = by_hand(&text, "#delegated-fix", "#claimed-fix", Place::TagsLine).unwrap();
    assert!(show(&text).contains("**Session**: by-hand, #fix, fence 2\n"), "{}", show(&text));
    assert_eq!(session_of(&text, &key("#fix")), None);
    assert_eq!(holder_of(&text, &key("#fix")), Some(Holder::ByHand(Fence(2))));
    let slow = finish(&text, &key("#fix"), &held_by("s1", 1), "sessions/s1/R.md").unwrap_err();
    assert_eq!(
        slow.to_string(),
        "#fix is held by somebody by hand with fence 2, not by sessions/s1 with fence 1"
    );
    let text = by_hand(&text, "#claimed-fix", "#needs-fix", Place::TagsLine).unwrap();
    let again = claim(&approved(&text, "#fix"), &key("#fix"), &session("s2"), Fence(1)).unwrap();
    assert_eq!(again.fence, Fence(3));
}

#[test]
fn what_no_worker_ever_held_stays_plain() {
    let text = REQUEST.replace("needs", "delegated");
    let claimed = by_hand(text.as_bytes(), "#delegated-fix", "#claimed-fix", Place::TagsLine);
    assert_eq!(claimed.unwrap(), REQUEST.replace("needs", "claimed").as_bytes());
}

#[test]
fn a_program_ends_only_what_its_worker_still_holds() {
    let text = claimed(&approved(REQUEST.as_bytes(), "#fix"), "#fix", "s1");
    assert_eq!(as_worker(&text, Some("#fix"), "s2").unwrap_err().code(), "stale");
    assert_eq!(as_worker(&text, None, "s2").unwrap_err().code(), "stale");
    as_worker(&text, Some("#fix"), "s1").unwrap();
    let taken = show(&text).replace("sessions/s1, #fix, fence 1", "by-hand, #fix, fence 2");
    assert_eq!(as_worker(taken.as_bytes(), Some("#fix"), "s1").unwrap_err().code(), "stale");
    as_worker(taken.as_bytes(), None, "s1").unwrap();
    let bearer = Bearer { holding: held_by("s2", 1), item: None };
    let (old, new) = (["#claimed-fix".parse().unwrap()], "#draft".parse().unwrap());
    let out = swap(&text, &old, &new, Place::TagsLine, Some(&bearer)).unwrap_err();
    assert_eq!(out.code(), "stale", "also out of the life cycle");
}

#[test]
fn an_approval_is_used_up_when_work_is_done_or_goes_back() {
    let text = claimed(&approved(REQUEST.as_bytes(), "#fix"), "#fix", "s1");
    let item = key("#fix");
    let twice = show(&text).replace(
        "**Session**",
        "**Approved**: #fix by bob, 2026-11-16T12:00:00Z, sha256:HASH\n**Session**",
    );
    let text = twice.replace("HASH", body_hash(&text).as_str()).into_bytes();
    let holder = held_by("s1", 1);
    let ends = [
        finish(&text, &item, &holder, "sessions/s1/R.md").unwrap().text,
        requeue(&text, &item, RequeueTo::Needs, Some(&holder), &died()).unwrap().text,
        by_hand(&text, "#claimed-fix", "#done-fix", Place::TagsLine).unwrap(),
        by_hand(&text, "#claimed-fix", "#needs-fix", Place::TagsLine).unwrap(),
    ];
    for end in ends {
        assert_eq!(standing(&end, &item), Standing::Unrecorded, "{}", show(&end));
    }
    let answered = [&text[..], b"\n## Response\nSee sessions/s1/R.md.\n"].concat();
    let end = finish_answered(&answered, &item, Some(&holder)).unwrap().text;
    assert_eq!(standing(&end, &item), Standing::Unrecorded);
    let go_on = requeue(&text, &item, RequeueTo::Delegated, Some(&holder), &died()).unwrap().text;
    assert!(matches!(standing(&go_on, &item), Standing::Holds(_)));
}

#[test]
fn a_dead_session_is_not_given_to_the_claim_of_somebody_else() {
    let text = "# Plan\n\n- [ ] a #delegated-fix\n- [ ] b #delegated-fix\n";
    let first = item::items(text.as_bytes())[0].key.clone();
    let text = claimed(text.as_bytes(), &first.to_string(), "s1");
    let ticked = show(&text).replace("[ ] a #claimed", "[x] a #done");
    let edited = ticked.replace("b #delegated", "b #claimed");
    let second = item::items(edited.as_bytes())[1].key.clone();
    assert_eq!(session_of(edited.as_bytes(), &second), None, "{edited}");
    // Its line is gone altogether; but the verb leaves no doubt.
    let gone = ticked.replace("- [x] a #done-fix\n", "");
    let taken = by_hand(gone.as_bytes(), "#delegated-fix", "#claimed-fix", Place::Line(4));
    let taken = taken.unwrap();
    assert_eq!(holder_of(&taken, &second), Some(Holder::ByHand(Fence(1))), "{}", show(&taken));
}

#[test]
fn an_old_answer_by_hand_does_not_end_new_work() {
    let text = b"**Tags**: #claimed-fix\n**Session**: sessions/s2, #fix, fence 2\n\n\
        ## Response\nIt was the index.\n";
    assert!(!has_response(text, &key("#fix")));
    let named = [&text[..], b"*   **Item**: #fix, it was the index\n"].concat();
    assert!(!has_response(&named, &key("#fix")));
    for own in ["See [it](sessions/s2/R.md).\n", "*   **Item**: #fix, [x](sessions/s2/R.md)\n"] {
        assert!(has_response(&[&text[..], own.as_bytes()].concat(), &key("#fix")), "{own}");
    }
}

#[test]
fn what_a_tag_approved_is_written_down_by_the_claim() {
    let text = REQUEST.replace("needs", "delegated").into_bytes();
    let item = key("#fix");
    let taken = claim_at(&text, &item, &session("s1"), Fence(1), Some(at(1))).unwrap().change.text;
    let line = "**Approved**: #fix by hand, 2026-11-16T12:01:00Z, sha256:HASH\n**Session**";
    assert!(show(&taken).contains(line), "{}", show(&taken));
    let other = String::from_utf8(taken).unwrap().replace("It is.", "Other.");
    assert!(matches!(standing(other.as_bytes(), &item), Standing::Void(_)));
}

#[test]
fn a_file_of_many_items_is_read_once() {
    let lines: Vec<_> = (0..2_000).map(|at| format!("- {at} #claimed-fix\n")).collect();
    let text = format!("# Plan\n\n{}", lines.concat());
    let begun = std::time::Instant::now();
    let request = Request::read(text.as_bytes());
    for item in request.items() {
        assert_eq!(request.session_of(&item.key), None);
        assert_eq!(request.standing(&item.key), Standing::Unrecorded);
        assert!(!request.has_response(&item.key));
    }
    assert!(begun.elapsed() < std::time::Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[test]
fn an_item_that_was_changed_after_its_approval_is_not_taken_for_one_by_hand() {
    let text = b"# Plan\n\n1. tidy the README #needs-fix\n2. other #needs-fix\n";
    let key = crate::items(text)[0].key.clone();
    let (by, at) = ("anna".parse().unwrap(), jiff::Timestamp::UNIX_EPOCH);
    let approved = approve(text, &key, ApproveTo::Delegated, &by, at).unwrap();
    let changed = String::from_utf8(approved.text).unwrap().replace("tidy", "delete");
    let now = crate::items(changed.as_bytes())[0].key.clone();
    assert_ne!(now, key);
    let standing = standing(changed.as_bytes(), &now);
    assert!(matches!(standing, Standing::Void(_)), "{standing:?}");
    // Nor can it be claimed.
    let session = "sessions/x".parse().unwrap();
    let refused = claim(changed.as_bytes(), &now, &session, crate::Fence(1));
    assert!(matches!(refused, Err(RequestError::Unlike { .. })), "{refused:?}");
}
