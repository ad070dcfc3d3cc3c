//! `murmur:shell/execute`. There is no grant yet that would let a guest run a program.

use crate::guest::store::State;
use wasmtime::component::{ComponentType, Linker, Lower};

pub(super) const INTERFACE: &str = "murmur:shell/execute@0.1.0";

#[derive(ComponentType, Lower)]
#[component(record)]
struct ExecuteResult {
    #[component(name = "exit-code")]
    exit_code: i32,
    stdout: String,
    stderr: String,
    truncated: bool,
    #[component(name = "full-output-path")]
    full_output_path: Option<String>,
}

/// The arguments of `run`: the binary, its arguments, its variables.
type Run = (String, Vec<String>, Vec<(String, String)>);

pub(super) fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    linker.instance(INTERFACE)?.func_wrap("run", |_, (binary, _, _): Run| {
        Ok((Err::<ExecuteResult, _>(format!("shell is not granted: `{binary}` was not run")),))
    })
}
