//! A swap there and back is no change, and adding or removing a tag touches no other.

#![no_main]

use baton_tags::{Document, Place, Tag, edit};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    let document = Document::read(text);
    let new: Tag = "#never-seen-before".parse().expect("a tag");
    if document.tags().any(|tag| *tag == new) {
        return;
    }
    let added = edit::add(text, &new).expect("it is not there yet");
    assert!(Document::read(&added).is_tagged(&new));
    let others = Document::read(&added);
    let others = others.tags().filter(|tag| **tag != new);
    assert!(others.eq(document.tags()));

    for found in document.occurrences().iter().take(8) {
        let place = Place::Line(found.line);
        let old = std::slice::from_ref(&found.tag);
        let there = edit::swap(text, old, &new, place).expect("the tag is there");
        let back = edit::swap(&there.text, std::slice::from_ref(&new), &found.tag, place);
        assert_eq!(back.expect("the new tag is there").text, text);
        if let Ok(Some(removed)) = edit::remove(text, &found.tag, place) {
            let left = Document::read(&removed).tags().count();
            assert_eq!(left + 1, document.tags().count());
        }
    }
});
