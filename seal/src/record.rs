//! A whole record, over anything that can open its streams and seals: a directory, memory, a browser's files.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use serde::Deserializer;
use serde::de::{IgnoredAny, MapAccess, Visitor};

use crate::diagnosis;
use crate::finding::{Code, Finding};
use crate::hash::{KeyId, LineHash};
use crate::key::PublicKey;
use crate::knowledge::Knowledge;
use crate::listed::Lines;
use crate::report::{PublicKeyReport, REPORT_SCHEMA, RecordReport, StreamReport};
use crate::seal::{ConversationPointer, ParsedSeal, Seal, SealDraft};
use crate::verdict::{Verdict, worst};
use crate::verify::{Expectation, StreamVerifier};

/// The trace's stream name, and its file name in the records directory.
pub const TRACE_STREAM: &str = "trace.jsonl";
/// The scoring hook's stream, relative to the records directory.
pub const EVAL_STREAM: &str = "hooks/eval.jsonl";
/// A delegated child's outcome, relative to the records directory. Sealed as one line: the whole file's bytes.
pub const COMPLETION_STREAM: &str = "completion.json";
/// Prefix of a conversation record's stream name: `conversation:<record>/<context-id>`.
pub const CONVERSATION_STREAM_PREFIX: &str = "conversation:";
/// Where conversation records live, relative to the murmur home.
pub const CONVERSATIONS_DIR: &str = "conversations";

/// The stream name of the conversation record `record/context_id`.
pub fn conversation_stream(record: &str, context_id: &str) -> String {
    format!("{CONVERSATION_STREAM_PREFIX}{record}/{context_id}")
}

/// Where a stream is to be looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place<'a> {
    /// A file of the records directory, by its path relative to it.
    Record(&'static str),
    /// `<record>/<context_id>/conversation.jsonl` of a conversations directory. Both names are single path segments.
    Conversation {
        /// The record store's name.
        record: &'a str,
        /// The context id.
        context_id: &'a str,
    },
}

/// What stands at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found<T> {
    /// Nothing.
    Absent,
    /// Something that no stream and no seal is. Nothing was read from it.
    Unfit(Unfit),
    /// A regular file.
    File(T),
}

/// Why what stands at a place is neither a stream nor a seal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfit {
    /// A symbolic link, at the place or on the way to it.
    Link,
    /// A directory.
    Directory,
    /// A FIFO.
    Fifo,
    /// A socket.
    Socket,
    /// A device, or something else.
    Device,
    /// A seal file larger than a seal of that stream can be.
    Oversized,
}

impl Unfit {
    /// The kind with its article.
    pub const fn as_str(self) -> &'static str {
        match self {
            Unfit::Link => "a symbolic link",
            Unfit::Directory => "a directory",
            Unfit::Fifo => "a FIFO",
            Unfit::Socket => "a socket",
            Unfit::Device => "a device",
            Unfit::Oversized => "larger than any seal",
        }
    }
}

/// Opens the streams and seals of one record. Nothing may be followed or waited for on the way.
pub trait RecordSource {
    /// What cannot be read: never a verdict.
    type Error;
    /// An open stream.
    type Stream: StreamBytes<Error = Self::Error>;

