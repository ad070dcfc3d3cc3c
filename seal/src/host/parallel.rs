//! Hashing the lines of one file on several cores.
//!
//! Line hashes do not depend on each other, only their comparison does. Each worker reads every *n*th chunk of the file and
//! digests the lines that lie whole in it; the caller's thread takes the chunks in order, puts the lines that chunks cut
//! back together, and compares. The verifier sees the same lines in the same order as from one thread.

use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

use crate::inline::LineDigest;
use crate::verify::StreamVerifier;

/// Bytes that a worker takes at once.
const CHUNK: usize = 128 * 1024;
/// A chunk with more lines than this is compared as it is: their digests would need more memory than their bytes.
const MOST_LINES: usize = 2048;
/// Chunks that a worker may be ahead.
const AHEAD: usize = 2;

/// Feeds `len` bytes of the file, from its start, to `verifier`, which has seen nothing of it.
pub(crate) fn feed(file: &File, len: u64, jobs: NonZeroUsize, verifier: &mut StreamVerifier) -> io::Result<()> {
    feed_in_chunks(file, len, jobs, CHUNK, verifier)
}

fn feed_in_chunks(
    file: &File,
    len: u64,
    jobs: NonZeroUsize,
    chunk: usize,
    verifier: &mut StreamVerifier,
) -> io::Result<()> {
    let parts = Parts { file, len, size: chunk, digest: verifier.digester() };
    let jobs = jobs.get() as u64;
    thread::scope(|scope| {
        let workers: io::Result<Vec<Worker>> = (0..jobs)
            .map(|first| {
                let (sender, chunks) = sync_channel(AHEAD);
                let (spare, spares) = channel();
                let indexes = (first..parts.count()).step_by(jobs as usize);
                thread::Builder::new().spawn_scoped(scope, move || work(parts, indexes, &sender, &spares))?;
                Ok(Worker { chunks, spare })
            })
            .collect();
        // A host may refuse a thread: this one does it alone then, and those that were started end.
        let Ok(workers) = workers else { return feed_alone(parts, verifier) };
        // A worker stops when its receiver is gone, so an early return ends them all.
        for (_, worker) in (0..parts.count()).zip(workers.iter().cycle()) {
            let Ok(chunk) = worker.chunks.recv() else { return Err(io::Error::other("a reading thread ended early")) };
            let mut chunk = chunk?;
            if chunk.give_to(verifier) == Place::End {
                break;
            }
            // A worker that has nothing more to read takes nothing back.
            let _ = worker.spare.send(chunk);
        }
        Ok(())
    })
}

fn feed_alone(parts: Parts<'_>, verifier: &mut StreamVerifier) -> io::Result<()> {
    let parts = Parts { digest: None, ..parts };
    let mut chunk = Chunk::default();
    for index in 0..parts.count() {
        parts.read(index, &mut chunk)?;
        if chunk.give_to(verifier) == Place::End {
            break;
        }
    }
    Ok(())
}

/// The caller's ends of a worker's channels.
struct Worker {
    chunks: Receiver<io::Result<Chunk>>,
    /// Chunks that were looked at, whose memory is to be used again.
    spare: Sender<Chunk>,
}

fn work(
    parts: Parts<'_>,
    indexes: impl Iterator<Item = u64>,
    sender: &SyncSender<io::Result<Chunk>>,
    spares: &Receiver<Chunk>,
) {
    for index in indexes {
        let mut chunk = spares.try_recv().unwrap_or_default();
        let read = parts.read(index, &mut chunk);
        if sender.send(read.map(|()| chunk)).is_err() {
            return;
        }
    }
}

/// A file taken in parts of one size.
#[derive(Clone, Copy)]
struct Parts<'a> {
    file: &'a File,
    len: u64,
    size: usize,
    /// How its lines are digested; `None` where their bytes are needed.
    digest: Option<fn(&[u8]) -> LineDigest>,
}

impl Parts<'_> {
    fn count(&self) -> u64 {
        self.len.div_ceil(self.size as u64)
    }

    fn read(&self, index: u64, chunk: &mut Chunk) -> io::Result<()> {
        let start = index * self.size as u64;
        chunk.wanted = usize::try_from(self.len - start).unwrap_or(self.size).min(self.size);
        chunk.bytes.resize(chunk.wanted, 0);
        let mut filled = 0;
        while filled < chunk.wanted {
            match self.file.read_at(&mut chunk.bytes[filled..], start + filled as u64) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        chunk.bytes.truncate(filled);
        chunk.find_lines(self.digest);
        Ok(())
    }
}

