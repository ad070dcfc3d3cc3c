//! Durations, sizes and fractions, as manifests write them.

use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;
use std::time::Duration;

/// A length of time of at least a second: a whole number and one of `s`, `m`, `h`, `d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Age(NonZeroU64);

/// Why a text is no [`Age`]. The message completes "the field …".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a whole number greater than zero and one of s, m, h, d, for example `30d`")]
pub struct NoAge;

impl Age {
    /// An hour.
    pub const HOUR: Self = Self(NonZeroU64::MIN.saturating_add(3600 - 1));
    /// A quarter of an hour.
    pub const QUARTER: Self = Self(NonZeroU64::MIN.saturating_add(900 - 1));

    /// Its seconds.
    pub const fn as_secs(self) -> NonZeroU64 {
        self.0
    }
}

impl From<Age> for Duration {
    fn from(age: Age) -> Self {
        Self::from_secs(age.0.get())
    }
}

impl FromStr for Age {
    type Err = NoAge;

    fn from_str(text: &str) -> Result<Self, NoAge> {
        let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
        let seconds = match &text[digits.len()..] {
            "s" => 1,
            "m" => 60,
            "h" => 3600,
            "d" => 86_400,
            _ => return Err(NoAge),
        };
        let count = whole(digits).ok_or(NoAge)?;
        count.checked_mul(seconds).and_then(NonZeroU64::new).map(Self).ok_or(NoAge)
    }
}

/// In the largest unit that leaves no rest.
impl fmt::Display for Age {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.get();
        let units = [(86_400, 'd'), (3600, 'h'), (60, 'm')];
        match units.into_iter().find(|(unit, _)| seconds.is_multiple_of(*unit)) {
            Some((unit, letter)) => write!(f, "{}{letter}", seconds / unit),
            None => write!(f, "{seconds}s"),
        }
    }
}

/// A number of bytes, at least one: a whole number, alone or with one of `Ki`, `Mi`, `Gi`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSize(NonZeroU64);

/// Why a text is no [`ByteSize`]. The message completes "the field …".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a whole number of bytes greater than zero, or one with Ki, Mi or Gi, for example `10Mi`")]
pub struct NoByteSize;

impl ByteSize {
    /// 10 MiB.
    pub const TEN_MIB: Self = Self(NonZeroU64::MIN.saturating_add(10 * 1024 * 1024 - 1));

    /// Its bytes.
    pub const fn as_bytes(self) -> NonZeroU64 {
        self.0
    }
}

impl FromStr for ByteSize {
    type Err = NoByteSize;

    fn from_str(text: &str) -> Result<Self, NoByteSize> {
        let units = [("Ki", 1 << 10), ("Mi", 1 << 20), ("Gi", 1 << 30)];
        let unit = units.into_iter().find_map(|(name, bytes)| Some((text.strip_suffix(name)?, bytes)));
        let (digits, bytes) = unit.unwrap_or((text, 1));
        let count = whole(digits).ok_or(NoByteSize)?;
        count.checked_mul(bytes).and_then(NonZeroU64::new).map(Self).ok_or(NoByteSize)
    }
}

/// Decimal digits and nothing else.
fn whole(digits: &str) -> Option<u64> {
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}

/// A number from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fraction(f64);

/// It is never the value that differs from itself.
impl Eq for Fraction {}

impl Fraction {
    /// 0.98
    pub const THRESHOLD: Self = Self(0.98);
    /// 0.10
    pub const TENTH: Self = Self(0.10);

    /// `None` outside of 0 to 1.
    pub fn new(value: f64) -> Option<Self> {
        (0.0..=1.0).contains(&value).then_some(Self(value))
    }

    /// The number.
    pub const fn get(self) -> f64 {
        self.0
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_a_number_and_a_letter() {
        let shown = |text: &str| text.parse::<Age>().unwrap().to_string();
        assert_eq!(
            ["1s", "90s", "120s", "15m", "24h", "30d", "007m"].map(shown),
            ["1s", "90s", "2m", "15m", "1d", "30d", "7m"]
        );
        for bad in [
            "",
            "s",
            "0d",
            "5",
            "5w",
            "-1d",
            "+1d",
            "1.5h",
            "1 d",
            "1h30m",
            "99999999999999999999s",
            "213503982334602d",
            "٣d",
        ] {
            assert_eq!(bad.parse::<Age>(), Err(NoAge), "{bad:?}");
        }
    }

    #[test]
    fn a_size_is_a_number_of_bytes_or_of_powers_of_1024() {
        let bytes = |text: &str| text.parse::<ByteSize>().unwrap().as_bytes().get();
        assert_eq!(["1", "2Ki", "10Mi", "4Gi"].map(bytes), [1, 2048, 10 * 1024 * 1024, 4 << 30]);
        for bad in ["", "0", "0Mi", "Mi", "10M", "10MB", "10 Mi", "-1", "1.5Gi", "99999999999Gi", "10mi"] {
            assert_eq!(bad.parse::<ByteSize>(), Err(NoByteSize), "{bad:?}");
        }
    }

    #[test]
    fn a_fraction_lies_between_nothing_and_all() {
        for good in [0.0, 0.5, 1.0] {
            assert_eq!(Fraction::new(good).map(Fraction::get), Some(good));
        }
        for bad in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
            assert_eq!(Fraction::new(bad), None);
        }
    }
}
