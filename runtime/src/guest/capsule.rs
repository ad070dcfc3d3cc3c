//! Capsules: guests that are run once, from start to end.

use super::bindings::capsule::CapsulePre;
use super::engine::Clock;
use super::error::GuestError;
use super::grants::Grants;
use super::store::{self, Ending, State};
use super::tool::Toolbox;
use super::witness::Witness;
use std::sync::Arc;

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
        let failure = store.data().failure();
        let call = async {
            let capsule = self.prepared.instantiate_async(&mut store).await?;
            capsule.murmur_capsule_run().call_run(&mut store).await
        };
        let outcome = store::bounded(call, failure, grants).await;
        match store::ending(store, grants, outcome)? {
            Ending::Returned(()) | Ending::Exited => Ok(()),
        }
    }
}
