//! One line of an inline chain: giving it its link, and reading the link from its end.
//!
//! A chained line is a JSON object whose last member is `"prev_hash"`, the hash of the line before it, with `"gap_hash"`
//! right before it where a gap is to be bound. Both are read from the line's fixed-width end, not by parsing JSON.

use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;

use serde::de::{Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::hash::LineHash;

/// The member that every line of an inline chain ends with.
pub const PREV_HASH_KEY: &str = "prev_hash";
/// The member right before it on the first chained line after lines that have no link.
pub const GAP_HASH_KEY: &str = "gap_hash";
const PREV_OPEN: &[u8] = b"\"prev_hash\":\"";
const GAP_OPEN: &[u8] = b"\"gap_hash\":\"";
const CLOSE: &[u8] = b"\"}";

/// Bytes at the end of a line that both members fit in: `,"gap_hash":"…","prev_hash":"…"}`.
pub(crate) const TAIL_LEN: usize =
    1 + GAP_OPEN.len() + LineHash::TEXT_LEN + 2 + PREV_OPEN.len() + LineHash::TEXT_LEN + CLOSE.len();

/// Why an event cannot become a line of the chain.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// It is not one compact JSON object on one line.
    #[error("an event must be one JSON object on one line: {0}")]
    NotAnObject(String),
    /// It already has a member that is the chain's own.
    #[error("an event must not have a top-level member `{0}`: the chain adds it")]
    Reserved(&'static str),
}

/// The line for `event`, a compact JSON object, after a line with hash `prev`: the same object with `gap_hash`, where a
/// gap is to be bound, and `prev_hash` as its last members. Without a newline.
pub fn link(event: &str, prev: &LineHash, gap: Option<&LineHash>) -> Result<String, LinkError> {
    check_event(event)?;
    Ok(linked(event, prev, gap))
}

/// [`link`] for an event that was checked.
pub(crate) fn linked(event: &str, prev: &LineHash, gap: Option<&LineHash>) -> String {
    let body = &event[..event.len() - 1];
    let mut line = String::with_capacity(event.len() + TAIL_LEN);
    line.push_str(body);
    let mut member = |key: &str, hash: &LineHash| {
        if line.len() > 1 {
            line.push(',');
        }
        line.push('"');
        line.push_str(key);
        line.push_str("\":\"");
        // The text form is ASCII.
        line.push_str(core::str::from_utf8(&hash.to_text()).unwrap_or_default());
        line.push('"');
    };
    if let Some(gap) = gap {
        member(GAP_HASH_KEY, gap);
    }
    member(PREV_HASH_KEY, prev);
    line.push('}');
    line
}

/// Refuses what cannot become a line.
pub(crate) fn check_event(event: &str) -> Result<(), LinkError> {
    if !event.starts_with('{') || !event.ends_with('}') {
        return Err(LinkError::NotAnObject("it does not start with `{` and end with `}`".into()));
    }
    if event.contains('\n') {
        return Err(LinkError::NotAnObject("it holds a line break".into()));
    }
    let members: Members =
        serde_json::from_str(event).map_err(|error| LinkError::NotAnObject(alloc::format!("{error}")))?;
    match members.reserved {
        Some(key) => Err(LinkError::Reserved(key)),
        None => Ok(()),
    }
}

/// The top-level members of an object, as far as the chain cares.
struct Members {
    reserved: Option<&'static str>,
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Walk;
        impl<'de> Visitor<'de> for Walk {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut reserved = None;
                while let Some(Key(key)) = map.next_key()? {
                    reserved = reserved.or(key);
                    map.next_value::<IgnoredAny>()?;
                }
                Ok(Members { reserved })
            }
        }
        deserializer.deserialize_map(Walk)
    }
}

/// A member name: the reserved one it is, if it is one. Escapes are resolved, so `prev\u005fhash` is one too.
struct Key(Option<&'static str>);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Name;
        impl Visitor<'_> for Name {
            type Value = Key;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a member name")
            }

            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Key, E> {
                Ok(Key([PREV_HASH_KEY, GAP_HASH_KEY].into_iter().find(|key| *key == name)))
            }
        }
        deserializer.deserialize_str(Name).map_err(D::Error::custom)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Prev {
    Hash(LineHash),
    /// A string that is not a hash: what other writers put on line 1.
    Other,
}

/// The chain's members at the end of a line.
#[derive(Debug)]
pub(crate) struct LineEnd {
    pub(crate) prev: Option<Prev>,
    /// `Some(None)`: a `gap_hash` that is not a hash. Apart, since hardly any line has one.
    pub(crate) gap: Option<Box<Option<LineHash>>>,
}

impl LineEnd {
    pub(crate) const UNCHAINED: LineEnd = LineEnd { prev: None, gap: None };

