//! What a process remembers of a file that it appends to, and how that is compared with the file.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::append::{ChainError, ChainHead, Tampering};
use super::chain_file::{FileLock, feed};
use super::host_key::HostKey;
use super::sealing::{SealingError, read_seal};
use crate::chain::ChainState;
use crate::hash::LineHash;
use crate::inline::InlineWalker;
use crate::link::{LinkError, check_event, linked};
use crate::seal::Seal;

/// What this process knows of the file.
pub(super) struct Witnessed {
    pub(super) file: Arc<File>,
    /// Held between appends only by a sole appender.
    pub(super) lock: Option<FileLock>,
    /// The chain as this process saw it, at the end of the file: also of a torn last line, every byte it saw.
    pub(super) walker: InlineWalker,
    /// Bytes of the file.
    pub(super) len: u64,
    pub(super) tampering: Option<Tampering>,
    /// Found, but not yet written into the record.
    pub(super) unrecorded: Option<Tampering>,
    /// A seal that stood beside the file when it was opened, not yet checked with a key.
    pub(super) inherited: Option<Seal>,
    /// The signature of the seal that this process wrote last: of lines that it remembers.
    pub(super) last_seal: Option<[u8; 64]>,
}

impl Witnessed {
    /// Of a file that was not read yet.
    pub(super) fn nothing_of(file: Arc<File>) -> Self {
        Witnessed {
            file,
            lock: None,
            walker: InlineWalker::new(),
            len: 0,
            tampering: None,
            unrecorded: None,
            inherited: None,
            last_seal: None,
        }
    }

    pub(super) fn chain(&self) -> &ChainState {
        &self.walker.so_far().state
    }

    pub(super) fn head(&self) -> ChainHead {
        head_of(self.chain())
    }

    /// Walks a file that this process did not begin, and compares it with the seal beside it.
    pub(super) fn first_look(&mut self, path: &Path) -> io::Result<()> {
        let seal = match (path.parent(), path.file_name().and_then(|name| name.to_str())) {
            (Some(parent), Some(name)) => read_seal(parent, name),
            _ => Ok(None),
        };
        let (seal, unreadable) = match seal {
            Ok(seal) => (seal, false),
            Err(SealingError::Io { cause, .. }) => return Err(cause),
            Err(_) => (None, true),
        };
        let mut walker = InlineWalker::new();
        if let Some(seal) = &seal {
            walker = walker.watch(seal.draft.lines);
        }
        self.walk(walker)?;
        let walk = self.walker.so_far();
        let says_so = walk.tampered.is_some();
        let holds = seal.as_ref().is_none_or(|seal| walk.watched.map(|line| line.hash) == Some(seal.draft.head));
        if unreadable || !holds || walk.breaks.first().is_some() || says_so {
            let found = self.head();
            let expected = seal.map_or(found, |seal| ChainHead { head: seal.draft.head, lines: seal.draft.lines });
            self.found_rewritten(Tampering { expected, found });
            if says_so {
                self.unrecorded = None; // the record does so already
            }
        } else {
            self.inherited = seal;
        }
        Ok(())
    }

    /// Every time is recorded, not the first alone: the record of an earlier one may be what was taken away.
    pub(super) fn found_rewritten(&mut self, tampering: Tampering) {
        self.tampering.get_or_insert(tampering);
        self.unrecorded = Some(tampering);
    }

    /// A seal that this process did not make must be this host's, or sealing anew would vouch for what it covers.
    pub(super) fn check_inherited(&mut self, stream: &str, key: &HostKey, path: &Path) -> Result<(), SealingError> {
        if let Some(seal) = &self.inherited {
            if !key.made(seal, stream) {
                return Err(SealingError::ForeignSeal(path.into()));
            }
            self.inherited = None;
        }
        Ok(())
    }

    /// Reads what other processes appended. Whether it continues from what this process saw last.
    pub(super) fn adopt(&mut self) -> io::Result<bool> {
        let mut walker = self.walker.clone().onwards();
        let len = feed(&self.file, self.len, &mut walker)?;
        let found = walker.so_far();
        let continues = found.breaks.first().is_none() && found.tampered.is_none() && found.unbound_through == 0;
        if continues {
            (self.walker, self.len) = (walker, len);
        }
        Ok(continues)
    }

