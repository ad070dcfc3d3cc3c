//! Every case of the corpus: a record, how it is checked, and what the format's rules say of it.
//!
//! What is expected stands here, written from the rules and not from what the library answers. The generator refuses to
//! write a corpus that the library disagrees with.
//!
//! | module | cases |
//! |---|---|
//! | `golden` | records as a host writes them |
//! | `places` | missing streams and seals, links, directories |
//! | `trace` | changed lines of the inline chain |
//! | `links` | how the links of a trace are spelled, torn lines and their gaps |
//! | `coverage` | what a seal covers: fewer lines, more lines, no seal |
//! | `listed` | changed lines of listed streams |
//! | `malformed` | seals that cannot be read |
//! | `foreign` | seals of another stream, session, chain or format |
//! | `keys` | no key, other keys, bad signatures |
//! | `conversation` | the conversation that a trace's seal points at |
//! | `text` | bytes and characters that no host writes |

mod conversation;
mod coverage;
mod foreign;
mod golden;
mod keys;
mod links;
mod listed;
mod malformed;
mod places;
mod text;
mod trace;

use mur_seal::{
    COMPLETION_STREAM, CONVERSATIONS_DIR, EVAL_STREAM, LineHash, RecordReport, StreamReport, TRACE_STREAM, Verdict,
    conversation_stream, link,
};

use crate::fixed::{CONVERSATION_CONTEXT, CONVERSATION_RECORD, HOST_PUBLIC_KEY, SESSION};
use crate::record::RecordBuilder;
use crate::session::script_events;
use crate::tree::Tree;

/// One case, before it is written.
pub(crate) struct CaseSpec {
    /// Its directory, relative to the corpus.
    pub(crate) name: String,
    /// What it shows, and the rule it comes from.
    pub(crate) row: &'static str,
    /// The record in `record/`, its conversations in `conversations/`.
    pub(crate) tree: Tree,
    /// The keys it is checked with, as a command is given them.
    pub(crate) keys: Vec<String>,
    /// The session that the caller names.
    pub(crate) session: Option<&'static str>,
    /// The conversations directory that the caller names, in the tree.
    pub(crate) conversations: Option<&'static str>,
    /// What the rules say.
    pub(crate) expected: Expected,
}

impl CaseSpec {
    fn new(name: &str, row: &'static str, tree: Tree, expected: Expected) -> Self {
        CaseSpec {
            name: format!("cases/{name}"),
            row,
            tree,
            keys: vec![HOST_PUBLIC_KEY.into()],
            session: None,
            conversations: None,
            expected,
        }
    }

    fn with_keys<const N: usize>(self, keys: [&str; N]) -> Self {
        CaseSpec { keys: keys.map(String::from).into(), ..self }
    }

    fn for_session(self, session: &'static str) -> Self {
        CaseSpec { session: Some(session), ..self }
    }

    fn with_conversations(self) -> Self {
        CaseSpec { conversations: Some(CONVERSATIONS_DIR), ..self }
    }
}

