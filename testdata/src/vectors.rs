//! The test vectors of the format, for other implementations: every value beside what it is computed from.

use mur_seal::{LineHash, Lines, SEAL_FORMAT, Seal, TRACE_STREAM, line_hash, listed_head, members_message};
use serde::Serialize;

use crate::fixed::{HOST_SEED, OTHER_SEED, host_key, other_key};
use crate::record::RecordBuilder;

/// The vectors, as the file `vectors/murmur-seal-1.json` holds them.
#[derive(Debug, Serialize)]
pub(crate) struct Vectors {
    format: &'static str,
    keys: Vec<KeyVector>,
    inline: InlineVector,
    gap: GapVector,
    listed: ListedVector,
}

#[derive(Debug, Serialize)]
struct KeyVector {
    seed: String,
    public: String,
    key_id: String,
}

/// Two events, their chain, and its seal by the first key.
#[derive(Debug, Serialize)]
struct InlineVector {
    events: Vec<&'static str>,
    lines: Vec<LineVector>,
    head: LineHash,
    seal: SealVector,
}

#[derive(Debug, Serialize)]
struct LineVector {
    line: String,
    hash: LineHash,
}

#[derive(Debug, Serialize)]
struct SealVector {
    stream: String,
    session_id: String,
    lines: u64,
    message: String,
    message_bytes: usize,
    message_sha256: String,
    signature: String,
    members_message: String,
    members_signature: Option<String>,
    file: String,
}

/// A line without a link between two that have one: the second carries `gap_hash`, the listed head of the two before it.
#[derive(Debug, Serialize)]
struct GapVector {
    lines: Vec<LineVector>,
    gap_hash: LineHash,
}

#[derive(Debug, Serialize)]
struct ListedVector {
    lines: Vec<LineVector>,
    head: LineHash,
    head_of_no_lines: LineHash,
}

impl Vectors {
    /// Computes them all.
    pub(crate) fn compute() -> Self {
        let keys = [(HOST_SEED, host_key()), (OTHER_SEED, other_key())].map(|(seed, key)| KeyVector {
            seed: hex(&seed),
            public: key.public_key().to_hex(),
            key_id: key.key_id().to_string(),
        });
        Vectors { format: SEAL_FORMAT, keys: keys.into(), inline: inline(), gap: gap(), listed: listed() }
    }
}

fn inline() -> InlineVector {
    let events = vec!["{\"event\":\"a\"}", "{\"event\":\"b\"}"];
    let record = events.iter().fold(RecordBuilder::new().sealing_for("ses_1"), |record, event| record.event(event));
    let seal = record.sign(record.trace_draft());
    InlineVector { lines: lines_of(record.trace()), head: record.head(), seal: seal_vector(&seal), events }
}

fn seal_vector(seal: &Seal) -> SealVector {
    let message = seal.draft.signed_message();
    SealVector {
        stream: seal.draft.stream.clone(),
        session_id: seal.draft.session_id.clone(),
        lines: seal.draft.lines,
        message_bytes: message.len(),
        // A line hash is the SHA-256 of any bytes, after its prefix.
        message_sha256: line_hash(message.as_bytes()).to_string().replace("sha256:", ""),
        message,
        signature: hex(&seal.signature),
        members_message: members_message(&seal.signature, &seal.draft),
        members_signature: seal.members_signature.map(|signature| hex(&signature)),
        file: seal.to_file(),
    }
}

fn gap() -> GapVector {
    let record = RecordBuilder::new().event("{\"event\":\"a\"}").unlinked_line("{\"event\":\"to");
    let gap_hash = record.gap_hash().unwrap_or(LineHash::GENESIS);
    GapVector { lines: lines_of(record.event("{\"event\":\"b\"}").trace()), gap_hash }
}

fn listed() -> ListedVector {
    let bytes = b"{\"x\":1}\n{\"x\":2}\n";
    let draft = RecordBuilder::new().listed_draft(TRACE_STREAM, Lines::Complete, bytes);
    ListedVector { lines: lines_of(bytes), head: draft.head, head_of_no_lines: listed_head([]) }
}

