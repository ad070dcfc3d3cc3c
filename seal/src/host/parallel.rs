//! Hashing the lines of one file on several cores.
//!
//! Line hashes do not depend on each other, only their comparison does. Each thread takes the next chunk of the file that
//! none has taken, and digests the lines that lie whole in it. Whoever has the chunk that is due gives it to the verifier,
//! and with it those behind it that are done already. The verifier puts the lines that chunks cut back together, and sees
//! the same lines in the same order as from one thread.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::digest::{LineDigest, LineDigests, Wanted};
use crate::verify::StreamVerifier;

/// Bytes that a thread takes at once.
const CHUNK: usize = 64 * 1024;
/// A chunk with more lines than this is compared as it is: their digests would need more memory than their bytes.
const MOST_LINES: usize = 1024;
/// Chunks for each thread that may be done before the one that is due.
const AHEAD: usize = 2;

/// Threads for one file. The verifier takes some twentieth of the time of all of them and serves one at a time, so that more
/// would wait, and only cost memory.
const MOST_JOBS: usize = 16;

/// Feeds `len` bytes of the file, from its start, to `verifier`, which has seen nothing of it. The caller's thread is one of
/// the `jobs`.
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
    let parts = Parts { file, len, size: chunk, wanted: verifier.wanted() };
    let jobs = jobs.get().min(MOST_JOBS);
    let queue = Queue::before(verifier, jobs * AHEAD);
    thread::scope(|scope| {
        for _ in 1..jobs {
            // A host may refuse a thread. Those that there are do its work.
            let _ = thread::Builder::new().spawn_scoped(scope, || queue.work(parts));
        }
        queue.work(parts);
    });
    queue.outcome()
}

/// The chunks of a file on their way to the verifier.
struct Queue<'a> {
    /// The next chunk that no thread has taken.
    untaken: AtomicU64,
    order: Mutex<Order<'a>>,
    moved: Condvar,
    /// How many chunks may be done before the one that is due.
    ahead: usize,
}

struct Order<'a> {
    verifier: &'a mut StreamVerifier,
    /// The chunk that the verifier has to see next.
    due: u64,
    /// The chunks behind that one, as far as they are done.
    done: VecDeque<Option<Chunk>>,
    /// Chunks that were looked at, whose memory is to be used again.
    spare: Vec<Chunk>,
    /// That no more chunks are wanted, and why.
    ended: Option<io::Result<()>>,
}

impl<'a> Queue<'a> {
    fn before(verifier: &'a mut StreamVerifier, ahead: usize) -> Self {
        let order = Order { verifier, due: 0, done: VecDeque::new(), spare: Vec::new(), ended: None };
        Queue { untaken: AtomicU64::new(0), order: Mutex::new(order), moved: Condvar::new(), ahead }
    }

    /// What one thread does.
    fn work(&self, parts: Parts<'_>) {
        let _others_end_too = EndOnPanic(self);
        let mut chunk = Chunk::default();
        loop {
            let index = self.untaken.fetch_add(1, Ordering::Relaxed);
            if index >= parts.count() {
                return;
            }
            let read = parts.read(index, &mut chunk);
            match self.hand_in(index, read.map(|()| chunk)) {
                Some(spare) => chunk = spare,
                None => return,
            }
        }
    }

    /// Gives a chunk to the verifier, or leaves it until it is due. Returns one to be used next, unless no more are wanted.
    fn hand_in(&self, index: u64, chunk: io::Result<Chunk>) -> Option<Chunk> {
        let mut order = self.lock();
        while order.ended.is_none() && index - order.due > self.ahead as u64 {
            order = self.moved.wait(order).unwrap_or_else(PoisonError::into_inner);
        }
        if order.ended.is_some() {
            return None;
        }
        match chunk {
            Ok(chunk) if index == order.due => order.take(chunk),
            Ok(chunk) => order.keep(index, chunk),
            Err(error) => order.ended = Some(Err(error)),
        }
        self.moved.notify_all();
        order.ended.is_none().then(|| order.spare.pop().unwrap_or_default())
    }