/// All cases, in the order of their rules.
pub(crate) fn all() -> Vec<CaseSpec> {
    [
        golden::cases(),
        places::cases(),
        trace::cases(),
        links::cases(),
        coverage::cases(),
        listed::cases(),
        malformed::cases(),
        foreign::cases(),
        keys::cases(),
        conversation::cases(),
        text::cases(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// What the rules say of a record.
pub(crate) struct Expected {
    verdict: Verdict,
    session: Option<&'static str>,
    streams: Vec<Stream>,
    unsaid: &'static [&'static str],
}

impl Expected {
    /// A record of [`SESSION`] that reads so. Streams that are not named are absent.
    fn record(verdict: Verdict) -> Self {
        Expected {
            verdict,
            session: Some(SESSION),
            streams: [TRACE_STREAM, EVAL_STREAM, COMPLETION_STREAM].map(|name| Stream::absent().named(name)).into(),
            unsaid: &[],
        }
    }

    /// A record whose trace alone is there, and reads so.
    fn only_trace(trace: Stream) -> Self {
        Expected::record(trace.verdict).trace(trace)
    }

    /// A record whose trace is the five sealed lines of the script session.
    fn with_good_trace(verdict: Verdict) -> Self {
        Expected::record(verdict).trace(Stream::is(Verdict::Verified).lines(5).sealed(5).intact(5))
    }

    fn session(self, session: Option<&'static str>) -> Self {
        Expected { session, ..self }
    }

    fn trace(self, stream: Stream) -> Self {
        self.stream(0, stream)
    }

    fn eval(self, stream: Stream) -> Self {
        self.stream(1, stream)
    }

    fn completion(self, stream: Stream) -> Self {
        self.stream(2, stream)
    }

    /// The conversation that the trace's seal points at.
    fn conversation(self, stream: Stream) -> Self {
        self.another_conversation(&conversation_stream(CONVERSATION_RECORD, CONVERSATION_CONTEXT), stream)
    }

    fn another_conversation(mut self, name: &str, stream: Stream) -> Self {
        self.streams.truncate(3);
        self.streams.push(stream.named(name));
        self
    }

    fn stream(mut self, index: usize, stream: Stream) -> Self {
        let name = std::mem::take(&mut self.streams[index].name);
        self.streams[index] = stream.named(&name);
        self
    }

    fn verdict(self, verdict: Verdict) -> Self {
        Expected { verdict, ..self }
    }

    /// Words that the report must not use.
    fn never_says(self, unsaid: &'static [&'static str]) -> Self {
        Expected { unsaid, ..self }
    }

    /// How `report` differs from what is expected, one line a difference.
    pub(crate) fn differences(&self, report: &RecordReport) -> Vec<String> {
        let mut found = Vec::new();
        compare(&mut found, "verdict", &self.verdict, &report.verdict);
        compare(&mut found, "session", &self.session, &report.session_id.as_deref());
        compare(&mut found, "number of streams", &self.streams.len(), &report.streams.len());
        for (expected, stream) in self.streams.iter().zip(&report.streams) {
            expected.compare_with(stream, &mut found);
        }
        let said = said(&report.streams);
        let unsaid = self.unsaid.iter().filter(|word| said.contains(**word));
        found.extend(unsaid.map(|word| format!("the report says `{word}`: {said}")));
        found
    }
}

/// What the rules say of a stream.
struct Stream {
    name: String,
    verdict: Verdict,
    lines: u64,
    sealed: Option<u64>,
    intact: Option<u64>,
    bad: Option<u64>,
    says: Vec<&'static str>,
}

impl Stream {
    fn is(verdict: Verdict) -> Self {
        Stream { name: String::new(), verdict, lines: 0, sealed: None, intact: None, bad: None, says: Vec::new() }
    }

    fn absent() -> Self {
        Stream::is(Verdict::Absent)
    }

    fn named(self, name: &str) -> Self {
        Stream { name: name.into(), ..self }
    }

    fn lines(self, lines: u64) -> Self {
        Stream { lines, ..self }
    }

    fn sealed(self, lines: u64) -> Self {
        Stream { sealed: Some(lines), ..self }
    }

    fn intact(self, lines: u64) -> Self {
        Stream { intact: Some(lines), ..self }
    }

    /// The first bad line. The chain is intact up to the line before it.
    fn bad(self, line: u64) -> Self {
        Stream { bad: Some(line), intact: Some(line - 1), ..self }
    }

    /// A part of what the detail or a note must say.
    fn says(mut self, part: &'static str) -> Self {
        self.says.push(part);
        self
    }

    fn compare_with(&self, report: &StreamReport, found: &mut Vec<String>) {
        let name = &report.stream;
        compare(found, "stream", &self.name, name);
        compare(found, &format!("{name}: verdict"), &self.verdict, &report.verdict);
        compare(found, &format!("{name}: lines"), &self.lines, &report.lines);
        compare(found, &format!("{name}: sealed lines"), &self.sealed, &report.sealed_lines);
        compare(found, &format!("{name}: chain intact through"), &self.intact, &report.chain_intact_through);
        compare(found, &format!("{name}: first bad line"), &self.bad, &report.first_bad_line);
        let said = said(std::slice::from_ref(report));
        let missing = self.says.iter().filter(|part| !said.contains(**part));
        found.extend(missing.map(|part| format!("{name}: does not say `{part}`, but: {said}")));
    }
}

fn compare<T: PartialEq + std::fmt::Debug>(found: &mut Vec<String>, what: &str, expected: &T, reported: &T) {
    if expected != reported {
        found.push(format!("{what}: expected {expected:?}, the library reports {reported:?}"));
    }
}

/// Every detail and note of these streams.
fn said(streams: &[StreamReport]) -> String {
    let texts = streams.iter().flat_map(|stream| std::iter::once(&stream.detail).chain(&stream.notes));
    texts.map(String::as_str).collect::<Vec<_>>().join(" / ")
}

/// The line for `event` after a line with hash `prev`, right or wrong.
fn linked(event: &str, prev: &LineHash, gap: Option<&LineHash>) -> String {
    link(event, prev, gap).unwrap_or_else(|error| panic!("{event}: {error}"))
}

/// An object without its closing brace, for members to be added in ways in which no host adds them.
fn opened(event: &str) -> &str {
    event.strip_suffix('}').unwrap_or_else(|| panic!("no object: {event}"))
}

/// The script session's five lines, not sealed.
fn script() -> RecordBuilder {
    RecordBuilder::new().events(&script_events())
}

/// The script session's five lines, sealed.
fn sealed_script() -> Tree {
    script().seal_trace().build()
}

/// Replaces a file's lines by what `change` makes of them. The lines have no newlines; each gets one.
fn edit_lines(tree: &mut Tree, path: &str, change: impl FnOnce(&mut Vec<Vec<u8>>)) {
    tree.edit(path, |bytes| {
        let mut lines: Vec<Vec<u8>> = bytes.split_inclusive(|&byte| byte == b'\n').map(without_newline).collect();
        change(&mut lines);
        *bytes = lines.into_iter().flat_map(|line| line.into_iter().chain([b'\n'])).collect();
    });
}

fn without_newline(line: &[u8]) -> Vec<u8> {
    line.strip_suffix(b"\n").unwrap_or(line).to_vec()
}

/// Replaces the only occurrence of `old` in a file.
fn replace(tree: &mut Tree, path: &str, old: &str, new: &str) {
    tree.edit(path, |bytes| replace_in(bytes, old, new));
}

fn replace_in(bytes: &mut Vec<u8>, old: &str, new: &str) {
    let found: Vec<usize> = bytes
        .windows(old.len())
        .enumerate()
        .filter_map(|(at, window)| (window == old.as_bytes()).then_some(at))
        .collect();
    let [at] = found[..] else { panic!("`{old}` stands {} times, not once", found.len()) };
    bytes.splice(at..at + old.len(), new.bytes());
}
