//! The `murmur:` packages that guests are served, one file each.
//!
//! They are linked by hand, function by function: a component that was built by others against the same names and shapes
//! fits, and the tests' guests, whose bindings are generated from `wit`, prove that these are the shapes.

pub(crate) mod artifact_manager;
mod message;
mod shell;
mod stream;
mod task;
mod text;
mod tool_registry;

use super::store::State;
use wasmtime::component::Linker;

/// What a capsule is served.
pub(crate) const FOR_CAPSULES: &[&str] = &[
    tool_registry::INTERFACE,
    // Where the registry's types come from; it has no function to serve.
    "murmur:tool/run@0.1.0",
    artifact_manager::INTERFACE,
    shell::INTERFACE,
    message::INTERFACE,
];

/// What a tool is served. It cannot call tools.
pub(crate) const FOR_TOOLS: &[&str] = &[task::INTERFACE, text::INTERFACE, stream::INTERFACE];

/// Links [`FOR_CAPSULES`].
///
/// # Errors
/// When the linker has one of them already.
pub(crate) fn link_for_capsules(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    tool_registry::link(linker)?;
    artifact_manager::link(linker)?;
    shell::link(linker)?;
    message::link(linker)
}

/// Links [`FOR_TOOLS`].
///
/// # Errors
/// When the linker has one of them already.
pub(crate) fn link_for_tools(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    task::link(linker)?;
    text::link(linker)?;
    stream::link(linker)
}
