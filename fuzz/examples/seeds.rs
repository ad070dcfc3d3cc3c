//! Writes the first inputs of every target, made of the records in `testdata`, to `corpus/<target>`.
//!
//! Run it when a target reads its input in another way. Inputs that a fuzzer finds worth keeping are added beside them.

use std::path::{Path, PathBuf};

use mur_testdata::{RECORD_DIR, Tree, case, conversation_path, host_key, in_record, other_key};

fn main() -> std::io::Result<()> {
    let every_stream = case("golden/every-stream").tree();
    let torn = case("golden/continued-after-a-crash").tree();
    streams(&every_stream, &torn)?;
    records(&every_stream)?;
    seals(&every_stream)?;
    keys(&every_stream)
}

fn write(target: &str, name: &str, parts: &[&[u8]]) -> std::io::Result<()> {
    let directory: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    std::fs::create_dir_all(&directory)?;
    std::fs::write(directory.join(name), parts.concat())
}

fn seal_beside(tree: &Tree, path: &str) -> Vec<u8> {
    tree.bytes(&format!("{path}.seal")).to_vec()
}

/// Flags: 1 to have it sealed by the target, 2 for a completion, or for a chain of its lines.
fn streams(every_stream: &Tree, torn: &Tree) -> std::io::Result<()> {
    let trace = in_record("trace.jsonl");
    for (name, tree) in [("genuine", every_stream), ("torn", torn)] {
        let (bytes, seal) = (tree.bytes(&trace), seal_beside(tree, &trace));
        write("verify_inline", name, &[b"\0\x3f", &seal, b"\0", bytes])?;
        write("verify_inline", &format!("{name}-to-be-sealed"), &[b"\x01\x06", bytes])?;
        write("verify_inline", &format!("{name}-without-seal"), &[b"\0\xff", bytes])?;
    }
    let cases = ["relinked", "front-cut", "line-ends-rewritten", "host-reported-tampering"];
    for name in cases {
        let tree = case(&format!("cases/{name}")).tree();
        write("verify_inline", name, &[b"\0\x10", &seal_beside(&tree, &trace), b"\0", tree.bytes(&trace)])?;
    }
    write("verify_inline", "empty-to-be-sealed", &[b"\x01\0\0"])?;

    let listed = [("scores", in_record("hooks/eval.jsonl"), 0), ("completion", in_record("completion.json"), 2)];
    for (name, path, flags) in listed {
        let (bytes, seal) = (every_stream.bytes(&path), seal_beside(every_stream, &path));
        write("verify_listed", name, &[&[flags, 0x3f], &seal, b"\0", bytes])?;
        write("verify_listed", &format!("{name}-cut"), &[&[flags, 0x3f], &seal, b"\0", &bytes[..bytes.len() / 2]])?;
        write("verify_listed", &format!("{name}-to-be-sealed"), &[&[flags | 1, 3], bytes])?;
        write("verify_listed", &format!("{name}-torn-to-be-sealed"), &[&[flags | 1, 3], &bytes[..bytes.len() - 1]])?;
    }
    write("verify_listed", "crlf-to-be-sealed", &[b"\x01\0a\r\nb\r\n"])?;
    write("verify_listed", "empty-to-be-sealed", &[b"\x01\0\0"])?;

    let (bytes, seal) =
        (every_stream.bytes(&in_record("hooks/eval.jsonl")), seal_beside(every_stream, &in_record("hooks/eval.jsonl")));
    write("parallel", "listed", &[b"\0\x03", &seal, b"\0", bytes])?;
    write("parallel", "listed-to-be-sealed", &[b"\x01\x01", bytes])?;
    write("parallel", "one-line", &[b"\x01\x02no newline"])?;
    write("parallel", "chain", &[b"\x03\x02", bytes])?;
    write("parallel", "chain-changed", &[b"\x02\x80a\nbb\n\nccc"])?;
    write("parallel", "chain-changed-early", &[b"\x02\x01a"])
}

