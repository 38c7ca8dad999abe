//! Request files from what somebody asks for, and the file that an answer begins as.
//!
//! A request must be understood by one who was not there. So it says what, why, where to look,
//! what is expected, when it is good, and who asked.

use crate::document::Document;
use crate::item;
use crate::name::{Effort, Priority, Stage, TagError};

/// The longest text of one section, in bytes.
pub const SECTION_BYTES_MAX: usize = 64 * 1024;

/// The most files or criteria that are listed.
pub const LISTED_MAX: usize = 200;

/// The longest title, in bytes.
pub const TITLE_MAX: usize = 200;

/// The largest template of a user, in bytes.
pub const TEMPLATE_BYTES_MAX: usize = 256 * 1024;

const SECTIONS: [&str; 5] =
    ["Topic", "Context", "Expectations", "Acceptance Criteria", "Requesting Session"];

/// What somebody asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ask {
    /// The title, in one line.
    pub title: String,
    /// What is to be done.
    pub what: String,
    /// Why.
    pub why: String,
    /// Where to look: paths below the workspace.
    pub files: Vec<String>,
    /// What is expected of the answer.
    pub expectations: String,
    /// When it is good.
    pub criteria: Vec<String>,
    /// The session that asks, or who does.
    pub requester: String,
    /// How urgent it is.
    pub priority: Priority,
    /// How large it is thought to be.
    pub effort: Option<Effort>,
}

/// Why there is no request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// The kind makes no tag.
    #[error(transparent)]
    Kind(#[from] TagError),

    /// A field is missing, too long, or more than a line.
    #[error("{field}: {why}")]
    Field {
        /// Which.
        field: &'static str,
        /// What is wrong with it.
        why: String,
    },

    /// The text has parts that would be taken for something else.
    #[error("the text has {found}; put it in backticks or leave it out")]
    Smuggled {
        /// What was found.
        found: String,
    },
}

/// Writes a request of this kind, which waits for a person's approval.
pub fn request(kind: &str, ask: &Ask) -> Result<String, TemplateError> {
    let tags = tags(kind, ask)?;
    let mut text = format!("# {}\n**Tags**: {tags}\n", ask.title.trim());
    for name in SECTIONS {
        text.push_str(&format!("\n## {name}\n{}\n", body(name, ask)));
    }
    checked(kind, text)
}

/// Fills in a user's template: its title, its Tags line, and the sections of the known names.
///
/// What else it says stays. A section that it does not have is put at its end.
pub fn fill(template: &str, kind: &str, ask: &Ask) -> Result<String, TemplateError> {
    if template.len() > TEMPLATE_BYTES_MAX {
        let why = format!("found {} bytes, expected {TEMPLATE_BYTES_MAX}", template.len());
        return Err(TemplateError::Field { field: "template", why });
    }
    let tags = tags(kind, ask)?;
    let document = Document::read(template.as_bytes());
    let lines: Vec<_> = template.trim_start_matches('\u{feff}').lines().collect();
    let code = |at: usize| document.lines().get(at).is_none_or(|line| line.is_code());
    let level = |at: usize| match code(at) {
        true => 0,
        false => lines[at].bytes().take_while(|&byte| byte == b'#').count(),
    };
    let mut text = format!("# {}\n**Tags**: {tags}\n", ask.title.trim());
    let mut missing = SECTIONS.to_vec();
    let title = (0..lines.len()).find(|&at| level(at) == 1);
    let mut at = title.map_or(0, |title| title + 1);
    while at < lines.len() {
        let (line, here) = (lines[at], level(at));
        at += 1;
        if !code(at - 1) && line.starts_with("**Tags**:") {
            continue;
        }
        text.push_str(&format!("{line}\n"));
        let named = line.trim_matches(['#', ' ', '\t']);
        let known = missing.iter().position(|name| name.eq_ignore_ascii_case(named));
        if let Some(known) = known.filter(|_| here == 2) {
            let name = missing.remove(known);
            text.push_str(&format!("{}\n\n", body(name, ask)));
            while at < lines.len() && !(1..=2).contains(&level(at)) {
                at += 1;
            }
        }
    }
    for name in missing {
        text.push_str(&format!("\n## {name}\n{}\n", body(name, ask)));
    }
    let text = format!("{}\n", text.trim_end());
    checked(kind, text)
}

