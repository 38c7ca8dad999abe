//! How an artifact is written: YAML in the order of s4's template, every text in double quotes.

use serde::Serialize;
use serde_saphyr::{DoubleQuoted, SerializerOptions, ser_options};

use super::{Artifact, VERSION};

type Quoted<'a> = DoubleQuoted<&'a str>;

#[derive(Serialize)]
struct File<'a> {
    handoff: Handoff<'a>,
}

#[derive(Serialize)]
struct Handoff<'a> {
    version: Quoted<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<DoubleQuoted<String>>,
    from_agent: Quoted<'a>,
    to_agent: Quoted<'a>,
    story_context: StoryContext<'a>,
    decisions: Vec<Quoted<'a>>,
    files_modified: Vec<Quoted<'a>>,
    blockers: Vec<Quoted<'a>>,
    next_action: Quoted<'a>,
    consumed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    source_sha256: Option<Quoted<'a>>,
}

#[derive(Serialize)]
struct StoryContext<'a> {
    story_id: Quoted<'a>,
    story_path: Quoted<'a>,
    story_status: Quoted<'a>,
    current_task: Quoted<'a>,
    branch: Quoted<'a>,
}

impl Artifact {
    /// The file, the same bytes for the same artifact.
    pub fn to_yaml(&self) -> String {
        let draft = &self.draft;
        let story = &draft.story_context;
        let file = File {
            handoff: Handoff {
                version: DoubleQuoted(VERSION),
                timestamp: self.timestamp.map(|at| DoubleQuoted(at.to_string())),
                from_agent: DoubleQuoted(draft.from_agent.as_str()),
                to_agent: DoubleQuoted(draft.to_agent.as_str()),
                story_context: StoryContext {
                    story_id: DoubleQuoted(&story.story_id),
                    story_path: DoubleQuoted(&story.story_path),
                    story_status: DoubleQuoted(&story.story_status),
                    current_task: DoubleQuoted(&story.current_task),
                    branch: DoubleQuoted(&story.branch),
                },
                decisions: quotes(&draft.decisions),
                files_modified: quotes(&draft.files_modified),
                blockers: quotes(&draft.blockers),
                next_action: DoubleQuoted(&draft.next_action),
                consumed: self.consumed,
                source_sha256: self.source.as_deref().map(DoubleQuoted),
            },
        };
        serde_saphyr::to_string_with_options(&file, options())
            .expect("texts, lists and a flag can always be written")
    }
}

fn quotes(texts: &[String]) -> Vec<Quoted<'_>> {
    texts.iter().map(|text| DoubleQuoted(text.as_str())).collect()
}

/// One text as it stands in the file.
pub(super) fn quoted(text: &str) -> String {
    let mut yaml = serde_saphyr::to_string_with_options(&DoubleQuoted(text), options())
        .expect("a text can always be written");
    yaml.truncate(yaml.trim_end().len());
    yaml
}

fn options() -> SerializerOptions {
    // The template sets lists in below their key.
    ser_options! { compact_list_indent: false }
}
