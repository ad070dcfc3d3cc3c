//! A trace that is verified while it is written: bytes and seals in, what is known of them out. Nothing is read here.

use std::collections::VecDeque;

use mur_seal::{ChainKind, InlineWalker, KeyId, LineHash, PublicKey, Seal, SealError, Signatures, TRACE_STREAM};
use serde::Serialize;

/// Hashes of lines that are kept for a seal to come, at most: 8 MiB. A running session is sealed long before.
const MOST_KEPT: usize = 1 << 18;

/// How the last line of a session begins. The envelope of every event starts with its type.
const SESSION_END: &[u8] = b"{\"event_type\":\"session_end\"";

/// How far a trace is linked and sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Progress {
    /// Whole lines, each linked to the one before.
    pub(crate) lines: u64,
    /// Of these, the lines that a seal covers.
    pub(crate) sealed_lines: u64,
    /// The key that the seal names.
    pub(crate) key_id: Option<KeyId>,
    /// Whether that key was given, and its signature is good.
    pub(crate) authenticated: bool,
}

/// What no session writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Contradiction {
    /// The line it is about.
    pub(crate) line: Option<u64>,
    /// What it is, as a sentence fragment.
    pub(crate) detail: String,
}

/// What is known of a trace so far.
pub(crate) struct Followed<'a> {
    keys: &'a [PublicKey],
    /// The session that the seals must be of: the caller's, or that of the first seal with a good signature.
    session: Option<String>,
    walker: InlineWalker,
    /// How the line that is being written begins.
    beginning: Vec<u8>,
    /// The hashes of the last lines, the newest last.
    kept: VecDeque<LineHash>,
    sealed_lines: u64,
    key_id: Option<KeyId>,
    authenticated: bool,
    ended: bool,
}

impl<'a> Followed<'a> {
    /// Nothing is known yet.
    pub(crate) fn new(keys: &'a [PublicKey], session: Option<&str>) -> Self {
        Followed {
            keys,
            session: session.map(String::from),
            walker: InlineWalker::new(),
            beginning: Vec::new(),
            kept: VecDeque::new(),
            sealed_lines: 0,
            key_id: None,
            authenticated: false,
            ended: false,
        }
    }

    pub(crate) fn progress(&self) -> Progress {
        Progress {
            lines: self.lines(),
            sealed_lines: self.sealed_lines,
            key_id: self.key_id,
            authenticated: self.authenticated,
        }
    }

    /// Whether the session has written its last event.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Whether a seal covers everything that is there.
    pub(crate) fn is_sealed(&self) -> bool {
        self.key_id.is_some() && self.sealed_lines == self.lines() && self.walker.torn_bytes() == 0
    }

    fn lines(&self) -> u64 {
        self.walker.so_far().state.lines()
    }

    /// Takes the next bytes of the trace.
    pub(crate) fn bytes(&mut self, mut block: &[u8]) -> Option<Contradiction> {
        while let Some(end) = memchr::memchr(b'\n', block) {
            let (line, rest) = block.split_at(end + 1);
            block = rest;
            self.begin(&line[..end]);
            self.walker.update(line);
            self.keep();
        }
        self.begin(block);
        self.walker.update(block);

        let walk = self.walker.so_far();
        if let Some(found) = walk.breaks.first() {
            return Some(Contradiction { line: found.line, detail: found.text.clone() });
        }
        walk.tampered.map(|(line, _)| Contradiction {
            line: Some(line),
            detail: format!("line {line} is the host's own report that it found the file rewritten"),
        })
    }

    /// Keeps as much of a line's beginning as tells its event.
    fn begin(&mut self, bytes: &[u8]) {
        let wanted = SESSION_END.len().saturating_sub(self.beginning.len()).min(bytes.len());
        self.beginning.extend_from_slice(&bytes[..wanted]);
    }

    /// A line is whole.
    fn keep(&mut self) {
        self.ended |= self.beginning == SESSION_END;
        self.beginning.clear();
        if self.kept.len() == MOST_KEPT {
            self.kept.pop_front();
        }
        self.kept.push_back(self.walker.so_far().state.head());
    }

