//! One run of one guest: the state that its store holds, and how it ended.

use super::error::{GuestError, WitnessError};
use super::grants::{self, Grants};
use super::limits::{LimitHit, Limiter};
use super::protect::{Operation, ProtectedPaths};
use super::tool::Toolbox;
use super::witness::{PathDenied, ToolCall, Witness};
use std::sync::Arc;
use tokio::time::error::Elapsed;
use wasmtime::{Store, Trap, WasmBacktrace};
use wasmtime_wasi::p2::FsError;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;
use wasmtime_wasi::{I32Exit, ResourceTable, ResourceTableError, WasiCtx, WasiCtxView, WasiView};

/// How many open files, streams and timers a guest may hold at once. There is no setting for it: it keeps a
/// guest from taking all file descriptors of the process, which needs some for the record. Two guests, a
/// capsule and its tool, stay below the usual limit of 1024.
const HANDLES: usize = 400;

/// How many functions of a trap's backtrace are told.
pub(crate) const BACKTRACE: usize = 8;

/// What a store holds besides the guest itself.
pub(crate) struct State {
    wasi: WasiCtx,
    pub(crate) table: ResourceTable,
    limiter: Limiter,
    pub(crate) watch: Watch,
    pub(crate) toolbox: Arc<Toolbox>,
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl State {
    /// The parts that serving files needs.
    pub(crate) fn files(&mut self) -> (WasiCtxView<'_>, &mut Watch) {
        let view = WasiCtxView { ctx: &mut self.wasi, table: &mut self.table };
        (view, &mut self.watch)
    }
}

/// What is watched about one guest, and by whom.
pub(crate) struct Watch {
    guest: Arc<str>,
    pub(crate) protected: Arc<ProtectedPaths>,
    pub(crate) witness: Arc<dyn Witness>,
    /// Why the witness gave up, which is then why the guest ended.
    failure: Option<WitnessError>,
}

impl Watch {
    /// Tells the witness of a refused change. The error is what the guest is told, or what traps it.
    pub(crate) fn refuse(&mut self, operation: Operation, path: &str, rule: &str) -> FsError {
        let denial = PathDenied { guest: &self.guest, operation, path, rule };
        match self.witness.path_denied(&denial) {
            Ok(()) => ErrorCode::NotPermitted.into(),
            Err(error) => FsError::trap(self.give_up(error)),
        }
    }

    /// Tells the witness of a tool call.
    ///
    /// # Errors
    /// One that traps the guest, when the witness gives up.
    pub(crate) fn tool_called(&mut self, call: &ToolCall<'_>) -> wasmtime::Result<()> {
        self.witness.tool_called(call).map_err(|error| self.give_up(error))
    }

    /// Keeps the witness's error and makes one that traps the guest.
    pub(crate) fn give_up(&mut self, error: WitnessError) -> wasmtime::Error {
        self.failure.get_or_insert(error);
        wasmtime::format_err!("the witness gave up")
    }
}

/// Makes the store of one run.
///
/// # Errors
/// [`GuestError::Workspace`].
pub(crate) fn new_store(
    engine: &wasmtime::Engine,
    guest: &str,
    grants: &Grants,
    toolbox: &Arc<Toolbox>,
    witness: &Arc<dyn Witness>,
) -> Result<Store<State>, GuestError> {
    let guest = Arc::<str>::from(guest);
    let protected = grants.workspace.as_ref().map_or_else(Arc::default, |workspace| Arc::clone(&workspace.protected));
    let mut table = ResourceTable::new();
    table.set_max_capacity(HANDLES);
    let state = State {
        wasi: grants::wasi(grants, &guest, witness)?,
        table,
        limiter: Limiter::new(grants.limits.clone()),
        watch: Watch { guest, protected, witness: Arc::clone(witness), failure: None },
        toolbox: Arc::clone(toolbox),
    };
    let mut store = Store::new(engine, state);
    store.limiter(|state| &mut state.limiter);
    store.set_epoch_deadline(1);
    store.epoch_deadline_async_yield_and_update(1);
    Ok(store)
}

/// How a guest ended well.
pub(crate) enum Ending<T> {
    /// It returned from the function that was called.
    Returned(T),
    /// It exited and reported success.
    Exited,
}

/// Tells from a guest's call how the guest ended.
///
/// # Errors
/// [`GuestError::Limit`], [`GuestError::Witness`], [`GuestError::Exited`], [`GuestError::Trapped`].
pub(crate) fn ending<T>(
    mut store: Store<State>,
    grants: &Grants,
    outcome: Result<wasmtime::Result<T>, Elapsed>,
) -> Result<Ending<T>, GuestError> {
    // The state knows better than the error what came first: a guest's allocator turns a refused growth into
    // an abort, and a tool's failure into whatever the tool makes of it.
    let state = store.data_mut();
    if let Some(error) = state.watch.failure.take() {
        return Err(GuestError::Witness(error));
    }
    if let Some(hit) = state.limiter.hit() {
        return Err(GuestError::Limit(hit));
    }
    let Ok(outcome) = outcome else {
        return Err(GuestError::Limit(LimitHit::deadline(grants.limits.deadline)));
    };
    outcome.map(Ending::Returned).or_else(|error| {
        if let Some(&I32Exit(code)) = error.downcast_ref() {
            return match code {
                0 => Ok(Ending::Exited),
                code => Err(GuestError::Exited { code }),
            };
        }
        if is_instance_limit(&error) {
            return Err(GuestError::Limit(state.limiter.instances_hit()));
        }
        Err(trapped(&error))
    })
}

/// Whether the engine stopped at [`Limits::instances`](super::Limits::instances). It has no type for this error.
fn is_instance_limit(error: &wasmtime::Error) -> bool {
    error.root_cause().to_string().starts_with("resource limit exceeded: instance count")
}

fn trapped(error: &wasmtime::Error) -> GuestError {
    let cause = if let Some(trap) = error.downcast_ref::<Trap>() {
        if *trap == Trap::UnreachableCodeReached {
            // What a Rust panic and a C abort end in. The guest's standard error has said why.
            "it panicked or aborted".to_owned()
        } else {
            let text = trap.to_string();
            text.strip_prefix("wasm trap: ").unwrap_or(&text).to_owned()
        }
    } else if matches!(error.downcast_ref(), Some(ResourceTableError::Full)) {
        format!("it holds more than {HANDLES} open files, streams and timers at once")
    } else {
        error.root_cause().to_string()
    };
    let functions = error
        .downcast_ref::<WasmBacktrace>()
        .map(|backtrace| backtrace.frames())
        .unwrap_or_default()
        .iter()
        .filter_map(|frame| frame.func_name().map(str::to_owned))
        .take(BACKTRACE)
        .collect();
    GuestError::Trapped { cause, functions }
}
