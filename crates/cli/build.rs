//! Links the binary so that its loader has less to read.
//!
//! Tables of functions and texts hold some 60 000 addresses that are set at every start. Packed
//! they take 30 kB instead of 1.4 MB, which every process would read and keep mapped: each hook,
//! each MCP session. Loaders know the packed form since glibc 2.36. Where the one that is here is
//! older they stay as they are; so they do with BATON_PORTABLE=1, for a binary that is to run
//! elsewhere.

use std::env;
use std::process::Command;

const GLIBC_THAT_UNPACKS: (u32, u32) = (2, 36);

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=BATON_PORTABLE");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    let glibc = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    let runs_here = env::var("HOST") == env::var("TARGET") && env::var("BATON_PORTABLE").is_err();
    if glibc && runs_here && version().is_some_and(|version| version >= GLIBC_THAT_UNPACKS) {
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The version of this system's glibc, as `getconf` says it: `glibc 2.36`.
fn version() -> Option<(u32, u32)> {
    let said = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let said = String::from_utf8(said.stdout).ok()?;
    let (major, minor) = said.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
