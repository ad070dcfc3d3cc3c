//! What a script's host offers besides tools.

use crate::bindings::murmur::artifact_manager::manage::{self, ArtifactRuntime, ArtifactSummary};
use crate::bindings::murmur::message::send::{self, OutgoingMessage};
use crate::bindings::murmur::shell::execute;

/// Calls one function of the artifact manager and reports its answer.
///
/// # Panics
/// When the task names none.
pub(crate) fn manage(arguments: &str) {
    let (function, rest) = super::first_word(arguments);
    let (first, second) = super::first_word(rest);
    let answer = match function {
        "list" => manage::list().map(|all| shown(&all)),
        "describe" => manage::describe(first).map(|info| {
            let summary = ArtifactSummary { name: info.name, version: info.version, runtime: info.runtime };
            let (tags, input, output) = (info.tags.join("+"), info.input_schema, info.output_schema);
            format!("{} {:?} {tags} {input:?} {output:?}", shown(&[summary]), info.description)
        }),
        "search" => manage::search(first).map(|all| shown(&all)),
        "pull" => manage::pull(first, second).map(|summary| shown(&[summary])),
        "remove" => manage::remove(first).map(|()| "removed".to_owned()),
        "diagnostics" => manage::diagnostics().map(|state| {
            format!("{} [{}] {}", state.capsule_id, shown(&state.installed), state.capabilities.join("+"))
        }),
        other => panic!("{other:?} is not known"),
    };
    super::report(&super::describe(answer));
}

fn shown(summaries: &[ArtifactSummary]) -> String {
    let one = |summary: &ArtifactSummary| {
        let runtime = match summary.runtime {
            ArtifactRuntime::Wasm => "wasm",
            ArtifactRuntime::Native => "native",
        };
        format!("{}@{} {runtime}", summary.name, summary.version)
    };
    summaries.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Runs a program and reports what came of it.
pub(crate) fn shell(binary: &str) {
    let variables = [("NAME".to_owned(), "value".to_owned())];
    let ran = execute::run(binary, &["argument".to_owned()], &variables);
    super::report(&super::describe(ran.map(|ended| format!("{} {}", ended.exit_code, ended.stdout))));
}

/// Sends a message and reports what came of it.
pub(crate) fn message(peer: &str) {
    let message = OutgoingMessage { message_id: "msg_1".to_owned(), context_id: None, text: "hello".to_owned() };
    super::report(&super::describe(send::send(peer, &message).map(|sent| sent.state)));
}
