//! Calls the tool that its task names, with the rest of the task as the tool's input, and leaves what the tool hands back
//! in `out/result.txt`: a capsule to try tools with.
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
    use super::Call;
    export!(Call);
}

use std::error::Error;
use std::fs;

use bindings::exports::murmur::capsule::run::Guest;
use bindings::murmur::tool::run::{Status, ToolInput};
use bindings::murmur::tool_registry::invoke::invoke;

struct Call;

impl Guest for Call {
    fn run() {
        if let Err(problem) = call() {
            eprintln!("call: {problem}");
            std::process::exit(1);
        }
    }
}

fn call() -> Result<(), Box<dyn Error>> {
    let task = fs::read_to_string("task.md")?;
    let (tool, input) = task.trim().split_once(char::is_whitespace).unwrap_or((task.trim(), ""));
    if tool.is_empty() {
        return Err("the task is `TOOL INPUT`: the name of a tool, and what it is given".into());
    }
    let input = Some(input.trim()).filter(|input| !input.is_empty()).map(str::to_owned);
    let result = invoke(tool, &ToolInput { data: input, log_path: None })?;
    let said = result.data.or(result.summary).unwrap_or_default();
    if result.status == Status::Error {
        return Err(said.into());
    }
    fs::create_dir_all("out")?;
    fs::write("out/result.txt", format!("{said}\n"))?;
    Ok(())
}
