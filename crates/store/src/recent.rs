//! A bounded memory of what was recorded last, which knows how far its forgetting reaches.
//!
//! Whoever asks about something that is not in here may conclude that it never was, but only after
//! looking at history up to the newest record that was forgotten.

use std::collections::VecDeque;
use std::hash::Hash;

use foldhash::HashMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// As many are found by looking at each: most streams are short, and a map for each would cost more
/// than it saves.
const LOOKED_THROUGH_MAX: usize = 16;

/// The last `MOST` things, each with the number of the last record about it.
#[derive(Clone, Debug)]
pub(crate) struct Recent<T, const MOST: usize> {
    /// In the order in which they came, with the last record about each as long as there is no map.
    order: VecDeque<(T, u64)>,
    /// The last record about each, once there are too many to look through.
    known: Option<HashMap<T, u64>>,
    forgot: u64,
}

impl<T, const MOST: usize> Default for Recent<T, MOST> {
    fn default() -> Self {
        Self { order: VecDeque::new(), known: None, forgot: 0 }
    }
}

impl<T: Copy + Eq + Hash, const MOST: usize> Recent<T, MOST> {
    /// A memory that knows nothing of the records up to `seq`.
    pub(crate) fn since(seq: u64) -> Self {
        Self { forgot: seq, ..Self::default() }
    }

    /// Takes note that the record `seq` is about `thing`.
    pub(crate) fn remember(&mut self, thing: T, seq: u64) {
        match &mut self.known {
            Some(known) => {
                if known.insert(thing, seq).is_some() {
                    return;
                }
            }
            None => {
                // The same again is nearly always the latest.
                if let Some(same) = self.order.iter_mut().rev().find(|(one, _)| *one == thing) {
                    same.1 = seq;
                    return;
                }
            }
        }
        self.order.push_back((thing, seq));
        if self.known.is_none() && self.order.len() > LOOKED_THROUGH_MAX {
            self.known = Some(self.order.iter().copied().collect());
        }
        if self.order.len() > MOST
            && let Some((oldest, noted)) = self.order.pop_front()
        {
            let known = self.known.as_mut().and_then(|known| known.remove(&oldest));
            self.forgot = self.forgot.max(known.unwrap_or(noted));
        }
    }

    /// The number of the last record about `thing`, as far as it is remembered.
    pub(crate) fn last(&self, thing: &T) -> Option<u64> {
        match &self.known {
            Some(known) => known.get(thing).copied(),
            None => self.order.iter().find(|(one, _)| one == thing).map(|(_, seq)| *seq),
        }
    }

    /// Whether something that was recorded after `looked` may be missing here.
    pub(crate) fn forgot_since(&self, looked: u64) -> bool {
        self.forgot > looked
    }
}

#[derive(Serialize, Deserialize)]
struct Stored<T> {
    last: Vec<(T, u64)>,
    #[serde(default, skip_serializing_if = "is_zero")]
    forgot: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl<T: Copy + Eq + Hash + Serialize, const MOST: usize> Serialize for Recent<T, MOST> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let last =
            self.order.iter().map(|(thing, noted)| (*thing, self.last(thing).unwrap_or(*noted)));
        let last = last.collect();
        Stored { last, forgot: self.forgot }.serialize(to)
    }
}

impl<'de, T, const MOST: usize> Deserialize<'de> for Recent<T, MOST>
where
    T: Copy + Eq + Hash + Deserialize<'de>,
{
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let stored = Stored::<T>::deserialize(from)?;
        let mut recent = Self::since(stored.forgot);
        for (thing, seq) in stored.last {
            recent.remember(thing, seq);
        }
        Ok(recent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_remembered_may_have_been_only_before_what_was_forgotten() {
        let mut recent = Recent::<u8, 2>::default();
        for (thing, seq) in [(1, 10), (1, 11), (2, 12)] {
            recent.remember(thing, seq);
        }
        assert_eq!((recent.last(&1), recent.last(&2), recent.last(&3)), (Some(11), Some(12), None));
        assert!(!recent.forgot_since(0));
        recent.remember(3, 13);
        assert_eq!(recent.last(&1), None);
        assert!(recent.forgot_since(10) && !recent.forgot_since(11));

        let mut many = Recent::<u8, 40>::default();
        for thing in 0..60 {
            many.remember(thing, 100 + u64::from(thing));
            many.remember(thing, 200 + u64::from(thing));
        }
        assert_eq!((many.last(&19), many.last(&20), many.last(&59)), (None, Some(220), Some(259)));
        assert!(many.forgot_since(218) && !many.forgot_since(219));

        let json = serde_json::to_string(&recent).unwrap();
        let back: Recent<u8, 2> = serde_json::from_str(&json).unwrap();
        assert_eq!(json, serde_json::to_string(&back).unwrap());
        assert!(Recent::<u8, 2>::since(5).forgot_since(4));
    }
}
