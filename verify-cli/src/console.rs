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
    out: Results<'a>,
    err: Box<dyn Write + 'a>,
    styling: Styling,
    state: State,
    /// `None` where nobody would see it.
    progress: Option<Progress>,
}

/// Where results go, and whether the last line of them is still to be ended.
struct Results<'a> {
    out: Box<dyn Write + 'a>,
    line: Line,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    Ended,
    Begun,
}

impl Write for Results<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        if let Some(last) = bytes[..written].last() {
            self.line = if *last == b'\n' { Line::Ended } else { Line::Begun };
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
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
    screen: Screen,
    next: Instant,
    shown: Shown,
}

/// Who writes to the terminal that progress is shown on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Screen {
    StderrAlone,
    /// Results too. The line is taken away before each of them and put back below it.
    WithResults,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    No,
    Yes,
    /// Something else was printed where it stood.
    TakenAway,
}

/// A check that takes less than this needs no progress, and no eye follows faster changes.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);
/// To the line's beginning, and nothing more on it.
const CLEAR_LINE: &str = "\r\u{1b}[K";

impl<'a> Console<'a> {
    /// Results to `out`, everything else to `err`, no colours by default and no progress.
    pub fn new(out: impl Write + 'a, err: impl Write + 'a) -> Self {
        let out = Results { out: Box::new(out), line: Line::Ended };
        Console { out, err: Box::new(err), styling: Styling::Plain, state: State::Open, progress: None }
    }

    /// The streams of this process. Colours where stdout is a terminal; `NO_COLOR` and `CLICOLOR_FORCE` are honoured.
    /// Progress where stderr is a terminal.
    pub fn of_process() -> Console<'static> {
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let forced = std::env::var_os("CLICOLOR_FORCE").is_some_and(|value| !value.is_empty() && value != "0");
        let to_terminal = io::stdout().is_terminal();
        let colored = !set("NO_COLOR") && (forced || to_terminal);
        let styling = if colored { Styling::Colored } else { Styling::Plain };
        let screen = if to_terminal { Screen::WithResults } else { Screen::StderrAlone };
        let begin = || Progress { screen, next: Instant::now() + PROGRESS_INTERVAL, shown: Shown::No };
        let progress = io::stderr().is_terminal().then(begin);
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
        if self.progress.as_ref().is_some_and(|progress| progress.screen == Screen::WithResults) {
            self.take_progress_away(Shown::TakenAway);
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
        self.take_progress_away(Shown::TakenAway);
        let _ = write!(self.err, "{text}");
    }

    /// Shows that `done` records are checked, of `total` where that is known, now and then.
    pub(crate) fn progress(&mut self, done: u64, total: Option<u64>) {
        let Some(progress) = &mut self.progress else { return };
        // A result whose line goes on, as within a JSON document, would be wiped out together with the progress.
        let line_goes_on = progress.screen == Screen::WithResults && self.out.line == Line::Begun;
        if line_goes_on || total == Some(done) {
            return;
        }
        let now = Instant::now();
        if now >= progress.next || progress.shown == Shown::TakenAway {
            *progress = Progress { next: now + PROGRESS_INTERVAL, shown: Shown::Yes, ..*progress };
            let of = total.map(|total| format!(" of {}", grouped(total))).unwrap_or_default();
            let _ = write!(self.err, "{CLEAR_LINE}{}{of} records checked", grouped(done));
        }
    }

    /// Takes the progress line away, if there is one.
    pub(crate) fn end_progress(&mut self) {
        self.take_progress_away(Shown::No);
    }

    fn take_progress_away(&mut self, after: Shown) {
        if let Some(progress) = &mut self.progress {
            if progress.shown == Shown::Yes {
                let _ = write!(self.err, "{CLEAR_LINE}");
                progress.shown = after;
            } else if after == Shown::No {
                progress.shown = after;
            }
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
