//! The seal file: its members, what is signed, and reading it without trusting it.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::hash::{FromText, KeyId, LineHash, decode_lower_hex, listed_head, to_hex};
use crate::key::PublicKey;
use crate::verify::ChainKind;

/// The `format` of every seal, and the first line of its signed message.
pub const SEAL_FORMAT: &str = "murmur.seal/1";
/// The only `algorithm` a seal names.
pub const SEAL_ALGORITHM: &str = "ed25519";
/// Appended to a stream's file name to name its seal.
pub const SEAL_SUFFIX: &str = ".seal";
/// The `session_id` of a conversation's seal when no session made it: the record was truncated from the command line.
pub const CLI_SEALER: &str = "mur-conversation";

/// Bytes that a name in a seal may have: far more than any has, and few enough to be told in a report.
const MAX_NAME: usize = 1024;
/// Characters that are told of a foreign text that is no name.
const MAX_QUOTED: usize = 200;

/// The first line of the message that `members_signature` covers.
const MEMBERS_FORMAT: &str = "murmur.seal.members/1";

/// One `<stream>.seal` file, read and found well formed. Nothing in it is authenticated until its signature is checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seal {
    /// What is sealed.
    pub draft: SealDraft,
    /// The key that made the signatures, as the seal names it.
    pub key_id: KeyId,
    /// Over [`signed_message`].
    pub signature: [u8; 64],
    /// Over [`members_message`]; seals of other writers lack it.
    pub members_signature: Option<[u8; 64]>,
}

/// Everything a seal says, before it is signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealDraft {
    /// The stream's name, not a path.
    pub stream: String,
    /// How the stream is chained.
    pub chain: ChainKind,
    /// The session that seals, or [`CLI_SEALER`].
    pub session_id: String,
    /// Lines covered.
    pub lines: u64,
    /// The hash of every line of a listed stream; `None` for an inline chain.
    pub line_hashes: Option<Vec<LineHash>>,
    /// Inline: the last line's hash, or the genesis. Listed: the listed head.
    pub head: LineHash,
    /// Milliseconds since the Unix epoch, by the host's clock.
    pub sealed_at: u64,
    /// In a trace's seal: the conversation record that the session appended to first.
    pub conversation: Option<ConversationPointer>,
}

/// A trace seal's pointer to a conversation record, as that record stood when the seal was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConversationPointer {
    /// The record store's name.
    pub record: String,
    /// The context id.
    pub context_id: String,
    /// Lines the record held.
    pub lines: u64,
    /// The listed head of those lines.
    pub head: LineHash,
}

/// The head that a session-end seal hands to telemetry: `record_head`, `record_lines`, `record_key_id`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SealedHead {
    /// The sealed head.
    pub head: LineHash,
    /// Lines sealed.
    pub lines: u64,
    /// The key that sealed.
    pub key_id: KeyId,
}

/// Why the bytes of a seal file are not a seal that can be judged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// Not what a seal of this format looks like.
    #[error("the seal cannot be read as one: {0}")]
    Malformed(String),
    /// A format this program does not know.
    #[error("the seal's format is `{0}`, and this program knows `murmur.seal/1`")]
    UnknownFormat(String),
    /// An algorithm this program does not know.
    #[error("the seal's algorithm is `{0}`, and this program knows `ed25519`")]
    UnknownAlgorithm(String),
    /// A name that would make the signed text ambiguous.
    #[error("the {0} holds a control character")]
    ControlCharacter(&'static str),
}

/// The bytes that a seal's `signature` covers: `murmur.seal/1\n<stream>\n<session_id>\n<lines>\n<head>\n`.
pub fn signed_message(stream: &str, session_id: &str, lines: u64, head: &LineHash) -> String {
    format!("{SEAL_FORMAT}\n{stream}\n{session_id}\n{lines}\n{head}\n")
}

/// The bytes that a seal's `members_signature` covers: the members that `murmur.seal/1` itself leaves unsigned, bound to
/// the signature they stand beside.
pub fn members_message(signature: &[u8; 64], draft: &SealDraft) -> String {
    let conversation = match &draft.conversation {
        Some(pointer) => format!("{}/{}/{}/{}", pointer.record, pointer.context_id, pointer.lines, pointer.head),
        None => "-".into(),
    };
    format!("{MEMBERS_FORMAT}\n{}\n{}\n{}\n{conversation}\n", to_hex(signature), draft.chain, draft.sealed_at)
}

impl SealDraft {
    /// The text that `signature` covers.
    pub fn signed_message(&self) -> String {
        signed_message(&self.stream, &self.session_id, self.lines, &self.head)
    }

