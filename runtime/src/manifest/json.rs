//! Free mappings of a manifest as JSON text: settings that are handed on, not read.

use std::fmt;

use super::yaml::{Node, Value};

/// The largest mapping that is handed on, in bytes of its JSON text.
pub const CONFIG_MAX_BYTES: usize = 65_536;

/// A JSON object as text: keys sorted by their bytes, no space between, at most [`CONFIG_MAX_BYTES`] long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonObject(String);

impl JsonObject {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for JsonObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a value has no such form. Each message completes "the field …".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum JsonError {
    #[error("must be a mapping")]
    Shape,
    #[error("holds a number that JSON does not have")]
    Number,
    #[error("is {0} bytes long as JSON, and at most {CONFIG_MAX_BYTES} are allowed")]
    TooLong(usize),
}

/// The object that `node` is.
pub(super) fn object(node: &Node) -> Result<JsonObject, JsonError> {
    if !matches!(node.value, Value::Map(_)) {
        return Err(JsonError::Shape);
    }
    let text = value(node)?.to_string();
    if text.len() > CONFIG_MAX_BYTES { Err(JsonError::TooLong(text.len())) } else { Ok(JsonObject(text)) }
}

fn value(node: &Node) -> Result<serde_json::Value, JsonError> {
    Ok(match &node.value {
        Value::Null => serde_json::Value::Null,
        Value::Bool(value) => (*value).into(),
        Value::Natural(value) => (*value).into(),
        Value::Negative(value) => (*value).into(),
        Value::Real(value) => serde_json::Number::from_f64(*value).ok_or(JsonError::Number)?.into(),
        Value::Text(text) => text.as_str().into(),
        Value::List(items) => items.iter().map(value).collect::<Result<Vec<_>, _>>()?.into(),
        Value::Map(entries) => {
            let mut sorted: Vec<_> = entries.iter().collect();
            sorted.sort_by(|a, b| a.key.cmp(&b.key));
            let pairs = sorted.into_iter().map(|entry| Ok((entry.key.clone(), value(&entry.value)?)));
            serde_json::Value::Object(pairs.collect::<Result<_, JsonError>>()?)
        }
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::super::yaml::parse;
    use super::*;

    fn json(text: &str) -> Result<String, JsonError> {
        object(&parse(text).unwrap()).map(|object| object.as_str().to_owned())
    }

    #[test]
    fn a_mapping_has_one_form_whatever_the_order_of_its_keys() {
        let text = "{b: [1, -2, 1.5, 1e3], a: {z: ~, y: true, x: 'no', w: no}, \"é\": 2026-01-01}";
        assert_eq!(
            json(text).unwrap(),
            r#"{"a":{"w":"no","x":"no","y":true,"z":null},"b":[1,-2,1.5,1000.0],"é":"2026-01-01"}"#
        );
        assert_eq!(json("{b: 1, a: 2}"), json("{a: 2, b: 1}"));
    }

    #[test]
    fn what_json_does_not_have_is_refused() {
        assert_eq!(json("[1]"), Err(JsonError::Shape));
        assert_eq!(json("text"), Err(JsonError::Shape));
        for number in [".inf", "-.inf", ".nan"] {
            assert_eq!(json(&format!("a: [{number}]")), Err(JsonError::Number));
        }
    }

    #[test]
    fn the_largest_object_is_exactly_as_long_as_is_said() {
        let text = |length: usize| format!("a: {}", "x".repeat(length - r#"{"a":""}"#.len()));
        assert_eq!(json(&text(CONFIG_MAX_BYTES)).unwrap().len(), CONFIG_MAX_BYTES);
        assert_eq!(json(&text(CONFIG_MAX_BYTES + 1)), Err(JsonError::TooLong(CONFIG_MAX_BYTES + 1)));
    }
}
