//! Changing one value of a YAML text and nothing else in it: comments, order and the form of everything else stay.
//!
//! The text is edited as text, at the place that its tree names. The result is then read and compared with what was there:
//! if anything but the one value differs, there is no result. So a form that is not thought of here is left to its
//! author, and never damaged.

use crate::manifest::file::BYTE_ORDER_MARK;
use crate::manifest::yaml::{self, Entry, Node, Position, Value};

/// The text is written in a form that cannot be changed without touching more than the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NotSafe;

/// `text` with the value of `section.leaf` being `value`. `text` is one YAML document.
pub(super) fn set(text: &str, section: &str, leaf: &str, value: &str) -> Result<String, NotSafe> {
    let (mark, body) = match text.strip_prefix(BYTE_ORDER_MARK) {
        Some(body) => (&text[..BYTE_ORDER_MARK.len_utf8()], body),
        None => ("", text),
    };
    let old = yaml::parse(body).map_err(|_| NotSafe)?;
    let edited = edit(body, &old, section, leaf, value).ok_or(NotSafe)?;
    let new = yaml::parse(&edited).map_err(|_| NotSafe)?;
    let set = matches!(&find(&new, section).and_then(|inner| find(inner, leaf)), Some(Node { value: Value::Text(text), .. }) if text == value);
    if set && rest(&old, section, leaf) == rest(&new, section, leaf) {
        Ok(format!("{mark}{edited}"))
    } else {
        Err(NotSafe)
    }
}

fn edit(body: &str, tree: &Node, section: &str, leaf: &str, value: &str) -> Option<String> {
    let newline = if body.contains("\r\n") { "\r\n" } else { "\n" };
    // A JSON string is a double-quoted scalar of YAML.
    let written = serde_json::to_string(value).ok()?;
    let Some(found) = entry(tree, section) else {
        if !matches!(tree.value, Value::Null | Value::Map(_)) {
            return None;
        }
        let gap = if body.is_empty() || body.ends_with('\n') { "" } else { newline };
        return Some(format!("{body}{gap}{section}:{newline}  {leaf}: {written}{newline}"));
    };
    if let Some(old) = find(&found.value, leaf) {
        let range = old.source.clone()?;
        let (before, after) = (body.get(..range.start)?, body.get(range.end..)?);
        // Where the parser's span ends with the line, the line's end stays.
        let kept = body.get(range)?;
        let end = &kept[kept.trim_end().len()..];
        return Some(format!("{before}{written}{end}{after}"));
    }
    let indent = match &found.value.value {
        Value::Null => found.at.column + 1,
        Value::Map(entries) => first_below(entries, found.at)?.column - 1,
        Value::Bool(_) | Value::Natural(_) | Value::Negative(_) | Value::Real(_) | Value::Text(_) | Value::List(_) => {
            return None;
        }
    };
    let indent = " ".repeat(usize::try_from(indent).ok()?);
    let line = usize::try_from(found.at.line).ok()?;
    let end: usize = body.split_inclusive('\n').take(line).map(str::len).sum();
    let (before, after) = body.split_at_checked(end)?;
    let gap = if before.ends_with('\n') { "" } else { newline };
    Some(format!("{before}{gap}{indent}{leaf}: {written}{newline}{after}"))
}

/// The position of a mapping's first key, if it stands below the key that the mapping belongs to.
fn first_below(entries: &[Entry], key: Position) -> Option<Position> {
    entries.first().map(|entry| entry.at).filter(|at| at.line > key.line && at.column > key.column)
}

fn entry<'n>(node: &'n Node, key: &str) -> Option<&'n Entry> {
    let Value::Map(entries) = &node.value else { return None };
    entries.iter().find(|entry| entry.key == key)
}

fn find<'n>(node: &'n Node, key: &str) -> Option<&'n Node> {
    entry(node, key).map(|entry| &entry.value)
}

/// Everything in a tree but `section.leaf`, and `section` where nothing else is in it.
fn rest(tree: &Node, section: &str, leaf: &str) -> String {
    let Value::Map(entries) = &tree.value else {
        return if matches!(tree.value, Value::Null) { String::new() } else { outline(tree) };
    };
    let mut out = String::new();
    for entry in entries {
        let shown = match &entry.value.value {
            Value::Map(inner) if entry.key == section => {
                let others = inner.iter().filter(|inner| inner.key != leaf);
                others.map(|inner| format!("{:?}: {}, ", inner.key, outline(&inner.value))).collect()
            }
            Value::Null if entry.key == section => String::new(),
            Value::Null
            | Value::Bool(_)
            | Value::Natural(_)
            | Value::Negative(_)
            | Value::Real(_)
            | Value::Text(_)
            | Value::List(_)
            | Value::Map(_) => outline(&entry.value),
        };
        if entry.key != section || !shown.is_empty() {
            out += &format!("{:?}: {shown}\n", entry.key);
        }
    }
    out
}

