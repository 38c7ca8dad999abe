//! Moments and spans of time. Time is always an argument here; nothing in this crate reads a clock.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use jiff::fmt::friendly::SpanParser;
use serde::{Deserialize, Serialize};

/// A moment in UTC, to the microsecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The moment `micros` microseconds after 1970.
    ///
    /// Clamped to the years that ISO 8601 can write with four digits, so formatting cannot fail.
    pub fn from_micros(micros: i64) -> Self {
        const YEAR_10000: i64 = 253_402_300_800_000_000;
        Self(micros.clamp(0, YEAR_10000 - 1))
    }

    /// Microseconds since 1970.
    pub fn as_micros(self) -> i64 {
        self.0
    }

    /// This moment, later by as long as it took from `from` to `to`.
    #[must_use]
    pub(crate) fn shifted(self, from: Self, to: Self) -> Self {
        Self::from_micros(self.0 + (to.0 - from.0).max(0))
    }

    /// Whole milliseconds from `earlier` to this moment, 0 if it lies ahead.
    pub fn millis_since(self, earlier: Self) -> u64 {
        u64::try_from((self.0 - earlier.0) / 1_000).unwrap_or(0)
    }
}

/// Why a text is not a moment or a span of time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    /// Not a moment.
    #[error("`{text}` is not a time; expected ISO 8601 in UTC such as 2026-03-01T12:00:00Z")]
    Moment {
        /// What was given.
        text: String,
    },
    /// Not a span.
    #[error("`{text}` is not a duration; expected a form like 30s, 5m, 2h or PT30S")]
    Span {
        /// What was given.
        text: String,
    },
    /// Outside what a span may be.
    #[error("`{text}` is outside what is allowed; expected more than 0 and at most 30 days")]
    Range {
        /// What was given.
        text: String,
    },
}

fn shown(text: &str) -> String {
    text.chars().take(80).collect()
}

impl FromStr for Timestamp {
    type Err = TimeError;

    fn from_str(text: &str) -> Result<Self, TimeError> {
        if let Some(moment) = Written::read(text.as_bytes()) {
            return Ok(moment);
        }
        let moment: jiff::Timestamp =
            text.parse().map_err(|_| TimeError::Moment { text: shown(text) })?;
        let clamped = Self::from_micros(moment.as_microsecond());
        if clamped.0 != moment.as_microsecond() {
            return Err(TimeError::Moment { text: shown(text) });
        }
        Ok(clamped)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(from)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(Written::of(*self).as_str())
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(Written::of(*self).as_str())
    }
}

/// A moment as it is written: `2026-03-01T12:00:00.000000Z`. Its width is fixed, so lines align and
/// sort as text.
///
/// Every record says the time several times over, so it is written without a formatter in between;
/// a test holds it against jiff's.
struct Written([u8; 27]);

impl Written {
    fn of(moment: Timestamp) -> Self {
        const DAY: i64 = 86_400 * 1_000_000;
        let mut text = *b"0000-00-00T00:00:00.000000Z";
        let (days, micros) = (moment.0.div_euclid(DAY), moment.0.rem_euclid(DAY));
        let (year, month, day) = civil(days);
        let seconds = micros / 1_000_000;
        for (at, width, value) in [
            (0, 4, year),
            (5, 2, month),
            (8, 2, day),
            (11, 2, seconds / 3_600),
            (14, 2, seconds / 60 % 60),
            (17, 2, seconds % 60),
            (20, 6, micros % 1_000_000),
        ] {
            let mut rest = value;
            for digit in text[at..at + width].iter_mut().rev() {
                *digit = b'0' + u8::try_from(rest % 10).unwrap_or(0);
                rest /= 10;
            }
        }
        Self(text)
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// Reads what was written like this. Whatever is written otherwise, or is no moment, is left to
    /// jiff, which also says what is wrong: only the very text that we would write counts.
    fn read(text: &[u8]) -> Option<Timestamp> {
        let text: &[u8; 27] = text.try_into().ok()?;
        let number = |at: usize, width: usize| {
            text[at..at + width]
                .iter()
                .fold(0, |value, digit| value * 10 + i64::from(digit.wrapping_sub(b'0')))
        };
        let (year, month) = (number(0, 4), number(5, 2));
        let days = days_before(year, month)? + number(8, 2) - 1;
        let seconds = number(11, 2) * 3_600 + number(14, 2) * 60 + number(17, 2);
        let moment = Timestamp::from_micros((days * 86_400 + seconds) * 1_000_000 + number(20, 6));
        (Self::of(moment).0 == *text).then_some(moment)
    }
}

/// Days from 1970 to the first day of a month; the inverse of [`civil`].
fn days_before(year: i64, month: i64) -> Option<i64> {
    if !(1..=12).contains(&month) || !(1970..=9999).contains(&year) {
        return None;
    }
    // The year begins with March, so that leap days come last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leaps = year / 4 - year / 100 + year / 400;
    Some(year * 365 + leaps + (153 * month + 2) / 5 - 719_468)
}

/// Year, month and day of a day counted from 1970 (the days of a 400-year era, from 1 March on, so
/// that leap days come last).
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// A span of time that something may take: more than 0, at most 30 days.
///
/// The bound makes adding it to a moment safe everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Allowance(i64);

impl Allowance {
    const MICROS_MAX: i64 = 30 * 24 * 3600 * 1_000_000;

