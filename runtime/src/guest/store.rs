//! One run of one guest: the state that its store holds, and how it ended.

use super::error::{GuestError, WitnessError};
use super::grants::{self, Grants};
use super::http::{Http, Onlooker};
use super::limits::{LimitHit, Limiter};
use super::protect::{Operation, ProtectedPaths, Rule};
use super::tool::Toolbox;
use super::witness::{Emission, PathDenied, ToolCall, Witness};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;
use tokio::time::error::Elapsed;
use tokio::time::timeout;
use wasmtime::{Store, Trap, WasmBacktrace};
use wasmtime_wasi::p2::FsError;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;
use wasmtime_wasi::{I32Exit, ResourceTable, ResourceTableError, WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtxView, WasiHttpView};

/// How many open files, streams, timers and requests a guest may hold at once. There is no setting for it: it keeps a
/// guest from taking all file descriptors of the process, which needs some for the record. Two guests, a
/// capsule and its tool, stay below the usual limit of 1024.
const HANDLES: usize = 400;

/// The largest piece that a guest's text is told in, as for what it prints.
const PIECE: usize = 8 << 10;

/// How many functions of a trap's backtrace are told.
pub(crate) const BACKTRACE: usize = 8;

/// What a store holds besides the guest itself.
pub(crate) struct State {
    wasi: WasiCtx,
    http: Http,
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

impl WasiHttpView for State {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView { ctx: &mut self.http.context, table: &mut self.table, hooks: &mut self.http.hooks }
    }
}

impl State {
    /// Where the witness's error is kept.
    pub(crate) fn failure(&self) -> Arc<Failure> {
        Arc::clone(&self.watch.failure)
    }

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
    failure: Arc<Failure>,
}

/// Why the witness gave up, which is then why the guest ended. Requests, which run beside the guest, tell the witness too.
#[derive(Default)]
pub(crate) struct Failure {
    error: Mutex<Option<WitnessError>>,
    told: Notify,
}

impl Failure {
    /// Ends the guest, for the first error that comes.
    pub(crate) fn set(&self, error: WitnessError) {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.told.notify_one();
    }

    fn take(&self) -> Option<WitnessError> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Watch {
    /// Tells the witness of a refused change. The error is what the guest is told, or what traps it.
    pub(crate) fn refuse(&mut self, operation: Operation, path: &str, rule: &Rule) -> FsError {
        let denial = PathDenied { guest: &self.guest, operation, path, rule: &rule.name, reason: rule.reason };
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
        self.failure.set(error);
        gave_up()
    }

    /// Tells the witness what a guest emits, in pieces as it prints.
    pub(crate) fn emit<'a>(&self, text: &'a str, as_emission: fn(&'a str) -> Emission<'a>) {
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE));
            self.witness.emitted(&self.guest, as_emission(piece));
            rest = after;
        }
    }

    /// Tells the witness what a guest says of its calls.
    pub(crate) fn emit_event(&self, event: Emission<'_>) {
        self.witness.emitted(&self.guest, event);
    }
}

fn gave_up() -> wasmtime::Error {
    wasmtime::format_err!("the witness gave up")
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
    let protected = grants.protected();
    let mut table = ResourceTable::new();
    table.set_max_capacity(HANDLES);
    let failure = Arc::<Failure>::default();
    let onlooker = Onlooker { guest: Arc::clone(&guest), witness: Arc::clone(witness), failure: Arc::clone(&failure) };
    let state = State {
        wasi: grants::wasi(grants, &guest, witness)?,
        http: Http::new(grants.network.clone(), grants.gateway.clone(), onlooker),
        table,
        limiter: Limiter::new(grants.limits.clone()),
        watch: Watch { guest, protected, witness: Arc::clone(witness), failure },
        toolbox: Arc::clone(toolbox),
    };
    let mut store = Store::new(engine, state);
    store.limiter(|state| &mut state.limiter);
    store.set_epoch_deadline(1);
    store.epoch_deadline_async_yield_and_update(1);
    Ok(store)
}

/// Waits for a guest's call, for as long as the guest has time and the witness does not give up.
pub(crate) async fn bounded<T>(
    call: impl Future<Output = wasmtime::Result<T>>,
    failure: Arc<Failure>,
    grants: &Grants,
) -> Result<wasmtime::Result<T>, Elapsed> {
    timeout(grants.limits.deadline, async {
        tokio::select! {
            biased;
            outcome = call => outcome,
            () = failure.told.notified() => Err(gave_up()),
        }
    })
    .await
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
        format!("it holds more than {HANDLES} open files, streams, timers and requests at once")
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
