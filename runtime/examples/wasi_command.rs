//! Runs a component as a plain WASI command, with one directory to read, and says how long that took.
//!
//! `wasi_command COMPONENT DIRECTORY ARGUMENTS...`: the command sees the directory as `record`. What it prints goes to
//! stderr; on stdout stand the seconds that compiling it took, and those that it ran: `compile 1.234` and `run 0.567`. The
//! exit code is the command's. Used by `cargo xtask bench`, on a machine that may have no other WASI host.
#![allow(missing_docs, reason = "a program, not a library")]

use std::process::ExitCode;
use std::time::Instant;

use wasmtime::component::{Component, Linker, ResourceTable};
use wasmtime::{Engine, Store};
use wasmtime_wasi::p2::bindings::Command;
use wasmtime_wasi::{FsPerms, I32Exit, WasiCtx, WasiCtxView, WasiView};

/// The exit code for wrong usage, and for a command that ended by a trap.
const FAILED: u8 = 125;

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
    let [component, directory, arguments @ ..] = arguments.as_slice() else {
        eprintln!("usage: wasi_command COMPONENT DIRECTORY ARGUMENTS...");
        return ExitCode::from(FAILED);
    };
    match run(component, directory, arguments).await {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("error: {error:?}");
            ExitCode::from(FAILED)
        }
    }
}

async fn run(component: &str, directory: &str, arguments: &[String]) -> wasmtime::Result<u8> {
    let engine = Engine::default();
    let started = Instant::now();
    let component = Component::from_file(&engine, component)?;
    println!("compile {}", started.elapsed().as_secs_f64());

    let started = Instant::now();
    let mut linker = Linker::new(&engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    let mut wasi = WasiCtx::builder();
    wasi.arg("command").args(arguments).inherit_stderr();
    wasi.stdout(wasmtime_wasi::cli::stderr());
    wasi.preopened_dir(directory, "record", FsPerms::ReadOnly)?;
    // There is nothing else to do here while a file is read.
    wasi.allow_blocking_current_thread(true);
    let mut store = Store::new(&engine, Host { wasi: wasi.build(), table: ResourceTable::new() });
    let command = Command::instantiate_async(&mut store, &component, &linker).await?;
    let code = match command.wasi_cli_run().call_run(&mut store).await {
        Ok(Ok(())) => 0,
        Ok(Err(())) => 1,
        Err(error) => u8::try_from(error.downcast::<I32Exit>()?.0).unwrap_or(FAILED),
    };
    println!("run {}", started.elapsed().as_secs_f64());
    Ok(code)
}
