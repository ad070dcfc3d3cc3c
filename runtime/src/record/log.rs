//! `logs/bootstrap.log`: what the runtime has to say about a session besides its events.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::OFlags;

use crate::session::ids::Clock;

/// An open log. A line that cannot be written is dropped: the log fails nothing.
#[derive(Debug, Clone)]
pub struct BootstrapLog {
    file: Arc<File>,
    clock: Arc<dyn Clock>,
}

impl BootstrapLog {
    /// Opens, or makes, the log at `path`, whose directory exists.
    ///
    /// # Errors
    /// When it cannot be made, or is a link.
    pub fn open(path: &Path, clock: Arc<dyn Clock>) -> io::Result<Self> {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = File::options()
            .append(true)
            .create(true)
            .mode(0o644)
            .custom_flags(flags.bits().cast_signed())
            .open(path)?;
        Ok(Self { file: Arc::new(file), clock })
    }

    /// Adds one line: the time in milliseconds since the Unix epoch, and the text, escaped.
    pub fn line(&self, text: &str) {
        let line = format!("{} {}\n", self.clock.unix_ms(), mur_seal::escape(text));
        let _ = (&*self.file).write_all(line.as_bytes());
    }
}
