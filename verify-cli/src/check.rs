//! One record, to a report or to the reason why there is none.

use std::path::{Path, PathBuf};

use mur_seal::{DirectoryError, KeyId, PublicKey, RecordReport, Verdict, verify_session_records};

/// Why a record could not be checked. Never a verdict.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The records directory could not be read.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// The key that was given is the private half of the one that sealed.
    #[error(
        "the key given{} is the private half of key {sealer}, which sealed this record; give its public half, the host's \
         record-seal.pub, and keep the private key to the host",
        from(path)
    )]
    PrivateKey {
        /// The file it was read from.
        path: Option<String>,
        /// The key it is the private half of.
        sealer: KeyId,
    },
}

fn from(path: &Option<String>) -> String {
    path.as_ref().map(|path| format!(" ({path})")).unwrap_or_default()
}

/// Checks the record in `records` with `keys` alone.
///
/// `session`: the session it must belong to, or `None` for the one that its trace names. `conversations`: the directory in
/// which to find the conversation record that its trace's seal may name.
pub fn check_record(
    records: &Path,
    keys: &[PublicKey],
    session: Option<&str>,
    conversations: Option<&Path>,
) -> Result<RecordReport, CheckError> {
    let report = verify_session_records(records, keys, session, conversations)?;
    match private_half(&report, keys) {
        Some(error) => Err(error),
        None => Ok(report),
    }
}

/// A private key looks like a public one. Where a seal names a key that was not given, it also tells whether what was
/// given is that key's private half.
fn private_half(report: &RecordReport, keys: &[PublicKey]) -> Option<CheckError> {
    let unknown = report.streams.iter().filter(|stream| stream.verdict != Verdict::Verified).filter_map(|s| s.key_id);
    for sealer in unknown.filter(|id| keys.iter().all(|key| key.key_id() != *id)) {
        if let Some(key) = keys.iter().find(|key| key.is_seed_of(sealer)) {
            return Some(CheckError::PrivateKey { path: key.path().map(String::from), sealer });
        }
    }
    None
}

/// What to say of a directory that holds no stream and no seal: what a record looks like, and where one may be.
pub fn nothing_to_verify(records: &Path) -> String {
    let mut text = format!(
        "{}: nothing to verify: a records directory holds trace.jsonl, hooks/eval.jsonl, completion.json, or a seal",
        records.display()
    );
    if let Some(below) = record_below(records) {
        text.push_str(&format!("; there is a record in {}", below.display()));
    }
    text
}

/// The first records directory, by name, right below `directory` or below its `.murmur` or `workdir`.
fn record_below(directory: &Path) -> Option<PathBuf> {
    let parents = [directory.to_path_buf(), directory.join(".murmur"), directory.join("workdir")];
    parents.iter().find_map(|parent| {
        let entries = std::fs::read_dir(parent).ok()?;
        let holds_trace = |path: &PathBuf| path.join(mur_seal::TRACE_STREAM).is_file();
        entries.flatten().map(|entry| entry.path()).filter(holds_trace).min()
    })
}
