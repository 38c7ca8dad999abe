//! No text breaks the reader of definitions, its check or its picture.

#![no_main]

use baton_rules::{Known, check, graph, read, render};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match read(text) {
        Ok(read) => {
            let problems = check(&read, &Known::default());
            render(&problems, "x.yaml", text, false);
            graph(&read.definition);
        }
        Err(problems) => {
            assert!(!problems.is_empty());
            render(&problems, "x.yaml", text, false);
        }
    }
});
