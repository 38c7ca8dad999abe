//! Whether the clients that were set up still have all that belongs to it.

use std::path::Path;

use super::Finding;
use crate::failure::Failure;
use crate::setup::{self, Client, Homes, Planned, Scope, Site, in_path};
use crate::workspace::Workspace;

const CHECK: &str = "client";

pub(super) fn examine(workspace: Option<&Workspace>) -> Vec<Finding> {
    let homes = match Homes::of_user() {
        Ok(homes) => homes,
        Err(failure) => return vec![Finding::failed(CHECK, failure)],
    };
    let here = workspace.map(|it| it.root().to_owned());
    let mut findings = Vec::new();
    for client in Client::ALL {
        let project = here.clone().map(Scope::Project);
        let told: Vec<_> = project
            .into_iter()
            .chain([Scope::Global])
            .filter_map(|scope| {
                let site = Site { client, scope, homes: homes.clone(), here: here.clone() };
                state(&site).unwrap_or_else(|failure| Some(Finding::failed(CHECK, failure)))
            })
            .collect();
        let on_this_machine = in_path(client.program()).is_some();
        if told.is_empty() && on_this_machine && here.is_some() {
            let name = client.name();
            let sentence = format!("{name} is on this machine, and not set up here");
            let hint = Some(format!("`baton setup {name}` does it, if you want it"));
            findings.push(Finding { hint, ..Finding::ok(CHECK, sentence) });
        }
        findings.extend(told);
    }
    findings
}

/// How a client is that was set up, or of which something of ours is left.
fn state(site: &Site) -> Result<Option<Finding>, Failure> {
    let (name, known) = (site.client.name(), site.is_known()?);
    let wish = site.wish()?;
    let found = setup::check(site, &wish)?;
    let lacking: Vec<_> = found.iter().filter(|(it, _)| it.planned == Planned::Write).collect();
    if !known && lacking.len() == found.len() {
        return Ok(None);
    }
    let (option, whole) = match &site.scope {
        Scope::Project(_) => ("", "in this workspace"),
        Scope::Global => (" --global", "for all that you do"),
    };
    let program = Path::new(&wish.word.program);
    if program.is_absolute() && !program.exists() {
        let sentence = format!("the files of {name} call {}, which is gone", program.display());
        let hint = format!("run `baton setup {name}{option}` again");
        return Ok(Some(Finding::problem(CHECK, sentence, hint)));
    }
    let unread: Vec<_> = found.iter().filter_map(|(it, _)| it.unread.clone()).collect();
    if known && !unread.is_empty() {
        let hint = "take that out: it leaves out the whole file".to_owned();
        return Ok(Some(Finding::problem(CHECK, unread.join("; "), hint)));
    }
    if lacking.is_empty() {
        return Ok(Some(Finding::ok(CHECK, format!("{name} is set up {whole}"))));
    }
    if !known {
        // Files that a colleague set up and that came with the project, or that hold no more.
        return Ok(None);
    }
    let shown = |(it, why): &&(setup::Done, Option<Failure>)| {
        let why = why.as_ref().map(|why| format!(" ({})", why.sentence)).unwrap_or_default();
        format!("{}{why}", site.shown(&it.path))
    };
    let files: Vec<_> = lacking.iter().map(shown).collect();
    Ok(Some(Finding::problem(
        CHECK,
        format!("{name} is set up {whole}, but for: {}", files.join(", ")),
        format!("run `baton setup {name}{option}` again, or with --remove to be without it"),
    )))
}
