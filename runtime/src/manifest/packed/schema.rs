//! A tool's input schema: JSON text, or the same written as YAML.

use serde_json::{Map, Number, Value as Json};

use super::super::ManifestError;
use super::super::fields::{Fields, Reader};
use super::super::yaml::{Node, Value};

const FIELD: &str = "input_schema";

/// The schema; without one, the schema of an object with nothing known of its members.
pub(super) fn read(reader: &Reader<'_>, root: &Fields<'_>) -> Result<Map<String, Json>, ManifestError> {
    let Some(node) = root.block(FIELD) else {
        let members = [("type", Json::from("object")), ("properties", Json::Object(Map::new()))];
        return Ok(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect());
    };
    match &node.value {
        Value::Text(json) => match serde_json::from_str(json) {
            Ok(Json::Object(schema)) => Ok(schema),
            Ok(_) => Err(reader.wrong_type(node, FIELD, "a JSON object or a mapping")),
            Err(error) => Err(reader.value(
                node.at,
                format!("`{FIELD}` is not JSON: {error}, counted within the value"),
                Some("correct the JSON, or write the schema as a YAML mapping".to_owned()),
            )),
        },
        Value::Map(_) => match json(reader, node, FIELD.to_owned())? {
            Json::Object(schema) => Ok(schema),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
                Err(reader.wrong_type(node, FIELD, "a JSON object or a mapping"))
            }
        },
        Value::Null | Value::Bool(_) | Value::Natural(_) | Value::Negative(_) | Value::Real(_) | Value::List(_) => {
            Err(reader.wrong_type(node, FIELD, "a JSON object or a mapping"))
        }
    }
}

fn json(reader: &Reader<'_>, node: &Node, field: String) -> Result<Json, ManifestError> {
    Ok(match &node.value {
        Value::Null => Json::Null,
        Value::Bool(value) => Json::Bool(*value),
        Value::Natural(value) => Json::from(*value),
        Value::Negative(value) => Json::from(*value),
        Value::Real(value) => {
            let number = Number::from_f64(*value);
            Json::Number(number.ok_or_else(|| reader.wrong_type(node, &field, "a number that JSON can hold"))?)
        }
        Value::Text(value) => Json::String(value.clone()),
        Value::List(items) => {
            let items = items.iter().enumerate();
            Json::Array(items.map(|(i, item)| json(reader, item, format!("{field}[{i}]"))).collect::<Result<_, _>>()?)
        }
        Value::Map(entries) => {
            let member = |key: &str| format!("{field}.{key}");
            let entries = entries.iter();
            Json::Object(
                entries
                    .map(|entry| Ok((entry.key.clone(), json(reader, &entry.value, member(&entry.key))?)))
                    .collect::<Result<_, ManifestError>>()?,
            )
        }
    })
}
