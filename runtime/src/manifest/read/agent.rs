//! The blocks of an agent besides `inference`.

use std::num::NonZeroU16;

use super::super::agent::{
    AfterTask, Capture, ContextRetention, ContextSettings, Eval, Exports, FilesExport, Lifecycle, MAX_SCORED_TOKENS,
    MAX_SCORED_TURNS, NetworkSettings, Observability, PeerFilesExport, Recording, RegistryChoice, RegistrySettings,
    Scorer, ScorerKind, TaskAcceptance, Threading, TraceRetention, TraceSettings,
};
use super::super::fields::{Fields, Reader, Text};
use super::super::schema;
use super::super::units::{Age, ByteSize, Fraction};
use super::super::yaml::Value;
use super::super::{ManifestError, Scope};
use crate::diagnostic::Code;

const CAPTURES: [(&str, Capture); 3] =
    [("none", Capture::None), ("meta", Capture::Meta), ("content", Capture::Content)];

impl Reader<'_> {
    pub(super) fn context(&mut self, root: &Fields<'_>) -> Result<ContextSettings, ManifestError> {
        const STORE: &str =
            "name a directory by one plain word, or leave it out for one that is called like the capsule";
        let known = schema::ROOT.inside("context");
        let mut context = ContextSettings::default();
        let Some(fields) = self.agent_block(root, "context", known)? else { return Ok(context) };
        context.max_tokens = self.limit(&fields, "max_tokens", u64::MAX)?;
        for (key, member) in
            [("seed_budget", &mut context.seed_budget), ("seed_overflow_margin", &mut context.seed_overflow_margin)]
        {
            if let Some(fraction) = self.number(&fields, key, "a number from 0 to 1", Fraction::new)? {
                *member = fraction;
            }
        }
        let words = [("on", Recording::On), ("off", Recording::Off)];
        context.record = self.choice(&fields, "record", &words)?.unwrap_or_default();
        if let Some(text) = self.string(&fields, "record_store")? {
            context.record_store = Some(self.ruled(Code::RecordStore, &text, STORE)?);
        }
        let hint = "say `max_messages` or `max_age`, or remove `retain`";
        if let Some(retain) = self.not_empty(&fields, "retain", known.inside("retain"), hint)? {
            context.retain = ContextRetention {
                max_messages: self.limit(&retain, "max_messages", u64::MAX)?,
                max_age: self.age(&retain, "max_age")?,
            };
        }
        Ok(context)
    }

    pub(super) fn trace(&mut self, root: &Fields<'_>) -> Result<TraceSettings, ManifestError> {
        let known = schema::ROOT.inside("trace");
        let mut trace = TraceSettings::default();
        let Some(fields) = self.agent_block(root, "trace", known)? else { return Ok(trace) };
        let capture = self.choice(&fields, "capture", &CAPTURES)?;
        let output = self.flag(&fields, "include_tool_output")?;
        if let (Some(_), Some(entry)) = (output, fields.entry("include_tool_output")) {
            if capture.is_some() {
                let reason = "`trace.include_tool_output` is the old spelling of `trace.capture`, and both are given";
                let hint = "remove it, and write `capture: none`, `meta` or `content`".to_owned();
                return Err(self.value(entry.at, reason.to_owned(), Some(hint)));
            }
            let text = "`trace.include_tool_output` is the old spelling of `trace.capture`";
            self.warn(
                Code::UnknownManifestKey,
                entry.at,
                text,
                "write `capture: content` for true, `capture: meta` for false",
            );
        }
        let older = output.map(|output| if output { Capture::Content } else { Capture::Meta });
        trace.capture = capture.or(older).unwrap_or_default();
        let hint = "say `max_sessions` or `max_age`, or remove `retain`";
        if let Some(retain) = self.not_empty(&fields, "retain", known.inside("retain"), hint)? {
            trace.retain = TraceRetention {
                max_sessions: self.limit(&retain, "max_sessions", u64::MAX)?,
                max_age: self.age(&retain, "max_age")?,
            };
        }
        Ok(trace)
    }

    pub(super) fn observability(&mut self, root: &Fields<'_>) -> Result<Observability, ManifestError> {
        let known = schema::ROOT.inside("observability");
        let mut observability = Observability::default();
        let Some(fields) = self.agent_block(root, "observability", known)? else { return Ok(observability) };
        let endpoint = self.string(&fields, "otel_endpoint")?.map(|text| text.text.trim().to_owned());
        observability.otel_endpoint = endpoint.filter(|endpoint| !endpoint.is_empty());
        if let Some(eval) = self.block(&fields, "eval", known.inside("eval"))? {
            let mut scorers = Vec::new();
            for (_, fields) in self.each_of(&eval, "scorers", known.inside("eval").inside("scorers"))? {
                scorers.extend(self.scorer(&fields)?);
            }
            observability.eval = Some(Eval { dataset_id: self.visible(&eval, "dataset_id")?, scorers });
        }
        Ok(observability)
    }

    fn scorer(&mut self, fields: &Fields<'_>) -> Result<Option<Scorer>, ManifestError> {
        let Text { text: word, at, field, .. } = self.required(fields, "type", "add `type:`, for example `exit_ok`")?;
        let name = self.visible(fields, "name")?;
        let max = self.limit(fields, "max", u64::MAX)?;
        let expected = self.texts(fields, "expected")?.unwrap_or_default();
        let kind = match word {
            "exit_ok" => ScorerKind::ExitOk,
            "max_turns" => ScorerKind::MaxTurns(max.unwrap_or(MAX_SCORED_TURNS)),
            "max_tokens" => ScorerKind::MaxTokens(max.unwrap_or(MAX_SCORED_TOKENS)),
            "tool_sequence" => ScorerKind::ToolSequence(expected.iter().map(|text| text.text.to_owned()).collect()),
            "llm_judge" => ScorerKind::LlmJudge,
            other => {
                let text = format!(
                    "`{field}`, `{}`, is not a known type, and the scorer is left out",
                    super::super::fields::quoted(other)
                );
                let hint = "known are exit_ok, max_turns, max_tokens, tool_sequence and llm_judge";
                self.warn(Code::UnknownManifestKey, at, text, hint);
                return Ok(None);
            }
        };
        Ok(Some(Scorer { name: name.unwrap_or_else(|| word.to_owned()), kind }))
    }

    pub(super) fn network(&mut self, root: &Fields<'_>) -> Result<NetworkSettings, ManifestError> {
        let mut network = NetworkSettings::default();
        let Some(fields) = self.agent_block(root, "network", schema::ROOT.inside("network"))? else {
            return Ok(network);
        };
        let port = self.limit(&fields, "internal_port", u16::MAX.into())?;
        network.internal_port = port.and_then(|port| NonZeroU16::try_from(port).ok());
        Ok(network)
    }

    pub(super) fn lifecycle(&mut self, root: &Fields<'_>) -> Result<Lifecycle, ManifestError> {
        const ACCEPTANCE: [(&str, TaskAcceptance); 3] =
            [("none", TaskAcceptance::None), ("single", TaskAcceptance::Single), ("queue", TaskAcceptance::Queue)];
        const AFTER: [(&str, AfterTask); 2] = [("exit", AfterTask::Exit), ("sleep", AfterTask::Sleep)];
        const THREADING: [(&str, Threading); 2] =
            [("stateless", Threading::Stateless), ("threaded", Threading::Threaded)];
        let default = Lifecycle::default();
        let Some(fields) = self.agent_block(root, "lifecycle", schema::ROOT.inside("lifecycle"))? else {
            return Ok(default);
        };
        Ok(Lifecycle {
            task_acceptance: self.choice(&fields, "task_acceptance", &ACCEPTANCE)?.unwrap_or(default.task_acceptance),
            after_task: self.choice(&fields, "after_task", &AFTER)?.unwrap_or(default.after_task),
            queue_depth: self.small_limit(&fields, "queue_depth")?.unwrap_or(default.queue_depth),
            input_timeout_secs: self.limit(&fields, "input_timeout_secs", u64::MAX)?,
            conversation: self.choice(&fields, "conversation", &THREADING)?.unwrap_or(default.conversation),
            max_task_reopens: self.natural(&fields, "max_task_reopens")?.unwrap_or(default.max_task_reopens),
            shell_grace_secs: self.natural(&fields, "shell_grace_secs")?.unwrap_or(default.shell_grace_secs),
            delegation_deadline_secs: self
                .small_limit(&fields, "delegation_deadline_secs")?
                .unwrap_or(default.delegation_deadline_secs),
        })
    }

    pub(super) fn exports(&mut self, root: &Fields<'_>, lifecycle: &Lifecycle) -> Result<Exports, ManifestError> {
        let known = schema::ROOT.inside("exports");
        let mut exports = Exports::default();
        let Some(fields) = self.agent_block(root, "exports", known)? else { return Ok(exports) };
        if let Some(files) = self.block(&fields, "files", known.inside("files"))? {
            let root = self.export_root(&files)?;
            let mode = self.choice(&files, "mode", &[("read-only", ())])?;
            mode.ok_or_else(|| self.missing(&files, "mode", "add `mode: read-only`"))?;
            exports.files = Some(FilesExport { root, max_bytes: self.export_max(&files)? });
        }
        if let Some(files) = self.block(&fields, "peer_files", known.inside("peer_files"))? {
            let root = self.export_root(&files)?;
            let max_ttl = self.max_ttl(&files, lifecycle)?;
            exports.peer_files = Some(PeerFilesExport { root, max_ttl, max_bytes: self.export_max(&files)? });
        }
        Ok(exports)
    }

    fn max_ttl(&self, files: &Fields<'_>, lifecycle: &Lifecycle) -> Result<Age, ManifestError> {
        const HINT: &str = "write `max_ttl: 15m` or less";
        let declared = self.age(files, "max_ttl")?;
        match (lifecycle.after_task, declared) {
            (AfterTask::Exit, declared) => Ok(declared.unwrap_or(Age::HOUR)),
            (AfterTask::Sleep, Some(age)) if age <= Age::QUARTER => Ok(age),
            (AfterTask::Sleep, Some(age)) => {
                let at = files.value("max_ttl").map_or(files.at, |node| node.at);
                let reason = format!(
                    "`{}` is {age}, and a capsule that stays (`after_task: sleep`) may say no more than 15m",
                    files.field("max_ttl")
                );
                Err(self.rule(Code::PeerFilesAge, at, reason, HINT))
            }
            (AfterTask::Sleep, None) => {
                let reason = format!(
                    "`{}` is missing, and a capsule that stays (`after_task: sleep`) must say it",
                    files.field("max_ttl")
                );
                Err(self.rule(Code::PeerFilesAge, files.at, reason, HINT))
            }
        }
    }

    fn export_root(&self, files: &Fields<'_>) -> Result<Scope, ManifestError> {
        let text = self.required(files, "root", "add `root:`, a directory of the workdir")?;
        text.text.parse::<Scope>().map_err(|error| {
            let reason = format!("`{}` {error}", text.field);
            self.rule(Code::ExportRoot, text.at, reason, "name a directory of the workdir, for example `root: out`")
        })
    }

    fn export_max(&self, files: &Fields<'_>) -> Result<ByteSize, ManifestError> {
        let Some(node) = files.value("max_bytes") else { return Ok(ByteSize::TEN_MIB) };
        let written = match &node.value {
            Value::Natural(bytes) => bytes.to_string(),
            Value::Text(text) => text.clone(),
            Value::Null | Value::Bool(_) | Value::Negative(_) | Value::Real(_) | Value::List(_) | Value::Map(_) => {
                String::new()
            }
        };
        let expected = "a whole number of bytes greater than zero, or one with Ki, Mi or Gi, for example `10Mi`";
        written.parse().map_err(|_| self.wrong_type(node, &files.field("max_bytes"), expected))
    }

    fn age(&self, fields: &Fields<'_>, key: &str) -> Result<Option<Age>, ManifestError> {
        let Some(node) = fields.value(key) else { return Ok(None) };
        let expected = "a whole number greater than zero and one of s, m, h, d, for example `30d`";
        let wrong = || self.wrong_type(node, &fields.field(key), expected);
        let Value::Text(text) = &node.value else { return Err(wrong()) };
        text.parse().map(Some).map_err(|_| wrong())
    }

    pub(super) fn registry(&mut self, root: &Fields<'_>) -> Result<RegistrySettings, ManifestError> {
        let Some(fields) = self.block(root, "registry", schema::ROOT.inside("registry"))? else {
            return Ok(RegistrySettings::default());
        };
        let words = [("local", RegistryChoice::Local), ("remote", RegistryChoice::Remote)];
        Ok(RegistrySettings {
            default: self.choice(&fields, "default", &words)?,
            remote_url: self.visible(&fields, "remote_url")?,
        })
    }
}
