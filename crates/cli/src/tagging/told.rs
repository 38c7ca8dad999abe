//! What stood in the way of a move, with the next step.

use std::io;
use std::path::Path;
use std::str::FromStr;

use baton_tags::edit::EditError;
use baton_tags::lifecycle::Refusal;
use baton_tags::request::RequestError;
use baton_tags::{FileError, FindError, Place, Skipped, TagError};

use super::ground::shown;
use crate::failure::{Exit, Failure};
use crate::show::Output;

/// What most mistyped tags have in common.
pub(crate) const QUOTE: &str =
    "write the tag in quotes, such as '#needs-fix': to a shell a bare # begins a comment";
/// Files that could not be searched and are named one by one.
const SKIPPED_SHOWN_MAX: usize = 10;

/// Words a failed change of the file that the caller knows as `path`.
pub(crate) fn file(error: FileError, path: &Path) -> Failure {
    let path = shown(path);
    match error {
        FileError::Refused { source, .. } => {
            let (code, hint) = (source.code(), after_refusal(&source));
            Failure::new(Exit::Refused, code, format!("{path}: {source}"), hint)
        }
        FileError::Edit { source, .. } => {
            let (code, hint) = (source.code(), after_edit(&source, &path));
            Failure::new(Exit::Refused, code, format!("{path}: {source}"), hint)
        }
        FileError::Request { source, .. } => {
            let (code, hint) = (source.code(), after_request(&source, &path));
            Failure::new(Exit::Refused, code, format!("{path}: {source}"), hint)
        }
        FileError::Outside { root, .. } => {
            let sentence = format!("{path} is outside of {}", shown(&root));
            let hint =
                "name a file inside, or go to a folder that holds it; links are not followed out";
            Failure::new(Exit::Refused, "outside", sentence, hint)
        }
        FileError::NotText { found, .. } => {
            let sentence = format!("{path} is {found}, expected a text file");
            Failure::new(Exit::Refused, "not-text", sentence, "tags live in text files only")
        }
        FileError::TooLarge { .. } => {
            let sentence = error.to_string();
            Failure::new(Exit::Refused, "too-large", sentence, "put the tag into a smaller file")
        }
        FileError::Failed { source, .. } if source.kind() == io::ErrorKind::NotFound => {
            let sentence = format!("there is no file {path}");
            let hint = "check the path; `baton tag find '#*'` lists tagged files";
            Failure::new(Exit::NotFound, "not-found", sentence, hint)
        }
        FileError::Failed { doing, source, .. } => {
            let sentence = format!("{path}: cannot {doing}: {source}");
            Failure::failed(sentence, "check the file and the permissions of its folder")
        }
        error => Failure::failed(format!("{path}: {error}"), "try it again"),
    }
}

/// Words a search that could not begin.
pub(crate) fn search(error: FindError) -> Failure {
    match error {
        FindError::Unreachable { path, source } => {
            let sentence = format!("cannot search {}: {source}", shown(&path));
            Failure::new(Exit::NotFound, "not-found", sentence, "name a folder or file to search")
        }
        error => Failure::failed(error.to_string(), "try it again"),
    }
}

/// Reads a tag, or anything that is written like one, that the caller did not give in a place where
/// the command line checks it.
pub(crate) fn read<T: FromStr<Err = TagError>>(text: &str) -> Result<T, Failure> {
    text.parse().map_err(|error: TagError| Failure::usage(error.to_string(), QUOTE))
}

/// Says what was not searched: nobody should take a gap for an empty result.
pub(crate) fn warn_of(skipped: &[Skipped], out: Output) {
    for Skipped { path, reason } in skipped.iter().take(SKIPPED_SHOWN_MAX) {
        out.warn(&format!("not searched: {}: {reason}", shown(path)));
    }
    if let Some(more @ 1..) = skipped.len().checked_sub(SKIPPED_SHOWN_MAX) {
        out.warn(&format!("not searched: {more} more"));
    }
}

fn after_refusal(refusal: &Refusal) -> String {
    let person = "a person can do it in a terminal of their own; agents cannot approve";
    match refusal {
        Refusal::ApprovalNeeded { .. } => person.to_owned(),
        Refusal::NotApproved { kind, .. } => {
            format!(
                "a person approves it first: #needs-{kind} to #delegated-{kind} or #next-{kind}"
            )
        }
        Refusal::AlreadyThere { .. } => "there is nothing to do".to_owned(),
        Refusal::NotClaimed { from } => {
            let kind = from.stage().map_or("X", |(_, kind)| kind);
            format!("claim it first: swap {from} for #claimed-{kind}")
        }
        Refusal::TakenBack { .. } => "ask a person to take it back".to_owned(),
        Refusal::Over { kind, .. } => format!("a person can swap it for #needs-{kind}"),
        Refusal::Immediate { .. } => "leave it to the session that it is for".to_owned(),
        Refusal::Beside { there, to } => format!("swap it: `baton tag swap FILE '{there}' '{to}'`"),
        Refusal::KindChanged { .. } => {
            "keep the kind; before its approval #needs-X may become another #needs".to_owned()
        }
        _ => "docs/tags.md tells which moves there are".to_owned(),
    }
}

