//! `murmur:stream/events`: `murmur:text/chunks`, and how a model comes to call a tool.

use super::text;
use crate::guest::store::State;
use crate::guest::witness::Emission;
use wasmtime::component::Linker;

pub(super) const INTERFACE: &str = "murmur:stream/events@0.1.0";

pub(super) fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    let mut instance = linker.instance(INTERFACE)?;
    text::link_chunks(&mut instance)?;
    instance.func_wrap("tool-call-started", |store, (id, name): (String, String)| {
        store.data().watch.emit_event(Emission::ToolCallStarted { id: &id, name: &name });
        Ok(())
    })?;
    instance.func_wrap("tool-call-input-bytes", |store, (id, bytes): (String, u64)| {
        store.data().watch.emit_event(Emission::ToolCallInput { id: &id, bytes });
        Ok(())
    })
}
