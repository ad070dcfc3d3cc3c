//! Rows about the lines of a stream: its bytes are changed, and its seal is left as it is.

use mur_seal::{Verdict, line_hash, link};

use super::cell::{Cell, Cells};
use super::material::{UNTOUCHED, lines, with_bytes, with_lines};
use super::{Row, Subject, Variant};

use Subject::Trace;

const CHANGED: Cell = Cell::Reads(Verdict::Changed);
const UNSEALED: Cell = Cell::Reads(Verdict::Unsealed);
const ALWAYS_CHANGED: Cells = [CHANGED; 5];
const ALWAYS_UNSEALED: Cells = [UNSEALED; 5];

pub(super) fn rows() -> Vec<Row> {
    // No key is needed to see that bytes contradict the chain, or the seal beside them.
    let changed =
        |about, apply| Row::new(about, apply).trace(ALWAYS_CHANGED).eval(ALWAYS_CHANGED).conversation(CHANGED);
    let changed_everywhere = |about, apply| changed(about, apply).completion(ALWAYS_CHANGED);
    // A completion is sealed as one line: whatever is added to it is part of that line.
    let unsealed = |about, apply| {
        let row: Row = Row::new(about, apply).trace(ALWAYS_UNSEALED).eval(ALWAYS_UNSEALED).conversation(UNSEALED);
        row.completion(ALWAYS_CHANGED)
    };
    vec![
        changed_everywhere("a byte edited", edit_byte),
        changed_everywhere("a byte removed", remove_byte),
        changed_everywhere("a byte inserted", insert_byte),
        changed_everywhere("a line deleted", delete_line),
        changed_everywhere("a line inserted before another", insert_line),
        unsealed("a line appended", append_line),
        Row::new("a line appended that names another predecessor", append_unfitting).trace(ALWAYS_CHANGED),
        changed("two lines swapped", swap_lines),
        changed("a line repeated, not the last", repeat_line),
        Row::new("the last line repeated", repeat_last)
            .trace(ALWAYS_CHANGED)
            .eval(ALWAYS_UNSEALED)
            .completion(ALWAYS_CHANGED)
            .conversation(UNSEALED),
        changed("cut behind a line", truncate_at_line),
        changed_everywhere("cut to nothing", truncate_to_nothing),
        changed_everywhere("cut inside a line", truncate_inside),
        changed_everywhere("the last newline taken away", truncate_newline),
        unsealed("a torn line at the end", tear),
        unsealed("an empty line at the end", double_newline),
        changed("its beginning cut off", cut_front),
        changed_everywhere("every line end rewritten as CR LF", to_crlf),
        changed_everywhere("a byte order mark put before it", add_bom),
        changed("two lines joined, another character in the newline's place", join_lines),
        changed_everywhere("the JSON of a line spelled otherwise", respell),
        Row::new("the link of a line taken away", unlink).trace(ALWAYS_CHANGED),
        Row::new("the link of a line replaced by the genesis", restart).trace(ALWAYS_CHANGED),
    ]
}

/// In every line the first byte of each class, and the newline.
fn edit_byte(subject: Subject) -> Vec<Variant> {
    let bytes = UNTOUCHED.bytes(&subject.path());
    let mut seen = Vec::new();
    let mut line = 1;
    let mut variants = Vec::new();
    for (at, byte) in bytes.iter().enumerate() {
        let class = ByteClass::of(*byte);
        if !seen.contains(&class) {
            seen.push(class);
            let tree = with_bytes(subject, |bytes| bytes[at] ^= 1);
            variants.push(Variant::new(format!("line {line}, the first {class:?}"), tree));
        }
        if *byte == b'\n' {
            seen.clear();
            line += 1;
        }
    }
    variants
}

/// What a byte is to a reader of JSON lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ByteClass {
    Digit,
    Letter,
    Quote,
    Brace,
    Bracket,
    Colon,
    Comma,
    Other,
    NotAscii,
    Newline,
}

impl ByteClass {
    fn of(byte: u8) -> Self {
        match byte {
            b'0'..=b'9' => ByteClass::Digit,
            b'a'..=b'z' | b'A'..=b'Z' => ByteClass::Letter,
            b'"' => ByteClass::Quote,
            b'{' | b'}' => ByteClass::Brace,
            b'[' | b']' => ByteClass::Bracket,
            b':' => ByteClass::Colon,
            b',' => ByteClass::Comma,
            b'\n' => ByteClass::Newline,
            0x80.. => ByteClass::NotAscii,
            _ => ByteClass::Other,
        }
    }
}

