//! How fast one caller may ask, so that a mad agent does not keep the others waiting.
//!
//! Each token has a bucket that fills steadily and that every request takes from. Whoever shows a
//! wrong token, or none where one is needed, shares one bucket with all others who do. Requests for
//! what anybody may see are not counted.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use baton_protocol::id::TokenId;

/// Buckets that are remembered; full ones are forgotten first, because they say nothing.
const BUCKETS_MAX: usize = 4 * 1024;
/// Requests in a second without a token that is in force, of all callers together.
const WRONG_PER_SECOND: u32 = 50;

/// How fast callers are.
pub(crate) struct Rates {
    /// Requests of one token in a second; absent means no limit.
    per_second: Option<u32>,
    buckets: Mutex<HashMap<Option<TokenId>, Bucket>>,
}

struct Bucket {
    left: f64,
    at: Instant,
}

impl Rates {
    pub(crate) fn new(per_second: Option<u32>) -> Self {
        Self { per_second, buckets: Mutex::default() }
    }

    /// Takes note of a request by this token. Returns how long to wait if it comes too soon.
    pub(crate) fn take(&self, token: TokenId, now: Instant) -> Result<(), Duration> {
        match self.per_second {
            Some(rate) => self.draw(Some(token), rate, now),
            None => Ok(()),
        }
    }

    /// Takes note of a request without a token that is in force.
    pub(crate) fn take_wrong(&self, now: Instant) -> Result<(), Duration> {
        match self.per_second {
            Some(_) => self.draw(None, WRONG_PER_SECOND, now),
            None => Ok(()),
        }
    }

    fn draw(&self, whose: Option<TokenId>, rate: u32, now: Instant) -> Result<(), Duration> {
        // Two seconds' worth may come at once.
        let (rate, most) = (f64::from(rate), f64::from(rate) * 2.0);
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= BUCKETS_MAX && !buckets.contains_key(&whose) {
            let since = |bucket: &Bucket| now.saturating_duration_since(bucket.at).as_secs_f64();
            buckets.retain(|_, bucket| bucket.left + since(bucket) * rate < most);
        }
        let bucket = buckets.entry(whose).or_insert(Bucket { left: most, at: now });
        let since = now.saturating_duration_since(bucket.at).as_secs_f64();
        bucket.left = (bucket.left + since * rate).min(most);
        bucket.at = now;
        if bucket.left < 1.0 {
            return Err(Duration::from_secs_f64((1.0 - bucket.left) / rate));
        }
        bucket.left -= 1.0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_protocol::id::CommandId;

    #[test]
    fn one_mad_caller_is_slowed_and_the_others_are_not() {
        let token = |n: u8| CommandId::from_bytes([n; 16]).token();
        let (rates, begun) = (Rates::new(Some(10)), Instant::now());
        let taken = (0..100).filter(|_| rates.take(token(1), begun).is_ok()).count();
        assert_eq!(taken, 20);
        let pause = rates.take(token(1), begun).expect_err("too soon");
        assert!(rates.take(token(1), begun + pause).is_ok());
        assert!(rates.take(token(2), begun).is_ok());
        let unlimited = Rates::new(None);
        assert!((0..1_000).all(|_| unlimited.take(token(1), begun).is_ok()));
    }
}
