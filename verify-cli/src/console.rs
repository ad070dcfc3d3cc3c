//! Where output goes: results to stdout, everything else to stderr, and what a closed or full stdout means.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use mur_seal::escape;

use crate::human::grouped;

/// Whether verdicts are coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Styling {
    Plain,
    Colored,
}

/// The two streams of a command, and whether its results are to be coloured unless told otherwise.
pub struct Console<'a> {
    out: Box<dyn Write + 'a>,
    err: Box<dyn Write + 'a>,
    styling: Styling,
    state: State,
    /// `None` where nobody would see it, or where it would stand between the results.
    progress: Option<Progress>,
}

#[derive(PartialEq, Eq)]
enum State {
    Open,
    /// The reader has gone: not an error, but nothing more to print.
    Closed,
    /// Results were lost.
    Failed,
}

/// A line on a terminal that is written over again and again.
struct Progress {
    next: Instant,
    shown: bool,
}

/// A check that takes less than this needs no progress, and no eye follows faster changes.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);
/// To the line's beginning, and nothing more on it.
const CLEAR_LINE: &str = "\r\u{1b}[K";

impl<'a> Console<'a> {
    /// Results to `out`, everything else to `err`, no colours by default and no progress.
    pub fn new(out: impl Write + 'a, err: impl Write + 'a) -> Self {
        Console { out: Box::new(out), err: Box::new(err), styling: Styling::Plain, state: State::Open, progress: None }
    }

    /// The streams of this process. Colours where stdout is a terminal; `NO_COLOR` and `CLICOLOR_FORCE` are honoured.
    /// Progress where stderr is a terminal and stdout is none.
    pub fn of_process() -> Console<'static> {
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let forced = std::env::var_os("CLICOLOR_FORCE").is_some_and(|value| !value.is_empty() && value != "0");
        let to_terminal = io::stdout().is_terminal();
        let colored = !set("NO_COLOR") && (forced || to_terminal);
        let styling = if colored { Styling::Colored } else { Styling::Plain };
        let watched = io::stderr().is_terminal() && !to_terminal;
        let progress = watched.then(|| Progress { next: Instant::now() + PROGRESS_INTERVAL, shown: false });
        Console { styling, progress, ..Console::new(io::BufWriter::new(io::stdout()), io::stderr()) }
    }

    pub(crate) fn styling(&self) -> Styling {
        self.styling
    }

    /// Prints a result, at once. After the reader has gone, does nothing.
    pub fn result(&mut self, print: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
        if self.state != State::Open {
            return;
        }
        if let Err(error) = print(&mut self.out).and_then(|()| self.out.flush()) {
            if error.kind() == io::ErrorKind::BrokenPipe {
                self.state = State::Closed;
            } else {
                self.state = State::Failed;
                self.error(&format!("the results could not be written: {error}"));
            }
        }
    }

    /// Prints `error: …` on stderr, escaped. That stderr cannot be written is nobody's to know.
    pub fn error(&mut self, error: &dyn Display) {
        self.text(&format!("error: {}\n", escape(&error.to_string())));
    }

    /// Prints text on stderr, as it is.
    pub(crate) fn text(&mut self, text: &dyn Display) {
        self.end_progress();
        let _ = write!(self.err, "{text}");
    }

    /// Prints `note: …` on stderr, escaped.
    pub(crate) fn note(&mut self, note: &dyn Display) {
        self.text(&format!("note: {}\n", escape(&note.to_string())));
    }

    /// Shows that `done` records are checked, of `total` where that is known, now and then.
    pub(crate) fn progress(&mut self, done: u64, total: Option<u64>) {
        let now = Instant::now();
        if let Some(progress) = self.progress.as_mut().filter(|progress| now >= progress.next) {
            *progress = Progress { next: now + PROGRESS_INTERVAL, shown: true };
            let of = total.map(|total| format!(" of {}", grouped(total))).unwrap_or_default();
            let _ = write!(self.err, "{CLEAR_LINE}{}{of} records checked", grouped(done));
        }
    }

    /// Takes the progress line away, if there is one.
    pub(crate) fn end_progress(&mut self) {
        if let Some(progress) = self.progress.as_mut().filter(|progress| progress.shown) {
            progress.shown = false;
            let _ = write!(self.err, "{CLEAR_LINE}");
        }
    }

    /// Whether nobody reads the results any more.
    pub(crate) fn closed(&self) -> bool {
        self.state != State::Open
    }

    /// Whether results were lost on the way out.
    pub fn failed(&self) -> bool {
        self.state == State::Failed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream that takes nothing.
    struct Refusing(io::ErrorKind);

    impl Write for Refusing {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// What stderr says after two results to a stdout that refuses so, and whether results count as lost.
    fn after_two_results(refusal: io::ErrorKind) -> (String, bool) {
        let mut err = Vec::new();
        let mut console = Console::new(Refusing(refusal), &mut err);
        console.result(|out| writeln!(out, "one"));
        console.result(|out| writeln!(out, "two"));
        let failed = console.failed();
        drop(console);
        (String::from_utf8_lossy(&err).into_owned(), failed)
    }

    #[test]
    fn a_reader_that_has_gone_is_no_failure() {
        assert_eq!(after_two_results(io::ErrorKind::BrokenPipe), (String::new(), false));
    }

    #[test]
    fn lost_results_are_a_failure_that_is_told_once() {
        let (err, failed) = after_two_results(io::ErrorKind::StorageFull);
        assert!(failed && err.starts_with("error: the results could not be written: "), "{err}");
        assert_eq!(err.lines().count(), 1);
    }

    #[test]
    fn errors_are_escaped_and_a_line_each() {
        let mut err = Vec::new();
        Console::new(io::sink(), &mut err).error(&"no\u{1b}[2J\nway");
        assert_eq!(err, b"error: no\\u{1b}[2J\\nway\n");
    }
}