    /// Reads the end of a line; `tail` is at least its last [`TAIL_LEN`] bytes, or all of it.
    pub(crate) fn read(tail: &[u8]) -> Self {
        let Some(body) = tail.strip_suffix(CLOSE) else { return Self::UNCHAINED };
        let (before, prev) = match last_hash(body, PREV_OPEN) {
            Some((before, hash)) => (before, Prev::Hash(hash)),
            None => match last_string(body, PREV_OPEN) {
                Some(before) => (before, Prev::Other),
                None => return Self::UNCHAINED,
            },
        };
        let gap = before.strip_suffix(b"\"").and_then(|body| match last_hash(body, GAP_OPEN) {
            Some((_, hash)) => Some(Box::new(Some(hash))),
            None => last_string(body, GAP_OPEN).map(|_| Box::new(None)),
        });
        LineEnd { prev: Some(prev), gap }
    }
}

/// Splits `…,"key":"sha256:…` into what stands before the comma and the hash, where `open` is `"key":"`. This is what our
/// own writer leaves, and is told by its width alone.
fn last_hash<'a>(body: &'a [u8], open: &[u8]) -> Option<(&'a [u8], LineHash)> {
    let (before, value) = body.split_at_checked(body.len().checked_sub(LineHash::TEXT_LEN)?)?;
    let before = member_before(before, open)?;
    Some((before, LineHash::parse(value)?))
}

/// What stands before the comma in `…,"key":"value`, for any value that has neither a quote nor a backslash, so that it
/// cannot end, or begin, somewhere else.
fn last_string<'a>(body: &'a [u8], open: &[u8]) -> Option<&'a [u8]> {
    let (before, value) = body.split_at(memchr::memrchr(b'"', body)? + 1);
    let before = member_before(before, open)?;
    (!value.contains(&b'\\')).then_some(before)
}

fn member_before<'a>(before: &'a [u8], open: &[u8]) -> Option<&'a [u8]> {
    let (separator, before) = before.strip_suffix(open)?.split_last()?;
    matches!(separator, b',' | b'{').then_some(before)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use alloc::string::ToString;

    use super::*;
    use crate::hash::line_hash;

    #[test]
    fn an_empty_object_gets_no_comma() {
        assert_eq!(
            link("{}", &LineHash::GENESIS, None).unwrap(),
            alloc::format!("{{\"prev_hash\":\"{}\"}}", crate::GENESIS)
        );
    }

    #[test]
    fn an_event_must_be_one_object_without_the_chains_members() {
        for event in ["", "{", "[]", "{\"a\":1} {\"b\":2}", "{\"a\":\n1}", " {}", "{\"a\":01}"] {
            assert!(matches!(link(event, &LineHash::GENESIS, None), Err(LinkError::NotAnObject(_))), "{event}");
        }
        for (event, key) in [
            ("{\"prev_hash\":1}", PREV_HASH_KEY),
            ("{\"a\":1,\"gap_hash\":null,\"b\":2}", GAP_HASH_KEY),
            ("{\"prev\\u005fhash\":\"x\"}", PREV_HASH_KEY),
        ] {
            assert_eq!(link(event, &LineHash::GENESIS, None), Err(LinkError::Reserved(key)), "{event}");
        }
        assert!(link("{\"nested\":{\"prev_hash\":1}}", &LineHash::GENESIS, None).is_ok());
    }

    #[test]
    fn a_link_is_read_from_the_lines_end_only() {
        let hash = line_hash(b"x").to_string();
        let linked = |line: &str| LineEnd::read(line.as_bytes()).prev;
        assert_eq!(linked(&alloc::format!("{{\"prev_hash\":\"{hash}\"}}")), Some(Prev::Hash(line_hash(b"x"))));
        assert_eq!(
            linked(&alloc::format!("{{\"prev_hash\":1,\"prev_hash\":\"{hash}\"}}")),
            Some(Prev::Hash(line_hash(b"x")))
        );
        assert_eq!(linked("{\"a\":1,\"prev_hash\":\"genesis\"}"), Some(Prev::Other));
        assert_eq!(linked("{\"prev_hash\":\"\"}"), Some(Prev::Other));
        for unlinked in [
            alloc::format!("{{\"prev\\u005fhash\":\"{hash}\"}}"),
            alloc::format!("{{\"a\":{{\"prev_hash\":\"{hash}\"}}}}"),
            alloc::format!("{{\"prev_hash\":\"{hash}\",\"a\":1}}"),
            alloc::format!("{{\"x_prev_hash\":\"{hash}\"}}"),
            alloc::format!("{{\"prev_hash\": \"{hash}\"}}"),
            alloc::format!("{{\"prev_hash\":\"{hash}\"}} "),
            alloc::format!("{{\"prev_hash\":\"{hash}\"}}\r"),
            alloc::format!("{{\"a\":\"\\\"prev_hash\\\":\\\"{hash}\"}}"),
            "\"prev_hash\":\"x\"}".into(),
            String::new(),
        ] {
            assert_eq!(linked(&unlinked), None, "{unlinked}");
        }
    }
}