    /// Opens a stream. What it yields ends at the length that it has now, however it grows.
    fn open_stream(&mut self, place: Place<'_>) -> Result<Found<Self::Stream>, Self::Error>;

    /// The bytes of the seal beside a stream.
    fn read_seal(&mut self, place: Place<'_>) -> Result<Found<Vec<u8>>, Self::Error>;

    /// The seal beside a stream, read and not trusted. A source that need not hold a long seal's bytes says so here.
    fn parse_seal(&mut self, place: Place<'_>) -> Result<Found<ParsedSeal>, Self::Error> {
        Ok(match self.read_seal(place)? {
            Found::Absent => Found::Absent,
            Found::Unfit(kind) => Found::Unfit(kind),
            Found::File(bytes) => Found::File(ParsedSeal::from_bytes(&bytes)),
        })
    }

    /// Whether there is a conversations directory to look in.
    fn has_conversations(&self) -> bool;
}

/// The bytes of an open stream.
pub trait StreamBytes {
    /// What cannot be read.
    type Error;

    /// Reads the next bytes into `block`; 0 is the end.
    fn read(&mut self, block: &mut [u8]) -> Result<usize, Self::Error>;

    /// Reads once more, from `offset` on, as far as `block` reaches: less only at the end. A source that cannot go back
    /// answers 0; what is wrong with a changed stream is then not looked into.
    fn read_again(&mut self, offset: u64, block: &mut [u8]) -> Result<usize, Self::Error> {
        let _ = (offset, block);
        Ok(0)
    }

    /// Whether the stream is longer than it was when it was opened.
    fn has_grown(&mut self) -> Result<bool, Self::Error> {
        Ok(false)
    }

    /// Feeds everything up to the end to `verifier`. `block` is there to be used.
    fn feed(&mut self, verifier: &mut StreamVerifier, block: &mut [u8]) -> Result<(), Self::Error> {
        loop {
            match self.read(block)? {
                0 => return Ok(()),
                read => verifier.update(&block[..read]),
            }
        }
    }
}

/// What the caller knows of a record before looking at it.
#[derive(Debug, Clone, Copy)]
pub struct RecordExpectation<'a> {
    /// How the caller names the records directory; the report repeats it.
    pub records_dir: &'a str,
    /// The session that the record must belong to; `None` to take the one that the trace's first line names.
    pub session: Option<&'a str>,
    /// The trace's head as it was noted elsewhere when the session ended; `None` where nobody noted it. It is what tells an
    /// older trace and its older seal, put back together, from the last ones.
    pub head: Option<LineHash>,
    /// The keys that are trusted, none or more. They never come from the record.
    pub keys: &'a [PublicKey],
}

/// Checks every stream of a record: trace, eval, completion and, where the trace's seal names one, the conversation.
pub fn verify_record<S: RecordSource>(
    source: &mut S,
    expectation: &RecordExpectation<'_>,
) -> Result<RecordReport, S::Error> {
    let mut check = RecordCheck { source, keys: expectation.keys, block: vec![0; BLOCK_LEN] };

    let caller = expectation.session.map(String::from);
    let mut trace =
        check.stream(Place::Record(TRACE_STREAM), TRACE_STREAM, StreamKind::Inline, None, |first_line| {
            caller.clone().or_else(|| session_of(first_line))
        })?;
    if let (Some(caller), Some(named)) = (&caller, &trace.named_by_first_line)
        && named != caller
    {
        let text = format!("its first line names session `{named}`, not `{caller}`");
        trace.report.note(Finding::new(Code::SessionNamedOtherwise, text));
    }
    if let Some(noted) = expectation.head {
        compare_noted(&mut trace, noted);
    }
    let named = trace.session.clone();
    // Where the trace names no session, its seal still ties the other streams to it.
    let session = named.clone().or_else(|| trace.seal.as_ref().map(|seal| seal.draft.session_id.clone()));

    let mut streams = vec![trace.report];
    for (name, kind) in
        [(EVAL_STREAM, StreamKind::Listed(Lines::Complete)), (COMPLETION_STREAM, StreamKind::Listed(Lines::WholeFile))]
    {
        let mut checked = check.stream(Place::Record(name), name, kind, None, |_| session.clone())?;
        if session.is_none()
            && let Some(seal) = &checked.seal
        {
            let text = format!("sealed for session `{}`; no trace says which it should be", seal.draft.session_id);
            checked.report.note(Finding::new(Code::SessionNotNamed, text));
        }
        streams.push(checked.report);
    }

    let pointer = trace.seal.as_ref().and_then(|seal| seal.draft.conversation.as_ref());
    if let Some(pointer) = pointer {
        streams.push(check.conversation(pointer)?);
    }
    older_record(&mut streams);
    note_other_sealers(&mut streams, expectation.keys);

    let knowledge = Knowledge::of(&streams, expectation);
    Ok(RecordReport {
        schema: REPORT_SCHEMA,
        session_id: named,
        records_dir: expectation.records_dir.into(),
        public_key: public_key_report(expectation.keys, &streams),
        verdict: worst(streams.iter().map(|stream| stream.verdict)),
        streams,
        checked: knowledge.checked,
        not_checked: knowledge.not_checked,
        cannot_be_known: knowledge.cannot_be_known,
    })
}

/// Bytes read at once: large enough that reading costs little beside hashing, small enough to stay in a core's cache.
const BLOCK_LEN: usize = 64 * 1024;

/// A seal is looked at this many times, at most, before a contradiction is believed: a running session replaces it.
const LOOKS: usize = 3;

#[derive(Clone, Copy)]
enum StreamKind {
    Inline,
    Listed(Lines),
}

impl StreamKind {
    fn lines(self) -> Lines {
        match self {
            StreamKind::Inline => Lines::Complete,
            StreamKind::Listed(lines) => lines,
        }
    }
}

struct RecordCheck<'a, S> {
    source: &'a mut S,
    keys: &'a [PublicKey],
    block: Vec<u8>,
}

/// A stream's report, and what the rest of the record is judged by.
struct Checked {
    report: StreamReport,
    /// Without the hashes that it lists.
    seal: Option<Seal>,
    session: Option<String>,
    named_by_first_line: Option<String>,
    grown: Growth,
}

