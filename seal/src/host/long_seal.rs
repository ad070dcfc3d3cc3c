//! Reading a seal that lists millions of hashes, without holding its text and at the speed at which hashes are decoded.
//!
//! A JSON parser that reads from a stream looks at every byte several times. So the hashes are taken out of the text on
//! its way to the parser, where they are spelled as every writer of them spells them; the parser sees all the rest, and
//! whatever is spelled in another way. What it refuses is read once more as it stands.

use std::io::{self, BufReader, Read, Seek};

use crate::hash::LineHash;
use crate::seal::{Members, Object, Seal, SealError, not_utf8, refusal};

/// Bytes that are read at once.
const BLOCK: usize = 64 * 1024;
/// Bytes of `"sha256:…"` and the comma or bracket behind it.
const ELEMENT: usize = LineHash::TEXT_LEN + 3;
/// Bytes of a text in a seal that are read: in a seal that is not long there is no room for more, and none of ours comes near.
const LONGEST_TEXT: usize = 1 << 20;
/// What stands before the list, seen from its bracket: a member of the object, and no text that looks like one. A quote
/// that follows a comma or a brace is not escaped.
const OPENINGS: [&[u8]; 2] = [b",\"line_hashes\":", b"{\"line_hashes\":"];
/// The list stands behind a few short members. Where it does not, the parser gets it.
const LONGEST_BEGINNING: usize = 16 * 1024;

/// [`Seal::parse`] of what `file` holds. Of a seal that lists many hashes only those are kept, 32 bytes each.
pub(crate) fn parse(mut file: impl Read + Seek) -> io::Result<Result<Seal, SealError>> {
    let mut text = Text::of(&mut file);
    let mut apart = HashesApart::of(&mut text);
    let mut short = ShortTexts::of(&mut apart);
    match serde_json::from_reader::<_, Object<Members>>(&mut short) {
        _ if short.exceeded => return Ok(Err(too_long())),
        Ok(Object(mut members)) => {
            if let Some(rest) = members.line_hashes.take() {
                apart.hashes.extend(rest);
                members.line_hashes = Some(apart.hashes);
            }
            return Ok(text.judge(members));
        }
        Err(error) if error.is_io() => return Err(error.into()),
        Err(_) => {}
    }
    drop(apart);
    file.rewind()?;
    let mut text = Text::of(&mut file);
    let mut short = ShortTexts::of(BufReader::with_capacity(BLOCK, &mut text));
    let error = match serde_json::from_reader::<_, Object<Members>>(&mut short) {
        _ if short.exceeded => return Ok(Err(too_long())),
        Ok(Object(members)) => return Ok(text.judge(members)),
        Err(error) if error.is_io() => return Err(error.into()),
        Err(error) => error,
    };
    file.rewind()?;
    let short = ShortTexts::of(BufReader::with_capacity(BLOCK, file));
    Ok(Err(refusal(&error, serde_json::from_reader(short))))
}

fn too_long() -> SealError {
    SealError::Malformed(format!("it holds a text of more than {LONGEST_TEXT} bytes"))
}

/// Passes a JSON text on as long as none of the texts in it is long: a parser holds a text whole before anybody can ask how
/// long it is.
struct ShortTexts<R> {
    input: R,
    place: InJson,
    /// Bytes of the text that `place` is in.
    length: usize,
    exceeded: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum InJson {
    Text,
    /// Behind a backslash in one.
    Escape,
    Elsewhere,
}

impl<R> ShortTexts<R> {
    fn of(input: R) -> Self {
        ShortTexts { input, place: InJson::Elsewhere, length: 0, exceeded: false }
    }

    fn look(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (passed, next) = match self.place {
                InJson::Elsewhere => match memchr::memchr(b'"', bytes) {
                    Some(quote) => (quote + 1, InJson::Text),
                    None => (bytes.len(), InJson::Elsewhere),
                },
                InJson::Escape => (1, InJson::Text),
                InJson::Text => match memchr::memchr2(b'"', b'\\', bytes) {
                    Some(end) if bytes[end] == b'"' => (end + 1, InJson::Elsewhere),
                    Some(escape) => (escape + 1, InJson::Escape),
                    None => (bytes.len(), InJson::Text),
                },
            };
            self.length = if self.place == InJson::Elsewhere { 0 } else { self.length + passed };
            self.exceeded |= self.length > LONGEST_TEXT;
            self.place = next;
            bytes = &bytes[passed..];
        }
    }
}

