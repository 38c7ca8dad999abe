//! Agents' own profiles: what an agent is told when it takes over, and the names it is called by.
//!
//! Three forms are read. Coding agents' definitions are Markdown with YAML front matter; agents of
//! AIOS are Markdown with a `yaml` block that has `agent:` in it; ours is YAML, as
//! `baton agent import` takes it. The text is passed on as it stands: only its name is looked at.

use baton_protocol::agent::Profile;
use baton_protocol::id::{AgentId, IdError};
use serde::Deserialize;
use serde_json::Value;

/// How AIOS names an agent in a command.
const AIOS_PREFIX: &str = "/AIOS:agents:";

/// How a profile is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProfileForm {
    /// Markdown with YAML front matter, as in `.claude/agents/`.
    FrontMatter,
    /// Markdown with a YAML block, as AIOS has it.
    Aios,
    /// YAML, as `baton agent import` takes it.
    Baton,
}

/// All that an agent is told of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentProfile {
    /// The name it answers to.
    pub id: AgentId,
    /// Its name for people.
    pub name: String,
    /// How it is written.
    pub form: ProfileForm,
    /// The whole text.
    pub text: String,
}

/// Reads the name of an agent as people type it: `dev`, `@dev` or `/AIOS:agents:dev`.
pub fn agent_named(text: &str) -> Result<AgentId, IdError> {
    let text = text.trim();
    text.strip_prefix(AIOS_PREFIX).or_else(|| text.strip_prefix('@')).unwrap_or(text).parse()
}

impl AgentProfile {
    /// Reads the agents that a file defines; none if it is about something else.
    ///
    /// `file` is its name, which says the form, and the agent's name if the text does not.
    pub fn read(file: &str, text: &str) -> Vec<Self> {
        let (stem, ending) = file.rsplit_once('.').unwrap_or((file, ""));
        match ending {
            "md" => from_front_matter(text).or_else(|| from_aios(stem, text)).into_iter().collect(),
            "yaml" | "yml" => from_yaml(stem, text),
            _ => Vec::new(),
        }
    }
}

fn from_front_matter(text: &str) -> Option<AgentProfile> {
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let rest = body.strip_prefix("---\n").or_else(|| body.strip_prefix("---\r\n"))?;
    let end = rest.lines().position(|line| line.trim_end() == "---")?;
    let front: Vec<_> = rest.lines().take(end).collect();
    // Often it is no YAML, because nobody quoted a colon; the programs it is for take it anyway.
    let name = match serde_saphyr::from_str::<Value>(&front.join("\n")) {
        Ok(front) => front["name"].as_str().map(str::to_owned),
        Err(_) => value_of("name", &front),
    }?;
    let id = slug(&name).parse().ok()?;
    Some(AgentProfile { id, name, form: ProfileForm::FrontMatter, text: text.to_owned() })
}

fn from_aios(stem: &str, text: &str) -> Option<AgentProfile> {
    let lines: Vec<_> = text.lines().collect();
    let fence = |line: &&str| matches!(line.trim_end(), "```yaml" | "```yml");
    let begin = lines.iter().position(fence)? + 1;
    let length = lines[begin..].iter().position(|line| line.trim_end() == "```");
    let block = &lines[begin..length.map_or(lines.len(), |length| begin + length)];
    let (id, name) = aios_names(stem, block)?;
    Some(AgentProfile { id, name, form: ProfileForm::Aios, text: text.to_owned() })
}

/// The id and name below `agent:`. Line by line, because these blocks are written for models and
/// many are no YAML.
fn aios_names(stem: &str, block: &[&str]) -> Option<(AgentId, String)> {
    let at = block.iter().position(|line| line.trim_end() == "agent:")? + 1;
    let below = |line: &&&str| line.trim().is_empty() || line.starts_with([' ', '\t']);
    let inner: Vec<_> = block[at..].iter().take_while(below).map(|line| line.trim()).collect();
    let id = value_of("id", &inner).unwrap_or_else(|| stem.to_owned());
    let name = value_of("name", &inner).unwrap_or_else(|| id.clone());
    Some((slug(&id).parse().ok()?, name))
}

fn from_yaml(stem: &str, text: &str) -> Vec<AgentProfile> {
    #[derive(Deserialize)]
    struct Listed {
        agents: Vec<Profile>,
    }
    let whole = |profile: &Profile| AgentProfile {
        id: profile.id.clone(),
        name: shown_name(profile),
        form: ProfileForm::Baton,
        text: text.to_owned(),
    };
    if let Ok(one) = serde_saphyr::from_str::<Profile>(text) {
        return vec![whole(&one)];
    }
    let many = serde_saphyr::from_str::<Listed>(text).map(|listed| listed.agents);
    let many = many.or_else(|_| serde_saphyr::from_str::<Vec<Profile>>(text));
    match many.as_deref() {
        Ok([one]) => return vec![whole(one)],
        Ok(many) => return many.iter().filter_map(part).collect(),
        Err(_) => (),
    }
    let lines: Vec<_> = text.lines().collect();
    let named = aios_names(stem, &lines);
    let form = ProfileForm::Aios;
    named
        .map(|(id, name)| AgentProfile { id, name, form, text: text.to_owned() })
        .into_iter()
        .collect()
}