    /// The hash of a line, while it is kept.
    fn hash_of(&self, line: u64) -> Option<LineHash> {
        if line == 0 {
            return Some(LineHash::GENESIS);
        }
        let from_the_end = usize::try_from(self.lines().checked_sub(line)?).ok()?;
        self.kept.get(self.kept.len().checked_sub(from_the_end + 1)?).copied()
    }

    /// Takes the seal as it stood before the last bytes were read: it covers none that are still to come.
    pub(crate) fn seal(&mut self, seal: &Result<Seal, SealError>) -> Option<Contradiction> {
        let seal = match seal {
            Ok(seal) => seal,
            Err(error @ (SealError::Malformed(_) | SealError::ControlCharacter(_))) => {
                return about_seal(error.to_string());
            }
            // A seal of the future: the check at the end says that it cannot be judged.
            Err(SealError::UnknownFormat(_) | SealError::UnknownAlgorithm(_)) => return None,
        };
        let draft = &seal.draft;
        if draft.stream != TRACE_STREAM {
            return about_seal(format!("the seal is that of another stream, `{}`", draft.stream));
        }
        if draft.chain != ChainKind::Inline {
            return about_seal(format!("the seal is that of a chain of another kind, `{}`", draft.chain));
        }
        if let Some(session) = self.session.as_ref().filter(|session| **session != draft.session_id) {
            return about_seal(format!(
                "the seal is that of another session, `{}`, not of `{session}`",
                draft.session_id
            ));
        }
        let (lines, sealed) = (self.lines(), draft.lines);
        if sealed > lines {
            let detail = format!("{sealed} lines were sealed, and {lines} are there: line {} is missing", lines + 1);
            return Some(Contradiction { line: Some(lines + 1), detail });
        }
        if self.authenticated && sealed < self.sealed_lines {
            let before = self.sealed_lines;
            return about_seal(format!(
                "the seal covers {sealed} lines, and one before it covered {before}: an older one was put back"
            ));
        }
        // A line that is not kept any more is left to the check at the end.
        let head = self.hash_of(sealed)?;
        if head != draft.head {
            return Some(Contradiction {
                line: Some(sealed),
                detail: format!("line {sealed} is not the line that was sealed"),
            });
        }
        let key = self.keys.iter().find(|key| key.key_id() == seal.key_id);
        if let Some(key) = key {
            match seal.signatures(key) {
                Signatures::Bad => {
                    return about_seal("the seal's signature is not good under the key it names".into());
                }
                Signatures::OfOtherMembers => {
                    return about_seal("the seal's chain, time or conversation is not what was signed".into());
                }
                Signatures::WithoutMembers | Signatures::Whole => {}
            }
            self.session.get_or_insert_with(|| draft.session_id.clone());
        }
        self.sealed_lines = sealed;
        self.key_id = Some(seal.key_id);
        self.authenticated = key.is_some();
        let needed = usize::try_from(lines - sealed).unwrap_or(usize::MAX).saturating_add(1);
        self.kept.drain(..self.kept.len().saturating_sub(needed));
        None
    }
}

