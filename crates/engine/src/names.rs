//! Names for commands that their askers gave none.

use std::sync::{Mutex, PoisonError};

use baton_protocol::id::CommandId;
use baton_store::LedgerError;

/// Names that are drawn at once: asking the system costs more than what it gives.
const DRAWN_AT_ONCE: usize = 64;

/// Names that nobody had before.
#[derive(Default)]
pub(crate) struct Names(Mutex<Vec<CommandId>>);

impl Names {
    /// Returns one that nobody will have again.
    pub(crate) fn draw(&self) -> Result<CommandId, LedgerError> {
        let mut left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if left.is_empty() {
            let mut bytes = [[0; 16]; DRAWN_AT_ONCE];
            getrandom::fill(bytes.as_flattened_mut()).map_err(no_randomness)?;
            left.extend(bytes.map(CommandId::from_bytes));
        }
        left.pop().ok_or_else(|| no_randomness("none came"))
    }
}

fn no_randomness(why: impl ToString) -> LedgerError {
    let what = "the system gives no random bytes".to_owned();
    LedgerError::Failed { what, source: why.to_string().into() }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_name_is_drawn_twice() {
        let names = Names::default();
        let drawn: HashSet<_> = (0..3 * DRAWN_AT_ONCE).map(|_| names.draw().unwrap()).collect();
        assert_eq!(drawn.len(), 3 * DRAWN_AT_ONCE);
    }
}