    /// Refuses what would make the signed text ambiguous, or contradicts itself.
    pub fn check(&self) -> Result<(), SealError> {
        let pointer = self.conversation.as_ref();
        let names = [
            ("stream's name", Some(&self.stream)),
            ("session id", Some(&self.session_id)),
            ("conversation's record name", pointer.map(|pointer| &pointer.record)),
            ("conversation's context id", pointer.map(|pointer| &pointer.context_id)),
        ];
        for (what, name) in names {
            if name.is_some_and(|name| name.len() > MAX_NAME) {
                return Err(SealError::Malformed(format!("its {what} is longer than {MAX_NAME} bytes")));
            }
            if name.is_some_and(|name| name.chars().any(char::is_control)) {
                return Err(SealError::ControlCharacter(what));
            }
        }
        let malformed = |what: &str| Err(SealError::Malformed(what.into()));
        if let Some(pointer) = pointer
            && !(is_segment(&pointer.record) && is_segment(&pointer.context_id))
        {
            return malformed("its conversation's names are not single path segments");
        }
        match (&self.line_hashes, self.chain) {
            (None, ChainKind::Inline) if self.lines == 0 && self.head != LineHash::GENESIS => {
                malformed("it covers no line, but its head is a hash")
            }
            (None, ChainKind::Inline) => Ok(()),
            (Some(_), ChainKind::Inline) => malformed("it lists line hashes, but its chain is `inline`"),
            (None, ChainKind::Listed) => malformed("its chain is `listed`, but it lists no line hashes"),
            (Some(hashes), ChainKind::Listed) if hashes.len() as u64 != self.lines => malformed(&format!(
                "it lists {} line hashes and says that it covers {} lines",
                hashes.len(),
                self.lines
            )),
            (Some(hashes), ChainKind::Listed) if listed_head(hashes) != self.head => {
                malformed("its head is not the head of the line hashes it lists")
            }
            (Some(_), ChainKind::Listed) => Ok(()),
        }
    }
}

/// A text from a seal as it is told: a hostile one may be as long as its file.
fn shortened(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(MAX_QUOTED) {
        text.truncate(end);
        text.push('…');
    }
    text
}

/// One plain segment of a path: it can name a directory, and no other than one below where it is looked up.
pub(crate) fn is_segment(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0'])
}

impl Seal {
    /// Reads a seal file's bytes.
    ///
    /// Unknown members are ignored and `null` reads as left out; duplicate members, wrong types and second spellings of a
    /// hash are malformed. A format or an algorithm of the future is told apart from a damaged seal.
    pub fn parse(bytes: &[u8]) -> Result<Self, SealError> {
        match serde_json::from_slice::<Object<Members>>(bytes) {
            // The parser passes over the texts of unknown members without looking at their bytes.
            Ok(Object(members)) => match core::str::from_utf8(bytes) {
                Ok(_) => members.seal(),
                Err(error) => Err(not_utf8(error.valid_up_to() as u64)),
            },
            Err(error) => Err(refusal(&error, serde_json::from_slice(bytes))),
        }
    }

    /// What `key` says of its signatures. Which key the seal names is for the caller to compare.
    pub fn signatures(&self, key: &PublicKey) -> Signatures {
        if !self.is_signed_by(key) {
            return Signatures::Bad;
        }
        match self.members_signature {
            None => Signatures::WithoutMembers,
            Some(signature)
                if key.verifies_raw(members_message(&self.signature, &self.draft).as_bytes(), &signature) =>
            {
                Signatures::Whole
            }
            Some(_) => Signatures::OfOtherMembers,
        }
    }

    /// Whether its `signature` is good under `key`.
    pub(crate) fn is_signed_by(&self, key: &PublicKey) -> bool {
        key.verifies_raw(self.draft.signed_message().as_bytes(), &self.signature)
    }

    /// The seal file: one compact JSON object and a newline.
    pub fn to_file(&self) -> String {
        // A struct of strings and numbers always serialises.
        let mut text = serde_json::to_string(self).unwrap_or_default();
        text.push('\n');
        text
    }
}

/// What a key says of the signatures of a seal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signatures {
    /// The signature is not good.
    Bad,
    /// The signature is good, and that over the other members is not.
    OfOtherMembers,
    /// The signature is good, and nothing signs the other members.
    WithoutMembers,
    /// Both are good.
    Whole,
}

/// What a seal file holds: a seal, or why it is none. Seals that were read twice are told apart by it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedSeal(pub Result<Seal, SealError>);