    /// Whether the file no longer begins with the lines that this process remembers. Their last is compared: what differs
    /// before it breaks the chain.
    pub(super) fn differs(&self) -> io::Result<bool> {
        let ChainHead { head, lines } = self.head();
        Ok(self.hash_of_line(lines)? != Some(head))
    }

    /// The hash of a line, counted from 1, as the file holds it now; of line 0, the genesis; `None` where there are fewer.
    /// The file is read from its start.
    pub(super) fn hash_of_line(&self, line: u64) -> io::Result<Option<LineHash>> {
        let mut walker = InlineWalker::new().watch(line);
        feed(&self.file, 0, &mut walker)?;
        Ok(walker.so_far().watched.map(|line| line.hash))
    }

    /// Reads the file from its start, whatever it holds.
    pub(super) fn walk(&mut self, mut walker: InlineWalker) -> io::Result<ChainHead> {
        self.len = feed(&self.file, 0, &mut walker)?;
        self.walker = walker;
        Ok(self.head())
    }

    /// Writes one line in one go, after ending a torn one.
    pub(super) fn write(&mut self, event: &Event<'_>, path: &Path) -> Result<(), ChainError> {
        if self.walker.torn_bytes() == 0 {
            return self.write_after(self.chain().clone(), "", event, path);
        }
        let ended_by = |end: &str| {
            let mut walker = self.walker.clone().onwards();
            walker.update(end.as_bytes());
            walker
        };
        // A line may lack its newline alone, and be one of the chain. It may also have been cut where it only looks like
        // one, or have been put there: a space behind it keeps it from being read as linked.
        let linked = ended_by("\n");
        let found = linked.so_far();
        let (ended, end) = if found.breaks.first().is_none() && found.unbound_through == 0 {
            (linked, "\n")
        } else {
            (ended_by(" \n"), " \n")
        };
        self.write_after(ended.so_far().state.clone(), end, event, path)
    }

    fn write_after(
        &mut self,
        mut chain: ChainState,
        end: &str,
        event: &Event<'_>,
        path: &Path,
    ) -> Result<(), ChainError> {
        let (mut bytes, hash) = event.after(&chain);
        chain.push_chained(hash);
        bytes.push('\n');
        if !end.is_empty() {
            bytes.insert_str(0, end);
        }
        if let Err(cause) = (&*self.file).write_all(bytes.as_bytes()) {
            // Part of it may be in the file. It is this process's own, so it is remembered, not suspected.
            let len = self.file.metadata().map_or(self.len, |metadata| metadata.len());
            let written = usize::try_from(len.saturating_sub(self.len)).unwrap_or(usize::MAX).min(bytes.len());
            self.walker.update(&bytes.as_bytes()[..written]);
            self.len += written as u64;
            return Err(ChainError::Io { path: path.into(), cause });
        }
        self.len += bytes.len() as u64;
        self.walker = InlineWalker::resume(chain);
        Ok(())
    }
}

/// An event, made ready as far as that does not depend on the line before it, for which other appenders may be waiting.
pub(super) struct Event<'a> {
    text: &'a str,
    /// Over what stands before its closing brace.
    hashed: Sha256,
}

impl<'a> Event<'a> {
    pub(super) fn of(text: &'a str) -> Result<Self, LinkError> {
        check_event(text)?;
        let (body, _) = text.split_at(text.len() - 1);
        Ok(Event { text, hashed: Sha256::new_with_prefix(body) })
    }

    /// The line that it becomes behind a chain, without its newline, and that line's hash.
    fn after(&self, chain: &ChainState) -> (String, LineHash) {
        let line = linked(self.text, &chain.head(), chain.gap_hash().as_ref());
        let rest = &line.as_bytes()[self.text.len() - 1..];
        let hash = LineHash::of_hasher(self.hashed.clone().chain_update(rest));
        (line, hash)
    }
}

/// The head of an empty file, and of none.
pub(super) const NOTHING: ChainHead = ChainHead { head: LineHash::GENESIS, lines: 0 };

pub(super) fn head_of(chain: &ChainState) -> ChainHead {
    ChainHead { head: chain.head(), lines: chain.lines() }
}
