//! The record check as one `wasm32-wasip2` component, for hosts that would rather run a sandboxed checker
//! than trust a native program. It has two shapes, and both are the library `mur_verify`:
//!
//! - a `wasi:cli` command, with the arguments, output and exit codes of `mur-verify` (this file);
//! - a murmur tool, `murmur:tool/run`, whose input and result are JSON (`tool`).
//!
//! Reading the directories it is given is all that it asks of its host.

mod tool;

use std::process::ExitCode;

use mur_verify::Console;

/// The component's world, `wit/world.wit`, in Rust.
mod bindings {
    #![allow(unsafe_code, unreachable_pub, missing_docs)] // generated code
    wit_bindgen::generate!({
        path: ["../wit/task", "../wit/text", "../wit/stream", "../wit/tool", "wit"],
        world: "murmur:check-capsule/check-capsule",
        generate_all,
    });
    use crate::tool::Tool;
    export!(Tool);
}

fn main() -> ExitCode {
    let code = mur_verify::run(std::env::args_os(), &mut Console::of_process());
    // On this target the standard library turns every exit code but 0 into 1.
    #[cfg(target_os = "wasi")]
    bindings::wasi::cli::exit::exit_with_code(code);
    ExitCode::from(code)
}
