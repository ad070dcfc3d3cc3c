//! `inference`.

use super::super::agent::{Compaction, Inference, SystemPrompt, Transport};
use super::super::fields::{Fields, Reader, Text};
use super::super::schema;
use super::super::units::Fraction;
use super::super::unserved::Feature;
use super::super::yaml::Position;
use super::super::{Artifact, ArtifactName, JsonObject, ManifestError, Role};
use crate::diagnostic::Code;

#[derive(Clone, Copy)]
enum Kind {
    Http,
    Process,
}

/// What a prompt may come from.
type Prompt = (&'static str, Position, SystemPrompt);

impl Reader<'_> {
    pub(super) fn inference(
        &mut self,
        root: &Fields<'_>,
        artifacts: &[Artifact],
    ) -> Result<Option<Inference>, ManifestError> {
        let known = schema::ROOT.inside("inference");
        let Some(entry) = root.entry("inference") else { return Ok(None) };
        let Some(fields) = self.block(root, "inference", known)? else { return Ok(None) };
        self.ask(Feature::Inference, entry.at, "inference");
        let kinds = [("http", Kind::Http), ("process", Kind::Process)];
        let kind = self.choice(&fields, "transport", &kinds)?.unwrap_or(Kind::Http);
        let model = self.visible(&fields, "model")?;
        let (driver, driver_config) = self.driver(&fields, artifacts)?;
        let command = self.visible(&fields, "command")?;
        let transport = match kind {
            Kind::Http => {
                let model =
                    model.ok_or_else(|| self.missing(&fields, "model", "add `model:` with the model's name"))?;
                let driver = driver.ok_or_else(|| {
                    let reason = "`inference.driver.artifact` is missing: an agent needs a driver to reach its model";
                    let hint = "name an artifact of `runtime: driver` as `driver: {artifact: NAME}`";
                    self.rule(Code::NoDriver, fields.at, reason.to_owned(), hint)
                })?;
                if let Some(entry) = fields.entry("command") {
                    let reason = "`inference.command` is for the transport `process`".to_owned();
                    return Err(self.value(entry.at, reason, Some("remove it".to_owned())));
                }
                Transport::Http { model, driver }
            }
            Kind::Process if driver.is_none() && command.is_none() => {
                return Err(self.missing(
                    &fields,
                    "command",
                    "add `command:`, the program, or `driver:` that knows it",
                ));
            }
            Kind::Process => Transport::Process { model, driver, command },
        };
        Ok(Some(Inference {
            transport,
            driver_config,
            max_turns: self.small_limit(&fields, "max_turns")?.unwrap_or(super::super::agent::MAX_TURNS),
            max_tokens: self.small_limit(&fields, "max_tokens")?.unwrap_or(super::super::agent::MAX_TOKENS),
            max_session_tokens: self.limit(&fields, "max_session_tokens", u64::MAX)?,
            system_prompt: self.system_prompt(&fields, artifacts)?,
            compaction: self.compaction(&fields)?,
            place: self.place(entry.at),
        }))
    }

    /// `driver`, or `provider` as it used to be called.
    fn driver(
        &self,
        inference: &Fields<'_>,
        artifacts: &[Artifact],
    ) -> Result<(Option<ArtifactName>, Option<JsonObject>), ManifestError> {
        const NAME: &str = "add `artifact:`, the name of a driver in `artifacts`";
        let inside = |key| schema::ROOT.inside("inference").inside(key);
        let driver = self.block(inference, "driver", inside("driver"))?;
        let provider = self.block(inference, "provider", inside("provider"))?;
        let fields = match (driver, provider) {
            (None, None) => return Ok((None, None)),
            (Some(_), Some(provider)) => {
                let reason =
                    "`inference.provider` is the old name of `inference.driver`, and both are given".to_owned();
                return Err(self.value(provider.at, reason, Some("remove `provider`".to_owned())));
            }
            (Some(only), None) | (None, Some(only)) => only,
        };
        let name = self.declared(&self.required(&fields, "artifact", NAME)?, artifacts, |artifact| {
            (artifact.role != Role::Driver).then_some("is not a driver; say `runtime: driver` where it is declared")
        })?;
        let config = fields.block("config").map(|node| self.json_object(node, &fields.field("config"))).transpose()?;
        Ok((Some(name), config))
    }

    /// The name of one of the manifest's artifacts that is fit for its purpose. `unfit` completes "… is declared and …".
    fn declared(
        &self,
        text: &Text<'_>,
        artifacts: &[Artifact],
        unfit: impl Fn(&Artifact) -> Option<&'static str>,
    ) -> Result<ArtifactName, ManifestError> {
        let name: ArtifactName = self.parsed(text)?;
        let reason = match artifacts.iter().find(|artifact| artifact.name == name) {
            None => "is not declared in `artifacts`",
            Some(artifact) => match unfit(artifact) {
                None => return Ok(name),
                Some(reason) => reason,
            },
        };
        let names: Vec<String> = artifacts.iter().map(|artifact| artifact.name.to_string()).collect();
        let hint = format!("declared are: {}", super::super::listed(&names));
        Err(self.value(text.at, format!("`{}`, `{name}`, {reason}", text.field), Some(hint)))
    }

    fn system_prompt(
        &self,
        inference: &Fields<'_>,
        artifacts: &[Artifact],
    ) -> Result<Option<SystemPrompt>, ManifestError> {
        let mut prompts = self.prompts(inference)?;
        if let Some(text) = self.string(inference, "system_prompt_artifact")? {
            let name = self.declared(&text, artifacts, |artifact| {
                (!artifact.prompt_payload)
                    .then_some("may not be a prompt; say `prompt_payload: true` where it is declared")
            })?;
            prompts.push(("system_prompt_artifact", text.at, SystemPrompt::Artifact(name)));
        }
        self.only_prompt(inference, prompts)
    }

    /// `system_prompt` and `system_prompt_file`.
    fn prompts(&self, fields: &Fields<'_>) -> Result<Vec<Prompt>, ManifestError> {
        let mut prompts = Vec::new();
        if let Some(text) = self.string(fields, "system_prompt")? {
            prompts.push(("system_prompt", text.at, SystemPrompt::Inline(text.text.trim().to_owned())));
        }
        if let (Some(path), Some(node)) = (self.path(fields, "system_prompt_file")?, fields.value("system_prompt_file"))
        {
            prompts.push(("system_prompt_file", node.at, SystemPrompt::File(path)));
        }
        Ok(prompts)
    }

    fn only_prompt(
        &self,
        fields: &Fields<'_>,
        mut prompts: Vec<Prompt>,
    ) -> Result<Option<SystemPrompt>, ManifestError> {
        if let [(first, ..), (second, at, _), ..] = prompts[..] {
            let reason = format!("`{}` is given beside `{first}`", fields.field(second));
            return Err(self.value(at, reason, Some("remove one of the two".to_owned())));
        }
        Ok(prompts.pop().map(|(_, _, prompt)| prompt))
    }

    fn compaction(&self, inference: &Fields<'_>) -> Result<Compaction, ManifestError> {
        let known = schema::ROOT.inside("inference").inside("compaction");
        let mut compaction = Compaction::default();
        let Some(fields) = self.block(inference, "compaction", known)? else { return Ok(compaction) };
        let above_zero = |number| Fraction::new(number).filter(|_| number > 0.0);
        if let Some(threshold) = self.number(&fields, "threshold", "a number above 0, at most 1", above_zero)? {
            compaction.threshold = threshold;
        }
        compaction.model = self.visible(&fields, "model")?;
        let prompts = self.prompts(&fields)?;
        compaction.system_prompt = self.only_prompt(&fields, prompts)?;
        compaction.dump_summaries = self.flag(&fields, "dump_summaries")?.unwrap_or(false);
        Ok(compaction)
    }
}