/// Part of a file, and the digests of the lines that lie whole in it.
#[derive(Default)]
struct Chunk {
    bytes: Vec<u8>,
    wanted: usize,
    /// The bytes of the lines that lie whole in it; all that stands outside is to be looked at as bytes.
    whole: Range<usize>,
    digests: Vec<LineDigest>,
}

#[derive(PartialEq, Eq)]
enum Place {
    /// More chunks follow.
    Middle,
    /// The file is shorter than it was.
    End,
}

impl Chunk {
    fn find_lines(&mut self, digest: Option<fn(&[u8]) -> LineDigest>) {
        self.digests.clear();
        self.whole = 0..0;
        let (Some(digest), Some(first)) = (digest, memchr::memchr(b'\n', &self.bytes)) else { return };
        let mut end = first + 1;
        while let Some(length) = memchr::memchr(b'\n', &self.bytes[end..]) {
            if self.digests.len() == MOST_LINES {
                self.digests.clear();
                return;
            }
            self.digests.push(digest(&self.bytes[end..end + length]));
            end += length + 1;
        }
        self.whole = first + 1..end;
    }

    fn give_to(&mut self, verifier: &mut StreamVerifier) -> Place {
        verifier.update(&self.bytes[..self.whole.start]);
        self.digests.drain(..).for_each(|line| verifier.push(&line));
        verifier.update(&self.bytes[self.whole.end..]);
        if self.bytes.len() == self.wanted { Place::Middle } else { Place::End }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Write;

    use proptest::prelude::*;

    use super::*;
    use crate::chain::ChainState;
    use crate::hash::line_hash;
    use crate::link::link;
    use crate::listed::Lines;
    use crate::verify::Expectation;

    /// A chain of these events, with foreign lines in between.
    fn stream(lines: &[(bool, String)]) -> Vec<u8> {
        let mut state = ChainState::new();
        let mut bytes = Vec::new();
        for (chained, text) in lines {
            let line = if *chained {
                let event = format!("{{\"event_type\":\"{text}\"}}");
                let line = link(&event, &state.head(), state.gap_hash().as_ref()).unwrap();
                state.push_chained(line_hash(line.as_bytes()));
                line
            } else {
                state.push_unchained(line_hash(text.as_bytes()));
                text.clone()
            };
            bytes.extend_from_slice(line.as_bytes());
            bytes.push(b'\n');
        }
        bytes
    }

    proptest! {
        #[test]
        fn several_threads_give_the_report_that_one_gives(
            lines in proptest::collection::vec((any::<bool>(), "[a-z]{0,60}"), 0..20),
            torn in "[a-z]{0,9}",
            damage in proptest::option::of((any::<prop::sample::Index>(), any::<u8>())),
            jobs in 1usize..5,
            chunk in 1usize..300,
        ) {
            let mut bytes = stream(&lines);
            bytes.extend_from_slice(torn.as_bytes());
            if let Some((at, value)) = damage && !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&bytes).unwrap();
            let expectation = Expectation { stream: "trace.jsonl", session: None, keys: &[] };
            for verifier in [|| StreamVerifier::inline(None), || StreamVerifier::listed(Lines::Complete, None), || StreamVerifier::listed(Lines::WholeFile, None)] {
                let (mut alone, mut together) = (verifier(), verifier());
                alone.update(&bytes);
                feed_in_chunks(&file, bytes.len() as u64, NonZeroUsize::new(jobs).unwrap(), chunk, &mut together).unwrap();
                prop_assert_eq!(alone.beginning(), together.beginning());
                prop_assert_eq!(alone.finish(&expectation), together.finish(&expectation));
            }
        }
    }

    #[test]
    fn a_file_that_was_cut_meanwhile_ends_where_it_ends_now() {
        let bytes = stream(&[(true, "a".into()), (true, "b".into())]);
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes).unwrap();
        let mut verifier = StreamVerifier::inline(None);
        feed_in_chunks(&file, 10 * bytes.len() as u64, NonZeroUsize::new(3).unwrap(), 64, &mut verifier).unwrap();
        assert_eq!(verifier.finish(&Expectation { stream: "trace.jsonl", session: None, keys: &[] }).lines, 2);
    }
}
