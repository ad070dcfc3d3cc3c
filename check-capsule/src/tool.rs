//! The tool: JSON in, a verdict and the report out.
//!
//! The result's status is `passed` for a record that is verified, `failed` for any other verdict, and
//! `error` where nothing could be checked. `data` is the report, exactly as `mur-verify --json` prints
//! it; `summary` is the verdict in one line.

use std::path::Path;

use mur_seal::{RecordReport, Verdict, escape};
use mur_verify::{UsageError, check_record, read_key, summary, to_json};
use serde::Deserialize;

use crate::bindings::exports::murmur::tool::run::{Guest, Status, ToolInput, ToolResult};

/// The tool's input. A member that is not known is refused: a misspelt `session_id` would otherwise
/// check less than its sender believes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    /// The records directory.
    records: String,
    /// What `--key` takes: a file, or 64 hexadecimal digits.
    public_key: String,
    /// The session that the record must belong to.
    session_id: Option<String>,
    /// The directory to find the conversation record in.
    conversations: Option<String>,
}

/// What the component exports as `murmur:tool/run`.
pub(crate) struct Tool;

impl Guest for Tool {
    fn run(input: ToolInput) -> ToolResult {
        let (status, summary, data) = match check(input.data.as_deref()) {
            Ok(report) => (status_of(report.verdict), summary(&report), Some(to_json(&report))),
            Err(problem) => (Status::Error, escape(&problem).into_owned(), None),
        };
        ToolResult {
            status,
            summary: Some(summary),
            data,
            data_path: None,
            truncated: false,
            metadata: vec![("state_effect".to_owned(), "read".to_owned())],
        }
    }
}

/// Checks the record that the input names. The error says why it could not be checked.
fn check(data: Option<&str>) -> Result<RecordReport, String> {
    let data = data.ok_or("there is no input; it is {\"records\": …, \"public_key\": …}")?;
    let request: Request = serde_json::from_str(data).map_err(|error| format!("the input does not fit: {error}"))?;
    let key = read_key(&request.public_key).map_err(|error| key_refused(&error))?;
    let conversations = request.conversations.as_deref().map(Path::new);
    check_record(Path::new(&request.records), &[key], request.session_id.as_deref(), conversations)
        .map_err(|error| error.to_string())
}

/// The library's message names the option that a command line would have; here the key is a member.
fn key_refused(error: &UsageError) -> String {
    match error {
        UsageError::Key { name, cause } => format!("public_key {name}: {cause}"),
        // What only a command line can ask for.
        UsageError::NoKey
        | UsageError::NoRecords
        | UsageError::Keys { .. }
        | UsageError::HeadOfMany(_)
        | UsageError::FollowMany(_)
        | UsageError::FollowAsDocument => error.to_string(),
    }
}

fn status_of(verdict: Verdict) -> Status {
    match verdict {
        Verdict::Verified => Status::Passed,
        Verdict::Absent | Verdict::Unverifiable | Verdict::Unsealed | Verdict::Changed => Status::Failed,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use serde_json::json;
    use tempfile::TempDir;

    use super::*;

    /// The public key of RFC 8032's first test, and a two-line record that it seals.
    const KEY: &str = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
    const TRACE: &str = concat!(
        r#"{"event":"a","prev_hash":"sha256:0000000000000000000000000000000000000000000000000000000000000000"}"#,
        "\n",
        r#"{"event":"b","prev_hash":"sha256:e92ba518eeb761e5e7ee3ce4c9296c39156640e1f13f5fdf3e88ae74ed15bd62"}"#,
        "\n",
    );
    const SEAL: &str = concat!(
        r#"{"format":"murmur.seal/1","stream":"trace.jsonl","chain":"inline","session_id":"ses_1","lines":2,"#,
        r#""head":"sha256:426a852b744cca04ddd68aabab34946e2d92d14ab104bcb28e2b79e91fd302b4","sealed_at":1,"#,
        r#""key_id":"21fe31dfa154a261","algorithm":"ed25519","signature":"f0e10d6f06132b883edf684a14ac11e9"#,
        r#"f249599879c0d20f4e7cfea835aeb688c643745381db22f4c5dc469a3f4aa52e99d9c5faa38ea4a6faaf705e6e798800"}"#,
        "\n",
    );

    fn record(trace: &str) -> TempDir {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("trace.jsonl"), trace).unwrap();
        std::fs::write(directory.path().join("trace.jsonl.seal"), SEAL).unwrap();
        directory
    }

    fn call(data: Option<String>) -> ToolResult {
        Tool::run(ToolInput { data, log_path: None })
    }

    fn call_on(records: &Path, session: &str) -> ToolResult {
        let input = json!({ "records": records, "public_key": KEY, "session_id": session });
        call(Some(input.to_string()))
    }

    fn report(result: &ToolResult) -> RecordReport {
        serde_json::from_str(result.data.as_deref().unwrap()).unwrap()
    }

    #[test]
    fn a_verified_record_passes_with_its_report_as_data() {
        let directory = record(TRACE);
        let result = call_on(directory.path(), "ses_1");
        assert_eq!(result.status, Status::Passed);
        assert_eq!(report(&result).verdict, Verdict::Verified);
        assert!(result.summary.unwrap().starts_with("verified ses_1"));
    }

    #[test]
    fn a_changed_record_fails_and_the_summary_names_the_line() {
        let directory = record(&TRACE.replace("\"b\"", "\"c\""));
        let result = call_on(directory.path(), "ses_1");
        assert_eq!(result.status, Status::Failed);
        assert_eq!(report(&result).verdict, Verdict::Changed);
        let summary = result.summary.unwrap();
        assert!(summary.starts_with("changed ses_1: trace.jsonl: ") && summary.contains("line 2"), "{summary}");
    }

    #[test]
    fn a_record_of_another_session_than_asked_for_fails() {
        let directory = record(TRACE);
        assert_eq!(call_on(directory.path(), "ses_2").status, Status::Failed);
    }

    #[test]
    fn a_directory_that_is_not_there_is_an_error_without_a_report() {
        let directory = record(TRACE);
        let result = call_on(&directory.path().join("elsewhere"), "ses_1");
        assert_eq!((result.status, result.data), (Status::Error, None));
    }

    #[test]
    fn a_key_that_cannot_be_used_is_an_error_that_names_the_member() {
        let directory = record(TRACE);
        let result = call(Some(json!({ "records": directory.path(), "public_key": &KEY[1..] }).to_string()));
        assert_eq!((result.status, result.data), (Status::Error, None));
        assert!(result.summary.unwrap().starts_with("public_key "));
    }

    #[test]
    fn input_that_does_not_fit_is_an_error_that_names_what_is_wrong() {
        let inputs = [
            (None, "there is no input"),
            (Some("{"), "not fit"),
            (Some(r#"{"records": "r"}"#), "`public_key`"),
            (Some(r#"{"records": "r", "public_key": "k", "session": "s"}"#), "`session`"),
        ];
        for (input, reason) in inputs {
            let result = call(input.map(str::to_owned));
            assert_eq!((result.status, result.data), (Status::Error, None));
            let summary = result.summary.unwrap();
            assert!(summary.contains(reason), "{summary}");
        }
    }
}
