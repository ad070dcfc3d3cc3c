//! Which conversation records a session of this process appended to.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

/// By records directory: the conversation directories, in the order of the first append.
static APPENDED: LazyLock<Mutex<HashMap<PathBuf, Vec<PathBuf>>>> = LazyLock::new(Mutex::default);

/// Notes that the session whose records directory is `records_dir` appended to the conversation record in
/// `conversation_dir` (`…/<record>/<context-id>`), so that the session's seals name it and its teardown seals it.
pub fn note_conversation_append(records_dir: &Path, conversation_dir: &Path) {
    let mut appended = APPENDED.lock().unwrap_or_else(PoisonError::into_inner);
    let conversations = appended.entry(records_dir.into()).or_default();
    if !conversations.iter().any(|known| known == conversation_dir) {
        conversations.push(conversation_dir.into());
    }
}

/// The directory of the first conversation record that the session in `records_dir` appended to.
pub fn appended_conversation(records_dir: &Path) -> Option<PathBuf> {
    let appended = APPENDED.lock().unwrap_or_else(PoisonError::into_inner);
    appended.get(records_dir).and_then(|conversations| conversations.first().cloned())
}

/// All of them, forgotten from now on: the session is over.
pub(crate) fn take_appended(records_dir: &Path) -> Vec<PathBuf> {
    APPENDED.lock().unwrap_or_else(PoisonError::into_inner).remove(records_dir).unwrap_or_default()
}