    fn lock(&self) -> MutexGuard<'_, Order<'a>> {
        // Whoever panicked ends all of it, and the panic goes on from the scope.
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn outcome(self) -> io::Result<()> {
        self.order.into_inner().unwrap_or_else(PoisonError::into_inner).ended.unwrap_or(Ok(()))
    }
}

impl Order<'_> {
    /// The chunk that is due, and those behind it that are done.
    fn take(&mut self, mut chunk: Chunk) {
        loop {
            let place = chunk.give_to(self.verifier);
            self.spare.push(chunk);
            self.due += 1;
            if place == Place::End {
                self.ended = Some(Ok(()));
                return;
            }
            match self.done.pop_front() {
                Some(Some(next)) => chunk = next,
                Some(None) | None => return,
            }
        }
    }

    /// A chunk behind the one that is due.
    fn keep(&mut self, index: u64, chunk: Chunk) {
        // No further ahead than `Queue::ahead`.
        let place = (index - self.due - 1) as usize;
        if self.done.len() <= place {
            self.done.resize_with(place + 1, || None);
        }
        self.done[place] = Some(chunk);
    }
}

/// Nobody must wait for a chunk that is not going to come.
struct EndOnPanic<'q, 'a>(&'q Queue<'a>);

impl Drop for EndOnPanic<'_, '_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.lock().ended = Some(Err(io::Error::other("a thread that reads panicked")));
            self.0.moved.notify_all();
        }
    }
}

/// A file taken in parts of one size.
#[derive(Clone, Copy)]
struct Parts<'a> {
    file: &'a File,
    len: u64,
    size: usize,
    /// What has to be known of its lines; `None` where their bytes are needed.
    wanted: Option<Wanted>,
}

impl Parts<'_> {
    fn count(self) -> u64 {
        self.len.div_ceil(self.size as u64)
    }

    fn read(self, index: u64, chunk: &mut Chunk) -> io::Result<()> {
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
        chunk.find_lines(self.wanted);
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
    fn find_lines(&mut self, wanted: Option<Wanted>) {
        self.digests.clear();
        self.whole = 0..0;
        let (Some(wanted), Some(first)) = (wanted, memchr::memchr(b'\n', &self.bytes)) else { return };
        let start = first + 1;
        let mut lines = LineDigests::of(&self.bytes[start..], wanted);
        self.digests.extend(lines.by_ref().take(MOST_LINES));
        if lines.next().is_some() {
            self.digests.clear();
            return;
        }
        self.whole = start..self.bytes.len() - lines.rest().len();
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

    #[test]
    fn chunks_of_very_many_lines_are_read_as_by_one_thread() {
        // Each event fills a chunk of its own size but for the empty lines, of which some chunks have more than are digested.
        let mut events = Vec::new();
        for empty in [0, MOST_LINES - 1, MOST_LINES, MOST_LINES + 1, 3 * MOST_LINES] {
            events.push((true, "event".to_owned()));
            events.extend(std::iter::repeat_n((false, String::new()), empty));
        }
        events.push((true, "last".to_owned()));
        let bytes = stream(&events);
        for listed in [None, Some(Lines::Complete)] {
            let verifier = || match listed {
                None => StreamVerifier::inline(None),
                Some(lines) => StreamVerifier::listed(lines, None),
            };
            let expectation = Expectation { stream: "trace.jsonl", session: None, keys: &[] };
            let mut at_once = verifier();
            at_once.update(&bytes);
            let at_once = at_once.finish(&expectation);
            assert_eq!(at_once.lines, events.len() as u64);
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&bytes).unwrap();
            for chunk in [MOST_LINES / 2, MOST_LINES + 300, 2 * MOST_LINES, CHUNK] {
                let mut verifier = verifier();
                let jobs = NonZeroUsize::new(3).unwrap();
                feed_in_chunks(&file, bytes.len() as u64, jobs, chunk, &mut verifier).unwrap();
                assert_eq!(verifier.finish(&expectation), at_once, "chunks of {chunk}");
            }
        }
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
