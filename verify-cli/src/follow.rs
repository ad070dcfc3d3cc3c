//! `--follow`: one record, verified while it is written.
//!
//! The trace is looked at again and again. Only what was added to it is read, and held against the chain; each seal is held
//! against the lines that it covers. When the session has ended, the record is checked once more as a whole: that reads every
//! byte again, and alone decides.

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;
use std::{fs, thread};

use mur_seal::{
    COMPLETION_STREAM, DirectoryRecord, EVAL_STREAM, EXIT_CHANGED, EXIT_ERROR, Found, Place, RecordSource, SEAL_SUFFIX,
    Seal, StreamBytes, TRACE_STREAM, Verdict, escape,
};
use serde::Serialize;

use crate::check::CheckError;
use crate::console::{Console, Styling};
use crate::followed::{Contradiction, Followed, Progress};
use crate::human::{grouped, style};
use crate::many::check_each;
use crate::results::Results;
use crate::{Format, Request};

/// Between two looks.
const INTERVAL: Duration = Duration::from_millis(150);
/// Looks without a change after which a session that has ended, and is sealed, is at rest.
const LOOKS_AT_REST: u32 = 5;
/// Looks without a change after which nobody will seal a session any more that has ended. It drains its hooks first, and one
/// of them may wait for an answer.
const LOOKS_FOR_A_SEAL: u32 = 400;
/// Looks for which a trace may be missing: whoever removes a record removes its directory last.
const LOOKS_FOR_A_TRACE: u32 = 10;
/// Bytes read at once.
const BLOCK: usize = 256 * 1024;

/// What is printed, a line each.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
enum Event {
    /// There is no trace yet.
    Waiting,
    /// It is linked, or sealed, further than it was.
    Progress(Progress),
    /// It is not what was chained or sealed.
    Changed(Contradiction),
    /// The session has ended. The report of the whole record follows.
    Ended {
        /// Lines of its trace.
        lines: u64,
    },
}

/// Why following comes to an end.
enum End {
    Session,
    Contradiction(Contradiction),
    DirectoryGone,
    /// Nobody reads the results any more.
    ReaderGone,
}

/// Follows the one record of `request` to its end. The answer is the exit code.
pub(crate) fn follow(request: &Request, console: &mut Console<'_>) -> u8 {
    let Some(directory) = request.records.first() else { return EXIT_ERROR };
    let mut record = match DirectoryRecord::open(directory, request.conversations.as_deref()) {
        Ok(record) => record,
        Err(error) => {
            console.error(&CheckError::from(error));
            return EXIT_ERROR;
        }
    };
    let mut trace = Trace::new(Followed::new(&request.keys, request.session.as_deref()), directory);
    let end = match watch(&mut record, &mut trace, request, console) {
        Ok(end) => end,
        Err(error) => {
            console.error(&error);
            return EXIT_ERROR;
        }
    };
    match end {
        End::Contradiction(found) => {
            print(&Event::Changed(found), request, console);
            return if console.failed() { EXIT_ERROR } else { EXIT_CHANGED };
        }
        End::DirectoryGone => {
            let directory = directory.display();
            console.error(&format!("{directory}: it is gone: its session's record could not be checked to the end"));
            return EXIT_ERROR;
        }
        End::Session => print(&Event::Ended { lines: trace.followed.progress().lines }, request, console),
        End::ReaderGone => {}
    }
    let mut results = Results::new(request, console);
    check_each(request, |checked| results.take(checked));
    results.end()
}

/// Looks until there is nothing more to see, and prints every change.
fn watch(
    record: &mut DirectoryRecord,
    trace: &mut Trace<'_>,
    request: &Request,
    console: &mut Console<'_>,
) -> Result<End, CheckError> {
    let mut last = None;
    let mut unchanged = 0;
    loop {
        if let Some(end) = trace.look(record)? {
            return Ok(end);
        }
        let seen = trace.read.is_some().then(|| trace.followed.progress());
        if last != Some(seen) {
            print(&seen.map_or(Event::Waiting, Event::Progress), request, console);
            last = Some(seen);
            unchanged = 0;
        }
        let sealed = trace.followed.is_sealed() && trace.others_are_sealed();
        let patience = if sealed { LOOKS_AT_REST } else { LOOKS_FOR_A_SEAL };
        if trace.followed.has_ended() && unchanged >= patience {
            return Ok(End::Session);
        }
        if console.closed() {
            return Ok(End::ReaderGone);
        }
        unchanged += 1;
        thread::sleep(INTERVAL);
    }
}

/// The trace of a record, as far as it was read.
struct Trace<'a> {
    followed: Followed<'a>,
    directory: &'a Path,
    /// Bytes that were read, and which file they were read from; `None` while there is no trace yet.
    read: Option<(u64, Identity)>,
    /// Looks in a row at which the trace was missing.
    missing: u32,
    /// What a seal contradicted at the last look. It is believed once it stays: a seal may be being replaced.
    doubted: Option<Contradiction>,
    block: Vec<u8>,
}

