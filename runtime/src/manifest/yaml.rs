//! YAML text to a tree in which every key and value knows where it stands.
//!
//! The manifest is read from this tree and not through derived types, because a person mends it by hand: every refusal
//! has to name the line and column, and keys that nobody reads have to be told, not dropped.

use std::fmt;
use std::ops::Range;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Location, Spanned, UserMessageFormatter};

/// A position in the text: line and column, both counted from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) line: u64,
    pub(crate) column: u64,
}

impl Position {
    pub(crate) const START: Self = Self { line: 1, column: 1 };

    fn of(location: Location) -> Self {
        // The parser's "unknown" is line 0; pointing at the top of the file is the best there is.
        Self { line: location.line().max(1), column: location.column().max(1) }
    }
}

/// One value and where it is used. A value that comes through an alias stands where the alias does.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) at: Position,
    /// The bytes in the text that define it, where the parser told.
    pub(crate) source: Option<Range<usize>>,
}

#[derive(Debug)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    /// A whole number that is not negative.
    Natural(u64),
    /// A whole number below zero.
    Negative(i64),
    /// A fraction, a whole number beyond 64 bits, an infinity or no number at all.
    Real(f64),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// One key and its value, in the order of the text. Keys of one mapping differ: the parser refuses doubles.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) at: Position,
    pub(crate) value: Node,
}

impl Node {
    /// The value as it is written in `text`, the text that this tree was parsed from.
    pub(crate) fn written<'a>(&self, text: &'a str) -> Option<&'a str> {
        text.get(self.source.clone()?).map(str::trim)
    }
}

impl Value {
    /// What it is, to complete "found …".
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Value::Null => "nothing",
            Value::Bool(_) => "a boolean",
            Value::Natural(_) | Value::Negative(_) | Value::Real(_) => "a number",
            Value::Text(_) => "a text",
            Value::List(_) => "a list",
            Value::Map(_) => "a mapping",
        }
    }
}

/// Why a text is not one well-formed YAML document, and where.
#[derive(Debug)]
pub(crate) struct SyntaxError {
    pub(crate) reason: String,
    pub(crate) at: Position,
}

/// Parses one YAML document. An empty document is [`Value::Null`].
///
/// What a text can cost is bounded whatever it holds: nesting, nodes and the work of aliases all have limits far above
/// any manifest's need. `text` does not begin with a byte order mark.
pub(crate) fn parse(text: &str) -> Result<Node, SyntaxError> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: 32,
            max_nodes: 50_000,
            max_events: 200_000,
            max_aliases: 1_000,
            max_anchors: 1_000,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 50_000,
            max_replay_stack_depth: 16,
        },
        // `name: on` is a name: only `true` and `false` are booleans.
        strict_booleans: true,
        reject_unsupported_tags: true,
        non_finite_float_policy: serde_saphyr::options::NonFiniteFloatPolicy::PassThrough,
        with_snippet: false,
    };
    match serde_saphyr::from_str_with_options::<Spanned<Value>>(text, options) {
        Ok(root) => Ok(root.into()),
        Err(error) => {
            Err(SyntaxError { reason: reason(&error), at: error.location().map_or(Position::START, Position::of) })
        }
    }
}

