//! Ours in Markdown: a block between two marker lines, which whoever reads the file may skip.

use super::{Wrong, append, cut, newline};

const BEGIN: &str = "<!-- baton:begin -->";
const END: &str = "<!-- baton:end -->";

/// The text with the block in it.
pub(super) fn put(text: &str, body: &str) -> Result<String, Wrong> {
    let block = format!("{BEGIN}\n{}\n{END}", body.trim());
    let Some((start, end)) = find(text)? else {
        return Ok(append(text, &block));
    };
    let block = block.replace('\n', newline(text));
    let last = if text[start..end].ends_with('\n') { newline(text) } else { "" };
    Ok(format!("{}{block}{last}{}", &text[..start], &text[end..]))
}

/// The text without the block.
pub(super) fn take(text: &str) -> Result<String, Wrong> {
    let mut text = text.to_owned();
    while let Some((start, end)) = find(&text)? {
        text = cut(&text, start, end);
    }
    Ok(text)
}

/// Whether there is a block.
pub(super) fn touches(text: &str) -> Result<bool, Wrong> {
    find(text).map(|found| found.is_some())
}

/// Where the lines of the first block begin and end.
fn find(text: &str) -> Result<Option<(usize, usize)>, Wrong> {
    let mut begun = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        match (line.trim(), begun) {
            (BEGIN, None) => begun = Some(start),
            (BEGIN, Some(_)) => {
                return Err(Wrong::at(text, start, format!("a second {BEGIN} before {END}")));
            }
            (END, Some(start)) => return Ok(Some((start, at))),
            (END, None) => {
                return Err(Wrong::at(text, start, format!("{END} without {BEGIN} before it")));
            }
            _ => (),
        }
    }
    match begun {
        Some(start) => Err(Wrong::at(text, start, format!("{BEGIN} without {END} after it"))),
        None => Ok(None),
    }
}
