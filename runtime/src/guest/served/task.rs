//! `murmur:task/task`.

use crate::guest::store::State;
use wasmtime::component::Linker;

pub(super) const INTERFACE: &str = "murmur:task/task@0.1.0";

/// The guest waits for an answer, and there is no value that would say that none comes: it traps.
pub(super) fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    linker.instance(INTERFACE)?.func_wrap("request-input", |_, (_,): (String,)| -> wasmtime::Result<(String,)> {
        wasmtime::bail!("it asked for input, and nobody can answer in a script session")
    })
}
