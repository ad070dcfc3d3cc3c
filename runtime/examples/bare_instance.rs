//! Runs a capsule's component with Wasmtime and nothing around it: what a launch of `mur run` cannot be faster than.
//!
//! `bare_instance COMPONENT COMPILED`: maps the compiled form from the file COMPILED, which is made first where it is not
//! there, links WASI, instantiates, and calls `murmur:capsule/run`. Used by `cargo xtask bench`.
#![allow(missing_docs, reason = "a program, not a library")]
#![allow(unsafe_code, reason = "the compiled form is the one that this program wrote")]

use std::path::Path;
use std::process::ExitCode;

use wasmtime::component::{Component, Linker, ResourceTable};
use wasmtime::{Engine, Store};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

const CAPSULE: &str = "murmur:capsule/run@0.1.0";

struct Host {
    wasi: WasiCtx,
    table: ResourceTable,
}

impl WasiView for Host {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [component, compiled] = arguments.as_slice() else {
        eprintln!("usage: bare_instance COMPONENT COMPILED");
        return ExitCode::FAILURE;
    };
    match run(component, Path::new(compiled)).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:?}");
            ExitCode::FAILURE
        }
    }
}

async fn run(component: &str, compiled: &Path) -> wasmtime::Result<()> {
    let engine = Engine::default();
    if !compiled.exists() {
        std::fs::write(compiled, Component::from_file(&engine, component)?.serialize()?)?;
    }
    // SAFETY: the file is what `serialize` gave, in a directory of the benchmark's own.
    let component = unsafe { Component::deserialize_file(&engine, compiled)? };
    let mut linker = Linker::new(&engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    linker.define_unknown_imports_as_traps(&component)?;
    let host = Host { wasi: WasiCtx::builder().build(), table: ResourceTable::new() };
    let mut store = Store::new(&engine, host);
    let instance = linker.instantiate_async(&mut store, &component).await?;
    let interface = instance.get_export_index(&mut store, None, CAPSULE);
    let function = interface.and_then(|interface| instance.get_export_index(&mut store, Some(&interface), "run"));
    let function = function.ok_or_else(|| wasmtime::format_err!("it does not export {CAPSULE}"))?;
    instance.get_typed_func::<(), ()>(&mut store, function)?.call_async(&mut store, ()).await
}
