//! `murmur:message/send`. A script has no peers to send to.

use crate::guest::store::State;
use wasmtime::component::{ComponentType, Lift, Linker, Lower};

pub(super) const INTERFACE: &str = "murmur:message/send@0.1.0";

#[derive(ComponentType, Lift)]
#[component(record)]
struct OutgoingMessage {
    #[component(name = "message-id")]
    _message_id: String,
    #[component(name = "context-id")]
    _context_id: Option<String>,
    #[component(name = "text")]
    _text: String,
}

#[derive(ComponentType, Lower)]
#[component(record)]
struct SendResult {
    #[component(name = "task-id")]
    task_id: String,
    #[component(name = "context-id")]
    context_id: String,
    state: String,
}

pub(super) fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    linker.instance(INTERFACE)?.func_wrap("send", |_, (peer, _): (String, OutgoingMessage)| {
        let reason = format!("no peer can be reached from a script session: the message to `{peer}` was not sent");
        Ok((Err::<SendResult, _>(reason),))
    })
}
