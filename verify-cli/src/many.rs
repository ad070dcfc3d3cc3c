//! The records of a request, one or many, each checked and handed on in order.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread::available_parallelism;

use mur_seal::{COMPLETION_STREAM, Code, EVAL_STREAM, Finding, RecordReport, TRACE_STREAM};

use crate::check::{CheckError, Terms};
use crate::find::{Find, FindError, Located, records_in};
use crate::in_order::in_order;
use crate::keys::PrivateHalves;
use crate::{Request, Search};

/// A record with a stream of this size is worth the threads of a whole machine.
const LARGE: u64 = 4 << 20;

/// What was come upon, and what became of it.
#[derive(Debug)]
pub(crate) enum Checked {
    /// It was checked, or could not be.
    Record(Located, Result<RecordReport, CheckError>),
    /// What is there could not be searched.
    Unsearched(FindError),
    /// There is none in this tree.
    Nothing(PathBuf),
}

/// Checks every record of `request`, and hands what comes of it to `take`, in the order of the records.
pub(crate) fn check_each(request: &Request, take: impl FnMut(Checked)) {
    let halves = PrivateHalves::among(&request.keys);
    let terms = request.terms(&halves);
    match (request.search, request.records.as_slice()) {
        (Search::Named | Search::Follow, [one]) => {
            let record = Located::named(one);
            let checked = terms.check(one, request.jobs);
            [Checked::Record(record, checked)].into_iter().for_each(take);
        }
        (Search::Named | Search::Follow, several) => {
            check_in_order(several.iter().map(|path| Find::Record(Located::named(path))), request.jobs, terms, take);
        }
        (Search::Trees, roots) => check_in_order(records_in(roots), request.jobs, terms, take),
    }
}

fn check_in_order(
    finds: impl Iterator<Item = Find> + Send,
    jobs: Option<NonZeroUsize>,
    terms: Terms<'_>,
    take: impl FnMut(Checked),
) {
    let jobs = jobs.unwrap_or_else(|| available_parallelism().unwrap_or(NonZeroUsize::MIN));
    // Large records are hashed one after the other, each by all threads. Otherwise the last of them would be left to one.
    let turn = Mutex::new(());
    let check = |find| match find {
        Find::Record(located) if is_large(&located.path) => {
            let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
            located_check(located, terms, jobs)
        }
        Find::Record(located) => located_check(located, terms, NonZeroUsize::MIN),
        Find::Unsearched(error) => Checked::Unsearched(error),
        Find::Nothing(root) => Checked::Nothing(root),
    };
    in_order(finds, jobs, check, take);
}

fn located_check(located: Located, terms: Terms<'_>, jobs: NonZeroUsize) -> Checked {
    let mut checked = terms.check(&located.path, Some(jobs));
    if let (Ok(report), Some(outer)) = (&mut checked, &located.inside) {
        note_inside(report, outer);
    }
    Checked::Record(located, checked)
}

/// Notes where a record lies that a capsule may have put there. It stands in the report and not beside it: whoever reads
/// the report alone has to learn why it counts under `--strict`.
fn note_inside(report: &mut RecordReport, outer: &Path) {
    let text =
        format!("it lies inside the record {}, where a capsule may write: it may have been planted", outer.display());
    if let Some(first) = report.streams.first_mut() {
        first.note(Finding::new(Code::RecordInside, text));
    }
}

fn is_large(records: &Path) -> bool {
    let len = |name: &&str| fs::symlink_metadata(records.join(name)).map_or(0, |metadata| metadata.len());
    [TRACE_STREAM, EVAL_STREAM, COMPLETION_STREAM].iter().map(len).any(|len| len >= LARGE)
}

impl Request {
    /// What each of its records is checked with.
    fn terms<'a>(&'a self, halves: &'a PrivateHalves<'a>) -> Terms<'a> {
        Terms {
            keys: &self.keys,
            halves,
            session: self.session.as_deref(),
            head: self.head,
            conversations: self.conversations.as_deref(),
        }
    }
}