/// The parser's message without its position, in the words of somebody who edits a manifest.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the parser's errors are an open set, and its own words fit the rest"
)]
fn reason(error: &serde_saphyr::Error) -> String {
    use serde_saphyr::{Error, MessageFormatter as _};
    match error.without_snippet() {
        Error::AliasError { error, .. } => reason(error),
        Error::MultipleDocuments { .. } => "a second document begins here, and a file is one".to_owned(),
        Error::UnknownAnchor { .. } => "the alias names no anchor before it".to_owned(),
        Error::RecursiveReferencesRequireWeakTypes { .. } => "the alias stands inside of what it names".to_owned(),
        Error::DuplicateMappingKey { key: Some(key), .. } => format!("the key `{key}` occurs twice"),
        Error::DuplicateMappingKey { key: None, .. } => "a key occurs twice".to_owned(),
        Error::Budget { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasReplayCounterOverflow { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => "the YAML is too large or too deeply nested".to_owned(),
        Error::Message { msg, .. } => msg.clone(),
        other => UserMessageFormatter.format_message(other).into_owned(),
    }
}

impl From<Spanned<Value>> for Node {
    fn from(spanned: Spanned<Value>) -> Self {
        let span = spanned.defined.span();
        let source = span.byte_offset().zip(span.byte_len()).and_then(|(offset, length)| {
            let start = usize::try_from(offset).ok()?;
            Some(start..start.checked_add(usize::try_from(length).ok()?)?)
        });
        Self { value: spanned.value, at: Position::of(spanned.referenced), source }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Natural(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(u64::try_from(value).map_or(Value::Negative(value), Value::Natural))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Real(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element::<Spanned<Value>>()? {
            list.push(item.into());
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Vec::new();
        while let Some(key) = entries.next_key::<Spanned<String>>()? {
            let value: Spanned<Value> = entries.next_value()?;
            map.push(Entry { key: key.value, at: Position::of(key.referenced), value: value.into() });
        }
        Ok(Value::Map(map))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    /// The tree, one value a line, each with its position.
    fn outline(text: &str) -> String {
        fn walk(node: &Node, text: &str, depth: usize, out: &mut String) {
            let Position { line, column } = node.at;
            let scalar = node.written(text).filter(|_| !matches!(node.value, Value::List(_) | Value::Map(_)));
            let shown = format!("{} at {line}:{column} {}", node.value.kind(), scalar.unwrap_or_default());
            writeln!(out, "{}", shown.trim_end()).unwrap();
            match &node.value {
                Value::List(items) => {
                    for item in items {
                        write!(out, "{:1$}- ", "", depth * 2).unwrap();
                        walk(item, text, depth + 1, out);
                    }
                }
                Value::Map(entries) => {
                    for entry in entries {
                        write!(out, "{:1$}{2} at {3}:{4}: ", "", depth * 2, entry.key, entry.at.line, entry.at.column)
                            .unwrap();
                        walk(&entry.value, text, depth + 1, out);
                    }
                }
                Value::Null
                | Value::Bool(_)
                | Value::Natural(_)
                | Value::Negative(_)
                | Value::Real(_)
                | Value::Text(_) => {}
            }
        }
        let mut out = String::new();
        walk(&parse(text).unwrap(), text, 0, &mut out);
        out
    }

    #[test]
    fn every_key_and_value_knows_its_line_and_column() {
        let text = "name: demo\nversion: 1.0\nlist:\n  - one: 1\n    on: yes\n  - \"zwei\"\nlast:\n";
        insta::assert_snapshot!(outline(text), @r#"
        a mapping at 1:1
        name at 1:1: a text at 1:7 demo
        version at 2:1: a number at 2:10 1.0
        list at 3:1: a list at 4:3
          - a mapping at 4:5
            one at 4:5: a number at 4:10 1
            on at 5:5: a text at 5:9 yes
          - a text at 6:5 "zwei"
        last at 7:1: nothing at 7:5
        "#);
    }

    #[test]
    fn a_value_behind_an_alias_stands_where_the_alias_does() {
        insta::assert_snapshot!(outline("base: &b 1.5\nused: *b\nmerged:\n  <<: {inner: x}\n"), @r#"
        a mapping at 1:1
        base at 1:1: a number at 1:10 1.5
        used at 2:1: a number at 2:7 1.5
        merged at 3:1: a mapping at 4:3
          inner at 4:7: a text at 4:7 x
        "#);
    }

    #[test]
    fn an_empty_text_is_nothing() {
        for text in ["", "\n\n", "# only a comment\n", "---\n"] {
            assert!(matches!(parse(text).unwrap().value, Value::Null), "{text:?}");
        }
    }

    #[test]
    fn what_is_not_one_document_is_refused_with_its_place() {
        let refusal = |text: &str| {
            let SyntaxError { reason, at } = parse(text).unwrap_err();
            format!("{}:{}: {reason}", at.line, at.column)
        };
        let texts = [
            "a: 1\nb: [1, 2\nc: 3\n",
            "a: 1\n\tb: 2\n",
            "a: 1\nb: 2\na: 3\n",
            "a: 1\n---\nb: 2\n",
            "a: *nowhere\n",
            "a: &loop [*loop]\n",
            "a: \"open\n",
            "{a: 1}: 2\n",
            "~: 2\n",
            "a: !include other.yaml\n",
            "a: b: c\n",
        ];
        insta::assert_snapshot!(texts.map(refusal).join("\n"), @r#"
        3:2: illegal placement of ':' indicator
        1:4: while scanning a plain scalar, found a tab
        3:1: the key `a` occurs twice
        3:1: a second document begins here, and a file is one
        1:4: the alias names no anchor before it
        1:11: the alias stands inside of what it names
        1:4: unclosed quote
        1:1: expected string scalar
        1:1: null is not allowed here
        1:13: unsupported tag `!include`
        1:5: mapping values are not allowed in this context
        "#);
    }

    #[test]
    fn a_small_text_cannot_cost_much_time_or_memory() {
        let mut laughs = String::from("a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n");
        for level in 1..20 {
            let previous = vec![format!("*a{}", level - 1); 10].join(", ");
            writeln!(laughs, "a{level}: &a{level} [{previous}]").unwrap();
        }
        let deep = format!("a: {}{}", "[".repeat(100_000), "]".repeat(100_000));
        let blocks: String = (0..2_000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
        let wide = format!("a: [{}]", "x, ".repeat(200_000));
        for text in [laughs, deep, blocks, wide] {
            let reason = parse(&text).unwrap_err().reason;
            assert!(reason.contains("too large") || reason.contains("recursion limit"), "{reason}");
        }
    }
}
