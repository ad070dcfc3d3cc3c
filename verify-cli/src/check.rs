//! One record, to a report or to the reason why there is none.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use mur_seal::{
    DirectoryError, DirectoryRecord, KeyId, LineHash, PublicKey, RecordExpectation, RecordReport, TRACE_STREAM,
    verify_record,
};

use crate::keys::PrivateHalves;

/// Why a record could not be checked. Never a verdict.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The records directory could not be read.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// The key that was given is the private half of the one that a seal names.
    #[error(
        "{}: the key given{} is the private half of key {sealer}, which the record's seal names; give the public half, the \
         host's record-seal.pub, and keep the private key to the host",
        records.display(),
        from(path)
    )]
    PrivateKey {
        /// The records directory.
        records: PathBuf,
        /// The file that the key was read from; `None` for a key given as text.
        path: Option<String>,
        /// The key it is the private half of.
        sealer: KeyId,
    },
}

fn from(path: &Option<String>) -> String {
    path.as_ref().map(|path| format!(" ({path})")).unwrap_or_default()
}

/// What a record is checked with and held against.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms<'a> {
    pub(crate) keys: &'a [PublicKey],
    pub(crate) halves: &'a PrivateHalves<'a>,
    pub(crate) session: Option<&'a str>,
    pub(crate) head: Option<LineHash>,
    pub(crate) conversations: Option<&'a Path>,
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
    let halves = PrivateHalves::among(keys);
    Terms { keys, halves: &halves, session, head: None, conversations }.check(records, None)
}

impl Terms<'_> {
    /// Checks the record in `records`, hashing on `jobs` threads; `None` for as many as there are cores.
    pub(crate) fn check(&self, records: &Path, jobs: Option<NonZeroUsize>) -> Result<RecordReport, CheckError> {
        let mut record = DirectoryRecord::open(records, self.conversations)?;
        if let Some(jobs) = jobs {
            record = record.with_jobs(jobs);
        }
        let records_dir = records.to_string_lossy();
        let expectation =
            RecordExpectation { records_dir: &records_dir, session: self.session, head: self.head, keys: self.keys };
        let report = verify_record(&mut record, &expectation)?;
        match self.private_half(&report) {
            Some((key, sealer)) => {
                Err(CheckError::PrivateKey { records: records.into(), path: key.path().map(String::from), sealer })
            }
            None => Ok(report),
        }
    }

    /// A private key looks like a public one. Where a seal names a key that was not given, it also tells whether what was
    /// given is that key's private half.
    fn private_half(&self, report: &RecordReport) -> Option<(&PublicKey, KeyId)> {
        let named = report.streams.iter().filter_map(|stream| stream.key_id);
        let mut unknown = named.filter(|id| self.keys.iter().all(|key| key.key_id() != *id));
        unknown.find_map(|sealer| self.halves.of(sealer).map(|key| (key, sealer)))
    }
}

/// Why the directory of conversations that was given is none. It is asked once and not for each record, and told apart
/// from a records directory, for which there is other advice.
pub(crate) fn unfit_conversations(directory: &Path) -> Option<String> {
    let cause = match fs::metadata(directory) {
        Ok(metadata) if metadata.is_dir() => return None,
        Ok(_) => "not a directory; give the directory in which the host keeps conversations".into(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => "there is no such directory".into(),
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => {
            "not a directory; give the directory in which the host keeps conversations".into()
        }
        Err(error) => error.to_string(),
    };
    Some(format!("--conversations: {}: {cause}", directory.display()))
}

/// What a records directory looks like.
pub(crate) const RECORD_LOOKS_LIKE: &str =
    "a records directory holds trace.jsonl, hooks/eval.jsonl, completion.json, or a seal";

/// What to say of a directory that holds no stream and no seal: what a record looks like, and where one may be.
pub fn nothing_to_verify(records: &Path) -> String {
    let mut text = format!("{}: nothing to verify: {RECORD_LOOKS_LIKE}", records.display());
    if let Some(below) = record_below(records) {
        text.push_str(&format!("; there is a record in {}", below.display()));
    }
    text
}

/// The first records directory, by name, right below `directory` or below its `.murmur` or `workdir`. Hidden directories
/// there are not the ones that somebody looks for, and a link may lead anywhere: only `directory` itself may be one.
fn record_below(directory: &Path) -> Option<PathBuf> {
    let below = [".murmur", "workdir"].map(|name| directory.join(name));
    let below = below.into_iter().filter(|path| is(path, fs::FileType::is_dir));
    std::iter::once(directory.to_path_buf()).chain(below).find_map(|parent| {
        let entries = fs::read_dir(parent).ok()?;
        let shown = entries.flatten().filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."));
        let directories = shown.map(|entry| entry.path()).filter(|path| is(path, fs::FileType::is_dir));
        directories.filter(|path| is(&path.join(TRACE_STREAM), fs::FileType::is_file)).min()
    })
}

/// Whether what stands at `path` itself, and not where it may lead, is of this kind.
fn is(path: &Path, kind: impl Fn(&fs::FileType) -> bool) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| kind(&metadata.file_type()))
}
