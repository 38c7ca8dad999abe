//! Masks secrets in texts before anything is recorded, because nothing recorded is ever changed.
//!
//! Three looks, each once over the text: shapes that vendors chose so that scanners find them,
//! passwords inside addresses, and values whose name says that they are secret. What follows a
//! mask is judged as if the mask were no word, so masking a masked text changes nothing.

mod address;
mod count;
mod named;
mod names;
mod rules;
mod shapes;
#[cfg(test)]
mod steps;
#[cfg(test)]
mod tests;
mod value;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

pub use count::{Masks, count_masks, count_masks_in};
pub use rules::{Rules, RulesError, RulesSet};

use shapes::Shapes;

/// Everything that decides what is masked.
#[derive(Debug)]
struct Masker {
    shapes: Shapes,
    rules: Rules,
}

impl Masker {
    fn new(rules: Rules) -> Self {
        Self { shapes: Shapes::new(&rules), rules }
    }
}

static BUILT_IN: LazyLock<Masker> = LazyLock::new(|| Masker::new(Rules::default()));
/// The rules of the workspace, set once per process. Texts are masked by being parsed, deep inside
/// of serde, where nothing can be handed in; and a process serves one workspace only.
static OF_THE_WORKSPACE: OnceLock<Masker> = OnceLock::new();

impl Rules {
    /// Has these rules hold for everything that this process parses from now on.
    ///
    /// # Errors
    ///
    /// When rules were set before: what is masked must not depend on who came last.
    pub fn set(self) -> Result<(), RulesSet> {
        OF_THE_WORKSPACE.set(Masker::new(self)).map_err(|_| RulesSet)
    }

    /// Masks one text by these rules, whatever holds for the process.
    pub fn mask(self, text: &str) -> String {
        Masker::new(self).mask(text).into_owned()
    }
}

fn masker() -> &'static Masker {
    OF_THE_WORKSPACE.get().unwrap_or(&BUILT_IN)
}

/// Returns `text` with every known secret replaced by `[masked NAME]`.
///
/// Masking a masked text changes nothing, so a record may pass here again when it is read back.
pub fn mask(text: &str) -> Cow<'_, str> {
    masker().mask(text)
}

/// Whether a text holds a secret of a built-in shape, for texts that cannot be changed without
/// breaking them.
///
/// The workspace's rules and names are left out: what is refused here is refused when a ledger is
/// read back, too, and a rule that was written later must not make a ledger unreadable.
pub(crate) fn is_secret(text: &str) -> bool {
    let mut from = 0;
    let next = |from| BUILT_IN.shapes.next(Place { text, from, kept: from }, &BUILT_IN.rules);
    while let Some(secret) = next(from) {
        // An address that must be kept secret is still an address that can be called.
        if !matches!(secret.name, "slack-webhook" | "discord-webhook") {
            return true;
        }
        from = secret.at.end;
    }
    false
}

/// What stands for a string that an object has under `name`, if the name makes it a secret.
pub(crate) fn named_secret(name: &str, value: &str) -> Option<&'static str> {
    let masker = masker();
    let found = names::says_secret(name, &masker.rules)?;
    (value::is_secret_literal(value, found) && !masker.rules.allows(value))
        .then_some(ENV_VALUE_MASK)
}

const ENV_VALUE: &str = "env-value";
const ENV_VALUE_MASK: &str = "[masked env-value]";
const URL_PASSWORD: &str = "url-password";
/// How every mask begins; it ends with `]`.
const MASK_BEGIN: &str = "[masked ";

impl Masker {
    fn mask<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let text = masked(text, |text| self.shapes.next(text, &self.rules));
        let text = again(text, |text| address::next(text, &self.rules));
        again(text, |text| named::next(text, &self.rules))
    }
}

/// A secret in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Secret<'m> {
    at: Range<usize>,
    name: &'m str,
}

/// Where a look is: what comes before `from` was looked at, what comes before `kept` is masked.
#[derive(Clone, Copy, Debug)]
struct Place<'t> {
    text: &'t str,
    from: usize,
    kept: usize,
}

fn again<'t, 'm>(
    text: Cow<'t, str>,
    next: impl Fn(Place<'_>) -> Option<Secret<'m>>,
) -> Cow<'t, str> {
    match text {
        Cow::Borrowed(text) => masked(text, next),
        Cow::Owned(text) => Cow::Owned(masked(&text, next).into_owned()),
    }
}

/// Replaces each secret that `next` finds.
fn masked<'t, 'm>(text: &'t str, next: impl Fn(Place<'_>) -> Option<Secret<'m>>) -> Cow<'t, str> {
    let mut masked = String::new();
    let (mut from, mut kept) = (0, 0);
    while let Some(secret) = next(Place { text, from, kept }) {
        masked.push_str(&text[kept..secret.at.start]);
        masked.push_str(MASK_BEGIN);
        masked.push_str(secret.name);
        masked.push(']');
        (from, kept) = (secret.at.end, secret.at.end);
    }
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    masked.push_str(&text[kept..]);
    Cow::Owned(masked)
}

/// Notes that this many bytes were looked at once more.
fn looked_at(_count: usize) {
    #[cfg(test)]
    steps::add(_count);
}
