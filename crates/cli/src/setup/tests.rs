//! Whole setups in temporary folders: what comes back, what stays, and what is refused.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use proptest::prelude::*;
use tempfile::TempDir;

use super::clients::{Piece, pieces, samples};
use super::edit::Edit;
use super::*;

/// A home and a workspace that nobody else knows.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a folder");
        fs::create_dir(root.join("home")).expect("a folder");
        Workspace::create(&root.join("project")).expect("a workspace");
        Self { folder }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().expect("a folder").join("project")
    }

    fn home(&self) -> PathBuf {
        self.folder.path().canonicalize().expect("a folder").join("home")
    }

    fn site(&self, client: Client, global: bool) -> Site {
        let scope = if global { Scope::Global } else { Scope::Project(self.root()) };
        Site { client, scope, homes: Homes::under(&self.home()), here: Some(self.root()) }
    }

    fn file(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).expect("a file")
    }

    /// Everything but our own records: where it is, its mode, and what is in it or where it leads.
    fn everything(&self) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
        let mut all = BTreeMap::new();
        let mut folders = vec![self.root(), self.home()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).expect("a folder").flatten() {
                let (path, data) = (entry.path(), entry.metadata().expect("a file"));
                if path.ends_with(".baton/setup") || path.ends_with(".local") {
                    continue;
                }
                let mode = data.permissions().mode();
                let held = if data.is_symlink() {
                    let to = fs::read_link(&path).expect("a link");
                    to.to_string_lossy().into_owned().into_bytes()
                } else if data.is_dir() {
                    folders.push(path.clone());
                    Vec::new()
                } else {
                    fs::read(&path).expect("a file")
                };
                all.insert(path, (mode, held));
            }
        }
        all
    }
}

fn wish(agent: &str) -> Wish {
    let word = Word { program: "baton".to_owned(), warning: None };
    Wish { agent: agent.parse().expect("a name"), word }
}

/// Something of the user's for a file of a client, if there is any.
fn fill(piece: &Piece, json: &str, toml: &str, markdown: &str) {
    let text = match &piece.edit {
        Edit::Json(_) => json,
        Edit::Toml(_) => toml,
        Edit::Block(_) | Edit::Whole(_) => markdown,
    };
    fs::create_dir_all(piece.path.parent().expect("a folder")).expect("a folder");
    fs::write(&piece.path, text).expect("a file");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn setup_and_remove_leave_every_file_of_every_client_as_it_was(
        texts in (samples::jsonc(), samples::toml(), samples::markdown()),
        which in any::<u32>(),
        order in Just((0..8).collect::<Vec<usize>>()).prop_shuffle(),
        backwards in Just((0..8).collect::<Vec<usize>>()).prop_shuffle(),
        modes in 0_usize..3,
    ) {
        let place = Place::new();
        let sites: Vec<_> = [false, true]
            .into_iter()
            .flat_map(|global| Client::ALL.map(|client| place.site(client, global)))
            .collect();
        let of = |site: &Site| wish(site.client.name());
        let all = sites.iter().flat_map(|site| pieces(site, &of(site)));
        for (n, piece) in all.enumerate().filter(|(n, _)| which >> (n % 31) & 1 == 1) {
            fill(&piece, &texts.0, &texts.1, &texts.2);
            let mode = [0o644, 0o600, 0o664][(n + modes) % 3];
            fs::set_permissions(&piece.path, fs::Permissions::from_mode(mode)).expect("a mode");
        }
        let before = place.everything();
        for site in order.iter().map(|n| &sites[*n]) {
            setup(site, &of(site)).expect("a setup");
        }
        let after = place.everything();
        for site in &sites {
            let done = setup(site, &of(site)).expect("a setup");
            prop_assert!(done.iter().all(|it| it.planned != Planned::Write), "{done:?}");
        }
        prop_assert_eq!(&place.everything(), &after, "twice is once");
        for site in backwards.iter().map(|n| &sites[*n]) {
            remove(site, &of(site)).expect("a removal");
        }
        prop_assert_eq!(place.everything(), before);
    }

    #[test]
    fn without_its_receipt_ours_is_still_taken_out(
        texts in (samples::jsonc(), samples::toml(), samples::markdown()),
        client in prop::sample::select(Client::ALL.to_vec()),
    ) {
        // An empty place cannot be told from one that we made; those who have one keep receipts.
        prop_assume!(!texts.0.contains("{}") && texts.0.contains('{'));
        let place = Place::new();
        let site = place.site(client, false);
        let wish = wish(client.name());
        for piece in pieces(&site, &wish).iter().filter(|it| !matches!(it.edit, Edit::Whole(_))) {
            fill(piece, &texts.0, &texts.1, &texts.2);
        }
        setup(&site, &wish).expect("a setup");
        fs::remove_dir_all(place.root().join(".baton/setup")).expect("receipts");
        remove(&site, &wish).expect("a removal");
        for piece in pieces(&site, &wish) {
            let left = fs::read_to_string(&piece.path).unwrap_or_default();
            prop_assert_eq!(piece.edit.touches(&left).unwrap_or(false), false, "{}", left);
        }
    }
}