impl<'a> Trace<'a> {
    fn new(followed: Followed<'a>, directory: &'a Path) -> Self {
        Trace { followed, directory, read: None, missing: 0, doubted: None, block: vec![0; BLOCK] }
    }

    /// Whether no stream of the record waits for its seal but the trace.
    fn others_are_sealed(&self) -> bool {
        let stands = |name: &str| fs::symlink_metadata(self.directory.join(name)).is_ok();
        let seal = |name: &str| format!("{name}{SEAL_SUFFIX}");
        [EVAL_STREAM, COMPLETION_STREAM].iter().all(|name| !stands(name) || stands(&seal(name)))
    }

    /// Reads what was added, and the seal.
    fn look(&mut self, record: &mut DirectoryRecord) -> Result<Option<End>, CheckError> {
        let place = Place::Record(TRACE_STREAM);
        // The seal first: a trace only grows, so it holds every line then that the seal covers.
        let seal = record.read_seal(place)?;
        let stream = record.open_stream(place)?;
        if !self.directory.is_dir() {
            return Ok(Some(End::DirectoryGone));
        }
        let mut stream = match stream {
            Found::File(stream) => stream,
            Found::Unfit(kind) => return Ok(contradicts(format!("the stream is {}", kind.as_str()))),
            Found::Absent if self.read.is_none() => return Ok(None),
            Found::Absent => {
                self.missing += 1;
                return Ok((self.missing > LOOKS_FOR_A_TRACE).then(|| contradicts("it was removed".into())).flatten());
            }
        };
        self.missing = 0;
        let metadata = match fs::symlink_metadata(self.directory.join(TRACE_STREAM)) {
            Ok(metadata) => metadata,
            Err(_) => return Ok(None), // removed just now: the next look tells
        };
        let identity = Identity::of(&metadata);
        let (mut offset, known) = self.read.unwrap_or((0, identity));
        if identity != known {
            return Ok(contradicts("another file was put in its place".into()));
        }
        if metadata.len() < offset {
            let (is, was) = (grouped(metadata.len()), grouped(offset));
            return Ok(contradicts(format!("it was cut: {is} bytes are left of {was}")));
        }
        loop {
            let read = stream.read_again(offset, &mut self.block)?;
            let found = self.followed.bytes(&self.block[..read]);
            offset += read as u64;
            self.read = Some((offset, identity));
            if let Some(found) = found {
                return Ok(Some(End::Contradiction(found)));
            }
            if read < self.block.len() {
                break;
            }
        }
        let found = match seal {
            Found::Absent => None,
            Found::Unfit(kind) => Some(Contradiction { line: None, detail: format!("the seal is {}", kind.as_str()) }),
            Found::File(bytes) => self.followed.seal(&Seal::parse(&bytes)),
        };
        if found.is_some() && found == self.doubted {
            return Ok(found.map(End::Contradiction));
        }
        self.doubted = found;
        Ok(None)
    }
}

fn contradicts(detail: String) -> Option<End> {
    Some(End::Contradiction(Contradiction { line: None, detail }))
}

/// What tells a file from another one of the same name, where the system has such a thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity(Option<(u64, u64)>);

impl Identity {
    #[cfg(unix)]
    fn of(metadata: &fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Identity(Some((metadata.dev(), metadata.ino())))
    }

    #[cfg(not(unix))]
    fn of(_: &fs::Metadata) -> Self {
        Identity(None)
    }
}

fn print(event: &Event, request: &Request, console: &mut Console<'_>) {
    let styling = console.styling();
    console.result(|out| match request.format {
        Format::Human(wanted) => print_human(out, event, wanted.styling(styling)),
        // A struct of strings and numbers always serialises.
        Format::Json | Format::Jsonl => writeln!(out, "{}", serde_json::to_string(event).unwrap_or_default()),
        Format::Quiet => Ok(()),
    });
}

fn print_human(out: &mut dyn Write, event: &Event, styling: Styling) -> io::Result<()> {
    match event {
        Event::Waiting => writeln!(out, "waiting for {TRACE_STREAM}"),
        Event::Progress(progress) => writeln!(out, "{}", progress_text(progress)),
        Event::Changed(found) => {
            let style = style(Verdict::Changed, styling);
            writeln!(out, "{style}{}{style:#}: {TRACE_STREAM}: {}", Verdict::Changed, escape(&found.detail))
        }
        Event::Ended { lines } => writeln!(out, "the session has ended, after {}\n", lines_text(*lines)),
    }
}

/// `1,204 lines linked, 1,000 of them sealed with key 21fe31dfa154a261`.
fn progress_text(progress: &Progress) -> String {
    let linked = format!("{} linked", lines_text(progress.lines));
    let Some(key) = progress.key_id else { return format!("{linked}, not sealed yet") };
    let sealed = match progress.sealed_lines {
        all if all == progress.lines => "all of them".into(),
        some => format!("{} of them", grouped(some)),
    };
    let trust = if progress.authenticated { "" } else { ", which was not given: not authenticated" };
    format!("{linked}, {sealed} sealed with key {key}{trust}")
}

fn lines_text(lines: u64) -> String {
    if lines == 1 { "1 line".into() } else { format!("{} lines", grouped(lines)) }
}
