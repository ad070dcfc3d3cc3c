//! A tool that counts words: `{"text": "…"}` in, a number out. It is as small as a tool can be, and
//! the capsules beside it call it.
#![cfg(any(target_arch = "wasm32", test))] // a component, so for other targets there is nothing to build

/// What the tool's world, `murmur:tool/tool`, looks like in Rust.
mod bindings {
    #![allow(unsafe_code, unreachable_pub, missing_docs)] // generated code
    wit_bindgen::generate!({
        path: ["../../wit/task", "../../wit/text", "../../wit/stream", "../../wit/tool"],
        world: "murmur:tool/tool",
        generate_all,
    });
    use super::WordCount;
    export!(WordCount);
}

use bindings::exports::murmur::tool::run::{Guest, Status, ToolInput, ToolResult};

struct WordCount;

impl Guest for WordCount {
    fn run(input: ToolInput) -> ToolResult {
        let (status, summary, data) = match text_of(&input) {
            Ok(text) => {
                let words = text.split_whitespace().count();
                (Status::Passed, format!("{words} words"), Some(words.to_string()))
            }
            Err(problem) => (Status::Error, problem, None),
        };
        ToolResult { status, summary: Some(summary), data, data_path: None, truncated: false, metadata: Vec::new() }
    }
}

fn text_of(input: &ToolInput) -> Result<String, String> {
    let data = input.data.as_deref().ok_or("there is no input")?;
    let value: serde_json::Value =
        serde_json::from_str(data).map_err(|error| format!("the input is not JSON: {error}"))?;
    let text = value.get("text").and_then(serde_json::Value::as_str);
    text.map(str::to_owned).ok_or_else(|| "the input has no text in a member `text`".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(data: &str) -> ToolResult {
        WordCount::run(ToolInput { data: Some(data.to_owned()), log_path: None })
    }

    #[test]
    fn words_are_what_white_space_separates() {
        let result = run(r#"{"text": " one two\n three "}"#);
        assert_eq!((result.status, result.data.as_deref()), (Status::Passed, Some("3")));
    }

    #[test]
    fn input_of_another_shape_is_an_error_with_a_reason() {
        for data in ["", "[]", r#"{"text": 3}"#] {
            let result = run(data);
            assert_eq!((result.status, result.data), (Status::Error, None));
            assert!(result.summary.is_some_and(|summary| summary.starts_with("the input ")));
        }
    }
}