#[test]
fn a_file_that_its_client_cannot_read_is_told_although_we_can() {
    let texts = ["{\n  // mine\n}\n", "{\n  \"a\": [1,],\n}\n", "\u{feff}{}\n", "{\"a\": 1}\n"];
    let unread = [
        (Client::ClaudeCode, ".mcp.json", [true, true, false, false]),
        (Client::Codex, ".codex/hooks.json", [true, true, true, false]),
        (Client::Gemini, ".gemini/settings.json", [false, true, true, false]),
        (Client::OpenCode, "opencode.json", [false; 4]),
    ];
    for (client, file, expected) in unread {
        for (text, expected) in texts.iter().zip(expected) {
            let place = Place::new();
            place.file(file, text);
            let (site, wish) = (place.site(client, false), wish(client.name()));
            let done = setup(&site, &wish).expect("a setup");
            let told = done.iter().any(|it| it.unread.is_some());
            assert_eq!(told, expected, "{client:?} {text}");
            let found = check(&site, &wish).expect("a check");
            assert_eq!(found.iter().any(|(it, _)| it.unread.is_some()), expected, "{client:?}");
        }
    }
}

#[test]
fn a_whole_file_that_several_share_is_renewed_for_all_and_goes_with_the_last() {
    let place = Place::new();
    let file = ".agents/skills/baton/SKILL.md";
    let sites = [Client::Codex, Client::Gemini].map(|client| place.site(client, false));
    let of = |site: &Site| wish(site.client.name());
    let before = place.everything();
    for (first, second) in [(0, 1), (1, 0)] {
        let (first, second) = (&sites[first], &sites[second]);
        setup(first, &of(first)).expect("a setup");
        // An older Baton wrote something else.
        place.file(file, "an older skill\n");
        let mut receipt = Receipt::read(&first.receipts(), first.client).unwrap().unwrap();
        let entry = receipt.files.iter_mut().find(|entry| entry.path.ends_with(file));
        entry.expect("an entry").wrote = files::hash("an older skill\n");
        receipt.write(&first.receipts(), first.client).expect("a receipt");
        setup(second, &of(second)).expect("a setup");
        assert_ne!(place.read(file), "an older skill\n", "it was ours, whoever wrote it");
        for site in [first, second] {
            let found = check(site, &of(site)).expect("a check");
            assert!(found.iter().all(|(it, _)| it.planned == Planned::Same), "{found:?}");
        }
        remove(first, &of(first)).expect("a removal");
        assert_ne!(place.read(file), "", "the other needs it");
        remove(second, &of(second)).expect("a removal");
        assert_eq!(place.everything(), before);
    }
}

#[test]
fn what_the_user_changes_after_setup_stays() {
    let place = Place::new();
    place.file(".mcp.json", "{\n  \"mcpServers\": {\n    \"db\": {\"command\": \"db\"}\n  }\n}\n");
    place.file("CLAUDE.md", "# Rules\n");
    let site = place.site(Client::ClaudeCode, false);
    setup(&site, &wish("claude-code")).expect("a setup");
    let theirs = place
        .read(".mcp.json")
        .replace("\"db\": {", "\"web\": {\"command\": \"w\"},\n    \"db\": {");
    place.file(".mcp.json", &theirs);
    place.file("CLAUDE.md", &format!("{}\nNever push.\n", place.read("CLAUDE.md")));
    place.file(".claude/skills/baton/SKILL.md", "mine now\n");
    // Neither asking again nor another agent makes their change part of ours.
    setup(&site, &wish("claude-code")).expect("a setup");
    setup(&site, &wish("reviewer")).expect("a setup");
    assert!(place.read(".mcp.json").contains("\"reviewer\""));
    let removed = remove(&site, &wish("claude-code")).expect("a removal");
    let expected = "{\n  \"mcpServers\": {\n    \"web\": {\"command\": \"w\"},\n    \
                    \"db\": {\"command\": \"db\"}\n  }\n}\n";
    assert_eq!(place.read(".mcp.json"), expected);
    assert_eq!(place.read("CLAUDE.md"), "# Rules\n\nNever push.\n");
    assert_eq!(place.read(".claude/skills/baton/SKILL.md"), "mine now\n");
    let fate =
        |end: &str| removed.iter().find(|it| it.path.ends_with(end)).map(|it| it.fate.clone());
    assert_eq!(fate("SKILL.md"), Some(Fate::Kept));
    assert_eq!(fate("CLAUDE.md"), Some(Fate::TakenOut));
    assert_eq!(fate("settings.json"), Some(Fate::Deleted));
    assert!(!place.root().join(".claude/commands").exists());
}

