//! Calling tools.

use crate::bindings::murmur::tool::run::{Status, ToolInput, ToolResult};
use crate::bindings::murmur::tool_registry::invoke::invoke;

/// Calls a tool with the rest of the line as its data and reports what came of it.
pub(crate) fn call(arguments: &str) {
    let (tool, data) = super::first_word(arguments);
    let data = Some(data.to_owned()).filter(|data| !data.is_empty());
    super::report(&describe(invoke(tool, &ToolInput { data, log_path: None })));
}

/// Calls a tool on a file and reports what came of it.
pub(crate) fn call_on_a_file(arguments: &str) {
    let (tool, path) = super::first_word(arguments);
    let input = ToolInput { data: None, log_path: Some(path.to_owned()) };
    super::report(&describe(invoke(tool, &input)));
}

/// Calls a tool many times over and reports how many calls passed.
pub(crate) fn call_many(arguments: &str) {
    let (count, tool) = super::first_word(arguments);
    let passed = (0..super::number(count))
        .filter(|turn| {
            let data = Some(format!("echo {turn}"));
            let input = ToolInput { data, log_path: None };
            matches!(invoke(tool, &input), Ok(result) if result.status == Status::Passed)
        })
        .count();
    super::report(&format!("{passed} passed"));
}

/// Calls a tool by a name of so many characters.
pub(crate) fn call_long(length: u64) {
    let name = "x".repeat(usize::try_from(length).unwrap_or(usize::MAX));
    super::report(&describe(invoke(&name, &ToolInput { data: None, log_path: None })));
}

fn describe(outcome: Result<ToolResult, String>) -> String {
    match outcome {
        Ok(result) => {
            let status = match result.status {
                Status::Passed => "passed",
                Status::Failed => "failed",
                Status::Error => "error",
            };
            format!("{status}: {}", result.data.or(result.summary).unwrap_or_default())
        }
        Err(reason) => format!("no result: {reason}"),
    }
}
