//! Rows about how a seal is written down: cut, spelled otherwise, with something around it.

use mur_seal::Verdict;

use super::cell::{Cell, Cells};
use super::material::UNTOUCHED;
use super::members::{members, with_seal_text};
use super::{Row, Subject, Variant};

use Subject::{Completion, Eval, Trace};

const CHANGED: Cell = Cell::Reads(Verdict::Changed);

pub(super) fn rows() -> Vec<Row> {
    let everywhere = |about, apply, cell: Cell| {
        let cells: Cells = [cell; 5];
        Row::new(about, apply).on(&[Trace, Eval, Completion], cells)
    };
    let changed = |about, apply| everywhere(about, apply, CHANGED).conversation(CHANGED);
    // The text of a seal is not signed: what its members say is.
    let as_before =
        |about, apply| everywhere(about, apply, Cell::AsBefore).on(&[Subject::Conversation], [Cell::AsBefore; 5]);
    vec![
        as_before("white space put in, or the last newline taken away", white_space),
        as_before("names and texts written with escapes", escapes),
        changed("a number or a hash written otherwise", numbers),
        changed("cut anywhere", cut),
        changed("something put before it, or behind it", surrounded),
        changed("an array of its values in its place", array),
        changed("a text that is not UTF-8", not_utf8),
    ]
}

fn text(subject: Subject) -> String {
    String::from_utf8_lossy(UNTOUCHED.bytes(&subject.seal_path())).into_owned()
}

fn white_space(subject: Subject) -> Vec<Variant> {
    let text = text(subject);
    let spellings = [
        ("no newline", text.trim_end().to_owned()),
        ("CR LF", text.replace('\n', "\r\n")),
        ("a line a member", text.replace(',', ",\n\t").replace(':', ": ").replace("sha256: ", "sha256:")),
        ("blank lines around", format!("\n \t{text}\n\n")),
    ];
    // A conversation's name has a colon, which is none of JSON's.
    spellings.map(|(what, text)| with_seal_text(subject, what, text.replace("conversation: ", "conversation:"))).into()
}

fn escapes(subject: Subject) -> Vec<Variant> {
    let escaped = |text: &str| text.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect::<String>();
    let text = text(subject);
    let names: Vec<String> = members(subject).into_iter().map(|(name, _)| name).collect();
    let with_names = names
        .iter()
        .fold(text.clone(), |text, name| text.replacen(&format!("\"{name}\":"), &format!("\"{}\":", escaped(name)), 1));
    let with_texts =
        members(subject).iter().filter(|(_, value)| value.starts_with('"')).fold(text.clone(), |text, (_, value)| {
            text.replacen(value.as_str(), &format!("\"{}\"", escaped(value.trim_matches('"'))), 1)
        });
    let with_solidus = text.replace('/', "\\/");
    vec![
        with_seal_text(subject, "names", with_names),
        with_seal_text(subject, "texts", with_texts),
        with_seal_text(subject, "solidus", with_solidus),
    ]
}

fn numbers(subject: Subject) -> Vec<Variant> {
    let text = text(subject);
    let known = members(subject);
    let value = |wanted: &str| {
        let member = known.iter().find(|(name, _)| name == wanted);
        member.map(|(_, value)| value.clone()).unwrap_or_else(|| panic!("no member {wanted}"))
    };
    let lines = value("lines");
    let mut spellings: Vec<String> =
        [format!("{lines}.0"), format!("{lines}e0"), format!("+{lines}"), format!("0{lines}")]
            .iter()
            .map(|other| text.replacen(&format!("\"lines\":{lines},"), &format!("\"lines\":{other},"), 1))
            .collect();
    let head = value("head");
    let signature = value("signature");
    let upper = |value: &str| value.to_uppercase().replace("SHA256:", "sha256:");
    spellings.extend([
        text.replace(&format!("\"head\":{head}"), &format!("\"head\":{}", upper(&head))),
        text.replace(&signature, &upper(&signature)),
        text.replace(&format!("\"head\":{head}"), &format!("\"head\":{}", head.replace("sha256:", ""))),
    ]);
    spellings
        .into_iter()
        .zip(1..)
        .map(|(text, number)| with_seal_text(subject, format!("spelling {number}"), text))
        .collect()
}

/// At every byte but the newline, which is white space.
fn cut(subject: Subject) -> Vec<Variant> {
    let text = text(subject);
    let kept = 0..text.trim_end().len();
    kept.map(|len| with_seal_text(subject, format!("{len} bytes kept"), &text[..len])).collect()
}

fn surrounded(subject: Subject) -> Vec<Variant> {
    let text = text(subject);
    [
        ("a byte order mark", format!("\u{feff}{text}")),
        ("itself again", format!("{text}{text}")),
        ("a text", format!("{text}x")),
        ("a zero byte", format!("{text}\0")),
        ("a comment", format!("// a seal\n{text}")),
    ]
    .map(|(what, text)| with_seal_text(subject, what, text))
    .into()
}

fn array(subject: Subject) -> Vec<Variant> {
    let values: Vec<String> = members(subject).into_iter().map(|(_, value)| value).collect();
    vec![with_seal_text(subject, "as it is", format!("[{}]\n", values.join(",")))]
}

fn not_utf8(subject: Subject) -> Vec<Variant> {
    let text = text(subject);
    let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let stray = text.replacen("ed25519", "ed25519\u{80}", 1).into_bytes();
    let stray = stray.into_iter().filter(|byte| *byte != 0xc2).collect::<Vec<u8>>();
    // Nothing asks for what an unknown member holds.
    let mut unasked = text.trim_end().trim_end_matches('}').as_bytes().to_vec();
    unasked.extend_from_slice(b",\"unknown\":\"\xba\"}\n");
    vec![
        with_seal_text(subject, "UTF-16", utf16),
        with_seal_text(subject, "a stray byte", stray),
        with_seal_text(subject, "a stray byte in a member that is not known", unasked),
    ]
}
