//! Capsules, and `murmur:tool-registry`, through which they call tools.

use super::bindings::capsule::CapsulePre;
use super::bindings::{ToolInput, ToolResult};
use super::engine::Clock;
use super::error::GuestError;
use super::grants::Grants;
use super::store::{self, Ending, State, Watch};
use super::tool::Toolbox;
use super::witness::{ToolCall, Witness};
use std::sync::Arc;
use std::time::Instant;
use tokio::time::timeout;
use wasmtime::component::Linker;

/// A capsule that is loaded and fits. Clones share the compiled code.
#[derive(Clone)]
pub struct Capsule {
    prepared: CapsulePre<State>,
    /// The code yields only as long as the clock ticks.
    _clock: Arc<Clock>,
}

impl Capsule {
    pub(crate) fn new(prepared: CapsulePre<State>, clock: Arc<Clock>) -> Self {
        Self { prepared, _clock: clock }
    }

    /// Runs the capsule once, in a fresh instance, from start to end. `name` is how the witness knows it.
    ///
    /// Dropping the future ends the capsule where it stands, and the tool that it may be waiting for.
    ///
    /// # Errors
    /// When it did not end well, by returning or by exiting with code 0: [`GuestError::Workspace`],
    /// [`GuestError::Limit`], [`GuestError::Trapped`], [`GuestError::Exited`], [`GuestError::Witness`].
    pub async fn run(
        &self,
        name: &str,
        grants: &Grants,
        toolbox: &Arc<Toolbox>,
        witness: &Arc<dyn Witness>,
    ) -> Result<(), GuestError> {
        let mut store = store::new_store(self.prepared.engine(), name, grants, toolbox, witness)?;
        let call = async {
            let capsule = self.prepared.instantiate_async(&mut store).await?;
            capsule.murmur_capsule_run().call_run(&mut store).await
        };
        let outcome = timeout(grants.limits.deadline, call).await;
        match store::ending(store, grants, outcome)? {
            Ending::Returned(()) | Ending::Exited => Ok(()),
        }
    }
}

/// Serves `murmur:tool-registry/invoke`.
///
/// # Errors
/// When the linker has it already.
pub(crate) fn add_tool_registry(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    linker.instance("murmur:tool-registry/invoke@0.1.0")?.func_wrap_async(
        "invoke",
        |mut store, (name, input): (String, ToolInput)| {
            Box::new(async move { Ok((invoke(store.data_mut(), &name, &input).await?,)) })
        },
    )
}

/// Calls a tool for a capsule and tells the witness. The outer error traps the capsule.
async fn invoke(capsule: &mut State, name: &str, input: &ToolInput) -> wasmtime::Result<Result<ToolResult, String>> {
    let call = Call { name, input, started: Instant::now(), cut_off: Some(Arc::clone(&capsule.watch.witness)) };
    let outcome = capsule.toolbox.call(name, input, &capsule.watch.witness).await;
    let outcome = outcome.map_err(|error| capsule.watch.give_up(error))?;
    call.ended(outcome.as_ref().map_err(String::as_str), &mut capsule.watch)?;
    Ok(outcome)
}

/// A call that is under way. The capsule may be ended at any time, and its tool with it; what the tool did until then
/// happened all the same, so the witness is told of the call in any case.
struct Call<'a> {
    name: &'a str,
    input: &'a ToolInput,
    started: Instant,
    /// Who is told when the call does not end by itself.
    cut_off: Option<Arc<dyn Witness>>,
}

impl Call<'_> {
    fn ended(mut self, outcome: Result<&ToolResult, &str>, watch: &mut Watch) -> wasmtime::Result<()> {
        self.cut_off = None;
        watch.tool_called(&self.told(outcome))
    }

    fn told<'a>(&'a self, outcome: Result<&'a ToolResult, &'a str>) -> ToolCall<'a> {
        ToolCall { name: self.name, input: self.input, outcome, duration: self.started.elapsed() }
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        if let Some(witness) = self.cut_off.take() {
            // The capsule is over already: an error has nobody left to end.
            let _ = witness.tool_called(&self.told(Err("cut off: the capsule was ended while the tool ran")));
        }
    }
}
