//! A script capsule's session, from its first event to its seals.
//!
//! However the capsule ends, by returning, failing, trapping, running into a limit or being told to stop, the record ends
//! the same way: `task_end`, `session_end`, and the seals.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Handle};

use super::ids::{ContextId, EventId, SessionId, TaskId};
use super::paths::RESULT_FILE;
use super::plan::ACHIEVED;
use super::report;
use super::result;
use super::signals::Signals;
use super::staging::Staged;
use super::witness::SessionWitness;
use crate::context::Context;
use crate::diagnostic::{Code, Diagnostic};
use crate::guest::{GuestError, Witness};
use crate::record::{Event, Exit, SessionEnd, SessionStart, TaskCanceled, TaskEnd, TaskStart, Trace, TraceError};

/// How long the guest's last file operations may take before the process ends without them.
const LAST_OPERATIONS: Duration = Duration::from_secs(1);

/// How a session ended, and where to find what it left.
#[derive(Debug)]
pub struct Outcome {
    /// Its id.
    pub session: SessionId,
    /// How it ended.
    pub status: Status,
    /// Why it did not end well.
    pub failure: Option<Diagnostic>,
    /// The directory of its records.
    pub records_dir: PathBuf,
    /// The final output, where there is one.
    pub result: Option<PathBuf>,
}

/// The word that a session's end is told in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The capsule did what it was asked.
    Ok,
    /// It said that it failed, or could not be recorded.
    Failed,
    /// It trapped, or ran into a limit.
    Trapped,
    /// It was told to stop.
    Canceled,
}

impl Status {
    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::Trapped => "trapped",
            Self::Canceled => "canceled",
        }
    }

    /// The word that the trace knows.
    fn exit(self) -> Exit {
        match self {
            Self::Ok => Exit::Ok,
            Self::Failed | Self::Trapped => Exit::Failed,
            Self::Canceled => Exit::Canceled,
        }
    }
}

/// Runs a staged session to its end. `begun` is called once its first event is on disk.
///
/// # Errors
/// When it could not begin: nothing ran.
pub fn run(staged: Staged, context: &Context, begun: impl FnOnce(&Staged)) -> Result<Outcome, Diagnostic> {
    let refused = |reason: &dyn std::fmt::Display| {
        Diagnostic::new(Code::SessionFailed, format!("the session could not begin: {reason}"))
    };
    let workers = |count| Builder::new_multi_thread().worker_threads(count).enable_all().build();
    let runtime = workers(2).map_err(|error| refused(&error))?;
    // Signals have a runtime of their own: they must be heard until the record is sealed, after the guests' is gone.
    let watch = workers(1).map_err(|error| refused(&error))?;
    let signals = watch.block_on(async { Signals::listen() }).map_err(|error| refused(&error))?;

    let started = Instant::now();
    let trace = Trace::begin(
        &staged.dirs.session,
        staged.session,
        Arc::clone(&staged.key),
        context,
        staged.log.clone(),
        session_start(&staged),
    )
    .map_err(|error| refused(&error))?;
    begun(&staged);

    let task_id = TaskId::mint(&*context.ids);
    let task_start = Event::TaskStart(TaskStart {
        task_id,
        context_id: ContextId::mint(&*context.ids),
        source: "task_md",
        origin: "user",
        trust: "trusted",
        lane: "user",
        message_parts_bytes: staged.task_bytes,
    });
    let task = match trace.write(trace.root(), &task_start) {
        Ok(task) => task,
        Err(error) => {
            trace.close();
            return Ok(outcome(&staged, Status::Failed, Some(unrecorded(&error))));
        }
    };
    let witness = Arc::new(SessionWitness::new(trace, task, task_id, staged.plan.manifest.name.to_string()));
    let ended = runtime.block_on(watched_run(&staged, &witness, signals, watch.handle()));
    // Whatever the guest left to the blocking pool is not waited for longer than this.
    runtime.shutdown_timeout(LAST_OPERATIONS);

    // Even if something of a guest still holds the witness, the record ends as it should.
    let testimony = witness.testimony();
    let (status, failure) = judge(ended);
    let end = TaskOver { task, task_id, tool_calls: testimony.tool_calls, status, elapsed: started.elapsed() };
    let recorded = record_end(witness.trace(), &end);
    leave_result(&staged, &testimony.printed);
    witness.trace().close();
    match recorded {
        Ok(()) => Ok(outcome(&staged, status, failure)),
        Err(error) => Ok(outcome(&staged, Status::Failed, Some(unrecorded(&error)))),
    }
}

/// What is recorded of a task and its session when they are over.
struct TaskOver {
    task: EventId,
    task_id: TaskId,
    tool_calls: u64,
    status: Status,
    elapsed: Duration,
}

/// How a capsule's run ended.
enum Ended {
    Guest(Result<(), GuestError>),
    Told,
}