impl ParsedSeal {
    /// Reads a seal file's bytes.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        ParsedSeal(Seal::parse(bytes))
    }
}

impl Serialize for Seal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let draft = &self.draft;
        MembersOut {
            format: SEAL_FORMAT,
            stream: &draft.stream,
            chain: draft.chain,
            session_id: &draft.session_id,
            lines: draft.lines,
            line_hashes: draft.line_hashes.as_deref(),
            head: draft.head,
            sealed_at: draft.sealed_at,
            key_id: self.key_id,
            algorithm: SEAL_ALGORITHM,
            signature: to_hex(&self.signature),
            conversation: draft.conversation.as_ref(),
            members_signature: self.members_signature.map(|signature| to_hex(&signature)),
        }
        .serialize(serializer)
    }
}

/// The members in the order in which they are written.
#[derive(Serialize)]
struct MembersOut<'a> {
    format: &'a str,
    stream: &'a str,
    chain: ChainKind,
    session_id: &'a str,
    lines: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    line_hashes: Option<&'a [LineHash]>,
    head: LineHash,
    sealed_at: u64,
    key_id: KeyId,
    algorithm: &'a str,
    signature: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    conversation: Option<&'a ConversationPointer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    members_signature: Option<String>,
}

/// The members of a seal as its text has them, well typed and not yet judged.
#[derive(Deserialize)]
pub(crate) struct Members {
    format: String,
    stream: String,
    chain: ChainKind,
    session_id: String,
    lines: u64,
    pub(crate) line_hashes: Option<Vec<LineHash>>,
    head: LineHash,
    sealed_at: u64,
    key_id: KeyId,
    algorithm: String,
    signature: String,
    conversation: Option<Object<ConversationPointer>>,
    members_signature: Option<String>,
}

impl Members {
    /// The seal that they make, or why they make none.
    pub(crate) fn seal(self) -> Result<Seal, SealError> {
        if self.format != SEAL_FORMAT {
            return Err(SealError::UnknownFormat(shortened(self.format)));
        }
        if self.algorithm != SEAL_ALGORITHM {
            return Err(SealError::UnknownAlgorithm(shortened(self.algorithm)));
        }
        let signature = |name: &str, text: &str| {
            decode_lower_hex(text.as_bytes())
                .ok_or_else(|| SealError::Malformed(format!("its {name} is not 128 lowercase hexadecimal digits")))
        };
        let draft = SealDraft {
            stream: self.stream,
            chain: self.chain,
            session_id: self.session_id,
            lines: self.lines,
            line_hashes: self.line_hashes,
            head: self.head,
            sealed_at: self.sealed_at,
            conversation: self.conversation.map(|Object(pointer)| pointer),
        };
        draft.check()?;
        Ok(Seal {
            draft,
            key_id: self.key_id,
            signature: signature("signature", &self.signature)?,
            members_signature: self.members_signature.map(|text| signature("members_signature", &text)).transpose()?,
        })
    }
}

/// Why a file is not a seal whose members are all well typed.
pub(crate) fn not_utf8(offset: u64) -> SealError {
    SealError::Malformed(format!("it is not UTF-8 text: byte {offset}, counted from 0, fits into no character"))
}

/// Why a file is not a seal. Members may mean something else in another format, so nothing but its names is looked at
/// before they are judged.
pub(crate) fn refusal(error: &serde_json::Error, names: serde_json::Result<Object<Names>>) -> SealError {
    match names {
        Ok(Object(Names { format: Some(format), .. })) if format != SEAL_FORMAT => {
            SealError::UnknownFormat(shortened(format))
        }
        Ok(Object(Names { algorithm: Some(algorithm), .. })) if algorithm != SEAL_ALGORITHM => {
            SealError::UnknownAlgorithm(shortened(algorithm))
        }
        _ => SealError::Malformed(shortened(error.to_string())),
    }
}

/// What tells a seal of another format from a damaged one.
#[derive(Deserialize)]
pub(crate) struct Names {
    format: Option<String>,
    algorithm: Option<String>,
}

/// A `T` from a JSON object. A derived struct would also accept an array of its members' values.
pub(crate) struct Object<T>(pub(crate) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FromMap<T>(core::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for FromMap<T> {
            type Value = Object<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Object)
            }
        }
        deserializer.deserialize_map(FromMap(core::marker::PhantomData))
    }
}

impl Serialize for ChainKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for ChainKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(FromText("`inline` or `listed`", |text| match text {
            b"inline" => Some(ChainKind::Inline),
            b"listed" => Some(ChainKind::Listed),
            _ => None,
        }))
    }
}
