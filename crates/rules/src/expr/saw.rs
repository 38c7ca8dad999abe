//! What an expression looked at, in a few words for people.

use std::io::{self, Write};

use serde_json::Value;

use super::Facts;
use super::paths::{Path, Paths};

/// Characters that are shown of one value.
const SHOWN_MAX: usize = 60;
/// Characters that are shown in all.
const ALL_MAX: usize = 1_000;

/// Each path with what is there: `result.quotes = 2, context.client is missing`.
pub(super) fn saw(paths: &Paths, facts: &dyn Facts) -> String {
    let tested = paths.stubs.iter().flat_map(|stub| &stub.tested);
    let tested = tested.filter(|path| !paths.values.contains(path));
    let mut seen: Vec<&Path> = Vec::new();
    let mut said = String::new();
    for path in paths.values.iter().chain(tested) {
        if seen.contains(&path) {
            continue;
        }
        seen.push(path);
        if said.len() > ALL_MAX {
            said.push_str(", …");
            break;
        }
        if !said.is_empty() {
            said.push_str(", ");
        }
        said.push_str(&path.name);
        match path.fetch(facts) {
            Some(value) => {
                said.push_str(" = ");
                said.push_str(&shown(&value));
            }
            None => said.push_str(" is missing"),
        }
    }
    if said.is_empty() { "nothing".to_owned() } else { said }
}

/// The beginning of a value as JSON. A large one is not written to its end.
pub(crate) fn shown(value: &Value) -> String {
    let mut beginning = Beginning(Vec::new());
    let whole = serde_json::to_writer(&mut beginning, value).is_ok();
    let text = String::from_utf8_lossy(&beginning.0);
    let end = text.char_indices().map(|(at, _)| at).nth(SHOWN_MAX);
    match (end, whole) {
        (Some(end), _) => format!("{}…", &text[..end]),
        (None, true) => text.into_owned(),
        (None, false) => format!("{text}…"),
    }
}

struct Beginning(Vec<u8>);

impl Write for Beginning {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Four bytes for the widest character.
        let room = (4 * SHOWN_MAX).saturating_sub(self.0.len());
        if room == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        let taken = bytes.len().min(room);
        self.0.extend(bytes.iter().take(taken));
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