fn records(every_stream: &Tree) -> std::io::Result<()> {
    let streams =
        [in_record("trace.jsonl"), in_record("hooks/eval.jsonl"), in_record("completion.json"), conversation_path()];
    let files: Vec<Vec<u8>> =
        streams.iter().flat_map(|path| [every_stream.bytes(path).to_vec(), seal_beside(every_stream, path)]).collect();
    let files: Vec<u8> = files.join(&0);
    // Flags from the lowest: session, head, no key, conversations, small blocks, a directory; then the files that are missing, and those that are directories.
    let kinds: [(&str, [u8; 3]); 8] = [
        ("genuine", [0b11_1001, 0, 0]),
        ("no-session", [0b1000, 0, 0]),
        ("no-key", [0b01_1100, 0, 0]),
        ("another-head", [0b1011, 0, 0]),
        ("no-conversations", [0, 0, 0]),
        ("no-trace", [0, 0b11, 0]),
        ("no-seals", [0b10_1000, 0b1010_1010, 0]),
        ("directories", [0b11_1001, 0b100, 0b1100_0010]),
    ];
    for (name, head) in kinds {
        write("record", name, &[&head, &files])?;
    }
    for name in ["session-named-by-the-caller-is-another", "conversation-truncated", "older-record-with-scores"] {
        let tree = case(&format!("cases/{name}")).tree();
        let bytes = |path: &String| tree.get(path).map(|_| tree.bytes(path).to_vec()).unwrap_or_default();
        let files: Vec<Vec<u8>> =
            streams.iter().flat_map(|path| [bytes(path), bytes(&format!("{path}.seal"))]).collect();
        let missing =
            files.iter().enumerate().filter(|(_, file)| file.is_empty()).fold(0, |mask, (at, _)| mask | 1 << at);
        write("record", name, &[&[0b11_1000, missing, 0], &files.join(&0)])?;
    }
    Ok(())
}

fn seals(every_stream: &Tree) -> std::io::Result<()> {
    for (name, path) in [("inline", "trace.jsonl"), ("listed", "hooks/eval.jsonl"), ("whole", "completion.json")] {
        write("seal_parse", name, &[&seal_beside(every_stream, &in_record(path))])?;
    }
    let seal = seal_beside(every_stream, &in_record("trace.jsonl"));
    let text = String::from_utf8_lossy(&seal).into_owned();
    for (name, text) in [
        ("spaced", text.replace(',', " ,\n ")),
        ("escaped", text.replace("trace", "\\u0074race").replace('/', "\\/")),
        ("future", text.replace("seal/1", "seal/2")),
        ("null", text.replace("\"members_signature\":\"", "\"members_signature\":null,\"x\":\"")),
        ("doubled", text.replace("\"lines\":5", "\"lines\":5,\"lines\":5")),
        ("array", text.replace('{', "[").replace('}', "]").replace(':', ",")),
    ] {
        write("seal_parse", name, &[text.as_bytes()])?;
    }
    Ok(())
}

fn keys(every_stream: &Tree) -> std::io::Result<()> {
    let host = host_key();
    let hex = host.public_key().to_hex();
    write("keys", "text", &[hex.as_bytes(), b"\n"])?;
    write("keys", "upper-case", &[hex.to_uppercase().as_bytes()])?;
    write("keys", "pem", &[b"-----BEGIN PUBLIC KEY-----\n"])?;
    write("keys", "ssh", &[b"ssh-ed25519 AAAA host"])?;
    write("keys", "short", &[&hex.as_bytes()[1..]])?;
    let seal = mur_seal::Seal::parse(&seal_beside(every_stream, &in_record("trace.jsonl"))).expect("a genuine seal");
    let raw = |hex: &str| -> Vec<u8> {
        (0..32).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap_or_default()).collect()
    };
    let message = seal.draft.signed_message();
    write("keys", "genuine", &[&raw(&hex), &seal.signature, message.as_bytes()])?;
    write("keys", "another", &[&raw(&other_key().public_key().to_hex()), &seal.signature, message.as_bytes()])?;
    write("keys", "seed", &[&mur_testdata::HOST_SEED, &[0; 64], RECORD_DIR.as_bytes()])?;
    let identity: Vec<u8> = std::iter::once(1).chain([0; 31]).collect();
    write("keys", "identity", &[&identity, &identity, &[0; 32], b"m"])
}
