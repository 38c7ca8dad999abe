//! No table breaks its reader, and what is filled into a command stays inside its word.

#![no_main]

use baton_tags::dispatch::{Command, Filling, Table};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let with = Filling { file: text, item: "#fix", session: "sessions/s", skill: "/fix" };
    if let Ok(table) = Table::parse(text) {
        for (_, route) in table.routes() {
            assert!(!route.modes.is_empty());
            if let Some(command) = &route.command {
                assert!(!command.filled(&with).is_empty());
            }
        }
    }
    let words: Vec<_> = text.split('\n').map(str::to_owned).collect();
    let count = words.len();
    if let Ok(command) = Command::parse(words) {
        assert_eq!(command.filled(&with).len(), count);
    }
    let command = Command::parse(vec!["x".to_owned(), "{file}".to_owned()]).expect("known");
    let word = &command.filled(&with)[1];
    assert!(word.ends_with(text) && !word.starts_with('-'));
});