impl<R: Read> Read for ShortTexts<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.look(&buffer[..read]);
        if self.exceeded { Err(io::ErrorKind::InvalidData.into()) } else { Ok(read) }
    }
}

/// Passes bytes on, and finds out whether they are UTF-8: the parser passes over the texts of unknown members without
/// looking at their bytes.
struct Text<R> {
    input: R,
    /// Bytes before those in `cut`, all of them whole characters.
    whole: u64,
    /// The beginning of a character that was not passed on to its end.
    cut: Vec<u8>,
    /// Where the first byte stands that fits into no character.
    wrong: Option<u64>,
}

impl<R> Text<R> {
    fn of(input: R) -> Self {
        Text { input, whole: 0, cut: Vec::new(), wrong: None }
    }

    /// The seal that the members make, once the parser has read all of the text.
    fn judge(&self, members: Members) -> Result<Seal, SealError> {
        self.wrong.map_or_else(|| members.seal(), |offset| Err(not_utf8(offset)))
    }

    fn look(&mut self, mut bytes: &[u8]) {
        while self.wrong.is_none() && !bytes.is_empty() {
            let looked_at = if self.cut.is_empty() {
                std::mem::take(&mut bytes)
            } else {
                // Byte by byte, so that no more is kept than one character.
                let (next, rest) = bytes.split_at(1);
                bytes = rest;
                self.cut.extend_from_slice(next);
                &std::mem::take(&mut self.cut)
            };
            let Err(error) = std::str::from_utf8(looked_at) else {
                self.whole += looked_at.len() as u64;
                continue;
            };
            self.whole += error.valid_up_to() as u64;
            match error.error_len() {
                Some(_) => self.wrong = Some(self.whole),
                None => self.cut = looked_at[error.valid_up_to()..].to_vec(),
            }
        }
    }
}

impl<R: Read> Read for Text<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.look(&buffer[..read]);
        Ok(read)
    }
}

/// Passes a seal's text on, its list of hashes left empty.
struct HashesApart<R> {
    input: BufReader<R>,
    state: State,
    /// Text that is to be passed on next.
    output: Vec<u8>,
    passed: usize,
    hashes: Vec<LineHash>,
}

enum State {
    /// Before the list; all of the text so far is in `output`.
    Beginning(Nesting),
    /// In the list, at the beginning of an element.
    List,
    /// Behind what is taken out.
    Rest,
}