#[test]
fn a_broken_file_is_refused_and_nothing_is_written() {
    let broken = [
        (Client::ClaudeCode, ".claude/settings.json", "{\n  \"a\": 1,\n  nope\n}\n", "line 3"),
        (Client::Codex, ".codex/config.toml", "a = 1\nb = \n", "line 2"),
        (Client::Gemini, "GEMINI.md", "a\n<!-- baton:begin -->\n", "line 2"),
        (Client::OpenCode, "opencode.json", "{\"mcp\": {\"baton\": {}}}", "not ours"),
    ];
    for (client, path, text, said) in broken {
        let place = Place::new();
        place.file(path, text);
        let before = place.everything();
        let site = place.site(client, false);
        let failure = setup(&site, &wish(client.name())).expect_err("a refusal");
        assert!(failure.sentence.contains(said), "{failure}");
        assert!(failure.sentence.contains(path), "{failure}");
        assert_eq!(place.everything(), before);
        assert!(!site.is_known().expect("no receipt"));
    }
}

#[test]
fn what_cannot_be_a_persons_settings_is_refused() {
    let place = Place::new();
    let site = place.site(Client::Gemini, false);
    let refused = |place: &Place| {
        let failure = setup(&site, &wish("gemini")).expect_err("a refusal");
        assert!(!place.root().join("GEMINI.md").exists());
        failure.sentence
    };
    let path = place.root().join(".gemini/settings.json");
    place.file(".gemini/settings.json", &" ".repeat(4 * 1024 * 1024 + 1));
    assert!(refused(&place).contains("4 MiB"));
    fs::write(&path, b"{\"a\": \"\xff\"}").expect("a file");
    assert!(refused(&place).contains("UTF-8"));
    fs::remove_file(&path).expect("a file");
    fs::create_dir(&path).expect("a folder");
    assert!(refused(&place).contains("no file"));
    fs::remove_dir(&path).expect("a folder");
    symlink("settings.json", &path).expect("a link");
    assert!(refused(&place).contains("circle"));
}

#[test]
fn a_link_stays_a_link_and_two_clients_share_what_it_leads_to() {
    let place = Place::new();
    let dotfiles = place.home().join("dotfiles");
    fs::create_dir(&dotfiles).expect("a folder");
    fs::write(dotfiles.join("agents.md"), "# Mine").expect("a file");
    fs::set_permissions(dotfiles.join("agents.md"), fs::Permissions::from_mode(0o640))
        .expect("a mode");
    symlink(dotfiles.join("agents.md"), place.root().join("AGENTS.md")).expect("a link");
    symlink("AGENTS.md", place.root().join("CLAUDE.md")).expect("a link");
    symlink(dotfiles.join("new.json"), place.root().join(".mcp.json")).expect("a link");
    let before = place.everything();
    let clients = [Client::ClaudeCode, Client::Codex, Client::OpenCode];
    for client in clients {
        setup(&place.site(client, false), &wish(client.name())).expect("a setup");
    }
    let text = fs::read_to_string(dotfiles.join("agents.md")).expect("a file");
    assert_eq!(text.matches("baton:begin").count(), 1, "{text}");
    assert!(dotfiles.join("new.json").exists());
    let removed = remove(&place.site(Client::Codex, false), &wish("codex")).expect("a removal");
    assert!(removed.iter().any(|it| matches!(it.fate, Fate::Shared(_))), "{removed:?}");
    assert!(place.read("CLAUDE.md").contains("baton:begin"));
    for client in [Client::ClaudeCode, Client::OpenCode] {
        remove(&place.site(client, false), &wish(client.name())).expect("a removal");
    }
    assert_eq!(place.everything(), before);
}

#[test]
fn a_workspace_that_was_moved_still_finds_its_files() {
    let place = Place::new();
    place.file("AGENTS.md", "# Mine\n");
    let before = place.read("AGENTS.md");
    setup(&place.site(Client::Codex, false), &wish("codex")).expect("a setup");
    let moved = place.folder.path().canonicalize().expect("a folder").join("moved");
    fs::rename(place.root(), &moved).expect("a move");
    let site = Site { scope: Scope::Project(moved.clone()), ..place.site(Client::Codex, false) };
    remove(&site, &wish("codex")).expect("a removal");
    assert_eq!(fs::read_to_string(moved.join("AGENTS.md")).expect("a file"), before);
    assert!(!moved.join(".codex").exists() && !moved.join(".agents").exists());
}

#[test]
fn what_sessions_are_told_is_short() {
    let count = |text: &str| baton_context::Tokenizer::default().count(text);
    let place = Place::new();
    for piece in pieces(&place.site(Client::ClaudeCode, false), &wish("claude-code")) {
        let (text, most) = match &piece.edit {
            Edit::Block(text) => ((*text).to_owned(), 120),
            Edit::Whole(text) => (text.clone(), 600),
            Edit::Json(_) | Edit::Toml(_) => continue,
        };
        assert!(count(&text) < most, "{}: {} tokens", piece.path.display(), count(&text));
    }
}

#[test]
fn backups_are_for_the_users_eyes_only() {
    let place = Place::new();
    place.file(".gemini/settings.json", "{\"key\": \"secret\"}");
    setup(&place.site(Client::Gemini, false), &wish("gemini")).expect("a setup");
    let folder = place.root().join(".baton/setup");
    for entry in fs::read_dir(folder).expect("receipts").flatten() {
        let mode = entry.metadata().expect("a file").permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{}", entry.path().display());
    }
}
