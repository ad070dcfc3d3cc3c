//! What holds for every report on a stream.

use mur_seal::{Code, Lines, MAX_FINDINGS, Seal, StreamReport, Verdict};

use crate::input::{keys, lines};

/// Checks a report against itself and against the stream it is about. `counted`: `None` for an inline chain.
pub(crate) fn holds(report: &StreamReport, counted: Option<Lines>, seal: Option<&[u8]>, stream: &[u8]) {
    decides(report);
    points_at_lines(report, counted, stream);
    if report.verdict == Verdict::Verified {
        is_verified(report, counted, seal, stream);
    }
    let json = serde_json::to_string(report).unwrap_or_else(|error| panic!("{error}"));
    let read: StreamReport = serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}: {json}"));
    assert_eq!(&read, report);
}

pub(crate) fn has(report: &StreamReport, code: Code) -> bool {
    report.findings.iter().any(|finding| finding.code == code)
}

/// The first finding decides the verdict and no other one is worse.
fn decides(report: &StreamReport) {
    let of = |finding: &mur_seal::Finding| finding.code.verdict().unwrap_or(Verdict::Verified);
    let first = report.findings.first().map_or(Verdict::Verified, of);
    assert_eq!(first, report.verdict, "{report:?}");
    assert_eq!(mur_seal::worst(report.findings.iter().map(of).chain([first])), report.verdict, "{report:?}");
    assert!(report.findings.len() <= MAX_FINDINGS, "{report:?}");
    assert!(report.more_findings == 0 || report.findings.len() == MAX_FINDINGS, "{report:?}");
    assert!(report.first_bad_line.is_none() || report.verdict == Verdict::Changed, "{report:?}");
    assert!(report.chain_intact_through <= Some(report.lines), "{report:?}");
}

/// Where a finding says that a line begins, one does.
fn points_at_lines(report: &StreamReport, counted: Option<Lines>, stream: &[u8]) {
    let (lines, _) = lines(stream);
    let starts: Vec<u64> = lines
        .iter()
        .scan(0, |next, line| Some(std::mem::replace(next, *next + line.len() as u64 + 1)))
        .chain([lines.iter().map(|line| line.len() as u64 + 1).sum()])
        .collect();
    match counted {
        None | Some(Lines::Complete) => assert_eq!(report.lines, lines.len() as u64, "{report:?}"),
        Some(Lines::WholeFile) => assert_eq!(report.lines, 1, "{report:?}"),
    }
    for finding in &report.findings {
        let Some(line) = finding.line else { continue };
        assert!(line >= 1, "{finding:?}");
        if let Some(offset) = finding.offset {
            let start = usize::try_from(line - 1).ok().and_then(|index| starts.get(index));
            assert_eq!(start, Some(&offset), "{finding:?}");
        }
        assert!(finding.expected.is_none() || finding.expected != finding.found, "{finding:?}");
    }
}

/// A verified stream has a seal that covers every line, is signed by the key, and says what a careful reader would say.
fn is_verified(report: &StreamReport, counted: Option<Lines>, seal: Option<&[u8]>, stream: &[u8]) {
    let seal = seal.and_then(|seal| Seal::parse(seal).ok()).unwrap_or_else(|| panic!("verified without a seal"));
    let message = mur_seal::signed_message(&report.stream, &seal.draft.session_id, seal.draft.lines, &seal.draft.head);
    let signed = |message: &str, signature: &[u8; 64]| {
        keys().iter().any(|key| key.key_id() == seal.key_id && key.verifies(message.as_bytes(), &hex(signature)))
    };
    assert!(signed(&message, &seal.signature), "verified without a signature");
    match seal.members_signature {
        Some(signature) => {
            assert!(signed(&mur_seal::members_message(&seal.signature, &seal.draft), &signature), "other members");
        }
        None => assert!(has(report, Code::MembersUnsigned), "{report:?}"),
    }
    assert_eq!(Some(report.lines), report.sealed_lines);
    let (lines, torn) = lines(stream);
    let whole = counted == Some(Lines::WholeFile);
    assert!(whole || torn.is_empty(), "verified with a torn line");
    let hashes: Vec<_> = if whole {
        vec![mur_seal::line_hash(stream)]
    } else {
        lines.iter().map(|line| mur_seal::line_hash(line)).collect()
    };
    match counted {
        None => assert_eq!(seal.draft.head, hashes.last().copied().unwrap_or(mur_seal::LineHash::GENESIS)),
        Some(_) => {
            assert_eq!(seal.draft.line_hashes.as_deref(), Some(hashes.as_slice()));
            assert_eq!(seal.draft.head, mur_seal::listed_head(&hashes));
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