/// Places in a stream that differ in what stands before and behind: in each line its first byte, one in its middle, and
/// its newline.
fn places(subject: Subject) -> Vec<[usize; 3]> {
    let mut start = 0;
    let place = |line: &Vec<u8>| {
        let places = [start, start + line.len() / 2, start + line.len()];
        start += line.len() + 1;
        places
    };
    lines(subject).iter().map(place).collect()
}

fn remove_byte(subject: Subject) -> Vec<Variant> {
    let remove = |at| Variant::new(format!("byte {at}"), with_bytes(subject, |bytes| drop(bytes.drain(at..=at))));
    let but_last = UNTOUCHED.bytes(&subject.path()).len() - 1; // the last newline is a row of its own
    places(subject).into_iter().flatten().filter(|at| *at < but_last).map(remove).collect()
}

/// A space, which JSON does not see, and a newline; one beside another newline is the same on either side of it.
fn insert_byte(subject: Subject) -> Vec<Variant> {
    let insert = |(at, byte): (usize, u8)| {
        Variant::new(format!("{byte:#04x} before byte {at}"), with_bytes(subject, |bytes| bytes.insert(at, byte)))
    };
    let places = places(subject).into_iter();
    let bytes = places
        .flat_map(|[start, middle, end]| [(start, b' '), (middle, b' '), (end, b' '), (start, b'\n'), (middle, b'\n')]);
    bytes.map(insert).collect()
}

fn delete_line(subject: Subject) -> Vec<Variant> {
    each_line(subject, |lines, at| drop(lines.remove(at)))
}

fn insert_line(subject: Subject) -> Vec<Variant> {
    let count = lines(subject).len();
    (0..count)
        .flat_map(|at| {
            inserted(subject, at).into_iter().map(move |(what, line)| {
                let tree = with_lines(subject, |lines| lines.insert(at, line));
                Variant::new(format!("{what}, before line {}", at + 1), tree)
            })
        })
        .collect()
}

fn append_line(subject: Subject) -> Vec<Variant> {
    let end = lines(subject).len();
    inserted(subject, end)
        .into_iter()
        .map(|(what, line)| Variant::new(what, with_lines(subject, |lines| lines.push(line))))
        .collect()
}

/// Lines that someone without a key can put in behind `at` lines. In a trace one of them carries the link that it should.
fn inserted(subject: Subject, at: usize) -> Vec<(&'static str, Vec<u8>)> {
    let event = "{\"event_type\":\"forged\"}";
    let mut inserted = vec![("an object", event.into()), ("a text", b"forged".to_vec())];
    if subject == Trace {
        let before = at.checked_sub(1).map(|before| line_hash(&lines(subject)[before]));
        let prev = before.unwrap_or(mur_seal::LineHash::GENESIS);
        let line = link(event, &prev, None).unwrap_or_else(|error| panic!("{error}"));
        inserted.push(("a line with its link", line.into()));
    }
    inserted
}

fn append_unfitting(subject: Subject) -> Vec<Variant> {
    let wrong = link("{\"event_type\":\"forged\"}", &line_hash(b"no line of this stream"), None);
    let line = wrong.unwrap_or_else(|error| panic!("{error}"));
    vec![Variant::new("at the end", with_lines(subject, |lines| lines.push(line.into())))]
}

fn swap_lines(subject: Subject) -> Vec<Variant> {
    let count = lines(subject).len();
    let pairs = (0..count).flat_map(|first| (first + 1..count).map(move |second| (first, second)));
    pairs
        .map(|(first, second)| {
            let tree = with_lines(subject, |lines| lines.swap(first, second));
            Variant::new(format!("lines {} and {}", first + 1, second + 1), tree)
        })
        .collect()
}

fn repeat_line(subject: Subject) -> Vec<Variant> {
    let mut all = each_line(subject, |lines, at| lines.insert(at, lines[at].clone()));
    all.pop();
    all
}

fn repeat_last(subject: Subject) -> Vec<Variant> {
    let repeat = |lines: &mut Vec<Vec<u8>>| lines.extend(lines.last().cloned());
    vec![Variant::new("at the end", with_lines(subject, repeat))]
}

fn truncate_at_line(subject: Subject) -> Vec<Variant> {
    let cut = |kept| Variant::new(format!("{kept} kept"), with_lines(subject, |lines| lines.truncate(kept)));
    (1..lines(subject).len()).map(cut).collect()
}

fn truncate_to_nothing(subject: Subject) -> Vec<Variant> {
    vec![Variant::new("an empty file", with_bytes(subject, Vec::clear))]
}

