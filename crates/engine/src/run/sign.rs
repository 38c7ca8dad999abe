//! Signatures on what is sent to web services, so that they know who calls.
//!
//! One key a workspace, in a file that only its system user can read; each agent's secret is
//! derived from it, so the ledger never sees one.

use std::fmt::Write;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use baton_protocol::id::AgentId;
use baton_protocol::time::Timestamp;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// How every webhook secret begins.
const PREFIX: &str = "whsec_";
const KEY_FILE: &str = "webhook.key";
const KEY_BYTES: usize = 32;

/// The secret that signs what is sent to `agent`; the workspace's key is made when it is missing.
pub(super) fn secret(data: &Path, agent: &AgentId) -> io::Result<String> {
    let key = key(&data.join(KEY_FILE))?;
    Ok(format!("{PREFIX}{}", hmac(&key, format!("webhook {agent}").as_bytes())))
}

/// The header that proves that `body` was sent at `now` by whoever knows `secret`.
pub(super) fn signature(secret: &str, now: Timestamp, body: &[u8]) -> String {
    let seconds = now.as_micros().div_euclid(1_000_000);
    let mut signed = format!("{seconds}.").into_bytes();
    signed.extend_from_slice(body);
    format!("t={seconds},v1={}", hmac(secret.as_bytes(), &signed))
}

fn hmac(key: &[u8], message: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length will do");
    mac.update(message);
    let mut digits = String::new();
    for byte in mac.finalize().into_bytes() {
        write!(digits, "{byte:02x}").expect("a string takes all");
    }
    digits
}

fn key(path: &Path) -> io::Result<Vec<u8>> {
    match fs::read(path) {
        Ok(key) if key.len() == KEY_BYTES => return Ok(key),
        Ok(_) => return Err(io::Error::other(format!("{} is not a key", path.display()))),
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Err(_) => (),
    }
    let mut key = vec![0; KEY_BYTES];
    getrandom::fill(&mut key).map_err(io::Error::other)?;
    // Written aside first: a key that was cut off by a crash would never be one again.
    let aside = path.with_extension("new");
    let mut private = OpenOptions::new();
    let mut file = private.create(true).truncate(true).write(true).mode(0o600).open(&aside)?;
    file.write_all(&key)?;
    file.sync_all()?;
    fs::rename(&aside, path)?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_the_one_that_other_languages_compute() {
        // echo -n '1700000000.{"a":1}' | openssl dgst -sha256 -hmac whsec_test
        let now = Timestamp::from_micros(1_700_000_000_999_999);
        assert_eq!(
            signature("whsec_test", now, br#"{"a":1}"#),
            "t=1700000000,v1=38877139021993b830af32feea6e18a8da83eb2f6e49ee50bd9e4cf4ca4d3789"
        );
    }

    #[test]
    fn each_agent_has_a_secret_of_its_own_that_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let of =
            |name: &str| secret(folder.path(), &name.parse().expect("a name")).expect("a secret");
        assert_eq!(of("builder"), of("builder"));
        assert_ne!(of("builder"), of("tester"));
        fs::write(folder.path().join(KEY_FILE), "short").expect("a file");
        assert!(secret(folder.path(), &"builder".parse().expect("a name")).is_err());
    }
}
