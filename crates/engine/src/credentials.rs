//! Which credentials were seen to be in force, so that not every request has to ask the ledger.
//!
//! What is not known here is looked up. A revocation is recorded by this process and no other, so
//! it is heard here before whoever asked for it gets an answer.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use baton_protocol::command::Actor;
use baton_protocol::event::Event;
use baton_protocol::id::TokenId;
use baton_protocol::time::Timestamp;
use baton_store::Hash;
use tokio::sync::watch;

/// Credentials that are kept in mind at once.
const KNOWN_MAX: usize = 16 * 1024;

/// A token that is in force, and who acts by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credential {
    /// Who acts.
    pub actor: Actor,
    /// By which token.
    pub token: TokenId,
    /// Until when, if it ends.
    pub expires_at: Option<Timestamp>,
}

impl Credential {
    /// Whether it is in force at this moment, if nobody took it away.
    pub(crate) fn lasts(&self, now: Timestamp) -> bool {
        self.expires_at.is_none_or(|at| at > now)
    }
}

/// The credentials by the digests of their secrets.
#[derive(Default)]
pub(crate) struct Credentials {
    known: RwLock<HashMap<Hash, Credential>>,
    /// How often a credential was taken away.
    revoked: watch::Sender<u64>,
}

impl Credentials {
    /// Who acts by the token with this digest, as far as is known.
    pub(crate) fn known(&self, digest: &Hash, now: Timestamp) -> Option<Credential> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.get(digest).filter(|credential| credential.lasts(now)).cloned()
    }

    /// How often a credential was taken away; changes wake whoever must look again.
    pub(crate) fn revocations(&self) -> watch::Receiver<u64> {
        self.revoked.subscribe()
    }

    /// Keeps in mind what was looked up, unless something was taken away since `seen`.
    pub(crate) fn keep(&self, digest: Hash, credential: Credential, seen: u64) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if *self.revoked.borrow() != seen {
            return;
        }
        if known.len() >= KNOWN_MAX {
            known.clear();
        }
        known.insert(digest, credential);
    }

    /// Takes note of what was recorded.
    pub(crate) fn note(&self, events: &[Event]) {
        for event in events {
            if let Event::TokenRevoked { token } = event {
                let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
                known.retain(|_, credential| credential.token != *token);
                self.revoked.send_modify(|times| *times += 1);
            }
        }
    }
}
