//! What a client hears of its session's course beside the answers: who asked for how much, and
//! whether something is worth saying.
//!
//! Older revisions set a level for the whole session (`logging/setLevel`); since 2026-07-28 each
//! request names its own. Whoever named none hears nothing. No answer depends on it.

// The newest revision deprecates logging, but still has it, and the older ones are spoken, too.
#![expect(deprecated, reason = "revisions that have logging are spoken as they were written")]

use std::sync::{Mutex, PoisonError};

use rmcp::RoleServer;
use rmcp::model::{
    ErrorData, LoggingLevel, LoggingMessageNotificationParam, ProtocolVersion,
    SetLevelRequestMethod,
};
use rmcp::service::RequestContext;
use serde_json::Value;

/// Who says it.
const LOGGER: &str = "baton";

/// How much something matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// Only to whoever looks for a fault.
    Detail,
    /// Something was changed in the agent's name.
    News,
    /// The rules said no.
    Refused,
    /// Something is broken.
    Broken,
}

impl Weight {
    fn level(self) -> LoggingLevel {
        match self {
            Self::Detail => LoggingLevel::Debug,
            Self::News => LoggingLevel::Info,
            Self::Refused => LoggingLevel::Warning,
            Self::Broken => LoggingLevel::Error,
        }
    }
}

/// The level of one session.
#[derive(Debug, Default)]
pub(crate) struct Log {
    level: Mutex<Option<LoggingLevel>>,
}

impl Log {
    /// From now on the session hears what is at least as grave as this.
    pub(crate) fn set(
        &self,
        level: LoggingLevel,
        context: &RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if is_newest(context) {
            return Err(ErrorData::method_not_found::<SetLevelRequestMethod>());
        }
        *self.level.lock().unwrap_or_else(PoisonError::into_inner) = Some(level);
        Ok(())
    }

    /// Says it, if whoever sent this request wants to hear such things.
    pub(crate) async fn say(
        &self,
        weight: Weight,
        data: Value,
        context: &RequestContext<RoleServer>,
    ) {
        let wanted = match is_newest(context) {
            true => context.meta.log_level(),
            false => *self.level.lock().unwrap_or_else(PoisonError::into_inner),
        };
        let level = weight.level();
        if wanted.is_some_and(|least| is_heard(level, least)) {
            let message = LoggingMessageNotificationParam::new(level, data).with_logger(LOGGER);
            // Whoever is gone hears nothing, and its call ends as it would have.
            let _ = context.peer.notify_logging_message(message).await;
        }
    }
}

/// Whether the newest revision is spoken, in which each request says for itself what it wants to
/// hear, and some methods are gone.
pub(crate) fn is_newest(context: &RequestContext<RoleServer>) -> bool {
    let version = context.protocol_version();
    version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

/// Whether something of this level is heard by whoever wants `least`.
fn is_heard(level: LoggingLevel, least: LoggingLevel) -> bool {
    gravity(level) >= gravity(least)
}

/// The place of a level in the order of RFC 5424, the least grave first.
fn gravity(level: LoggingLevel) -> u8 {
    match level {
        LoggingLevel::Debug => 0,
        LoggingLevel::Info => 1,
        LoggingLevel::Notice => 2,
        LoggingLevel::Warning => 3,
        LoggingLevel::Error => 4,
        LoggingLevel::Critical => 5,
        LoggingLevel::Alert => 6,
        LoggingLevel::Emergency => 7,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_hears_what_is_as_grave_as_it_asked_for_and_graver() {
        let heard = |least| {
            let all = [Weight::Detail, Weight::News, Weight::Refused, Weight::Broken];
            all.into_iter().filter(|weight| is_heard(weight.level(), least)).collect::<Vec<_>>()
        };
        assert_eq!(heard(LoggingLevel::Debug).len(), 4);
        assert_eq!(heard(LoggingLevel::Notice), [Weight::Refused, Weight::Broken]);
        assert_eq!(heard(LoggingLevel::Warning), [Weight::Refused, Weight::Broken]);
        assert_eq!(heard(LoggingLevel::Error), [Weight::Broken]);
        assert!(heard(LoggingLevel::Emergency).is_empty());
    }
}
