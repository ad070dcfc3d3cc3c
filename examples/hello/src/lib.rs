//! The first capsule: it reads its task, has a tool count the words of each line, and writes what came
//! of it to `out/result.txt`. Everything it did stands in its sealed record.
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
    use super::Hello;
    export!(Hello);
}

use std::error::Error;
use std::fs;

use bindings::exports::murmur::capsule::run::Guest;
use bindings::murmur::tool::run::ToolInput;
use bindings::murmur::tool_registry::invoke::invoke;

struct Hello;

impl Guest for Hello {
    fn run() {
        if let Err(problem) = count_words() {
            eprintln!("hello: {problem}");
            std::process::exit(1);
        }
    }
}

fn count_words() -> Result<(), Box<dyn Error>> {
    let mut result = String::new();
    for line in fs::read_to_string("task.md")?.lines() {
        let input = serde_json::json!({ "text": line }).to_string();
        let counted = invoke("word-count", &ToolInput { data: Some(input), log_path: None })?;
        result += &format!("{}: {line}\n", counted.summary.unwrap_or_default());
    }
    fs::create_dir_all("out")?;
    fs::write("out/result.txt", result)?;
    Ok(())
}
