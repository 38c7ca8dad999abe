//! Reads a client's file and writes it so that nobody ever sees half of it.
//!
//! A link stays a link: what it leads to is written. The file's mode stays, too.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::refused;
use crate::failure::{Exit, Failure};

/// Bytes of a file that is changed; no person's settings are larger.
const BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Links that are followed from one file.
const LINKS_MAX: usize = 40;

/// A file as it was found.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// Where a client looks for it.
    pub(crate) path: PathBuf,
    /// Where it really is.
    pub(crate) target: PathBuf,
    pub(crate) text: Option<String>,
    mode: Option<u32>,
}

impl Seen {
    pub(crate) fn look(path: &Path, shown: &str) -> Result<Self, Failure> {
        let target = followed(path).map_err(|error| refused(shown, error))?;
        let absent = Self { path: path.to_owned(), target, text: None, mode: None };
        let data = match fs::metadata(&absent.target) {
            Ok(data) => data,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(absent),
            Err(error) => return Err(refused(shown, error)),
        };
        if !data.is_file() {
            return Err(refused(shown, "it is no file"));
        }
        let text = read(&absent.target).map_err(|error| refused(shown, error))?;
        Ok(Self { text: Some(text), mode: Some(data.mode() & 0o7777), ..absent })
    }

    /// Replaces the file, if it is still as it was seen. Returns the folders that had to be made.
    pub(crate) fn write(&self, text: &str, shown: &str) -> Result<Vec<PathBuf>, Failure> {
        let failed = |error: io::Error| unwritable(shown, &error);
        self.unchanged(shown)?;
        let folder = self.target.parent().unwrap_or(Path::new("/"));
        let made = make_folders(folder).map_err(failed)?;
        let mode = Permissions::from_mode(self.mode.unwrap_or(0o666));
        let mut aside = tempfile::Builder::new();
        // What is new gets the mode that the user's umask leaves of this.
        let aside = aside.prefix(".baton-").permissions(mode.clone()).tempfile_in(folder);
        let mut aside = aside.map_err(failed)?;
        if self.mode.is_some() {
            aside.as_file().set_permissions(mode).map_err(failed)?;
        }
        aside.write_all(text.as_bytes()).map_err(failed)?;
        aside.as_file().sync_all().map_err(failed)?;
        aside.persist(&self.target).map_err(|error| failed(error.error))?;
        Ok(made)
    }

    /// Deletes the file, if it is still as it was seen.
    pub(crate) fn delete(&self, shown: &str) -> Result<(), Failure> {
        self.unchanged(shown)?;
        match fs::remove_file(&self.target) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(unwritable(shown, &error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Some clients write their settings while they run, and what they wrote must not be lost.
    fn unchanged(&self, shown: &str) -> Result<(), Failure> {
        let now = match read(&self.target) {
            Ok(now) => Some(now),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(unwritable(shown, &error)),
        };
        if now == self.text {
            return Ok(());
        }
        let sentence = format!("{shown} was changed by somebody else in this moment");
        Err(Failure::new(Exit::Failure, "changed-meanwhile", sentence, "run the same again"))
    }
}

fn unwritable(shown: &str, error: &io::Error) -> Failure {
    let hint = "check the folder's permissions and the space on its disk, then run the same again";
    Failure::failed(format!("cannot write {shown}: {error}"), hint)
}

/// Where a path leads, also if there is nothing yet.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        match fs::read_link(&path) {
            Ok(next) => path = path.parent().unwrap_or(Path::new("/")).join(next),
            Err(_) => return Ok(whole(&path)),
        }
    }
    Err(io::Error::other("its links lead in a circle"))
}

/// One spelling for each file, so that two that share one know of each other.
fn whole(path: &Path) -> PathBuf {
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    match (folder, path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        (None, _) | (_, None) => path.to_owned(),
    }
}

fn read(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(io::Error::other("it is larger than 4 MiB"));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::other("it is not text in UTF-8"))
}

/// Makes a folder and those above it, and returns those that were not there, the outermost first.
fn make_folders(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let missing: Vec<_> = folder.ancestors().take_while(|it| !it.exists()).collect();
    let made = missing.into_iter().rev().map(Path::to_owned).collect();
    fs::create_dir_all(folder)?;
    Ok(made)
}

/// Writes a file of our own, for this user's eyes only.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut aside = tempfile::NamedTempFile::new_in(folder)?;
    aside.write_all(bytes)?;
    aside.as_file().sync_all()?;
    aside.persist(path)?;
    Ok(())
}

/// Makes the folder of the receipts, and keeps others from changing what it is about until the
/// lock is let go.
pub(crate) fn lock(folder: &Path) -> Result<File, Failure> {
    let failed = |error: io::Error| unwritable(&folder.display().to_string(), &error);
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    let mut file = OpenOptions::new();
    file.create(true).append(true).mode(0o600);
    let file = file.open(folder.join("lock")).map_err(failed)?;
    file.lock().map_err(failed)?;
    Ok(file)
}

/// What a text is known by.
pub(crate) fn hash(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}