/// One of several in a file: its own part alone, for the others are no business of this agent.
fn part(profile: &Profile) -> Option<AgentProfile> {
    let text = serde_saphyr::to_string(profile).ok()?;
    let (id, name) = (profile.id.clone(), shown_name(profile));
    Some(AgentProfile { id, name, form: ProfileForm::Baton, text })
}

fn shown_name(profile: &Profile) -> String {
    profile.name.as_ref().map_or(profile.id.as_str(), |name| name.as_str()).to_owned()
}

/// What stands behind `key:`, without quotes and comments.
fn value_of(key: &str, lines: &[&str]) -> Option<String> {
    let value = lines.iter().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?.trim();
    let within = |quote| {
        let rest = value.strip_prefix(quote)?;
        Some(&rest[..rest.find(quote)?])
    };
    let plain = || value.split(" #").next().unwrap_or(value).trim();
    let value = within('"').or_else(|| within('\'')).unwrap_or_else(plain);
    (!value.is_empty()).then(|| value.to_owned())
}

/// The name in letters that an agent may have: `Code Reviewer` becomes `code-reviewer`.
fn slug(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn one(file: &str, text: &str) -> (String, String, ProfileForm) {
        let read = AgentProfile::read(file, text);
        let [profile] = read.as_slice() else { panic!("{read:?}") };
        assert_eq!(profile.text, text, "the text is passed on as it stands");
        (profile.id.to_string(), profile.name.clone(), profile.form)
    }

    fn named(id: &str, name: &str, form: ProfileForm) -> (String, String, ProfileForm) {
        (id.to_owned(), name.to_owned(), form)
    }

    #[test]
    fn an_agent_is_called_in_three_ways() {
        for text in ["dev", "@dev", "/AIOS:agents:dev", " @dev "] {
            assert_eq!(agent_named(text).expect("a name").as_str(), "dev");
        }
        for text in ["", "@", "/AIOS:agents:", "@@dev", "../dev", "/AIOS:agents:../x"] {
            agent_named(text).expect_err(text);
        }
    }

    #[test]
    fn the_three_forms_are_read() {
        let claude = "---\nname: Code Reviewer\ndescription: Use this: when\n---\nYou review.\n";
        let form = ProfileForm::FrontMatter;
        assert_eq!(one("x.md", claude), named("code-reviewer", "Code Reviewer", form));

        let aios = "# sm\n\nNOTICE\n\n```yaml\nACT:\n  - STEP 1: {read\nagent:\n  name: River\n  \
                    id: sm # short\n  icon: 🌊\npersona:\n  name: no\n```\n\n## Guide\n";
        assert_eq!(one("sm.md", aios), named("sm", "River", ProfileForm::Aios));
        let nameless = aios.replace("  id: sm # short\n", "");
        assert_eq!(one("sm.md", &nameless), named("sm", "River", ProfileForm::Aios));

        let ours = "id: qa\nname: Quinn\ncapabilities: [review]\n";
        assert_eq!(one("a.yaml", ours), named("qa", "Quinn", ProfileForm::Baton));
        let bare = "agent:\n  id: po\n  name: 'Pax'\npersona: {role: owner}\n";
        assert_eq!(one("po.yaml", bare), named("po", "Pax", ProfileForm::Aios));
    }

    #[test]
    fn of_many_in_one_file_each_gets_its_own() {
        let read = AgentProfile::read("team.yaml", "agents:\n- id: a\n- id: b\n  role: reviewer\n");
        let [a, b] = read.as_slice() else { panic!("{read:?}") };
        assert_eq!((a.id.as_str(), b.id.as_str()), ("a", "b"));
        assert!(b.text.contains("reviewer") && !a.text.contains("reviewer"), "{a:?}");
        assert_eq!(AgentProfile::read("b.yaml", &b.text).first().map(|p| &p.id), Some(&b.id));
    }

    #[test]
    fn a_text_about_something_else_is_no_profile() {
        for (file, text) in [
            ("README.md", "# Agents\n"),
            ("open.md", "---\nname: x\n"),
            ("code.md", "```yaml\na: b\n```\n"),
            ("list.yaml", "- 1\n"),
            ("bad.yaml", "a: [\n"),
            ("agent.txt", "agent:\n  id: x\n"),
            ("odd.md", "---\nname: 評価者\n---\n"),
            ("", ""),
        ] {
            assert_eq!(AgentProfile::read(file, text), [], "{file}");
        }
    }
}