/// A tree without its positions. Different trees have different outlines.
fn outline(node: &Node) -> String {
    match &node.value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => format!("{value}"),
        Value::Natural(value) => format!("{value}"),
        Value::Negative(value) => format!("{value}"),
        Value::Real(value) => format!("real {:x}", value.to_bits()),
        Value::Text(text) => format!("{text:?}"),
        Value::List(items) => format!("[{}]", items.iter().map(|item| outline(item) + ", ").collect::<String>()),
        Value::Map(entries) => {
            let shown = entries.iter().map(|entry| format!("{:?}: {}, ", entry.key, outline(&entry.value)));
            format!("{{{}}}", shown.collect::<String>())
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn model(text: &str, value: &str) -> Result<String, NotSafe> {
        set(text, "inference", "model", value)
    }

    #[test]
    fn a_value_is_set_and_everything_else_stays_byte_for_byte() {
        let cases = [
            ("", "inference:\n  model: \"new\"\n"),
            ("# nothing yet\n", "# nothing yet\ninference:\n  model: \"new\"\n"),
            ("beta: {enabled: [a]}", "beta: {enabled: [a]}\ninference:\n  model: \"new\"\n"),
            ("inference:\n  model: old # mine\n", "inference:\n  model: \"new\" # mine\n"),
            ("inference: {provider: p, model: 'old'}\n", "inference: {provider: p, model: \"new\"}\n"),
            (
                "inference: # the provider\n    # which\n    provider: p\n\nspend: # less\n",
                "inference: # the provider\n    model: \"new\"\n    # which\n    provider: p\n\nspend: # less\n",
            ),
            ("inference:\nspend:\n", "inference:\n  model: \"new\"\nspend:\n"),
            ("inference:", "inference:\n  model: \"new\"\n"),
            ("inference:\r\n  provider: p\r\n", "inference:\r\n  model: \"new\"\r\n  provider: p\r\n"),
            ("\u{feff}inference:\n  model: old\n", "\u{feff}inference:\n  model: \"new\"\n"),
            ("---\ninference:\n  model: \"é\" # é\n", "---\ninference:\n  model: \"new\" # é\n"),
        ];
        for (text, expected) in cases {
            assert_eq!(model(text, "new"), Ok(expected.to_owned()), "{text:?}");
        }
    }

    #[test]
    fn a_form_in_which_more_would_change_is_left_alone() {
        let texts = [
            "{beta: {}}\n",
            "inference: {provider: p}\n",
            "inference: {}\n",
            "inference: ~\n",
            "inference: text\n",
            "inference: [a]\n",
            "- a\n",
            "inference:\n  model:\n",
            "inference:\n  model: >\n    old\n    text\nspend:\n",
            "inference:\n  model: [a]\n  other: &x old\n  more: *x\nspend: *nowhere\n",
            "spend: &x old\ninference:\n  model: *x\n",
            "inference:\n  model: &x old\nspend: *x\n",
            "base: &b\n  model: old\ninference: *b\n",
            "beta: {}\n...\n",
        ];
        for text in texts {
            assert_eq!(model(text, "new"), Err(NotSafe), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_set_is_what_is_read_and_what_was_there_is_there_still(
            lines in prop::collection::vec(
                prop::sample::select(vec![
                    "inference:", "  model: old", "  provider: 'p' # x", "beta:", "  enabled: [a, b]", "# comment", "",
                    "  endpoint: |", "    text", "spend: {machine_tokens_per_day: 5}", "inference: {model: a}",
                ]),
                0..8,
            ),
            value in "\\PC{0,20}",
        ) {
            let text = lines.join("\n");
            if let Ok(edited) = model(&text, &value) {
                // Everything of the old text is there still, in its order, but for the one value, which may go on below,
                // over empty lines too.
                let kept = |line: &&str| !line.contains("model:") && *line != "    text" && !line.is_empty();
                let mut left = edited.lines();
                for line in text.lines().filter(kept) {
                    prop_assert!(left.any(|found| found == line), "{edited}");
                }
                prop_assert_eq!(model(&edited, &value), Ok(edited.clone()), "a second time changes nothing");
            }
        }
    }
}
