//! What a check says: one [`StreamReport`] a stream, one [`RecordReport`] a record. Their JSON is what programs read.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::finding::{Finding, MAX_FINDINGS};
use crate::hash::KeyId;
use crate::verdict::Verdict;

/// The `schema` of a [`RecordReport`]. It changes when a member changes its meaning or goes away, not when one is added.
pub const REPORT_SCHEMA: u32 = 1;

/// A whole record's verdict: what `mur-verify --json` and `mur trace verify --json` print.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordReport {
    /// [`REPORT_SCHEMA`].
    pub schema: u32,
    /// The session that the record belongs to: the caller's, else the one that the trace's first line names. `None` where
    /// neither says.
    pub session_id: Option<String>,
    /// The records directory, as the caller named it.
    pub records_dir: String,
    /// The key that the record was checked with.
    pub public_key: PublicKeyReport,
    /// The worst verdict of the streams, not counting absent ones.
    pub verdict: Verdict,
    /// The streams: trace, eval, completion and, where the trace's seal names one, the conversation.
    pub streams: Vec<StreamReport>,
    /// What was checked and held.
    #[serde(default)]
    pub checked: Vec<Statement>,
    /// What could have been checked, and was not.
    #[serde(default)]
    pub not_checked: Vec<Question>,
    /// What no check of this record alone can tell, whatever its verdict.
    #[serde(default)]
    pub cannot_be_known: Vec<Question>,
}

/// Something that a check established.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statement {
    /// A stable code, for example `lines-linked`.
    pub code: String,
    /// The stream it is about; `None` where it is about the record.
    pub stream: Option<String>,
    /// The statement, as a sentence fragment.
    pub text: String,
}

/// Something that a check left open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// A stable code, for example `older-pair`.
    pub code: String,
    /// The stream it is about; `None` where it is about the record.
    pub stream: Option<String>,
    /// What is not known, as a sentence fragment.
    pub text: String,
    /// What would answer it.
    pub needs: String,
}

/// The public key that a record was checked with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublicKeyReport {
    /// Its id; `None` when no key was given. Of several given keys, the one that the record's seals name, else the first.
    pub key_id: Option<KeyId>,
    /// The file it was read from; `None` when it was given as text, or not at all.
    pub path: Option<String>,
}

/// One stream's verdict. Line numbers count from 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamReport {
    /// The stream's name, for example `trace.jsonl`.
    pub stream: String,
    /// How it reads.
    pub verdict: Verdict,
    /// Whole lines the stream holds; 1 for a stream that is sealed as a whole.
    pub lines: u64,
    /// Lines its seal covers, where there is a seal that can be read.
    pub sealed_lines: Option<u64>,
    /// How many lines from the start the chain holds for, where there is a chain to tell.
    pub chain_intact_through: Option<u64>,
    /// The first line that is not what was chained or sealed.
    pub first_bad_line: Option<u64>,
    /// The key that the seal names; not authenticated unless the stream is verified.
    pub key_id: Option<KeyId>,
    /// When the seal says it was made, by the host's clock: milliseconds since the Unix epoch.
    pub sealed_at: Option<u64>,
    /// Why the verdict is what it is, in one sentence fragment. May hold text from the record: escape it for a terminal.
    pub detail: String,
    /// What a reader should know besides, none of which changes the verdict: the texts of the findings that are notes.
    pub notes: Vec<String>,
    /// Everything that was found, the finding that decided the verdict first; at most [`MAX_FINDINGS`](crate::MAX_FINDINGS).
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// Findings beyond those.
    #[serde(default)]
    pub more_findings: u64,
}

impl StreamReport {
    /// The report of a stream in which this was found, the finding that decides first. Its lines and its seal are for the
    /// caller to add.
    pub(crate) fn of_findings(stream: &str, findings: Vec<Finding>, more_findings: u64) -> Self {
        let mut report = StreamReport {
            stream: stream.into(),
            verdict: Verdict::Verified,
            lines: 0,
            sealed_lines: None,
            chain_intact_through: None,
            first_bad_line: None,
            key_id: None,
            sealed_at: None,
            detail: "every line is sealed".into(),
            notes: Vec::new(),
            findings: Vec::new(),
            more_findings,
        };
        report.set_findings(findings);
        report
    }

    /// Judges anew by these findings, of which the first decides.
    pub(crate) fn set_findings(&mut self, mut findings: Vec<Finding>) {
        if let Some((first, verdict)) = findings.first().and_then(|first| Some((first, first.code.verdict()?))) {
            self.verdict = verdict;
            self.detail.clone_from(&first.text);
        }
        let notes = findings.iter().filter(|found| found.code.verdict().is_none());
        self.notes = notes.map(|found| found.text.clone()).collect();
        // Notes tell what many contradictions look like, so the last contradictions make room for them.
        let decisive = findings.iter().take_while(|found| found.code.verdict().is_some()).count();
        let excess = findings.len().saturating_sub(MAX_FINDINGS);
        findings.drain(decisive - excess.min(decisive.saturating_sub(1))..decisive);
        findings.truncate(MAX_FINDINGS);
        self.more_findings += excess as u64;
        self.findings = findings;
    }

    /// Adds a finding that is a note: it changes no verdict.
    pub fn note(&mut self, finding: Finding) {
        let mut findings = core::mem::take(&mut self.findings);
        findings.push(finding);
        self.set_findings(findings);
    }

    /// The line of the first contradiction that names one.
    pub(crate) fn first_contradicted_line(&self) -> Option<u64> {
        let contradictions = self.findings.iter().filter(|found| found.code.verdict() == Some(Verdict::Changed));
        contradictions.filter_map(|found| found.line).next()
    }
}