fn after_request(error: &RequestError, path: &str) -> String {
    let look = format!("`baton tag status {path}` shows where everything stands");
    match error {
        RequestError::Missing { .. } => look,
        RequestError::Elsewhere { .. } => {
            format!("somebody was faster, or it is not the time for this; {look}")
        }
        RequestError::Stale { .. } => {
            "the work was given to another; leave the item to its holder".to_owned()
        }
        RequestError::Unlike { item, .. } => {
            let again = format!("`baton tag approve {path} --item '{item}'`");
            format!("a person reads it and approves it again: {again}")
        }
        RequestError::Stands { .. } => {
            format!("a person can take it back: `baton tag set-aside {path}`")
        }
        RequestError::Unrecorded { item } => {
            let approve = format!("`baton tag approve {path} --item '{item}'`");
            format!("strict_approval is on: a person runs {approve}")
        }
        RequestError::OpenFence { .. } => {
            "put ``` behind the last line of the code block".to_owned()
        }
        RequestError::Link { .. } => {
            "letters, digits and . _ - in parts that lead downwards".to_owned()
        }
        RequestError::Tag(_) => "use a shorter kind".to_owned(),
        RequestError::Edit(error) => after_edit(error, path),
        RequestError::Entangled { .. } => {
            "put the item on a line of its own by hand, then try again".to_owned()
        }
        _ => look,
    }
}

fn after_edit(error: &EditError, path: &str) -> String {
    match error {
        EditError::Gone { elsewhere, place: Place::TagsLine, .. } if !elsewhere.is_empty() => {
            format!("add --inline {} to mean that line", elsewhere[0])
        }
        EditError::Gone { .. } => {
            let look = format!("`baton tag list {path}` shows where it stands");
            format!("somebody was faster, or it was never there; {look}")
        }
        EditError::Itself { .. } => "name two different tags".to_owned(),
        EditError::Entangled { .. } => "edit that line by hand".to_owned(),
        _ => "look at the file".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use baton_tags::request;

    use super::*;

    /// The code and the hint of a move that a text refuses.
    fn refused(error: RequestError) -> (String, String) {
        let path = Path::new("a.md");
        let failure = file(FileError::Request { path: path.into(), source: error.into() }, path);
        assert!(failure.sentence.starts_with("a.md: "), "{}", failure.sentence);
        (failure.code, failure.hint)
    }

    #[test]
    fn a_refused_request_has_a_stable_code_and_a_next_step() {
        let (item, session) = ("#fix".parse().unwrap(), "sessions/s".parse().unwrap());
        let claim = |text: &str| {
            let fence = baton_tags::Fence(1);
            let claimed = request::claim(text.as_bytes(), &item, &session, fence);
            refused(claimed.unwrap_err()).0
        };
        assert_eq!(claim("# A\n"), "missing-item");
        assert_eq!(claim("# A\n**Tags**: #needs-fix\n"), "elsewhere");
        assert_eq!(claim("# A\n**Tags**: #delegated-fix\n\n```\nx\n"), "open-fence");
        let approved = format!(
            "# A\n**Tags**: #delegated-fix\n**Approved**: #fix by op, 2026-11-16T12:00:00Z, \
             sha256:{}\n",
            "0".repeat(64)
        );
        assert_eq!(claim(&approved), "changed-since-approval");
        let by = "op".parse().unwrap();
        for (error, code) in [
            (RequestError::Unlike { item: item.clone(), by }, "changed-since-approval"),
            (RequestError::Stale { item: item.clone(), found: None, expected: None }, "stale"),
            (RequestError::Stands { item: item.clone() }, "approval-stands"),
            (RequestError::Unrecorded { item: item.clone() }, "unrecorded"),
            (RequestError::Link { found: "x y".to_owned() }, "bad-link"),
            (RequestError::Entangled { item: item.clone() }, "entangled"),
        ] {
            let (found, hint) = refused(error);
            assert_eq!(found, code);
            assert!(hint.len() > 10, "{hint}");
        }
    }
}
