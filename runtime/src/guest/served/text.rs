//! `murmur:text/chunks`: what a guest tells while it works.

use crate::guest::store::State;
use crate::guest::witness::Emission;
use wasmtime::component::{Linker, LinkerInstance};

pub(super) const INTERFACE: &str = "murmur:text/chunks@0.1.0";

pub(super) fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    link_chunks(&mut linker.instance(INTERFACE)?)
}

/// The two functions that `murmur:stream/events` has too.
pub(super) fn link_chunks(instance: &mut LinkerInstance<'_, State>) -> wasmtime::Result<()> {
    instance.func_wrap("emit-chunk", |store, (text,): (String,)| {
        store.data().watch.emit(&text, Emission::Text);
        Ok(())
    })?;
    instance.func_wrap("emit-thinking-chunk", |store, (text,): (String,)| {
        store.data().watch.emit(&text, Emission::Thinking);
        Ok(())
    })
}
