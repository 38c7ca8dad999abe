//! What setup did to which file, and how that file was before.
//!
//! One for each client and scope; what the files were before lies beside it, readable by the user
//! alone, because settings hold keys.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use baton_protocol::id::AgentId;
use serde::{Deserialize, Serialize};

use super::{Client, files};
use crate::failure::Failure;

/// Bytes of a receipt.
const BYTES_MAX: u64 = 1024 * 1024;

/// What was done for one client.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Receipt {
    pub(crate) agent: AgentId,
    /// How its files call `baton`.
    pub(crate) program: String,
    pub(crate) files: Vec<Entry>,
}

/// What was done to one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// Where the client looks for it.
    pub(crate) path: PathBuf,
    /// Where it really is, which another client may share.
    pub(crate) target: PathBuf,
    /// The file beside this receipt with what it was before; nothing if it was not there.
    pub(crate) backup: Option<String>,
    /// The SHA-256 of what we wrote.
    pub(crate) wrote: String,
    /// The folders that we made for it, the outermost first.
    #[serde(default)]
    pub(crate) made: Vec<PathBuf>,
}

impl Receipt {
    pub(crate) fn read(folder: &Path, client: Client) -> Result<Option<Self>, Failure> {
        let path = path(folder, client);
        let wrong = |why: String| {
            let sentence = format!("cannot read {}: {why}", path.display());
            Failure::failed(sentence, "move it away; setup then goes by what is in the files")
        };
        let bytes = match fs::metadata(&path) {
            Ok(data) if data.len() > BYTES_MAX => return Err(wrong("it is too large".into())),
            Ok(_) => fs::read(&path).map_err(|error| wrong(error.to_string()))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(wrong(error.to_string())),
        };
        let read = serde_json::from_slice::<Self>(&bytes).map_err(|error| wrong(error.to_string()));
        Ok(Some(read?.with_paths(|path| base(folder).join(path))))
    }

    fn with_paths(mut self, change: impl Fn(&Path) -> PathBuf) -> Self {
        for entry in &mut self.files {
            entry.path = change(&entry.path);
            entry.target = change(&entry.target);
            entry.made.iter_mut().for_each(|folder| *folder = change(folder));
        }
        self
    }

    pub(crate) fn write(&self, folder: &Path, client: Client) -> Result<(), Failure> {
        let path = path(folder, client);
        let near = |path: &Path| path.strip_prefix(base(folder)).unwrap_or(path).to_owned();
        let json = serde_json::to_vec_pretty(&self.clone().with_paths(near));
        let json = json.map_err(io::Error::other);
        let done = json.and_then(|json| files::write_private(&path, &json));
        done.map_err(|error| {
            let sentence = format!("cannot write {}: {error}", path.display());
            Failure::failed(sentence, "check the folder's permissions and the space on its disk")
        })
    }

    /// Removes the receipt, and what lies beside it for its sake.
    pub(crate) fn discard(&self, folder: &Path, client: Client) -> Result<(), Failure> {
        let backups = self.files.iter().filter_map(|entry| entry.backup.as_ref());
        let paths = backups.map(|name| folder.join(name)).chain([path(folder, client)]);
        for path in paths {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    let sentence = format!("cannot remove {}: {error}", path.display());
                    return Err(Failure::failed(sentence, "check the folder's permissions"));
                }
                Ok(()) | Err(_) => (),
            }
        }
        Ok(())
    }

    pub(crate) fn of(&self, target: &Path) -> Option<&Entry> {
        self.files.iter().find(|entry| entry.target == target)
    }
}

impl Entry {
    /// What the file was before: nothing if it was not there.
    pub(crate) fn original(&self, folder: &Path) -> Result<Option<String>, Failure> {
        let Some(name) = &self.backup else {
            return Ok(None);
        };
        let path = folder.join(name);
        fs::read_to_string(&path).map(Some).map_err(|error| {
            let sentence = format!("cannot read {}: {error}", path.display());
            let hint = "it holds what the file was before; bring it back, or move the receipt away";
            Failure::failed(sentence, hint)
        })
    }
}

fn path(folder: &Path, client: Client) -> PathBuf {
    folder.join(format!("{}.json", client.name()))
}

/// What paths are seen from: a workspace that was moved still finds its files.
fn base(folder: &Path) -> &Path {
    folder.parent().and_then(Path::parent).unwrap_or(folder)
}

/// The receipts of all but one, with where they lie: who else wrote to a file.
pub(crate) fn others(
    folder: &Path,
    other: Option<&Path>,
    client: Client,
) -> Result<Vec<(Client, PathBuf, Receipt)>, Failure> {
    let mut found = Vec::new();
    let near = Client::ALL.into_iter().filter(|it| *it != client).map(|it| (folder, it));
    let far = other.into_iter().flat_map(|other| Client::ALL.map(|it| (other, it)));
    for (folder, client) in near.chain(far) {
        if let Some(receipt) = Receipt::read(folder, client)? {
            found.push((client, folder.to_owned(), receipt));
        }
    }
    Ok(found)
}
