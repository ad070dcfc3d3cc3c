//! Making a record, line by line and seal by seal, with a fixed key and a fixed clock.

use mur_seal::{
    COMPLETION_STREAM, CONVERSATIONS_DIR, ChainKind, ChainState, ConversationPointer, EVAL_STREAM, HostKey, LineHash,
    Lines, SEAL_SUFFIX, Seal, SealDraft, TRACE_STREAM, conversation_stream, line_hash, link, listed_head,
};

use crate::fixed::{CONVERSATION_CONTEXT, CONVERSATION_RECORD, SEALED_AT_MS, SESSION, host_key};
use crate::tree::Tree;

/// The records directory of a built record, in the tree it is built in.
pub const RECORD_DIR: &str = "record";

/// Where the conversation record of a built record stands, in the tree it is built in.
pub fn conversation_path() -> String {
    format!("{CONVERSATIONS_DIR}/{CONVERSATION_RECORD}/{CONVERSATION_CONTEXT}/conversation.jsonl")
}

/// Builds a record in a [`Tree`]: the records directory in [`RECORD_DIR`], its conversation in `conversations`.
///
/// Lines are chained as a host chains them. What a host would not write, a line without its link, a seal of another
/// stream, is asked for by name.
#[derive(Debug)]
pub struct RecordBuilder {
    key: HostKey,
    session: String,
    chain: ChainState,
    trace: Vec<u8>,
    tree: Tree,
}

impl RecordBuilder {
    /// An empty record of [`SESSION`], written by the host.
    pub fn new() -> Self {
        RecordBuilder {
            key: host_key(),
            session: SESSION.into(),
            chain: ChainState::new(),
            trace: Vec::new(),
            tree: Tree::new(),
        }
    }

    /// From here on, seals are made with `key`.
    pub fn sealing_with(self, key: HostKey) -> Self {
        RecordBuilder { key, ..self }
    }

    /// From here on, seals are made for `session`.
    pub fn sealing_for(self, session: &str) -> Self {
        RecordBuilder { session: session.into(), ..self }
    }

    /// Appends `event`, a compact JSON object, to the trace, with its link.
    ///
    /// # Panics
    /// When `event` cannot become a line.
    pub fn event(self, event: &str) -> Self {
        let line = link(event, &self.chain.head(), self.chain.gap_hash().as_ref())
            .unwrap_or_else(|error| panic!("{event}: {error}"));
        self.linked_line(&line)
    }

