//! Where output goes: results to stdout, everything else to stderr, and what a closed or full stdout means.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use mur_seal::escape;

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
}

#[derive(PartialEq, Eq)]
enum State {
    Open,
    /// The reader has gone: not an error, but nothing more to print.
    Closed,
    /// Results were lost.
    Failed,
}

impl<'a> Console<'a> {
    /// Results to `out`, everything else to `err`, no colours by default.
    pub fn new(out: impl Write + 'a, err: impl Write + 'a) -> Self {
        Console { out: Box::new(out), err: Box::new(err), styling: Styling::Plain, state: State::Open }
    }

    /// The streams of this process. Colours where stdout is a terminal; `NO_COLOR` and `CLICOLOR_FORCE` are honoured.
    pub fn of_process() -> Console<'static> {
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let forced = std::env::var_os("CLICOLOR_FORCE").is_some_and(|value| !value.is_empty() && value != "0");
        let colored = !set("NO_COLOR") && (forced || io::stdout().is_terminal());
        let styling = if colored { Styling::Colored } else { Styling::Plain };
        Console { styling, ..Console::new(io::BufWriter::new(io::stdout()), io::stderr()) }
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
        let _ = writeln!(self.err, "error: {}", escape(&error.to_string()));
    }

    /// Prints plain text on stderr.
    pub(crate) fn text(&mut self, text: &dyn Display) {
        let _ = write!(self.err, "{text}");
    }

    /// Whether results were lost on the way out.
    pub fn failed(&self) -> bool {
        self.state == State::Failed
    }
}
