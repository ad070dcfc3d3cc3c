//! The ids of sessions, tasks, contexts and events, and where new ones come from.
//!
//! An id is a prefix that tells its kind and a UUID as 32 lower-case hexadecimal digits. New ones are UUIDv7, so that
//! the order of ids is the order of their creation: `@1` and retention rest on that. Time and randomness come in through
//! [`Clock`] and [`IdSource`], so that a test, or a golden record, can have fixed ones.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

/// How many hexadecimal digits follow the prefix.
const DIGITS: usize = 32;

/// A text that is no id of the kind asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not `{prefix}` and 32 lower-case hexadecimal digits")]
pub struct IdError {
    /// The text, as it was given.
    pub text: String,
    /// The prefix that such ids have.
    pub prefix: &'static str,
}

macro_rules! ids {
    ($($(#[$meaning:meta])+ $name:ident = $prefix:literal,)+) => { $(
        $(#[$meaning])+
        ///
        /// Its text is [`PREFIX`](Self::PREFIX) and 32 lower-case hexadecimal digits; its order is that of its text.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            /// What every such id begins with.
            pub const PREFIX: &'static str = $prefix;

            /// A new id.
            pub fn mint(source: &dyn IdSource) -> Self {
                Self(source.next_uuid())
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            /// Takes the exact text only. Whether the UUID is a v7 is not asked: its order is right either way.
            fn from_str(text: &str) -> Result<Self, IdError> {
                parse(text, Self::PREFIX)
                    .map(Self)
                    .ok_or_else(|| IdError { text: text.to_owned(), prefix: Self::PREFIX })
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}{}", Self::PREFIX, self.0.simple())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    )+ };
}

ids! {
    /// One run of a capsule.
    SessionId = "ses_",
    /// One task of a session.
    TaskId = "tsk_",
    /// The conversation that a task belongs to.
    ContextId = "ctx_",
    /// One line of a trace.
    EventId = "evt_",
}

fn parse(text: &str, prefix: &str) -> Option<Uuid> {
    let digits = text.strip_prefix(prefix)?;
    let exact = digits.len() == DIGITS && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if exact { Uuid::try_parse(digits).ok() } else { None }
}

/// Where new ids come from. Every UUID is new, and greater than the one before it from the same source.
pub trait IdSource: fmt::Debug + Send + Sync {
    /// The next UUID.
    fn next_uuid(&self) -> Uuid;
}

/// Ids from the system's clock and randomness.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemIds;

impl IdSource for SystemIds {
    fn next_uuid(&self) -> Uuid {
        Uuid::now_v7()
    }
}

/// The same ids in the same order every time: for tests and for golden records.
#[derive(Debug)]
pub struct SequentialIds {
    unix_ms: u64,
    given: AtomicU64,
}

impl SequentialIds {
    /// Ids that all claim to be of `unix_ms`, milliseconds since the Unix epoch, and count upwards from 1.
    pub const fn starting_at(unix_ms: u64) -> Self {
        Self { unix_ms, given: AtomicU64::new(0) }
    }
}

impl IdSource for SequentialIds {
    fn next_uuid(&self) -> Uuid {
        let count = self.given.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        let mut bytes = [0; 10];
        bytes[2..].copy_from_slice(&count.to_be_bytes());
        uuid::Builder::from_unix_timestamp_millis(self.unix_ms, &bytes).into_uuid()
    }
}

/// What time it is.
pub trait Clock: fmt::Debug + Send + Sync {
    /// Milliseconds since the Unix epoch; 0 before it.
    fn unix_ms(&self) -> u64;
}

/// The system's wall clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn unix_ms(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }
}

/// A clock that stands still, at this many milliseconds since the Unix epoch.
#[derive(Debug, Clone, Copy)]
pub struct FixedClock(pub u64);

impl Clock for FixedClock {
    fn unix_ms(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    const TEXT: &str = "ses_0199f2a1c3007b7183b66c11e744612e";

    #[test]
    fn an_id_reads_back_as_it_was_written() {
        let id: SessionId = TEXT.parse().unwrap();
        assert_eq!(id.to_string(), TEXT);
        assert_eq!(format!("{id:?}"), TEXT);
        assert_eq!(serde_json::to_string(&id).unwrap(), format!("\"{TEXT}\""));
        assert_eq!(serde_json::from_str::<SessionId>(&format!("\"{TEXT}\"")).unwrap(), id);
        let fresh = SessionId::mint(&SystemIds);
        assert_eq!(fresh.to_string().parse(), Ok(fresh));
        assert_eq!(fresh.to_string().len(), 36);
    }

    #[test]
    fn nothing_but_the_exact_text_is_an_id() {
        let digits = &TEXT[4..];
        let others = [
            String::new(),
            "ses_".to_owned(),
            digits.to_owned(),
            format!("tsk_{digits}"),
            format!("SES_{digits}"),
            format!("ses_{}", digits.to_uppercase()),
            format!("ses_{}", &digits[1..]),
            format!("ses_{digits}0"),
            format!("{TEXT} "),
            format!("ses_{{{}}}", &digits[2..]),
            "ses_0199f2a1-c300-7b71-83b6-6c11e744612e".to_owned(),
            "ses_0199f2a1c3007b7183b66c11e744612é".to_owned(),
        ];
        for text in others {
            assert_eq!(text.parse::<SessionId>(), Err(IdError { text: text.clone(), prefix: "ses_" }));
            assert!(serde_json::from_str::<SessionId>(&serde_json::to_string(&text).unwrap()).is_err());
        }
        insta::assert_snapshot!(
            "ses_7".parse::<SessionId>().unwrap_err(),
            @"`ses_7` is not `ses_` and 32 lower-case hexadecimal digits"
        );
    }

    #[test]
    fn the_kinds_of_ids_have_their_own_prefixes() {
        assert_eq!(
            [SessionId::PREFIX, TaskId::PREFIX, ContextId::PREFIX, EventId::PREFIX],
            ["ses_", "tsk_", "ctx_", "evt_"]
        );
    }

    #[test]
    fn later_ids_are_greater_in_their_text_too() {
        let sources: [&dyn IdSource; 2] = [&SystemIds, &SequentialIds::starting_at(1_764_514_801_000)];
        for source in sources {
            let ids: Vec<_> = (0..1_000).map(|_| EventId::mint(source)).collect();
            assert!(ids.is_sorted_by(|a, b| a < b && a.to_string() < b.to_string()), "{source:?}");
        }
    }

    #[test]
    fn sequential_ids_are_v7_ids_of_their_time_and_the_same_every_time() {
        let ids = SequentialIds::starting_at(1_764_514_801_000);
        assert_eq!(SessionId::mint(&ids).to_string(), "ses_019ad547256870008000000000000001");
        assert_eq!(TaskId::mint(&ids).to_string(), "tsk_019ad547256870008000000000000002");
        assert_eq!(ids.next_uuid().get_version_num(), 7);
    }

    #[test]
    fn the_system_clock_is_past_the_day_this_was_written_and_a_fixed_one_stands_still() {
        assert!(SystemClock.unix_ms() > 1_764_000_000_000);
        assert_eq!(FixedClock(7).unix_ms(), 7);
    }
}