fn about_seal(detail: String) -> Option<Contradiction> {
    Some(Contradiction { line: None, detail })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use mur_testdata::{OTHER_SESSION, RecordBuilder, SESSION, host_key, other_key, script_events};

    use super::*;

    fn keys() -> Vec<PublicKey> {
        vec![host_key().public_key().clone()]
    }

    fn script() -> RecordBuilder {
        RecordBuilder::new().events(&script_events())
    }

    /// The seal of these lines.
    fn seal_of(record: &RecordBuilder) -> Result<Seal, SealError> {
        Ok(record.sign(record.trace_draft()))
    }

    #[test]
    fn lines_and_seals_are_taken_as_they_come_however_the_bytes_are_cut() {
        let keys = keys();
        let record = script();
        for cut in [1, 7, 100_000] {
            let mut followed = Followed::new(&keys, None);
            for block in record.trace().chunks(cut) {
                assert_eq!(followed.bytes(block), None);
            }
            assert!(followed.has_ended() && !followed.is_sealed());
            assert_eq!(followed.seal(&seal_of(&record)), None);
            let key_id = Some(host_key().key_id());
            assert_eq!(followed.progress(), Progress { lines: 5, sealed_lines: 5, key_id, authenticated: true });
            assert!(followed.is_sealed());
        }
    }

    #[test]
    fn a_seal_of_lines_before_the_last_is_held_against_those_lines() {
        let keys = keys();
        let (whole, half) = (script(), RecordBuilder::new().events(&script_events()[..3]));
        let mut followed = Followed::new(&keys, None);
        followed.bytes(whole.trace());
        assert_eq!(followed.seal(&seal_of(&half)), None);
        assert_eq!((followed.progress().lines, followed.progress().sealed_lines), (5, 3));
        assert_eq!(followed.kept.len(), 3, "the sealed line and those after it");

        let other = RecordBuilder::new().event("{\"event_type\":\"x\"}").events(&script_events()[..3]);
        let found = followed.seal(&seal_of(&other)).unwrap();
        assert_eq!((found.line, found.detail.as_str()), (Some(4), "line 4 is not the line that was sealed"));
    }

    #[test]
    fn an_edited_line_is_found_once_the_next_line_is_there() {
        let keys = keys();
        let text = String::from_utf8(script().trace().to_vec()).unwrap().replacen("word-count", "word_count", 1);
        let mut followed = Followed::new(&keys, None);
        assert!(followed.bytes(text.as_bytes()).is_some_and(|found| found.line.is_some()));
    }

    /// What is done to a seal.
    type Change = fn(&mut Seal);

    #[test]
    fn a_seal_that_does_not_fit_contradicts() {
        let keys = keys();
        let cases: [(&str, Change); 6] = [
            ("another stream", |seal| seal.draft.stream = "hooks/eval.jsonl".into()),
            ("another kind", |seal| seal.draft.chain = ChainKind::Listed),
            ("another session", |seal| seal.draft.session_id = OTHER_SESSION.into()),
            ("line 6 is missing", |seal| seal.draft.lines = 6),
            ("signature is not good", |seal| seal.signature[0] ^= 1),
            ("not what was signed", |seal| seal.draft.sealed_at += 1),
        ];
        for (expected, change) in cases {
            let mut followed = Followed::new(&keys, Some(SESSION));
            followed.bytes(script().trace());
            let mut seal = seal_of(&script()).unwrap();
            change(&mut seal);
            let found = followed.seal(&Ok(seal)).unwrap();
            assert!(found.detail.contains(expected), "{found:?}");
        }
    }

    #[test]
    fn an_older_seal_that_is_put_back_contradicts() {
        let keys = keys();
        let mut followed = Followed::new(&keys, None);
        followed.bytes(script().trace());
        assert_eq!(followed.seal(&seal_of(&script())), None);
        let older = seal_of(&RecordBuilder::new().events(&script_events()[..3]));
        assert!(followed.seal(&older).unwrap().detail.contains("an older one was put back"));
    }

    #[test]
    fn of_a_trace_that_nobody_seals_no_more_is_kept_than_a_session_needs() {
        let keys = keys();
        let mut followed = Followed::new(&keys, None);
        followed.bytes(script().trace());
        assert_eq!(followed.bytes(&vec![b'\n'; MOST_KEPT + 10]), None);
        assert_eq!(followed.kept.len(), MOST_KEPT);
        // A seal of lines that are not kept any more neither contradicts nor covers anything.
        let progress = followed.progress();
        assert_eq!((followed.seal(&seal_of(&script())), followed.progress()), (None, progress));
    }

    #[test]
    fn a_seal_by_an_unknown_key_is_told_and_not_trusted() {
        let keys = keys();
        let record = script().sealing_with(other_key());
        let mut followed = Followed::new(&keys, None);
        followed.bytes(record.trace());
        assert_eq!(followed.seal(&seal_of(&record)), None);
        let key_id = Some(other_key().key_id());
        assert_eq!(followed.progress(), Progress { lines: 5, sealed_lines: 5, key_id, authenticated: false });
    }
}