/// Writes what an answer begins as. `request` is the path of the request file.
pub fn response(title: &str, request: &str, item: &str) -> String {
    let title: String = title.chars().filter(|c| !c.is_control()).take(TITLE_MAX).collect();
    format!(
        "# Response: {}\n\n*   **Request**: `{request}`\n*   **Item**: `{item}`\n\n\
         ## Summary\n\n## What was done\n\n## Acceptance criteria\n\n## Left open\n",
        title.replace('#', "\\#").replace('`', "'")
    )
}

fn tags(kind: &str, ask: &Ask) -> Result<String, TemplateError> {
    let tag = Stage::Needs.of(kind)?;
    if tag.stage().is_none() {
        return Err(wrong("kind", "expected a name"));
    }
    let one_line = |text: &str| !text.contains(char::is_control) && !text.trim().is_empty();
    if !one_line(&ask.title) || ask.title.len() > TITLE_MAX {
        return Err(wrong("title", &format!("expected one line of at most {TITLE_MAX} bytes")));
    }
    let texts = [("what", &ask.what), ("why", &ask.why), ("expectations", &ask.expectations)];
    for (field, text) in texts.into_iter().chain([("requester", &ask.requester)]) {
        if text.len() > SECTION_BYTES_MAX {
            return Err(wrong(field, &format!("expected at most {SECTION_BYTES_MAX} bytes")));
        }
    }
    if ask.what.trim().is_empty() {
        return Err(wrong("what", "expected what is to be done"));
    }
    for (field, list) in [("files", &ask.files), ("criteria", &ask.criteria)] {
        let fits = list.iter().all(|line| one_line(line) && line.len() <= SECTION_BYTES_MAX);
        if list.len() > LISTED_MAX || !fits {
            return Err(wrong(field, &format!("expected at most {LISTED_MAX}, each in one line")));
        }
    }
    let priority = match ask.priority {
        Priority::P0 => " #P0",
        Priority::P1 => " #P1",
        Priority::P2 => "",
    };
    let effort = match ask.effort {
        Some(Effort::Small) => " #S",
        Some(Effort::Medium) => " #M",
        Some(Effort::Large) => " #L",
        None => "",
    };
    Ok(format!("{tag}{priority}{effort}"))
}

fn body(name: &str, ask: &Ask) -> String {
    let said = |text: &str, otherwise: &str| match text.trim() {
        "" => otherwise.to_owned(),
        text => text.to_owned(),
    };
    let listed = |list: &[String], line: &dyn Fn(&String) -> String, otherwise: &str| {
        let lines: Vec<_> = list.iter().map(line).collect();
        said(&lines.join("\n"), otherwise)
    };
    match name {
        "Topic" => {
            let why = said(&ask.why, "Not said.");
            format!("*   **What**: {}\n*   **Why**: {why}", ask.what.trim())
        }
        "Context" => {
            let file = |path: &String| format!("*   `{}`", path.replace('`', "'"));
            let files = listed(&ask.files, &file, "*   None named.");
            format!("Relevant files, below the workspace:\n\n{files}")
        }
        "Expectations" => said(&ask.expectations, "An answer in the response file."),
        "Acceptance Criteria" => {
            let criterion = |line: &String| format!("*   [ ] {}", line.trim());
            listed(&ask.criteria, &criterion, "*   [ ] The topic is settled.")
        }
        _ => said(&ask.requester, "A person, by hand."),
    }
}