/// Whether a stream changed while it was read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Growth {
    Still,
    Growing,
}

impl<S: RecordSource> RecordCheck<'_, S> {
    fn stream(
        &mut self,
        place: Place<'_>,
        name: &str,
        kind: StreamKind,
        pointer: Option<&ConversationPointer>,
        session: impl Fn(&[u8]) -> Option<String>,
    ) -> Result<Checked, S::Error> {
        // The seal first: a stream only grows, so a stream opened later holds every line that the seal covers.
        let mut seal = self.source.parse_seal(place)?;
        for look in 1.. {
            let outline = outline(&seal);
            let mut checked = self.look(place, name, kind, pointer, &session, seal)?;
            let mut replaced = look > 1;
            if checked.report.verdict == Verdict::Changed && look < LOOKS {
                seal = self.source.parse_seal(place)?;
                if self::outline(&seal) != outline {
                    continue;
                }
            }
            replaced |= checked.grown == Growth::Growing;
            if replaced {
                let text = "it is being written: what came after the check began was not looked at";
                checked.report.note(Finding::new(Code::BeingWritten, text));
            }
            return Ok(checked);
        }
        unreachable!("the last look always ends the loop")
    }

    fn look(
        &mut self,
        place: Place<'_>,
        name: &str,
        kind: StreamKind,
        pointer: Option<&ConversationPointer>,
        session: &impl Fn(&[u8]) -> Option<String>,
        seal: Found<ParsedSeal>,
    ) -> Result<Checked, S::Error> {
        let judged = |code, text: String| {
            let report = StreamReport::of_findings(name, vec![Finding::new(code, text)], 0);
            let session = session(b"");
            Ok(Checked { report, seal: None, session, named_by_first_line: None, grown: Growth::Still })
        };
        let mut stream = match (self.source.open_stream(place)?, &seal) {
            (Found::Unfit(kind), _) => return judged(Code::StreamNotAFile, format!("the stream is {}", kind.as_str())),
            (Found::Absent, Found::Absent) => return judged(Code::NoStream, "neither stream nor seal".into()),
            (Found::Absent, _) => {
                return judged(Code::StreamMissing, "there is a seal, but the stream is missing".into());
            }
            (Found::File(stream), _) => stream,
        };
        let (seal, unfit) = match seal {
            Found::Absent => (None, None),
            Found::File(seal) => (Some(seal), None),
            // Read the stream all the same, so that the report says what it holds.
            Found::Unfit(kind) => (None, Some(kind)),
        };
        let mut verifier = match kind {
            StreamKind::Inline => StreamVerifier::inline_with(seal),
            StreamKind::Listed(lines) => StreamVerifier::listed_with(lines, seal),
        };
        if let Some(pointer) = pointer {
            verifier = verifier.pointed_at_by(pointer.clone());
        }
        stream.feed(&mut verifier, &mut self.block)?;
        let named_by_first_line = session_of(verifier.beginning());
        let session = session(verifier.beginning());
        let seal = verifier.seal().map(without_hashes);
        let mut report = verifier.finish(&Expectation { stream: name, session: session.as_deref(), keys: self.keys });
        if let Some(kind) = unfit {
            let found = Finding::new(Code::SealNotAFile, format!("the seal is {}", kind.as_str()));
            let others = core::mem::take(&mut report.findings).into_iter();
            report.set_findings([found].into_iter().chain(others.filter(|other| other.code != Code::NoSeal)).collect());
        }
        diagnosis::examine(&mut report, kind.lines(), &mut self.block, |offset, block| {
            stream.read_again(offset, block)
        })?;
        let grown = if stream.has_grown()? { Growth::Growing } else { Growth::Still };
        Ok(Checked { report, seal, session, named_by_first_line, grown })
    }

    fn conversation(&mut self, pointer: &ConversationPointer) -> Result<StreamReport, S::Error> {
        let name = conversation_stream(&pointer.record, &pointer.context_id);
        let absent = |why: &str| {
            let text = format!("the trace's seal names this conversation; {why}");
            let findings =
                vec![Finding::new(Code::NoStream, "not looked at"), Finding::new(Code::ConversationNotFound, text)];
            StreamReport::of_findings(&name, findings, 0)
        };
        if !self.source.has_conversations() {
            return Ok(absent("no conversations directory was given to find it in"));
        }
        let place = Place::Conversation { record: &pointer.record, context_id: &pointer.context_id };
        let checked = self.stream(place, &name, StreamKind::Listed(Lines::Complete), Some(pointer), |_| None)?;
        Ok(match checked.report.verdict {
            Verdict::Absent => absent("the conversations directory does not hold it"),
            Verdict::Verified | Verdict::Unverifiable | Verdict::Unsealed | Verdict::Changed => checked.report,
        })
    }
}

