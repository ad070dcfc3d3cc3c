//! Tools: guests that are called with an input and give a result.

use super::bindings::tool::ToolPre;
use super::bindings::{ToolInput, ToolResult};
use super::engine::Clock;
use super::error::GuestError;
use super::grants::Grants;
use super::served::artifact_manager::ArtifactManager;
use super::store::{self, Ending, State};
use super::witness::Witness;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A tool that is loaded and fits. Clones share the compiled code.
#[derive(Clone)]
pub struct Tool {
    prepared: ToolPre<State>,
    /// The code yields only as long as the clock ticks.
    _clock: Arc<Clock>,
}

impl Tool {
    pub(crate) fn new(prepared: ToolPre<State>, clock: Arc<Clock>) -> Self {
        Self { prepared, _clock: clock }
    }

    /// Calls the tool once, in a fresh instance. `name` is how the witness and errors call it.
    ///
    /// A result whose status is `failed` or `error` is a result. Beyond the memory limit, Wasmtime bounds what
    /// a tool hands back: to 128 MiB, past which it traps.
    ///
    /// # Errors
    /// When there is no result: [`GuestError::Workspace`], [`GuestError::Limit`], [`GuestError::Trapped`],
    /// [`GuestError::Exited`], [`GuestError::NoResult`], [`GuestError::Witness`].
    pub async fn run(
        &self,
        name: &str,
        grants: &Grants,
        input: &ToolInput,
        witness: &Arc<dyn Witness>,
    ) -> Result<ToolResult, GuestError> {
        let toolbox = Arc::default();
        let mut store = store::new_store(self.prepared.engine(), name, grants, &toolbox, witness)?;
        let failure = store.data().failure();
        let call = async {
            let tool = self.prepared.instantiate_async(&mut store).await?;
            tool.murmur_tool_run().call_run(&mut store, input).await
        };
        let outcome = store::bounded(call, failure, grants).await;
        match store::ending(store, grants, outcome)? {
            Ending::Returned(result) => Ok(result),
            Ending::Exited => Err(GuestError::NoResult),
        }
    }
}

/// The tools that a capsule may call, by name, each with what it is given; and who manages its artifacts.
#[derive(Default)]
pub struct Toolbox {
    tools: BTreeMap<String, (Tool, Grants)>,
    artifacts: Option<Arc<dyn ArtifactManager>>,
}

impl Toolbox {
    /// One without tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool under the name that capsules call it by, in place of an earlier one of that name.
    pub fn insert(&mut self, name: impl Into<String>, tool: Tool, grants: Grants) {
        self.tools.insert(name.into(), (tool, grants));
    }

    /// Lets the capsule manage the session's artifacts.
    pub fn manage(&mut self, artifacts: Arc<dyn ArtifactManager>) {
        self.artifacts = Some(artifacts);
    }

    pub(crate) fn artifacts(&self) -> Option<&Arc<dyn ArtifactManager>> {
        self.artifacts.as_ref()
    }

    /// Calls a tool for a capsule. The outer error is the witness's and ends the capsule; the inner one is told to
    /// the capsule.
    pub(crate) async fn call(
        &self,
        name: &str,
        input: &ToolInput,
        witness: &Arc<dyn Witness>,
    ) -> Result<Result<ToolResult, String>, super::WitnessError> {
        let Some((tool, grants)) = self.tools.get(name) else {
            return Ok(Err(format!("tool `{name}` is not declared in the manifest")));
        };
        match tool.run(name, grants, input, witness).await {
            Ok(result) => Ok(Ok(result)),
            Err(GuestError::Witness(error)) => Err(error),
            Err(error) => Ok(Err(format!("tool `{name}`: {error}"))),
        }
    }
}
