//! Moments as people say them. The clock is handed in.

use std::time::SystemTime;

use baton_protocol::time::Timestamp;

const SECOND: i64 = 1_000_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// The time by the system's clock.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// How far `at` is from `now`, such as `3m ago` or `in 2h`.
pub(crate) fn relative(at: Timestamp, now: Timestamp) -> String {
    let away = at.as_micros() - now.as_micros();
    if away.abs() < SECOND {
        return "now".to_owned();
    }
    // What lies ahead is rounded: ten minutes, told a moment later or by a clock a moment behind,
    // are ten minutes and neither nine nor eleven.
    if away < 0 { format!("{} ago", span(-away)) } else { format!("in {}", span(rounded(away))) }
}

fn rounded(micros: i64) -> i64 {
    let unit = match micros {
        ..MINUTE => SECOND,
        MINUTE..HOUR => MINUTE,
        HOUR..DAY => HOUR,
        DAY.. => DAY,
    };
    (micros + unit / 2) / unit * unit
}

/// A length of time in its largest unit.
pub(crate) fn span(micros: i64) -> String {
    match micros {
        SECOND..MINUTE => format!("{}s", micros / SECOND),
        MINUTE..HOUR => format!("{}m", micros / MINUTE),
        HOUR..DAY => format!("{}h", micros / HOUR),
        DAY.. => format!("{}d", micros / DAY),
        _ => format!("{}ms", micros / 1_000),
    }
}

/// The moment itself in UTC, to the second.
pub(crate) fn absolute(at: Timestamp) -> String {
    let text = at.to_string();
    match text.split_at_checked(19) {
        Some((to_the_second, _)) => format!("{}Z", to_the_second.replace('T', " ")),
        None => text,
    }
}

/// Both: the moment and how far it is.
pub(crate) fn both(at: Timestamp, now: Timestamp) -> String {
    format!("{} ({})", absolute(at), relative(at, now))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_said_in_their_largest_unit() {
        let now = Timestamp::from_micros(100 * DAY);
        let said = |away: i64| relative(Timestamp::from_micros(100 * DAY + away), now);
        assert_eq!(said(0), "now");
        assert_eq!(said(-3 * MINUTE - 59 * SECOND), "3m ago");
        assert_eq!(said(-SECOND), "1s ago");
        assert_eq!(said(2 * HOUR), "in 2h");
        for moment in [-SECOND, -1, 0, 1, 20 * 1_000, SECOND] {
            assert_eq!(said(10 * MINUTE + moment), "in 10m", "{moment}");
        }
        assert_eq!(said(MINUTE - 1), "in 1m");
        assert_eq!(said(DAY - 1), "in 1d");
        assert_eq!(said(HOUR - 1), "in 1h");
        assert_eq!(said(-90 * DAY), "90d ago");
        assert_eq!(span(1_500), "1ms");
        assert_eq!(absolute(now), "1970-04-11 00:00:00Z");
    }
}
