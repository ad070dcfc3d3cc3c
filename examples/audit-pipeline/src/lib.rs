//! A stage of a pipeline that trusts no stage before it. It works on a file that an earlier session
//! handed over, has that session's record checked, and passes its work on only when the record is
//! `verified`; otherwise it fails, and so does the pipeline.
//!
//! Its task names that file, below the workdir, beside the check capsule's input:
//! `{"work": "…", "records": "…", "public_key": "…"}`.
#![cfg(target_arch = "wasm32")] // a component, so for other targets there is nothing to build

/// What the capsule's world, `murmur:capsule/capsule`, looks like in Rust.
mod bindings {
    #![allow(unsafe_code, unreachable_pub, missing_docs)] // generated code
    wit_bindgen::generate!({
        path: [
            "../../wit/task",
            "../../wit/text",
            "../../wit/stream",
            "../../wit/tool",
            "../../wit/tool-registry",
            "../../wit/capsule",
        ],
        world: "murmur:capsule/capsule",
        generate_all,
    });
    use super::AuditPipeline;
    export!(AuditPipeline);
}

use std::error::Error;
use std::fs;

use bindings::exports::murmur::capsule::run::Guest;
use bindings::murmur::tool::run::{Status, ToolInput, ToolResult};
use bindings::murmur::tool_registry::invoke::invoke;
use serde_json::{Map, Value};

struct AuditPipeline;

impl Guest for AuditPipeline {
    fn run() {
        match work_and_check() {
            Ok(Status::Passed) => {}
            Ok(Status::Failed | Status::Error) => std::process::exit(1),
            Err(problem) => {
                eprintln!("audit-pipeline: {problem}");
                std::process::exit(1);
            }
        }
    }
}

/// Does this stage's work and writes what became of it; the status is that of the check.
fn work_and_check() -> Result<Status, Box<dyn Error>> {
    let (work, check) = read_task(&fs::read_to_string("task.md")?)?;
    let handed_over = fs::read_to_string(&work).map_err(|error| format!("{work}: {error}"))?;

    let counted = call("word-count", serde_json::json!({ "text": handed_over }).to_string())?;
    let checked = call("check-capsule", check)?;

    let finding = checked.summary.unwrap_or_default();
    let outcome = match checked.status {
        Status::Passed => format!("passed on: {}", counted.summary.unwrap_or_default()),
        Status::Failed | Status::Error => "stopped: nothing is passed on".to_owned(),
    };
    fs::create_dir_all("out")?;
    fs::write("out/result.txt", format!("{finding}\n{outcome}\n"))?;
    Ok(checked.status)
}

/// What a task names: the file to work on, and the input of the check. That input is the task without
/// its member `work`, since the check refuses members that it does not know.
fn read_task(task: &str) -> Result<(String, String), Box<dyn Error>> {
    let mut members: Map<String, Value> =
        serde_json::from_str(task).map_err(|error| format!("the task is not a JSON object: {error}"))?;
    match members.remove("work") {
        Some(Value::String(work)) => Ok((work, serde_json::to_string(&members)?)),
        Some(_) | None => Err("the task names no file to work on in a member `work`".into()),
    }
}

fn call(tool: &str, data: String) -> Result<ToolResult, String> {
    invoke(tool, &ToolInput { data: Some(data), log_path: None }).map_err(|problem| format!("{tool}: {problem}"))
}
