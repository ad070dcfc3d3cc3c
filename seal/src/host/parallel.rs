//! Hashing the lines of one file on several cores.
//!
//! Line hashes do not depend on each other, only their comparison does. Each worker reads every *n*th chunk of the file and
//! digests the lines that lie whole in it; the caller's thread takes the chunks in order, puts the lines that chunks cut
//! back together, and compares. The verifier sees the same lines in the same order as from one thread.

use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::os::unix::fs::FileExt;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use crate::chain::LineDigest;
use crate::verify::StreamVerifier;

/// Bytes that a worker takes at once.
const CHUNK: usize = 256 * 1024;
/// A chunk with more lines than this is compared as it is: their digests would need more memory than their bytes.
const MOST_LINES: usize = 4096;
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
    let digest = verifier.digester();
    let jobs = jobs.get() as u64;
    let chunks = len.div_ceil(chunk as u64);
    thread::scope(|scope| {
        let workers: io::Result<Vec<Receiver<io::Result<Chunk>>>> = (0..jobs)
            .map(|worker| {
                let (sender, receiver) = sync_channel(AHEAD);
                let indexes = (worker..chunks).step_by(jobs as usize);
                let read = move |index: u64| {
                    let start = index * chunk as u64;
                    let wanted = usize::try_from(len - start).unwrap_or(chunk).min(chunk);
                    Chunk::read(file, start, wanted, digest)
                };
                thread::Builder::new().spawn_scoped(scope, move || work(indexes.map(read), &sender))?;
                Ok(receiver)
            })
            .collect();
        // A host may refuse a thread: this one does it alone then, and those that were started end.
        let Ok(workers) = workers else { return feed_alone(file, len, chunk, verifier) };
        // A worker stops when its receiver is gone, so an early return ends them all.
        for (_, worker) in (0..chunks).zip(workers.iter().cycle()) {
            let Ok(chunk) = worker.recv() else { return Err(io::Error::other("a reading thread ended early")) };
            if chunk?.give_to(verifier) == Place::End {
                break;
            }
        }
        Ok(())
    })
}

fn feed_alone(file: &File, len: u64, chunk: usize, verifier: &mut StreamVerifier) -> io::Result<()> {
    let mut start = 0;
    while start < len {
        let wanted = usize::try_from(len - start).unwrap_or(chunk).min(chunk);
        if Chunk::read(file, start, wanted, None)?.give_to(verifier) == Place::End {
            break;
        }
        start += wanted as u64;
    }
    Ok(())
}

fn work(chunks: impl Iterator<Item = io::Result<Chunk>>, sender: &SyncSender<io::Result<Chunk>>) {
    for chunk in chunks {
        if sender.send(chunk).is_err() {
            return;
        }
    }
}

/// Part of a file, and the digests of the lines that lie whole in it.
struct Chunk {
    bytes: Vec<u8>,
    wanted: usize,
    /// `None` where the bytes are to be looked at once more.
    lines: Option<WholeLines>,
}

struct WholeLines {
    /// Behind the first newline: what stands before it belongs to a line that began earlier.
    start: usize,
    /// Behind the last newline.
    end: usize,
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
    fn read(file: &File, start: u64, wanted: usize, digest: Option<fn(&[u8]) -> LineDigest>) -> io::Result<Self> {
        let mut bytes = vec![0; wanted];
        let mut filled = 0;
        while filled < wanted {
            match file.read_at(&mut bytes[filled..], start + filled as u64) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        bytes.truncate(filled);
        let lines = digest.and_then(|digest| WholeLines::of(&bytes, digest));
        Ok(Chunk { bytes, wanted, lines })
    }

    fn give_to(self, verifier: &mut StreamVerifier) -> Place {
        match self.lines {
            None => verifier.update(&self.bytes),
            Some(WholeLines { start, end, digests }) => {
                verifier.update(&self.bytes[..start]);
                digests.into_iter().for_each(|line| verifier.push(line));
                verifier.update(&self.bytes[end..]);
            }
        }
        if self.bytes.len() == self.wanted { Place::Middle } else { Place::End }
    }
}

impl WholeLines {
    fn of(bytes: &[u8], digest: fn(&[u8]) -> LineDigest) -> Option<Self> {
        let start = memchr::memchr(b'\n', bytes)? + 1;
        let mut digests = Vec::new();
        let mut end = start;
        while let Some(length) = memchr::memchr(b'\n', &bytes[end..]) {
            if digests.len() == MOST_LINES {
                return None;
            }
            digests.push(digest(&bytes[end..end + length]));
            end += length + 1;
        }
        Some(WholeLines { start, end, digests })
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
