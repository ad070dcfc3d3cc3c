//! How a stream, or a whole record, reads, and the exit codes of the programs that check records.

use core::fmt;

use serde::{Deserialize, Serialize};

/// Exit code: every record is verified.
pub const EXIT_VERIFIED: u8 = 0;
/// Exit code: a record was changed.
pub const EXIT_CHANGED: u8 = 1;
/// Exit code: something could not be checked: wrong usage, an unreadable file, a bad key. Above every verdict.
pub const EXIT_ERROR: u8 = 2;
/// Exit code: a record holds lines that no seal covers.
pub const EXIT_UNSEALED: u8 = 3;
/// Exit code: a record could not be verified with the keys given.
pub const EXIT_UNVERIFIABLE: u8 = 4;
/// Exit code: there was nothing to verify.
pub const EXIT_ABSENT: u8 = 5;
/// Exit code: every record is verified, but one has notes, and the caller wanted them to count.
pub const EXIT_NOTED: u8 = 6;

/// How a stream, or a whole record, reads. Ordered from best to worst: the worst wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The stream does not exist.
    Absent,
    /// The chain is intact, a seal covers every line, and its signature is good under the given key.
    Verified,
    /// Written before records were sealed, no public key given, or sealed by another key.
    Unverifiable,
    /// The chain is intact, but no seal covers exactly the lines that the stream holds.
    Unsealed,
    /// A line, the chain or the seal no longer matches.
    Changed,
}

impl Verdict {
    /// The word that reports use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Verdict::Absent => "absent",
            Verdict::Verified => "verified",
            Verdict::Unverifiable => "unverifiable",
            Verdict::Unsealed => "unsealed",
            Verdict::Changed => "changed",
        }
    }

    /// The exit code of a program whose worst record reads so.
    pub const fn exit_code(self) -> u8 {
        match self {
            Verdict::Absent => EXIT_ABSENT,
            Verdict::Verified => EXIT_VERIFIED,
            Verdict::Unverifiable => EXIT_UNVERIFIABLE,
            Verdict::Unsealed => EXIT_UNSEALED,
            Verdict::Changed => EXIT_CHANGED,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The worst of `verdicts`, ignoring [`Verdict::Absent`]; `Absent` when every one is, or when there are none.
pub fn worst(verdicts: impl IntoIterator<Item = Verdict>) -> Verdict {
    verdicts.into_iter().max().unwrap_or(Verdict::Absent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_verdict_wins_and_absent_counts_for_nothing() {
        use Verdict::{Absent, Changed, Unsealed, Unverifiable, Verified};
        assert_eq!(worst([]), Absent);
        assert_eq!(worst([Absent, Absent]), Absent);
        assert_eq!(worst([Absent, Verified]), Verified);
        assert_eq!(worst([Unverifiable, Verified]), Unverifiable);
        assert_eq!(worst([Unverifiable, Unsealed]), Unsealed);
        assert_eq!(worst([Changed, Unsealed, Verified]), Changed);
    }

    #[test]
    fn every_verdict_has_its_own_exit_code_and_only_verified_is_success() {
        let all = [Verdict::Absent, Verdict::Verified, Verdict::Unverifiable, Verdict::Unsealed, Verdict::Changed];
        let mut codes = all.map(Verdict::exit_code);
        codes.sort_unstable();
        assert_eq!(codes, [0, 1, 3, 4, 5]);
        assert_eq!(Verdict::Verified.exit_code(), 0);
    }
}
