//! Proof: checking the ledger, exporting records that can be checked elsewhere, and the key.

use std::io::BufRead;

use baton_store::{Against, Checked, Export, VerifierKey};

use crate::engine::Engine;
use crate::query::{QueryError, misplaced};
use crate::view::{Exported, Signed, Verified};

/// What was given to check with cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct KeyError(#[from] baton_store::NoteError);

/// Reads a key as `baton audit key` prints it.
fn parsed(key: &str) -> Result<VerifierKey, KeyError> {
    Ok(key.parse()?)
}

impl Engine {
    /// Reads every record, follows every chain, and compares all with the signed checkpoints; and
    /// with a key and an older checkpoint that were kept elsewhere, if they are given.
    pub async fn verify(
        &self,
        key: Option<&str>,
        since: Option<String>,
    ) -> Result<Verified, QueryError> {
        let key = key.map(parsed).transpose().map_err(unusable)?;
        Ok(verified(self.ledger.check(Against { key, since }).await?))
    }

    /// Writes records to a file that can be checked without this ledger.
    pub async fn export(&self, what: Export) -> Result<Exported, QueryError> {
        let baton_store::Exported { records, bytes, signed, key } =
            self.ledger.export(what).await.map_err(misplaced)?;
        Ok(Exported { records, bytes, signed, key })
    }

    /// The newest checkpoint, over everything that is durable now, and the key to check it with.
    pub async fn checkpoint(&self) -> Result<Signed, QueryError> {
        let (key, checkpoint) = self.ledger.checkpoint().await?;
        let records = checkpoint.lines().nth(1).and_then(|size| size.parse().ok());
        Ok(Signed { key: key.to_string(), records: records.unwrap_or(0), checkpoint })
    }
}

fn unusable(error: KeyError) -> QueryError {
    QueryError::Unusable { field: "key", why: error.to_string() }
}

/// Checks a bundle with a key and, if one is given, an older checkpoint; no ledger is needed.
pub fn verify_bundle(
    from: impl BufRead,
    key: &str,
    since: Option<&str>,
) -> Result<std::io::Result<Verified>, KeyError> {
    let key = parsed(key)?;
    Ok(baton_store::verify_bundle(from, &key, since).map(verified))
}

fn verified(checked: Checked) -> Verified {
    let Checked { records, streams, problem, record, stream, .. } = checked;
    let Checked { checkpoints, signed, pruned, key, notes, .. } = checked;
    Verified { records, streams, problem, record, stream, checkpoints, signed, pruned, key, notes }
}