fn truncate_inside(subject: Subject) -> Vec<Variant> {
    let mut start = 0;
    let mut variants = Vec::new();
    for (line, number) in lines(subject).iter().zip(1..) {
        for kept in [1, line.len() / 2, line.len() - 1] {
            let tree = with_bytes(subject, |bytes| bytes.truncate(start + kept));
            variants.push(Variant::new(format!("{kept} bytes of line {number} kept"), tree));
        }
        start += line.len() + 1;
    }
    variants
}

fn truncate_newline(subject: Subject) -> Vec<Variant> {
    vec![Variant::new("at the end", with_bytes(subject, |bytes| bytes.truncate(bytes.len() - 1)))]
}

/// Without a newline: what a crash leaves of a line.
fn tear(subject: Subject) -> Vec<Variant> {
    let first = lines(subject).swap_remove(0);
    [1, first.len() / 2, first.len()]
        .map(|len| {
            let tree = with_bytes(subject, |bytes| bytes.extend_from_slice(&first[..len]));
            Variant::new(format!("{len} bytes"), tree)
        })
        .into()
}

fn double_newline(subject: Subject) -> Vec<Variant> {
    vec![Variant::new("at the end", with_bytes(subject, |bytes| bytes.push(b'\n')))]
}

fn cut_front(subject: Subject) -> Vec<Variant> {
    let cut = |count| Variant::new(format!("{count} lines"), with_lines(subject, |lines| drop(lines.drain(..count))));
    // One line cut is the first line deleted, and all of them is a stream cut to nothing.
    (2..lines(subject).len()).map(cut).collect()
}

fn to_crlf(subject: Subject) -> Vec<Variant> {
    let rewrite = |lines: &mut Vec<Vec<u8>>| lines.iter_mut().for_each(|line| line.push(b'\r'));
    vec![Variant::new("every line", with_lines(subject, rewrite))]
}

fn add_bom(subject: Subject) -> Vec<Variant> {
    let add = |bytes: &mut Vec<u8>| drop(bytes.splice(..0, *b"\xef\xbb\xbf"));
    vec![Variant::new("at the start", with_bytes(subject, add))]
}

fn join_lines(subject: Subject) -> Vec<Variant> {
    let count = lines(subject).len();
    let join = |at: usize, by: &'static str| {
        let tree = with_lines(subject, |lines| {
            let second = lines.remove(at + 1);
            lines[at].extend(by.bytes().chain(second));
        });
        Variant::new(format!("lines {} and {} by {}", at + 1, at + 2, by.escape_unicode()), tree)
    };
    (0..count - 1).flat_map(|at| ["\u{2028}", "\u{85}", "\u{b}"].map(|by| join(at, by))).collect()
}

/// The same JSON value in other bytes.
fn respell(subject: Subject) -> Vec<Variant> {
    let space = |line: &mut Vec<u8>| line.insert(1, b' ');
    let escape = |line: &mut Vec<u8>| {
        // The first letter of the first member's name.
        let escaped = format!("\\u{:04x}", line[2]);
        line.splice(2..3, escaped.into_bytes());
    };
    let spaced = each_line(subject, |lines, at| space(&mut lines[at]));
    let escaped = each_line(subject, |lines, at| escape(&mut lines[at]));
    spaced.into_iter().chain(escaped).collect()
}

fn unlink(subject: Subject) -> Vec<Variant> {
    each_line(subject, |lines, at| {
        let line = String::from_utf8_lossy(&lines[at]).into_owned();
        lines[at] = without_link(&line).into();
    })
}

fn restart(subject: Subject) -> Vec<Variant> {
    let mut all = each_line(subject, |lines, at| {
        let line = String::from_utf8_lossy(&lines[at]).into_owned();
        let event = without_link(&line);
        let linked = link(&event, &mur_seal::LineHash::GENESIS, None).unwrap_or_else(|error| panic!("{error}"));
        lines[at] = linked.into();
    });
    all.remove(0); // line 1 names the genesis anyway
    all
}

/// The event that a trace's line was made of.
pub(super) fn without_link(line: &str) -> String {
    let end = line.rfind(",\"prev_hash\":\"").unwrap_or_else(|| panic!("no link: {line}"));
    line[..end].to_owned() + "}"
}

/// One variant a line: `change` is given the lines and the index of the one to change.
fn each_line(subject: Subject, change: impl Fn(&mut Vec<Vec<u8>>, usize)) -> Vec<Variant> {
    let count = lines(subject).len();
    let variant = |at| Variant::new(format!("line {}", at + 1), with_lines(subject, |lines| change(lines, at)));
    (0..count).map(variant).collect()
}