/// Runs the capsule until it ends, or until a signal ends it. Further signals are heard on `watch`.
async fn watched_run(staged: &Staged, witness: &Arc<SessionWitness>, mut signals: Signals, watch: &Handle) -> Ended {
    let told: Arc<dyn Witness> = Arc::clone(witness) as Arc<dyn Witness>;
    let run = staged.capsule.run(staged.plan.manifest.name.as_str(), &staged.grants, &staged.toolbox, &told);
    let ended = tokio::select! {
        ended = run => Ended::Guest(ended),
        () = signals.received() => Ended::Told,
    };
    match ended {
        Ended::Told => watch.spawn(signals.insist()),
        // The first one asks for what happens anyway.
        Ended::Guest(_) => watch.spawn(async move {
            signals.received().await;
            signals.insist().await;
        }),
    };
    ended
}

fn judge(ended: Ended) -> (Status, Option<Diagnostic>) {
    let error = match ended {
        Ended::Told => {
            let told = Diagnostic::new(Code::TaskNotCompleted, "the session was told to stop before its capsule ended");
            return (Status::Canceled, Some(told));
        }
        Ended::Guest(Ok(())) => return (Status::Ok, None),
        Ended::Guest(Err(error)) => error,
    };
    let text = format!("the capsule did not end well: {error}");
    match &error {
        GuestError::Exited { .. } => (Status::Failed, Some(Diagnostic::new(Code::TaskNotCompleted, text))),
        GuestError::Trapped { functions, .. } => {
            let diagnostic = Diagnostic::new(Code::Trapped, text);
            let diagnostic = match functions.is_empty() {
                true => diagnostic,
                false => diagnostic.with_hint(format!("it was in {}", functions.join(", called by "))),
            };
            (Status::Trapped, Some(diagnostic))
        }
        GuestError::Limit(hit) => {
            let hint = format!("raise {} in murmur.yaml, if the capsule is right to need more", hit.limit.setting());
            (Status::Trapped, Some(Diagnostic::new(Code::Trapped, text).with_hint(hint)))
        }
        GuestError::Engine { .. }
        | GuestError::Cache { .. }
        | GuestError::NotFound { .. }
        | GuestError::Unreadable { .. }
        | GuestError::NotAComponent { .. }
        | GuestError::Invalid { .. }
        | GuestError::ImportNotServed { .. }
        | GuestError::ExportMissing { .. }
        | GuestError::Mismatch { .. }
        | GuestError::Workspace { .. }
        | GuestError::NoResult
        | GuestError::Witness(_) => (Status::Failed, Some(Diagnostic::new(Code::SessionFailed, text))),
    }
}

fn record_end(trace: &Trace, end: &TaskOver) -> Result<(), TraceError> {
    let TaskOver { task, task_id, tool_calls, status, elapsed } = *end;
    let duration_ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
    if status == Status::Canceled {
        let canceled = TaskCanceled { task_id, phase: "turn", detached_work_ids: vec![], delegation_ids: vec![] };
        trace.write(task, &Event::TaskCanceled(canceled))?;
    }
    let task_end = TaskEnd {
        task_id,
        exit_status: status.exit(),
        duration_ms,
        turns: 0,
        input_tokens: 0,
        output_tokens: 0,
        tool_calls,
        shell_calls: 0,
        reopen_count: 0,
    };
    trace.write(task, &Event::TaskEnd(task_end))?;
    let session_end = SessionEnd {
        total_turns: 0,
        total_input_tokens: 0,
        total_output_tokens: 0,
        total_tool_calls: tool_calls,
        total_shell_calls: 0,
        duration_ms,
        exit_status: status.exit(),
    };
    trace.write(trace.root(), &Event::SessionEnd(session_end))?;
    Ok(())
}

fn unrecorded(error: &TraceError) -> Diagnostic {
    Diagnostic::new(Code::SessionFailed, format!("the session could not be recorded: {error}"))
        .with_hint("what stands in the record up to there is kept; make room, or free the file, and run again")
}

/// What the capsule printed is its final output, unless it left one itself.
fn leave_result(staged: &Staged, printed: &[u8]) {
    if printed.is_empty() {
        return;
    }
    if let Err(error) = result::leave(&staged.dirs.accessible, printed) {
        staged.log.line(&format!("{RESULT_FILE} was not written: {error}"));
    }
}

fn outcome(staged: &Staged, status: Status, failure: Option<Diagnostic>) -> Outcome {
    Outcome {
        session: staged.session,
        status,
        failure,
        records_dir: staged.dirs.session.clone(),
        result: result::found(&staged.dirs.accessible),
    }
}

fn session_start(staged: &Staged) -> Event {
    let plan = &staged.plan;
    let manifest = &plan.manifest;
    let gateways = report::gateways(plan);
    // A script has no provider of its own.
    Event::SessionStart(Box::new(SessionStart {
        capsule_name: manifest.name.to_string(),
        capsule_version: manifest.version.to_string(),
        model: None,
        max_turns: None,
        max_session_tokens: None,
        machine_tokens_per_day: None,
        capabilities: report::capabilities(plan),
        tools_declared: manifest.artifacts.iter().map(|artifact| artifact.name.to_string()).collect(),
        containment_declared: plan.declared.to_string(),
        containment_achieved: ACHIEVED.to_string(),
        userns_grant: None,
        workdir_exec: false,
        resumed_from: None,
        context_id: None,
        system_prompt_source: "none",
        system_prompt_sha256: None,
        credential_source: "none",
        gateways,
        effective_grants: report::effective_grants(plan, staged.dirs.workdir),
    }))
}
