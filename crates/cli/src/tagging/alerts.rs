//! Alerts as files: `#active-alert` until somebody resolves it, `#done-alert` from then on.

use std::collections::BTreeSet;
use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use baton_protocol::tag::TagMover;
use baton_protocol::time::Timestamp;
use baton_tags::{Document, Tag};

use super::ground::{Ground, shown};
use super::spool::{self, Made, Move};
use crate::failure::{Exit, Failure};
use crate::show::text::Plain;
use crate::show::time::absolute;

/// The tag of an alert that nobody has resolved.
pub(crate) const ACTIVE: &str = "#active-alert";
/// The tag of one that is resolved.
pub(crate) const DONE: &str = "#done-alert";
/// The folder of alerts.
pub(crate) const FOLDER: &str = "alerts";
/// What the files of alerts begin with.
const PREFIX: &str = "ALERT_";
/// Bytes of what an alert says.
const TEXT_BYTES_MAX: usize = 16 * 1024;
/// Characters of an alert's title in the name of its file.
const SLUG_MAX: usize = 40;
/// Alerts of one name in one second.
const SAME_NAME_MAX: u32 = 1_000;

/// An alert that is to be raised.
pub(crate) struct Draft<'a> {
    pub(crate) text: &'a str,
    pub(crate) severity: &'a str,
    /// The file that it is about.
    pub(crate) about: Option<&'a Path>,
    pub(crate) by: &'a str,
    /// The same as the ledger has it.
    pub(crate) mover: TagMover,
    pub(crate) at: Timestamp,
}

/// The folder that holds alerts: with the sessions, or at the top.
pub(crate) fn folder(ground: &Ground) -> PathBuf {
    ground.sessions().unwrap_or_else(|| ground.root().to_owned()).join(FOLDER)
}

impl Draft<'_> {
    /// Writes the alert into a file of its own, whole or not at all.
    pub(crate) fn raise(&self, ground: &Ground) -> Result<PathBuf, Failure> {
        let text = self.written()?;
        let folder = folder(ground);
        let unwritable = |error: io::Error| {
            let sentence = format!("cannot write to {}: {error}", shown(&folder));
            Failure::failed(sentence, "check the folder's permissions")
        };
        let above = folder.parent().unwrap_or(&folder);
        within(above, ground.root()).map_err(unwritable)?;
        match fs::create_dir(&folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(unwritable(error));
            }
            Ok(()) | Err(_) => within(&folder, ground.root()).map_err(unwritable)?,
        }
        // Hidden until it is whole, so that nobody finds half of it.
        let mut aside = tempfile::Builder::new()
            .prefix(".alert-")
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(&folder)
            .map_err(unwritable)?;
        aside.write_all(text.as_bytes()).map_err(unwritable)?;
        aside.as_file().sync_all().map_err(unwritable)?;
        let name = format!("{PREFIX}{}_{}", moment(self.at), slug(self.text));
        for again in 1..=SAME_NAME_MAX {
            let suffix = if again == 1 { String::new() } else { format!("_{again}") };
            let path = folder.join(format!("{name}{suffix}.md"));
            let about = Move {
                file: &path,
                item: ACTIVE.to_owned(),
                to: ACTIVE.parse().ok(),
                mover: self.mover,
                session: None,
                hash: None,
                reason: None,
            };
            let added = |_: &File| Made { from: None, fence: None };
            match spool::noted(ground, about, || aside.persist_noclobber(&path), added) {
                Ok(_) => {
                    let synced = File::open(&folder).and_then(|folder| folder.sync_all());
                    return synced.map(|()| path).map_err(unwritable);
                }
                Err(taken) if taken.error.kind() == io::ErrorKind::AlreadyExists => {
                    aside = taken.file;
                }
                Err(failed) => return Err(unwritable(failed.error)),
            }
        }
        let sentence = format!("{name} is taken {SAME_NAME_MAX} times");
        Err(Failure::failed(sentence, "resolve some alerts first"))
    }

    /// The file's text. What the alert says is no tag, whatever it looks like.
    fn written(&self) -> Result<String, Failure> {
        let said = self.text.trim();
        if said.is_empty() || said.len() > TEXT_BYTES_MAX {
            let sentence = format!("found {} bytes of text, expected 1 to 16 KiB", said.len());
            return Err(Failure::usage(sentence, "say in a sentence what is wrong"));
        }
        let said = Plain::lines(said).to_string().replace('#', "\\#");
        let (title, more) = said.split_once('\n').unwrap_or((&said, ""));
        let mut text = format!("# {}\n**Tags**: {ACTIVE}\n", title.trim());
        text.push_str(&format!("**Severity**: {}\n", self.severity));
        let at = absolute(self.at).replace(' ', "T");
        text.push_str(&format!("**Raised**: {at} by {}\n", self.by));
        if let Some(about) = self.about {
            text.push_str(&format!("**About**: `{}`\n", shown(about)));
        }
        if !more.trim().is_empty() {
            text.push_str(&format!("\n{}\n", more.trim()));
        }
        let document = Document::read(text.as_bytes());
        let only = match document.occurrences() {
            [only] => only.on_tags_line && only.line == 2 && only.tag.as_str() == ACTIVE,
            _ => false,
        };
        if only {
            Ok(text)
        } else {
            let sentence = "the text would read as tags";
            Err(Failure::usage(sentence, "leave out backticks and # signs"))
        }
    }
}

