//! What a check established, what it left open for want of something, and what no check of the record alone can tell.
//!
//! A verdict is one word. These lists are what an auditor may repeat of it, and what would have to be asked elsewhere.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::finding::Code;
use crate::record::{CONVERSATION_STREAM_PREFIX, RecordExpectation, TRACE_STREAM};
use crate::report::{Question, Statement, StreamReport};
use crate::verdict::Verdict;

#[derive(Default)]
pub(crate) struct Knowledge {
    pub(crate) checked: Vec<Statement>,
    pub(crate) not_checked: Vec<Question>,
    pub(crate) cannot_be_known: Vec<Question>,
}

impl Knowledge {
    pub(crate) fn of(streams: &[StreamReport], expectation: &RecordExpectation<'_>) -> Self {
        let mut known = Knowledge::default();
        for stream in streams {
            known.stream(stream, expectation);
        }
        let exists = streams.iter().any(|stream| stream.verdict != Verdict::Absent);
        if exists {
            known.record(streams, expectation);
        }
        known.cannot_be_known.push(question(
            "record-missing",
            None,
            "that no whole record is missing",
            "a list of the host's sessions that was kept elsewhere",
        ));
        known
    }

    fn record(&mut self, streams: &[StreamReport], expectation: &RecordExpectation<'_>) {
        if expectation.session.is_none() {
            self.not_checked.push(question(
                "session-meant",
                None,
                "that this is the record of the session that you mean: which one it is was read from the record",
                "the session's id (`--session`)",
            ));
        }
        self.cannot_be_known.push(question(
            "truth",
            None,
            "that what the host wrote is what happened",
            "trust in the host, and that nobody else has its private key",
        ));
        if streams.iter().any(|stream| stream.sealed_at.is_some()) {
            self.cannot_be_known.push(question(
                "time",
                None,
                "that the times in the seals are right: they are those of the host's clock",
                "a time that was noted elsewhere",
            ));
        }
    }

    fn stream(&mut self, report: &StreamReport, expectation: &RecordExpectation<'_>) {
        let name = report.stream.as_str();
        let has = |code| report.findings.iter().any(|found| found.code == code);
        let is_conversation = name.starts_with(CONVERSATION_STREAM_PREFIX);
        if report.verdict == Verdict::Absent {
            if is_conversation {
                self.not_checked.push(question(
                    "conversation",
                    Some(name),
                    "the conversation that the trace's seal names",
                    "the directory that holds it (`--conversations`)",
                ));
            } else {
                self.cannot_be_known.push(question(
                    "stream-removed",
                    Some(name),
                    "that there never was such a stream: it may have been removed together with its seal",
                    "a note of which streams the session had",
                ));
            }
            return;
        }

        let unbound =
            report.findings.iter().find(|found| found.code == Code::LinesUnbound).and_then(|found| found.line);
        let bound_from = unbound.unwrap_or(0) + 1;
        if let Some(last) = unbound {
            self.cannot_be_known.push(Question {
                code: "lines-unbound".into(),
                stream: Some(name.into()),
                text: format!("what {} held: neither a link nor a seal binds them", lines_text(1, last)),
                needs: "a copy of them that was kept elsewhere".into(),
            });
        }
        if has(Code::MembersUnsigned) {
            self.not_checked.push(question(
                "members-unsigned",
                Some(name),
                "when it was sealed, and whether its seal named a conversation: nothing signs these members",
                "a seal with a `members_signature`, which the host's own program always makes",
            ));
        }

        let no_key = has(Code::NoKey) || has(Code::KeyUnknown);
        let seal_is_good = report.key_id.is_some()
            && !no_key
            && !has(Code::SignatureBad)
            && !has(Code::SealOfOtherStream)
            && !has(Code::SealOfOtherChain)
            && !has(Code::SealOfOtherSession);
        if let (Some(lines), None) = (report.chain_intact_through.filter(|lines| *lines > 0), report.first_bad_line)
            && name == TRACE_STREAM
        {
            let text = format!("{} follow one another by their links", lines_text(bound_from, lines));
            self.checked.push(statement("lines-linked", name, text));
        }
        if let (true, Some(key)) = (seal_is_good, report.key_id) {
            self.checked.push(statement("seal-signed", name, format!("its seal was signed with key {key}")));
            if report.first_bad_line.is_none() && report.verdict != Verdict::Changed {
                let lines = report.sealed_lines.unwrap_or(0);
                let all = if bound_from == 1 { " and from the first" } else { "" };
                let text = format!("{} are those that were sealed, in their order{all}", lines_text(bound_from, lines));
                self.checked.push(statement("lines-sealed", name, text));
            }
            if !is_conversation && expectation.session.is_some() {
                self.checked.push(statement("session-fits", name, "it was sealed for the session named".into()));
            }
        }
        if no_key {
            let key = report.key_id.map(|key| format!("{key}")).unwrap_or_default();
            self.not_checked.push(Question {
                code: "signature".into(),
                stream: Some(name.into()),
                text: "the signature of its seal".into(),
                needs: format!("the public key {key}, from the host that has it (`--key`)"),
            });
        }
        if has(Code::LinesNotSealed) || has(Code::TailNotSealed) || has(Code::NoSeal) {
            self.not_checked.push(question(
                "lines-unsealed",
                Some(name),
                "that what no seal covers is what the host wrote, and all that it wrote",
                "a seal over it, which only the host can make",
            ));
        }
        let noted = expectation.head.is_some() && name == TRACE_STREAM;
        if noted && !has(Code::HeadNotAsTold) {
            self.checked.push(statement("head-as-noted", name, "its sealed head is the one that was noted".into()));
        } else if !noted && report.sealed_lines.is_some() {
            self.cannot_be_known.push(question(
                "older-pair",
                Some(name),
                "that it is the last one, and not an older one put back together with its older seal",
                if name == TRACE_STREAM {
                    "the head as it was noted elsewhere when the session ended (`--head`)"
                } else {
                    "its number of lines, or its seal, as noted elsewhere when the session ended"
                },
            ));
        }
    }
}

fn lines_text(first: u64, last: u64) -> String {
    match last {
        _ if last < first => "no lines".into(),
        _ if last == first => format!("line {last}"),
        _ => format!("lines {first}..={last}"),
    }
}

fn statement(code: &str, stream: &str, text: String) -> Statement {
    Statement { code: code.into(), stream: Some(stream.into()), text }
}

fn question(code: &str, stream: Option<&str>, text: &str, needs: &str) -> Question {
    Question { code: code.into(), stream: stream.map(String::from), text: text.into(), needs: needs.into() }
}