/// A trace whose head is not the one that was noted is not the trace that the session ended with, however well it is sealed.
fn compare_noted(trace: &mut Checked, noted: LineHash) {
    let sealed = trace.seal.as_ref().map(|seal| seal.draft.head);
    if sealed == Some(noted) {
        return;
    }
    let text = match sealed {
        None if trace.report.verdict == Verdict::Absent => "it is missing, and a head was noted for it",
        Some(_) => "its seal is that of another head than the one that was noted when the session ended",
        None => "no seal says that its head is the one that was noted when the session ended",
    };
    let mut found = Finding::new(Code::HeadNotAsTold, text);
    found.expected = Some(noted);
    found.found = sealed;
    let mut findings = core::mem::take(&mut trace.report.findings);
    let contradictions = findings.iter().take_while(|found| found.code.verdict() == Some(Verdict::Changed)).count();
    findings.insert(contradictions, found);
    trace.report.set_findings(findings);
}

/// Where several keys are trusted, each vouches for what it sealed. A record whose streams were sealed with different ones is
/// that of a host which changed its key, or was put together from two hosts' records.
fn note_other_sealers(streams: &mut [StreamReport], keys: &[PublicKey]) {
    let mut first: Option<(String, KeyId)> = None;
    for stream in streams {
        let given = |id: &KeyId| keys.iter().any(|key| key.key_id() == *id);
        let Some(sealer) = stream.key_id.filter(given) else { continue };
        match &first {
            None => first = Some((stream.stream.clone(), sealer)),
            Some((_, first)) if *first == sealer => {}
            Some((other, first)) => {
                let text = format!(
                    "sealed by key {sealer}, and {other} by key {first}: by two hosts, or by one that changed its key"
                );
                stream.note(Finding::new(Code::SealersDiffer, text));
            }
        }
    }
}

/// What a seal says, its list of hashes left out: its head stands for them. Two seals that say the same are one.
fn outline(seal: &Found<ParsedSeal>) -> Found<ParsedSeal> {
    match seal {
        Found::Absent => Found::Absent,
        Found::Unfit(kind) => Found::Unfit(*kind),
        Found::File(ParsedSeal(Ok(seal))) => Found::File(ParsedSeal(Ok(without_hashes(seal)))),
        Found::File(ParsedSeal(Err(error))) => Found::File(ParsedSeal(Err(error.clone()))),
    }
}

/// A seal without the hashes it lists, which may be many and are not needed twice.
fn without_hashes(seal: &Seal) -> Seal {
    let draft = SealDraft {
        stream: seal.draft.stream.clone(),
        session_id: seal.draft.session_id.clone(),
        line_hashes: None,
        conversation: seal.draft.conversation.clone(),
        ..seal.draft
    };
    Seal { draft, ..*seal }
}

/// The streams of a record that was written before records were sealed have no seals for the same reason as its trace.
fn older_record(streams: &mut [StreamReport]) {
    let Some((trace, others)) = streams.split_first_mut() else { return };
    if trace.findings.first().is_none_or(|first| first.code != Code::OlderRecord) {
        return;
    }
    for stream in others {
        if let Some(first) = stream.findings.first_mut().filter(|first| first.code == Code::NoSeal) {
            let text = "written before records were chained and sealed, as its trace was";
            *first = Finding::new(Code::OlderRecord, text);
            let findings = core::mem::take(&mut stream.findings);
            stream.set_findings(findings);
        }
    }
}

/// The key that a record's seals name, if it was given, else the first given.
fn public_key_report(keys: &[PublicKey], streams: &[StreamReport]) -> PublicKeyReport {
    let named = streams.iter().filter_map(|stream| stream.key_id);
    let used = named.filter_map(|id| keys.iter().find(|key| key.key_id() == id)).next().or(keys.first());
    PublicKeyReport { key_id: used.map(PublicKey::key_id), path: used.and_then(PublicKey::path).map(String::from) }
}

/// The `session_id` of a trace's first line, which may be cut off anywhere behind it.
fn session_of(first_line: &[u8]) -> Option<String> {
    struct Wanted<'a>(&'a mut Option<String>);

    impl<'de> Visitor<'de> for Wanted<'_> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
            while let Some(key) = map.next_key::<Cow<'de, str>>()? {
                if key == "session_id" {
                    *self.0 = map.next_value()?;
                    break;
                }
                map.next_value::<IgnoredAny>()?;
            }
            Ok(())
        }
    }

    let mut session = None;
    // Whatever follows the member, well formed or not, does not matter: the result is in `session`.
    let _ = serde_json::Deserializer::from_slice(first_line).deserialize_map(Wanted(&mut session));
    session
}
