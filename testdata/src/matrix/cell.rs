//! What an auditor holds, and what a check then says.

use std::sync::LazyLock;

use mur_seal::{CONVERSATIONS_DIR, Code, LineHash, PublicKey, RecordExpectation, RecordReport, Verdict, verify_record};

use super::material;
use crate::fixed::{SESSION, host_key};
use crate::record::RECORD_DIR;
use crate::tree::Tree;

/// What an auditor has in hand beside the records directory. Each holds what the one before it holds, and one thing more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holding {
    /// Nothing else.
    Nothing,
    /// The host's public key.
    Key,
    /// And the id of the session that the record should be of.
    Session,
    /// And the conversations directory.
    Conversations,
    /// And the head of the trace, as it was noted elsewhere when the session ended.
    Head,
}

static KEYS: LazyLock<[PublicKey; 1]> = LazyLock::new(|| [host_key().public_key().clone()]);

impl Holding {
    /// Every holding, in the order of the page's columns.
    pub const ALL: [Holding; 5] =
        [Holding::Nothing, Holding::Key, Holding::Session, Holding::Conversations, Holding::Head];

    /// The keys that are trusted.
    pub fn keys(self) -> &'static [PublicKey] {
        match self {
            Holding::Nothing => &[],
            Holding::Key | Holding::Session | Holding::Conversations | Holding::Head => KEYS.as_slice(),
        }
    }

    /// The session that the record should be of.
    pub const fn session(self) -> Option<&'static str> {
        match self {
            Holding::Nothing | Holding::Key => None,
            Holding::Session | Holding::Conversations | Holding::Head => Some(SESSION),
        }
    }

    /// The conversations directory, in the tree of a built record.
    pub const fn conversations(self) -> Option<&'static str> {
        match self {
            Holding::Nothing | Holding::Key | Holding::Session => None,
            Holding::Conversations | Holding::Head => Some(CONVERSATIONS_DIR),
        }
    }

    /// The head that was noted when the session ended.
    pub fn head(self) -> Option<LineHash> {
        match self {
            Holding::Nothing | Holding::Key | Holding::Session | Holding::Conversations => None,
            Holding::Head => Some(*material::HEAD),
        }
    }

    /// The arguments of `mur-verify` that ask for the report on a record in `directory`. Without a key there is none to
    /// ask for: the command ends with an error then.
    pub fn command_line(self, directory: &str) -> Vec<String> {
        let mut line = vec!["--json".to_owned()];
        let mut option = |name: &str, value: String| line.extend([name.to_owned(), value]);
        self.keys().iter().for_each(|key| option("--key", key.to_hex()));
        self.session().into_iter().for_each(|session| option("--session", session.into()));
        self.conversations().into_iter().for_each(|path| option("--conversations", format!("{directory}/{path}")));
        self.head().into_iter().for_each(|head| option("--head", head.to_string()));
        line.extend(["--".into(), format!("{directory}/{RECORD_DIR}")]);
        line
    }

    /// What the library says of a record.
    pub fn check(self, tree: &Tree) -> RecordReport {
        let expectation = RecordExpectation {
            records_dir: RECORD_DIR,
            session: self.session(),
            keys: self.keys(),
            head: self.head(),
        };
        let Ok(report) = verify_record(&mut tree.record(RECORD_DIR, self.conversations()), &expectation);
        report
    }
}

/// What a check says of a record that was tampered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell {
    /// Another verdict than that of the untouched record: this one.
    Reads(Verdict),
    /// The verdict of the untouched record, and a finding that the untouched record does not have.
    Told(Code),
    /// Byte for byte what it says of the untouched record, because the altered one says the same.
    AsBefore,
    /// Nothing that would tell: what it is given fits together as well as the untouched record does.
    NotDetectable(Need),
}

/// A row's cells, in the order of [`Holding::ALL`].
pub type Cells = [Cell; Holding::ALL.len()];

/// What would tell a change that a check with less cannot tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// The host's public key.
    Key,
    /// The id of the session.
    Session,
    /// The conversations directory.
    Conversations,
    /// The head of the trace, noted elsewhere when the session ended.
    Head,
    /// The head of the stream's last seal, noted elsewhere.
    HeadOfStream,
    /// A list, kept elsewhere, of the streams that the session wrote.
    Streams,
}

impl Cell {
    /// Whether a report is what this cell says, `untouched` being that of the untouched record under the same holding.
    ///
    /// What cannot be told must at least be left open: the report has to list the question that it comes under, so that
    /// nobody takes silence for an answer.
    ///
    /// # Errors
    /// How it is not, in words.
    pub fn compare(self, report: &RecordReport, untouched: &RecordReport) -> Result<(), String> {
        let told = new_codes(report, untouched);
        let same_verdict = report.verdict == untouched.verdict;
        let holds = match self {
            Cell::Reads(verdict) => report.verdict == verdict && !same_verdict,
            Cell::Told(code) => same_verdict && told.contains(&code),
            Cell::AsBefore => report == untouched,
            Cell::NotDetectable(need) => same_verdict && told.is_empty() && need.is_left_open_by(report),
        };
        if holds {
            return Ok(());
        }
        let (verdict, before) = (report.verdict, untouched.verdict);
        let open: Vec<&str> = open_questions(report).collect();
        Err(format!("not {self:?}: it reads {verdict}, before {before}; found besides {told:?}; left open {open:?}"))
    }
}

impl Need {
    /// Whether a report says that this is wanting.
    fn is_left_open_by(self, report: &RecordReport) -> bool {
        let question = match self {
            Need::Key => ["signature"].as_slice(),
            Need::Session => &["session-meant"],
            Need::Conversations => &["conversation"],
            Need::Head => &["older-pair", "stream-removed"],
            Need::HeadOfStream => &["older-pair"],
            Need::Streams => &["stream-removed"],
        };
        open_questions(report).any(|open| question.contains(&open))
    }
}

fn open_questions(report: &RecordReport) -> impl Iterator<Item = &str> {
    report.not_checked.iter().chain(&report.cannot_be_known).map(|question| question.code.as_str())
}

/// The findings that `report` has and `untouched` has not. That a stream is absent is none: most sessions lack one.
fn new_codes(report: &RecordReport, untouched: &RecordReport) -> Vec<Code> {
    let codes = |report: &RecordReport| -> Vec<Code> {
        let findings = report.streams.iter().flat_map(|stream| &stream.findings);
        findings.map(|finding| finding.code).filter(|code| *code != Code::NoStream).collect()
    };
    let mut known = codes(untouched);
    let mut new = codes(report);
    new.retain(|code| match known.iter().position(|known| known == code) {
        Some(at) => {
            known.swap_remove(at);
            false
        }
        None => true,
    });
    new
}