/// Where in a JSON text one is.
#[derive(Default)]
struct Nesting {
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl Nesting {
    fn step(&mut self, byte: u8) {
        if self.in_string {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }
}

impl<R: Read> HashesApart<R> {
    fn of(input: R) -> Self {
        HashesApart {
            input: BufReader::with_capacity(BLOCK, input),
            state: State::Beginning(Nesting::default()),
            output: Vec::new(),
            passed: 0,
            hashes: Vec::new(),
        }
    }

    /// Reads up to the bracket that opens the list, or gives up on finding it.
    fn beginning(&mut self) -> io::Result<()> {
        let State::Beginning(nesting) = &mut self.state else { return Ok(()) };
        for byte in (&mut self.input).bytes() {
            let byte = byte?;
            let opens = byte == b'[' && !nesting.in_string && nesting.depth == 1;
            let is_list = opens && OPENINGS.iter().any(|opening| self.output.ends_with(opening));
            nesting.step(byte);
            self.output.push(byte);
            if is_list {
                self.state = State::List;
                return Ok(());
            }
            if self.output.len() == LONGEST_BEGINNING {
                break;
            }
        }
        self.state = State::Rest;
        Ok(())
    }

    /// Takes hashes out until the list ends, or one is spelled in another way.
    fn list(&mut self) -> io::Result<()> {
        loop {
            let mut element = [0; ELEMENT];
            let read = read_up_to(&mut self.input, &mut element)?;
            let element = &element[..read];
            match spelled(element) {
                Some((hash, b',')) => self.hashes.push(hash),
                Some((hash, _)) => {
                    self.hashes.push(hash);
                    self.output.push(b']');
                    break;
                }
                None => {
                    // The comma before it is for the parser to judge, and so is what stands before the comma.
                    if let Some(last) = self.hashes.pop() {
                        self.output.extend_from_slice(format!("\"{last}\",").as_bytes());
                    }
                    self.output.extend_from_slice(element);
                    break;
                }
            }
        }
        self.state = State::Rest;
        Ok(())
    }
}

/// The hash that an element spells, and the byte behind it: a comma, or the bracket that closes the list.
fn spelled(element: &[u8]) -> Option<(LineHash, u8)> {
    let (text, end) = element.split_first_chunk::<{ LineHash::TEXT_LEN + 2 }>()?;
    let hash = LineHash::parse(text.strip_prefix(b"\"")?.strip_suffix(b"\"")?)?;
    match end {
        [end @ (b',' | b']')] => Some((hash, *end)),
        _ => None,
    }
}

fn read_up_to(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match input.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

impl<R: Read> Read for HashesApart<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.passed < self.output.len() {
                let left = &self.output[self.passed..];
                let passing = left.len().min(buffer.len());
                buffer[..passing].copy_from_slice(&left[..passing]);
                self.passed += passing;
                return Ok(passing);
            }
            match self.state {
                State::Beginning(_) => self.beginning()?,
                State::List => self.list()?,
                State::Rest => return self.input.read(buffer),
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Cursor;

    use proptest::prelude::*;

    use super::*;
    use crate::hash::{line_hash, listed_head};
    use crate::host::host_key::HostKey;
    use crate::seal::SealDraft;
    use crate::verify::ChainKind;

    fn seal_of(lines: u32) -> String {
        let hashes: Vec<LineHash> = (0..lines).map(|line| line_hash(&line.to_le_bytes())).collect();
        let draft = SealDraft {
            stream: "hooks/eval.jsonl".into(),
            chain: ChainKind::Listed,
            session_id: "ses_\"line_hashes\":[".into(),
            lines: u64::from(lines),
            head: listed_head(&hashes),
            line_hashes: Some(hashes),
            sealed_at: 1,
            conversation: None,
        };
        HostKey::from_seed(&[7; 32]).unwrap().seal(draft).unwrap().to_file()
    }

    /// What is read of a text in both ways. Of an error, all but the column: the parser counts it differently in a stream.
    fn in_both_ways(text: &[u8]) -> [Result<Seal, String>; 2] {
        [parse(Cursor::new(text)).unwrap(), Seal::parse(text)].map(|parsed| {
            let without_column = |text: String| text.split(" at line ").next().unwrap_or_default().to_owned();
            parsed.map_err(|error| without_column(error.to_string()))
        })
    }

    fn assert_parsed_alike(text: &str) {
        let [long, short] = in_both_ways(text.as_bytes());
        assert_eq!(long, short, "{text}");
    }

    #[test]
    fn a_text_that_is_not_utf8_is_no_seal_wherever_the_parser_does_not_look() {
        let text = seal_of(3);
        let (start, rest) = text.split_at(text.find("\"head\"").unwrap());
        for wrong in
            [&b"\xba"[..], b"\xc3", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf4\x90\x80\x80", b"\xe6\x97", b"\xf0\x9f\x98"]
        {
            for before in ["", "日本", "é"] {
                let start = format!("{start}\"x\":\"{before}");
                let text = [start.as_bytes(), wrong, b"\",", rest.as_bytes()].concat();
                let told = format!("it is not UTF-8 text: byte {}, counted from 0,", start.len());
                for read in in_both_ways(&text) {
                    assert!(read.as_ref().is_err_and(|error| error.contains(&told)), "{read:?}");
                }
            }
        }
        let [long, short] = in_both_ways(format!("{start}\"x\":\"日本é😀\",{rest}").as_bytes());
        assert!(long.is_ok() && long == short, "{long:?}");
    }

    #[test]
    fn a_seal_with_a_very_long_text_is_refused_before_the_text_is_held() {
        let text = seal_of(3);
        for (member, long) in [
            ("\"format\":\"murmur.seal/1\"", "\"format\":\"LONG\""),
            ("\"signature\":\"", "\"signature\":\"LONG"),
            ("\"line_hashes\":[", "\"line_hashes\":[\"LONG\","),
            ("{\"format\"", "{\"x\":\"LONG\",\"format\""),
            ("{\"format\"", "{\"LONG\":1,\"format\""),
        ] {
            for filler in ["a", "\\\"", "\\\\", "é"] {
                let filled = |bytes: usize| text.replacen(member, &long.replace("LONG", &filler.repeat(bytes)), 1);
                let parsed = parse(Cursor::new(filled(LONGEST_TEXT + 1).as_bytes())).unwrap();
                assert_eq!(parsed, Err(too_long()), "{long}");
                let parsed = parse(Cursor::new(filled(1000).as_bytes())).unwrap();
                assert_ne!(parsed, Err(too_long()), "{long}");
            }
        }
    }

    #[test]
    fn a_text_is_looked_at_alike_however_it_is_cut() {
        for text in [&b"a\xc3\xa9\xe6\x97\xa5\xf0\x9f\x98\x80b"[..], b"\xe6\x97", b"\xe6\x97a", b"ab\xf0\x9f\x98\xffcd"]
        {
            let expected = std::str::from_utf8(text).err().filter(|error| error.error_len().is_some());
            for size in 1..=text.len() {
                let mut looked = Text::of(io::empty());
                text.chunks(size).for_each(|bytes| looked.look(bytes));
                assert_eq!(looked.wrong, expected.map(|error| error.valid_up_to() as u64), "{size}: {text:?}");
            }
        }
    }

    #[test]
    fn hashes_are_taken_out_of_the_text() {
        let text = seal_of(3);
        let mut apart = HashesApart::of(text.as_bytes());
        let mut rest = String::new();
        apart.read_to_string(&mut rest).unwrap();
        assert_eq!(apart.hashes.len(), 3);
        assert!(rest.contains(",\"line_hashes\":[],\"head\""), "{rest}");
    }

    #[test]
    fn other_spellings_are_read_and_refused_as_the_parser_reads_and_refuses_them() {
        let text = seal_of(3);
        let hash = line_hash(&1u32.to_le_bytes()).to_string();
        let second = format!("\"{hash}\"");
        for (from, to) in [
            (second.as_str(), format!(" {second}")),
            (&second, format!("{second} ")),
            (&second, format!("{second}\n")),
            (&second, format!("{second},")),
            (&second, format!("\"\\u0073{}\"", &hash[1..])),
            (&second, second.to_uppercase()),
            (&second, "null".into()),
            (&second, format!("[{second}]")),
            (&second, String::new()),
            ("]", ",]".into()),
            ("]", " ]".into()),
            ("]", "],\"line_hashes\":[]".into()),
            ("\"line_hashes\":[", "\"line_hashes\": [".into()),
            ("\"line_hashes\":[", "\"line\\u005fhashes\":[".into()),
            ("\"line_hashes\":[", "\"other\":{\"x\":1,\"line_hashes\":[]},\"line_hashes\":[".into()),
            ("\"line_hashes\":[", format!("\"other\":{{\"x\":1,\"line_hashes\":[{second}]}},\"line_hashes\":[")),
            ("\"line_hashes\":[", "\"other\":\"\\\",\\\"line_hashes\\\":[\",\"line_hashes\":[".into()),
            ("murmur.seal/1", "murmur.seal/2".into()),
            ("ed25519", "other".into()),
            ("\"head\"", "\"line_hashes\":null,\"head\"".into()),
        ] {
            let changed = text.replacen(from, &to, 1);
            assert_ne!(changed, text);
            assert_parsed_alike(&changed);
            assert_parsed_alike(&text.replace(from, &to));
        }
        for lines in [0, 1, 2, 1000] {
            let text = seal_of(lines);
            assert_parsed_alike(&text);
            assert!(Seal::parse(text.as_bytes()).is_ok());
            assert_parsed_alike(&text[..text.len() / 2]);
        }
        assert_parsed_alike("");
        assert_parsed_alike("[]");
    }

    proptest! {
        #[test]
        fn a_changed_seal_is_read_as_the_parser_reads_it(
            lines in 0u32..6,
            at in any::<prop::sample::Index>(),
            removed in 0usize..80,
            put in "[ -~\\n]{0,3}|\"line_hashes\":\\[|,|\\]",
        ) {
            let text = seal_of(lines);
            let at = at.index(text.len());
            let end = (at + removed).min(text.len());
            let changed = format!("{}{put}{}", &text[..at], &text[end..]);
            let [long, short] = in_both_ways(changed.as_bytes());
            prop_assert_eq!(long, short, "{}", changed);
        }
    }
}
