//! Rows about files: a stream, its seal or the whole record removed, or replaced by something that is no file.

use mur_seal::{Code, Verdict};

use super::cell::{Cell, Cells, Need};
use super::material::{UNTOUCHED, all_paths};
use super::{Row, Subject, Variant};
use crate::tree::Tree;

const CHANGED: Cell = Cell::Reads(Verdict::Changed);
const ABSENT: Cell = Cell::Reads(Verdict::Absent);
const NEEDS_HEAD: Cell = Cell::NotDetectable(Need::Head);
const NEEDS_STREAMS: Cell = Cell::NotDetectable(Need::Streams);
const ALWAYS_CHANGED: Cells = [CHANGED; 5];

pub(super) fn rows() -> Vec<Row> {
    let changed = |about, apply| {
        let row = Row::new(about, apply).trace(ALWAYS_CHANGED).eval(ALWAYS_CHANGED).completion(ALWAYS_CHANGED);
        row.conversation(CHANGED)
    };
    let unnamed = Cell::Told(Code::SessionNotNamed);
    vec![
        // Nothing is left that could say that there was something: who asks for this record by its name sees it missing.
        Row::new("all of it removed", remove_record).record([ABSENT, ABSENT, ABSENT, ABSENT, CHANGED]),
        // The streams that are left are as their host sealed them. Only the trace's seal names another stream.
        Row::new("removed with its seal", remove_pair)
            .trace([unnamed, unnamed, NEEDS_HEAD, NEEDS_HEAD, CHANGED])
            .eval([NEEDS_STREAMS; 5])
            .completion([NEEDS_STREAMS; 5])
            .conversation(Cell::Told(Code::ConversationNotFound)),
        changed("removed, its seal left", remove_stream),
        changed("a link to the same content in its place", link_stream),
        changed("a link to the same seal in its seal's place", link_seal),
        changed("a directory in its place", directory_for_stream),
        changed("a directory in its seal's place", directory_for_seal),
        Row::new("a link in the place of a directory above it", link_above).eval(ALWAYS_CHANGED).conversation(CHANGED),
    ]
}

fn remove_record(_: Subject) -> Vec<Variant> {
    let mut tree = UNTOUCHED.clone();
    for path in all_paths().iter().filter(|path| path.starts_with(crate::RECORD_DIR)) {
        tree.remove(path);
    }
    vec![Variant::new("every stream and seal", tree)]
}

fn remove_pair(subject: Subject) -> Vec<Variant> {
    once(|tree| {
        tree.remove(&subject.path());
        tree.remove(&subject.seal_path());
    })
}

fn remove_stream(subject: Subject) -> Vec<Variant> {
    once(|tree| drop(tree.remove(&subject.path())))
}

fn link_stream(subject: Subject) -> Vec<Variant> {
    once(|tree| linked(tree, &subject.path()))
}

fn link_seal(subject: Subject) -> Vec<Variant> {
    once(|tree| linked(tree, &subject.seal_path()))
}

/// Moves a file aside, and puts a link to it in its place.
fn linked(tree: &mut Tree, path: &str) {
    let name = path.rsplit('/').next().unwrap_or(path);
    tree.rename(path, &format!("{path}.moved"));
    tree.link(path, &format!("{name}.moved"));
}

fn directory_for_stream(subject: Subject) -> Vec<Variant> {
    once(|tree| tree.rename(&subject.path(), &format!("{}/inside", subject.path())))
}

fn directory_for_seal(subject: Subject) -> Vec<Variant> {
    once(|tree| tree.rename(&subject.seal_path(), &format!("{}/inside", subject.seal_path())))
}

fn link_above(subject: Subject) -> Vec<Variant> {
    let path = subject.path();
    let mut above: Vec<&str> = path.match_indices('/').map(|(at, _)| &path[..at]).collect();
    above.remove(0); // the directory that the auditor names, who may name a link
    above
        .into_iter()
        .map(|directory| {
            let mut tree = UNTOUCHED.clone();
            for file in [subject.path(), subject.seal_path()] {
                tree.rename(&file, &file.replacen(directory, &format!("{directory}.moved"), 1));
            }
            let name = directory.rsplit('/').next().unwrap_or(directory);
            tree.link(directory, &format!("{name}.moved"));
            Variant::new(directory, tree)
        })
        .collect()
}

fn once(change: impl FnOnce(&mut Tree)) -> Vec<Variant> {
    let mut tree = UNTOUCHED.clone();
    change(&mut tree);
    vec![Variant::new("as it is", tree)]
}
