//! A whole record, over anything that can open its streams and seals: a directory, memory, a browser's files.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use serde::Deserializer;
use serde::de::{IgnoredAny, MapAccess, Visitor};

use crate::key::PublicKey;
use crate::listed::Lines;
use crate::report::{PublicKeyReport, REPORT_SCHEMA, RecordReport, StreamReport};
use crate::seal::{ConversationPointer, Seal, SealDraft};
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

    /// Whether there is a conversations directory to look in.
    fn has_conversations(&self) -> bool;
}

/// The bytes of an open stream.
pub trait StreamBytes {
    /// What cannot be read.
    type Error;

    /// Reads the next bytes into `block`; 0 is the end.
    fn read(&mut self, block: &mut [u8]) -> Result<usize, Self::Error>;

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
    let trace = check.stream(Place::Record(TRACE_STREAM), TRACE_STREAM, StreamKind::Inline, None, |first_line| {
        caller.clone().or_else(|| session_of(first_line))
    })?;
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
            checked
                .report
                .notes
                .push(format!("sealed for session `{}`; no trace says which it should be", seal.draft.session_id));
        }
        streams.push(checked.report);
    }

    if let Some(seal) = &trace.seal
        && let Some(pointer) = &seal.draft.conversation
    {
        streams.push(check.conversation(pointer)?);
    }
    older_record(&mut streams);
    if let Some(caller) = &caller {
        note_other_session(&mut streams, caller, trace.named_by_first_line.as_deref());
    }

    Ok(RecordReport {
        schema: REPORT_SCHEMA,
        session_id: named,
        records_dir: expectation.records_dir.into(),
        public_key: public_key_report(expectation.keys, &streams),
        verdict: worst(streams.iter().map(|stream| stream.verdict)),
        streams,
        checked: Vec::new(),
        not_checked: Vec::new(),
        cannot_be_known: Vec::new(),
    })
}

/// Bytes read at once: large enough that reading costs little beside hashing, small enough to stay in a core's cache.
const BLOCK_LEN: usize = 256 * 1024;

/// A seal is looked at this many times, at most, before a contradiction is believed: a running session replaces it.
const LOOKS: usize = 3;

#[derive(Clone, Copy)]
enum StreamKind {
    Inline,
    Listed(Lines),
}

struct RecordCheck<'a, S> {
    source: &'a mut S,
    keys: &'a [PublicKey],
    block: Vec<u8>,
}

/// A stream's report, and what the rest of the record is judged by.
struct Checked {
    report: StreamReport,
    seal: Option<Seal>,
    session: Option<String>,
    named_by_first_line: Option<String>,
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
        let mut looks = 1;
        loop {
            // The seal first: a stream only grows, so a stream opened later holds every line that the seal covers.
            let seal = self.source.read_seal(place)?;
            let checked = self.look(place, name, kind, pointer, &session, &seal)?;
            if checked.report.verdict != Verdict::Changed || looks == LOOKS || self.source.read_seal(place)? == seal {
                return Ok(checked);
            }
            looks += 1;
        }
    }

    fn look(
        &mut self,
        place: Place<'_>,
        name: &str,
        kind: StreamKind,
        pointer: Option<&ConversationPointer>,
        session: &impl Fn(&[u8]) -> Option<String>,
        seal: &Found<Vec<u8>>,
    ) -> Result<Checked, S::Error> {
        let judged = |verdict, detail: String| {
            let report = StreamReport::without_lines(name, verdict, detail);
            Ok(Checked { report, seal: None, session: session(b""), named_by_first_line: None })
        };
        let mut stream = match (self.source.open_stream(place)?, seal) {
            (Found::Unfit(kind), _) => return judged(Verdict::Changed, format!("the stream is {}", kind.as_str())),
            (Found::Absent, Found::Absent) => return judged(Verdict::Absent, "neither stream nor seal".into()),
            (Found::Absent, _) => return judged(Verdict::Changed, "there is a seal, but the stream is missing".into()),
            (Found::File(stream), _) => stream,
        };
        let seal_bytes = match seal {
            Found::Absent => None,
            Found::File(bytes) => Some(bytes.as_slice()),
            // Read the stream all the same, so that the report says what it holds.
            Found::Unfit(_) => Some(&b""[..]),
        };
        let mut verifier = match kind {
            StreamKind::Inline => StreamVerifier::inline(seal_bytes),
            StreamKind::Listed(lines) => StreamVerifier::listed(lines, seal_bytes),
        };
        if let Some(pointer) = pointer {
            verifier = verifier.pointed_at_by(pointer.clone());
        }
        stream.feed(&mut verifier, &mut self.block)?;
        let named_by_first_line = session_of(verifier.beginning());
        let session = session(verifier.beginning());
        let kept = verifier.seal().map(without_hashes);
        let mut report = verifier.finish(&Expectation { stream: name, session: session.as_deref(), keys: self.keys });
        if let Found::Unfit(kind) = seal {
            report.verdict = Verdict::Changed;
            report.detail = format!("the seal is {}", kind.as_str());
        }
        Ok(Checked { report, seal: kept, session, named_by_first_line })
    }

    fn conversation(&mut self, pointer: &ConversationPointer) -> Result<StreamReport, S::Error> {
        let name = conversation_stream(&pointer.record, &pointer.context_id);
        let absent = |note: &str| {
            let mut report = StreamReport::without_lines(&name, Verdict::Absent, "not looked at");
            report.notes.push(note.into());
            report
        };
        if !self.source.has_conversations() {
            return Ok(absent(
                "the trace's seal names this conversation; no conversations directory was given to find it in",
            ));
        }
        let place = Place::Conversation { record: &pointer.record, context_id: &pointer.context_id };
        let checked = self.stream(place, &name, StreamKind::Listed(Lines::Complete), Some(pointer), |_| None)?;
        Ok(match checked.report.verdict {
            Verdict::Absent => {
                absent("the trace's seal names this conversation; the conversations directory does not hold it")
            }
            Verdict::Verified | Verdict::Unverifiable | Verdict::Unsealed | Verdict::Changed => checked.report,
        })
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
    if trace.verdict != Verdict::Unverifiable || trace.sealed_lines.is_some() || trace.chain_intact_through.is_some() {
        return;
    }
    for stream in
        others.iter_mut().filter(|stream| stream.verdict == Verdict::Unsealed && stream.sealed_lines.is_none())
    {
        stream.verdict = Verdict::Unverifiable;
        stream.detail = "written before records were chained and sealed, as its trace was".into();
    }
}

fn note_other_session(streams: &mut [StreamReport], caller: &str, named: Option<&str>) {
    if let (Some(trace), Some(named)) = (streams.first_mut(), named)
        && named != caller
    {
        trace.notes.push(format!("its first line names session `{named}`, not `{caller}`"));
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