/// Finds the alert that is meant: a file, or the beginning of an alert's name.
pub(crate) fn named(ground: &Ground, name: &str) -> Result<PathBuf, Failure> {
    if Path::new(name).is_file() {
        return Ok(PathBuf::from(name));
    }
    // Alerts from before there was a sessions/ stay where they are.
    let folders = BTreeSet::from([folder(ground), ground.root().join(FOLDER)]);
    let fits = |stem: &str| {
        stem.starts_with(name) || stem.strip_prefix(PREFIX).is_some_and(|id| id.starts_with(name))
    };
    let entries = folders.iter().flat_map(fs::read_dir).flatten().flatten();
    let mut found: Vec<_> = entries.map(|entry| entry.path()).collect();
    found.retain(|path| id(path).is_some_and(fits));
    found.sort();
    let exact = |path: &&PathBuf| id(path).is_some_and(|id| id == name);
    match &found[..] {
        _ if name.is_empty() => Err(unknown(name)),
        [] => Err(unknown(name)),
        [only] => Ok(only.clone()),
        several => several.iter().find(exact).cloned().ok_or_else(|| {
            let sentence = format!("{} alerts begin with {name}", several.len());
            Failure::new(Exit::Refused, "ambiguous", sentence, "type more of the name")
        }),
    }
}

fn unknown(name: &str) -> Failure {
    let sentence = format!("there is no alert {}", shown(Path::new(name)));
    Failure::new(Exit::NotFound, "not-found", sentence, "`baton alert list --all` shows them")
}

/// The name by which an alert is resolved, if the file is one of ours.
pub(crate) fn id(path: &Path) -> Option<&str> {
    let name = path.file_name()?.to_str()?;
    name.strip_prefix(PREFIX)?.strip_suffix(".md")
}

/// How severe the alert in this text is said to be.
pub(crate) fn severity(text: &str) -> Option<&str> {
    let said = text.lines().take(10).find_map(|line| line.strip_prefix("**Severity**:"))?.trim();
    (!said.is_empty() && said.len() <= Tag::LENGTH_MAX).then_some(said)
}

/// A link may not lead out of the root.
pub(crate) fn within(folder: &Path, root: &Path) -> io::Result<()> {
    if folder.canonicalize()?.starts_with(root.canonicalize()?) {
        return Ok(());
    }
    Err(io::Error::other(format!("it leads out of {}", root.display())))
}

/// The moment as file names have it: `20261116T120000Z`.
fn moment(at: Timestamp) -> String {
    let text = at.to_string();
    let digits = text.chars().filter(char::is_ascii_alphanumeric);
    format!("{}Z", digits.take("20261116T120000".len()).collect::<String>())
}

/// The first words of a text, fit for a file name.
pub(crate) fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.lines().next().unwrap_or_default().chars() {
        if slug.len() >= SLUG_MAX {
            break;
        }
        match c {
            c if c.is_ascii_alphanumeric() => slug.push(c.to_ascii_lowercase()),
            _ if slug.is_empty() || slug.ends_with('-') => (),
            _ => slug.push('-'),
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "alert".to_owned() } else { slug.to_owned() }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn draft(text: &str) -> Result<String, Failure> {
        let at = Timestamp::from_micros(1_000_000);
        let mover = TagMover::Person;
        let about = Some(Path::new("sessions/a #needs-fix.md"));
        Draft { text, severity: "critical", about, by: "operator", mover, at }.written()
    }

    #[test]
    fn what_an_alert_says_is_no_tag() {
        let text = "Deploy #delegated-fix is stuck\n**Tags**: #delegated-fix\n## More\n`x";
        expect![[r#"
            # Deploy \#delegated-fix is stuck
            **Tags**: #active-alert
            **Severity**: critical
            **Raised**: 1970-01-01T00:00:01Z by operator
            **About**: `sessions/a #needs-fix.md`

            **Tags**: \#delegated-fix
            \#\# More
            `x
        "#]]
        .assert_eq(&draft(text).expect("an alert"));
        assert_eq!(severity(&draft("x").expect("an alert")), Some("critical"));
        assert!(draft(" \n").is_err());
    }

    #[test]
    fn a_name_is_fit_for_a_file() {
        assert_eq!(slug("../../Etc: Größe; $(rm) of it all, and much more than that"), {
            "etc-gr-e-rm-of-it-all-and-much-more-than"
        });
        assert_eq!(slug("…"), "alert");
        assert_eq!(moment(Timestamp::from_micros(1_000_000)), "19700101T000001Z");
        assert_eq!(id(Path::new("x/ALERT_a_b.md")), Some("a_b"));
    }
}
