//! `murmur:tool-registry/invoke`, through which capsules call tools.

use crate::guest::bindings::{ToolInput, ToolResult};
use crate::guest::store::{State, Watch};
use crate::guest::witness::{ToolCall, Witness};
use std::sync::Arc;
use std::time::Instant;
use wasmtime::component::Linker;

pub(super) const INTERFACE: &str = "murmur:tool-registry/invoke@0.1.0";

pub(super) fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    linker.instance(INTERFACE)?.func_wrap_async("invoke", |mut store, (name, input): (String, ToolInput)| {
        Box::new(async move { Ok((invoke(store.data_mut(), &name, &input).await?,)) })
    })
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