/// Makes sure that the text is one request, whatever was put into it.
fn checked(kind: &str, text: String) -> Result<String, TemplateError> {
    let smuggled = |found: String| Err(TemplateError::Smuggled { found });
    let items = item::items(text.as_bytes());
    let own = |item: &item::Item| item.key.is_on_tags_line() && item.key.kind() == kind;
    if let Some(other) = items.iter().find(|item| !own(item)) {
        return smuggled(format!("the tag {} on line {}", other.tag, other.line));
    }
    if items.first().is_none_or(|item| item.stage != Stage::Needs) {
        return smuggled("another Tags line".to_owned());
    }
    let document = Document::read(text.as_bytes());
    for line in document.lines().iter().filter(|line| !line.is_code()) {
        let said = text[line.text.clone()].trim();
        let ours = said.strip_prefix("##").map(str::trim);
        if matches!(ours, Some("Response" | "Recovery")) || line.is_record() {
            return smuggled(format!("the line `{said}`"));
        }
    }
    if document.lines().last().is_some_and(|line| line.is_code()) && is_open(&text) {
        return smuggled("a code block that is never closed".to_owned());
    }
    Ok(text)
}

fn is_open(text: &str) -> bool {
    let probe = format!("{text}\n# x\n");
    Document::read(probe.as_bytes()).lines().last().is_some_and(|line| line.is_code())
}

fn wrong(field: &'static str, why: &str) -> TemplateError {
    TemplateError::Field { field, why: why.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask() -> Ask {
        Ask {
            title: "Login is slow".to_owned(),
            what: "Make it fast.".to_owned(),
            why: "People wait.".to_owned(),
            files: vec!["src/login.rs".to_owned()],
            expectations: "A patch.".to_owned(),
            criteria: vec!["Below 100 ms".to_owned()],
            requester: "sessions/s1".to_owned(),
            priority: Priority::P1,
            effort: Some(Effort::Small),
        }
    }

    #[test]
    fn a_request_says_everything_that_a_stranger_needs() {
        assert_eq!(
            request("fix", &ask()).unwrap(),
            "# Login is slow\n**Tags**: #needs-fix #P1 #S\n\n## Topic\n*   **What**: Make it \
             fast.\n*   **Why**: People wait.\n\n## Context\nRelevant files, below the \
             workspace:\n\n*   `src/login.rs`\n\n## Expectations\nA patch.\n\n## Acceptance \
             Criteria\n*   [ ] Below 100 ms\n\n## Requesting Session\nsessions/s1\n"
        );
    }

    #[test]
    fn a_template_keeps_what_is_its_own() {
        let template = "# [Title]\n**Tags**: #needs-fix\nBe kind.\n\n## topic\n[what]\n### sub\nx\n\
            ## House rules\nNo tabs.\n```\n## Context\n```\n## Context\n[files]\n";
        let text = fill(template, "fix", &ask()).unwrap();
        assert_eq!(
            text,
            "# Login is slow\n**Tags**: #needs-fix #P1 #S\nBe kind.\n\n## topic\n*   **What**: \
             Make it fast.\n*   **Why**: People wait.\n\n## House rules\nNo tabs.\n```\n## \
             Context\n```\n## Context\nRelevant files, below the workspace:\n\n*   \
             `src/login.rs`\n\n\n## Expectations\nA patch.\n\n## Acceptance Criteria\n*   [ ] \
             Below 100 ms\n\n## Requesting Session\nsessions/s1\n"
        );
    }

    #[test]
    fn nothing_slips_in_by_the_text() {
        let complaint = |what: &str| {
            let ask = Ask { what: what.to_owned(), ..ask() };
            request("fix", &ask).unwrap_err().to_string()
        };
        assert!(complaint("and #delegated-deploy").starts_with("the text has the tag #deleg"));
        assert!(complaint("a\n## Response\nb").contains("the line `## Response`"));
        assert!(complaint("a\n\n```\nopen").contains("never closed"));
        assert!(complaint(" ").starts_with("what: "));
        assert!(request("fix", &Ask { title: "a\nb".to_owned(), ..ask() }).is_err());
        assert!(request("Fix", &ask()).is_err());
        assert!(request("fix", &Ask { what: "see `#done-fix`".to_owned(), ..ask() }).is_ok());
    }
}