    /// A span of whole seconds, at most 30 days.
    pub const fn from_secs(seconds: i64) -> Self {
        assert!(seconds > 0 && seconds * 1_000_000 <= Self::MICROS_MAX);
        Self(seconds * 1_000_000)
    }

    /// The span in microseconds.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// The span as the standard library has it.
    pub const fn as_duration(self) -> std::time::Duration {
        std::time::Duration::from_micros(self.0.unsigned_abs())
    }

    /// The moment this long after `start`.
    pub fn after(self, start: Timestamp) -> Timestamp {
        Timestamp::from_micros(start.0 + self.0)
    }

    /// How long it is from `now` to `then`, at least a second.
    pub fn until(then: Timestamp, now: Timestamp) -> Self {
        Self((then.0 - now.0).clamp(1_000_000, Self::MICROS_MAX))
    }

    /// Twice as long, as often as `times` says, at most 30 days.
    #[must_use]
    pub fn doubled(self, times: u8) -> Self {
        let factor = 1_i64 << times.min(20);
        Self(self.0.saturating_mul(factor).min(Self::MICROS_MAX))
    }
}

impl FromStr for Allowance {
    type Err = TimeError;

    fn from_str(text: &str) -> Result<Self, TimeError> {
        let span = jiff::Span::from_str(text)
            .or_else(|_| SpanParser::new().parse_span(text))
            .map_err(|_| TimeError::Span { text: shown(text) })?;
        // A day is 24 hours here; months and years have no fixed length and are refused.
        let length = span
            .to_duration(jiff::SpanRelativeTo::days_are_24_hours())
            .map_err(|_| TimeError::Span { text: shown(text) })?;
        let micros = i64::try_from(length.as_micros()).unwrap_or(i64::MAX);
        if !(1..=Self::MICROS_MAX).contains(&micros) {
            return Err(TimeError::Range { text: shown(text) });
        }
        Ok(Self(micros))
    }
}

impl TryFrom<String> for Allowance {
    type Error = TimeError;

    fn try_from(text: String) -> Result<Self, TimeError> {
        text.parse()
    }
}

impl From<Allowance> for String {
    fn from(span: Allowance) -> Self {
        span.to_string()
    }
}

impl fmt::Display for Allowance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = self.0 / 1_000;
        match (self.0 % 1_000, millis % 1_000, millis / 1_000) {
            (0, 0, s) if s % 86_400 == 0 => write!(f, "{}d", s / 86_400),
            (0, 0, s) if s % 3_600 == 0 => write!(f, "{}h", s / 3_600),
            (0, 0, s) if s % 60 == 0 => write!(f, "{}m", s / 60),
            (0, 0, s) => write!(f, "{s}s"),
            (0, _, _) => write!(f, "{millis}ms"),
            (_, _, _) => write!(f, "{}us", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_of_a_span_are_taken_and_months_are_not() {
        let seconds = |text: &str| text.parse::<Allowance>().map(|a| a.0 / 1_000_000);
        assert_eq!(seconds("30s"), Ok(30));
        assert_eq!(seconds("PT30S"), Ok(30));
        assert_eq!(seconds("5 minutes"), Ok(300));
        assert_eq!(seconds("1d"), Ok(86_400));
        assert_eq!(seconds("P1DT2H"), Ok(93_600));
        for bad in ["", "soon", "30", "-5s", "0s", "31d", "1mo", "P1M"] {
            assert!(seconds(bad).is_err(), "{bad:?} was taken");
        }
    }

    #[test]
    fn a_span_prints_as_it_can_be_read_back() {
        for text in ["30s", "5m", "2h", "1d", "1500ms", "90s", "7us"] {
            let span: Allowance = text.parse().expect("a span");
            assert_eq!(span.to_string(), text);
            assert_eq!(span.to_string().parse(), Ok(span));
        }
    }

    #[test]
    fn a_moment_prints_with_fixed_width_and_reads_back() {
        let moment: Timestamp = "2026-03-01T13:00:00+01:00".parse().expect("a moment");
        assert_eq!(moment.to_string(), "2026-03-01T12:00:00.000000Z");
        assert_eq!(moment.to_string().parse(), Ok(moment));
        assert!("1969-01-01T00:00:00Z".parse::<Timestamp>().is_err());
    }

    proptest::proptest! {
        #[test]
        fn every_moment_is_written_as_the_library_writes_it(
            micros in 0..253_402_300_800_000_000_i64
        ) {
            let moment = Timestamp::from_micros(micros);
            let theirs = jiff::Timestamp::from_microsecond(micros).expect("in range");
            assert_eq!(moment.to_string(), format!("{theirs:.6}"));
            assert_eq!(moment.to_string().parse(), Ok(moment));
        }
    }
}