fn lines_of(bytes: &[u8]) -> Vec<LineVector> {
    let text = String::from_utf8_lossy(bytes);
    text.lines().map(|line| LineVector { line: line.into(), hash: line_hash(line.as_bytes()) }).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What stands in the specification, section 11, compared value by value.
#[cfg(test)]
mod tests {
    use mur_seal::{GENESIS, PublicKey, signed_message};

    use super::*;

    const FIRST: &str = "sha256:e92ba518eeb761e5e7ee3ce4c9296c39156640e1f13f5fdf3e88ae74ed15bd62";
    const HEAD: &str = "sha256:426a852b744cca04ddd68aabab34946e2d92d14ab104bcb28e2b79e91fd302b4";
    const PUBLIC: &str = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
    const SIGNATURE: &str = "f0e10d6f06132b883edf684a14ac11e9f249599879c0d20f4e7cfea835aeb688c643745381db22f4c5dc469a3f4aa52e99d9c5faa38ea4a6faaf705e6e798800";

    #[test]
    fn the_key_pair_is_that_of_the_specification() {
        let keys = Vectors::compute().keys;
        assert_eq!(keys[0].seed, "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
        assert_eq!(keys[0].public, PUBLIC);
        assert_eq!(keys[0].key_id, "21fe31dfa154a261");
    }

    #[test]
    fn the_chain_is_that_of_the_specification() {
        let inline = inline();
        assert_eq!(GENESIS, "sha256:0000000000000000000000000000000000000000000000000000000000000000");
        assert_eq!(inline.lines[0].line, format!("{{\"event\":\"a\",\"prev_hash\":\"{GENESIS}\"}}"));
        assert_eq!(inline.lines[0].hash.to_string(), FIRST);
        assert_eq!(inline.lines[1].line, format!("{{\"event\":\"b\",\"prev_hash\":\"{FIRST}\"}}"));
        assert_eq!(inline.lines[1].hash.to_string(), HEAD);
        assert_eq!(inline.head.to_string(), HEAD);
    }

    #[test]
    fn the_signature_is_that_of_the_specification() {
        let seal = inline().seal;
        assert_eq!(seal.message, format!("murmur.seal/1\ntrace.jsonl\nses_1\n2\n{HEAD}\n"));
        assert_eq!(seal.message_bytes, 106);
        assert_eq!(seal.message_sha256, "23ad5ff2aea7424f9f90a53461679d3eb8c863c20b7c009c11e6440eb0b99a3d");
        assert_eq!(seal.signature, SIGNATURE);
    }

    #[test]
    fn the_signature_of_the_specification_is_good_under_its_key_and_no_other_message() {
        let Ok(key) = PublicKey::from_hex(PUBLIC) else { panic!("{PUBLIC}") };
        let Ok(head) = HEAD.parse() else { panic!("{HEAD}") };
        assert!(key.verifies(signed_message("trace.jsonl", "ses_1", 2, &head).as_bytes(), SIGNATURE));
        assert!(!key.verifies(signed_message("trace.jsonl", "ses_1", 3, &head).as_bytes(), SIGNATURE));
        assert!(!key.verifies(signed_message("trace.jsonl", "ses_2", 2, &head).as_bytes(), SIGNATURE));
    }

    #[test]
    fn the_listed_head_is_that_of_the_specification() {
        let listed = listed();
        let lines = listed.lines.iter().map(|line| line.line.as_str()).collect::<Vec<_>>();
        assert_eq!(lines, ["{\"x\":1}", "{\"x\":2}"]);
        assert_eq!(
            listed.lines[0].hash.to_string(),
            "sha256:5041bf1f713df204784353e82f6a4a535931cb64f1f4b4a5aeaffcb720918b22"
        );
        assert_eq!(
            listed.lines[1].hash.to_string(),
            "sha256:5e2b030a4a0f1582d78c0fd9924511cd6b1f2df9879e574f5ea1406c94052418"
        );
        assert_eq!(listed.head.to_string(), "sha256:14334da5b7e19bb08fd911264935aac57d5014aac5df2bfc8a1ede64e910bbf6");
    }

    #[test]
    fn a_gap_is_bound_by_the_listed_head_of_the_lines_before() {
        let gap = gap();
        assert_eq!(gap.gap_hash, listed_head([&gap.lines[0].hash, &gap.lines[1].hash]));
        let ending = format!(",\"gap_hash\":\"{}\",\"prev_hash\":\"{}\"}}", gap.gap_hash, gap.lines[1].hash);
        assert!(gap.lines[2].line.ends_with(&ending), "{}", gap.lines[2].line);
    }
}
