//! SHA-256 of several lines side by side.
//!
//! The rounds of SHA-256 wait for each other, and a CPU that has instructions for them spends most of a line's time waiting.
//! Lines do not depend on each other. So a block of one line is followed by a block of another, and the CPU, which looks
//! ahead, works on both. The compression is the library's; what stands here is which block comes next, and the padding of
//! a line's end.

use core::ops::Range;

use sha2::block_api::compress256;

use crate::hash::LineHash;

/// Lines that are hashed side by side. More are no faster: a CPU does not look further ahead. In a component, which has no
/// instructions for the rounds, nothing waits.
const LANES: usize = if cfg!(target_family = "wasm") { 1 } else { 4 };

const BLOCK_LEN: usize = 64;
/// Bytes at the end of the last block, which hold the length of the line in bits.
const LENGTH_LEN: usize = 8;
/// The state before the first block (FIPS 180-4, section 5.3.3).
const INITIAL: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];

type Block = [u8; BLOCK_LEN];

/// Hashes lines, without their newlines, each as [`line_hash`](crate::line_hash) does: `hashes[n]` is that of `lines[n]`.
pub(crate) fn hash_lines(lines: &[&[u8]], hashes: &mut [LineHash]) {
    let mut waiting = lines.iter().enumerate();
    let mut lanes = [Lane::IDLE; LANES];
    let mut busy = 0;
    for (lane, (number, line)) in lanes.iter_mut().zip(&mut waiting) {
        lane.load(number, line);
        busy += 1;
    }
    // As many blocks as each line that is being hashed has left, so that there is nothing to ask between them.
    while let Some(rounds) = lanes[..busy].iter().map(Lane::pending).min() {
        if let [alone] = &mut lanes[..busy] {
            alone.compress(0..rounds);
        } else {
            for round in 0..rounds {
                for lane in &mut lanes[..busy] {
                    lane.compress(round..round + 1);
                }
            }
        }
        let mut at = 0;
        while at < busy {
            let lane = &mut lanes[at];
            if lane.advance(rounds) == Left::Blocks {
                at += 1;
                continue;
            }
            hashes[lane.number] = LineHash::of_words(&lane.state);
            if let Some((number, line)) = waiting.next() {
                lane.load(number, line);
                at += 1;
            } else {
                busy -= 1;
                lanes.swap(at, busy);
            }
        }
    }
}

/// A line that is being hashed.
struct Lane<'a> {
    number: usize,
    state: [u32; 8],
    /// Whole blocks of the line.
    body: &'a [Block],
    /// What is left of the line behind them, padded.
    end: [Block; 2],
    /// The blocks of `end` that are left.
    end_from: usize,
    end_to: usize,
}

#[derive(PartialEq, Eq)]
enum Left {
    Blocks,
    Nothing,
}

impl<'a> Lane<'a> {
    const IDLE: Lane<'static> =
        Lane { number: 0, state: INITIAL, body: &[], end: [[0; BLOCK_LEN]; 2], end_from: 0, end_to: 0 };

    fn load(&mut self, number: usize, line: &'a [u8]) {
        self.number = number;
        self.state = INITIAL;
        let (body, rest) = line.as_chunks();
        self.body = body;
        let blocks = if rest.len() < BLOCK_LEN - LENGTH_LEN { 1 } else { 2 };
        let end = &mut self.end.as_flattened_mut()[..blocks * BLOCK_LEN];
        let (end, length) = end.split_at_mut(blocks * BLOCK_LEN - LENGTH_LEN);
        end[..rest.len()].copy_from_slice(rest);
        end[rest.len()] = 0x80;
        end[rest.len() + 1..].fill(0);
        length.copy_from_slice(&(line.len() as u64 * 8).to_be_bytes());
        self.end_from = 0;
        self.end_to = blocks;
    }

    /// How many blocks that lie one behind the other are to be taken next.
    fn pending(&self) -> usize {
        if self.body.is_empty() { self.end_to - self.end_from } else { self.body.len() }
    }

    /// Takes these of the pending blocks.
    fn compress(&mut self, range: Range<usize>) {
        let pending = if self.body.is_empty() { &self.end[self.end_from..self.end_to] } else { self.body };
        compress256(&mut self.state, &pending[range]);
    }

    /// Goes past `blocks` pending blocks.
    fn advance(&mut self, blocks: usize) -> Left {
        if self.body.is_empty() {
            self.end_from += blocks;
        } else {
            self.body = &self.body[blocks..];
        }
        if self.body.is_empty() && self.end_from == self.end_to { Left::Nothing } else { Left::Blocks }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::*;
    use crate::hash::line_hash;

    #[track_caller]
    fn assert_hashed(lines: &[&[u8]]) {
        let mut hashes = vec![LineHash::GENESIS; lines.len()];
        hash_lines(lines, &mut hashes);
        let one_by_one: Vec<LineHash> = lines.iter().map(|line| line_hash(line)).collect();
        assert_eq!(hashes, one_by_one, "{:?}", lines.iter().map(|line| line.len()).collect::<Vec<_>>());
    }

    #[test]
    fn lines_of_every_length_are_hashed_as_one_by_one() {
        let bytes: Vec<u8> = (0..1000u32).map(|number| (number * 7 + 1) as u8).collect();
        let lines: Vec<&[u8]> = (0..=bytes.len()).map(|len| &bytes[..len]).collect();
        assert_hashed(&lines);
        for lines in lines.windows(LANES + 1) {
            assert_hashed(lines);
        }
    }

    #[test]
    fn any_number_of_lines_is_hashed() {
        let lines = [&b"a"[..]; 3 * LANES];
        (0..=lines.len()).for_each(|count| assert_hashed(&lines[..count]));
    }

    proptest! {
        #[test]
        fn lines_of_any_lengths_are_hashed_as_one_by_one(
            lines in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..400), 0..20),
        ) {
            assert_hashed(&lines.iter().map(Vec::as_slice).collect::<Vec<_>>());
        }
    }
}
