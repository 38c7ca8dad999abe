//! Any bytes are read without a panic, and a whole life of an item changes nothing else.

#![no_main]

use baton_tags::request::{self, ApproveTo, Recovery, RequeueTo};
use baton_tags::{Document, Fence, Holding, items};
use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    let document = Document::read(text);
    for found in document.occurrences() {
        assert_eq!(&text[found.range.clone()], found.tag.as_str().as_bytes());
    }
    let hash = request::body_hash(text);
    for item in items(text).into_iter().take(4) {
        let key = &item.key;
        assert_eq!(key.to_string().parse().as_ref(), Ok(key));
        let by = "anna".parse().expect("a name");
        let at = Timestamp::UNIX_EPOCH;
        let Ok(approved) = request::approve(text, key, ApproveTo::Delegated, &by, at) else {
            continue;
        };
        let session = "sessions/s".parse().expect("a path");
        let claimed = request::claim(&approved.text, key, &session, Fence(1)).expect("approved");
        let holder = Holding { session, fence: claimed.fence };
        let text = &claimed.change.text;
        let done = request::finish(text, key, &holder, "sessions/s/R.md").expect("claimed");
        assert_eq!(request::body_hash(&done.text), hash);
        assert!(request::has_response(&done.text, key));
        let recovery = Recovery { at, reason: "died".into(), action: "requeued".into() };
        let (to, holder) = (RequeueTo::Needs, Some(&holder));
        let back = request::requeue(text, key, to, holder, &recovery).expect("claimed");
        assert_eq!(request::body_hash(&back.text), hash);
        let (before, after) = (request::recoveries(text, key), request::recoveries(&back.text, key));
        assert_eq!(after, before + 1);
        assert!(request::requeue(&back.text, key, to, holder, &recovery).is_err());
    }
});