    /// Appends several.
    pub fn events<'a>(self, events: impl IntoIterator<Item = &'a String>) -> Self {
        events.into_iter().fold(self, |record, event| record.event(event))
    }

    /// Appends a line that carries a link already, right or wrong.
    pub fn linked_line(mut self, line: &str) -> Self {
        self.chain.push_chained(line_hash(line.as_bytes()));
        self.whole_line(line.as_bytes())
    }

    /// Appends a line that carries no link, as a crash leaves it once the next append has ended it.
    pub fn unlinked_line(mut self, line: impl AsRef<[u8]>) -> Self {
        self.chain.push_unchained(line_hash(line.as_ref()));
        self.whole_line(line.as_ref())
    }

    fn whole_line(self, line: &[u8]) -> Self {
        self.torn_bytes(line).torn_bytes(b"\n")
    }

    /// Appends bytes and no newline. The chain is not told: a record that goes on behind them does not hold.
    pub fn torn_bytes(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.trace.extend_from_slice(bytes.as_ref());
        self.tree.file(&in_record(TRACE_STREAM), self.trace.clone());
        self
    }

    /// The trace's bytes so far.
    pub fn trace(&self) -> &[u8] {
        &self.trace
    }

    /// The hash of the trace's last line.
    pub fn head(&self) -> LineHash {
        self.chain.head()
    }

    /// What the next line must carry as `gap_hash`, if anything.
    pub fn gap_hash(&self) -> Option<LineHash> {
        self.chain.gap_hash()
    }

    /// What a seal of the trace, as it stands, says.
    pub fn trace_draft(&self) -> SealDraft {
        SealDraft {
            stream: TRACE_STREAM.into(),
            chain: ChainKind::Inline,
            session_id: self.session.clone(),
            lines: self.chain.lines(),
            line_hashes: None,
            head: self.chain.head(),
            sealed_at: SEALED_AT_MS,
            conversation: None,
        }
    }

    /// What a seal of a listed stream with these bytes says.
    pub fn listed_draft(&self, stream: &str, lines: Lines, bytes: &[u8]) -> SealDraft {
        let hashes = line_hashes(lines, bytes);
        SealDraft {
            stream: stream.into(),
            chain: ChainKind::Listed,
            session_id: self.session.clone(),
            lines: hashes.len() as u64,
            head: listed_head(&hashes),
            line_hashes: Some(hashes),
            sealed_at: SEALED_AT_MS,
            conversation: None,
        }
    }

    /// Signs a seal.
    ///
    /// # Panics
    /// When the draft is one that no seal may be made of.
    pub fn sign(&self, draft: SealDraft) -> Seal {
        self.key.seal(draft).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Seals the trace as it stands.
    pub fn seal_trace(self) -> Self {
        let draft = self.trace_draft();
        self.seal_trace_as(draft)
    }

    /// Seals the trace as it stands, pointing at the first `lines` lines of the conversation.
    ///
    /// # Panics
    /// When there is no conversation yet.
    pub fn seal_trace_pointing_at(self, lines: usize) -> Self {
        let mut hashes = line_hashes(Lines::Complete, self.tree.bytes(&conversation_path()));
        hashes.truncate(lines);
        let conversation = Some(ConversationPointer {
            record: CONVERSATION_RECORD.into(),
            context_id: CONVERSATION_CONTEXT.into(),
            lines: hashes.len() as u64,
            head: listed_head(&hashes),
        });
        let draft = SealDraft { conversation, ..self.trace_draft() };
        self.seal_trace_as(draft)
    }

    /// Seals the trace with a seal that says what the caller wants.
    pub fn seal_trace_as(self, draft: SealDraft) -> Self {
        let seal = self.sign(draft).to_file();
        self.with_file(&format!("{TRACE_STREAM}{SEAL_SUFFIX}"), seal)
    }

    /// Writes `hooks/eval.jsonl` and its seal.
    pub fn eval(self, bytes: &str) -> Self {
        let draft = self.listed_draft(EVAL_STREAM, Lines::Complete, bytes.as_bytes());
        self.listed_as(EVAL_STREAM, bytes, draft)
    }

    /// Writes `completion.json` and its seal.
    pub fn completion(self, bytes: &str) -> Self {
        let draft = self.listed_draft(COMPLETION_STREAM, Lines::WholeFile, bytes.as_bytes());
        self.listed_as(COMPLETION_STREAM, bytes, draft)
    }

    /// Writes a listed stream of the records directory with a seal that says what the caller wants.
    pub fn listed_as(self, stream: &str, bytes: &str, draft: SealDraft) -> Self {
        let seal = self.sign(draft).to_file();
        self.with_file(stream, bytes).with_file(&format!("{stream}{SEAL_SUFFIX}"), seal)
    }

    /// Writes the conversation record and its seal.
    pub fn conversation(mut self, bytes: &str) -> Self {
        let stream = conversation_stream(CONVERSATION_RECORD, CONVERSATION_CONTEXT);
        let seal = self.sign(self.listed_draft(&stream, Lines::Complete, bytes.as_bytes()));
        self.tree.file(&conversation_path(), bytes);
        self.tree.file(&format!("{}{SEAL_SUFFIX}", conversation_path()), seal.to_file());
        self
    }

    /// Puts a file into the records directory.
    pub fn with_file(mut self, path: &str, bytes: impl Into<Vec<u8>>) -> Self {
        self.tree.file(&in_record(path), bytes);
        self
    }

    /// The record as it was built.
    pub fn build(self) -> Tree {
        self.tree
    }
}

impl Default for RecordBuilder {
    fn default() -> Self {
        Self::new()
    }
}

/// The path, in the tree of a built record, of a file of its records directory.
pub fn in_record(path: &str) -> String {
    format!("{RECORD_DIR}/{path}")
}

fn line_hashes(lines: Lines, bytes: &[u8]) -> Vec<LineHash> {
    match lines {
        Lines::WholeFile => vec![line_hash(bytes)],
        Lines::Complete => bytes
            .split_inclusive(|&byte| byte == b'\n')
            .filter_map(|line| line.strip_suffix(b"\n"))
            .map(line_hash)
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use mur_seal::{RecordExpectation, Verdict, verify_record};

    use super::*;

    #[test]
    fn a_built_record_is_verified_with_the_hosts_key_alone() {
        let record = RecordBuilder::new()
            .event("{\"event_type\":\"a\"}")
            .unlinked_line("{\"event_type\":\"tor")
            .event("{\"event_type\":\"b\"}")
            .conversation("{\"role\":\"user\"}\n")
            .seal_trace_pointing_at(1)
            .eval("{\"score\":1}\n")
            .completion("{}")
            .build();
        let keys = [host_key().public_key().clone()];
        let expectation =
            RecordExpectation { records_dir: RECORD_DIR, session: Some(SESSION), head: None, keys: &keys };
        let Ok(report) = verify_record(&mut record.record(RECORD_DIR, Some(CONVERSATIONS_DIR)), &expectation);
        let verdicts: Vec<Verdict> = report.streams.iter().map(|stream| stream.verdict).collect();
        assert_eq!(verdicts, [Verdict::Verified; 4], "{report:?}");
    }
}
