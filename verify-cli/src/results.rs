//! The results of a check as they come: printed, counted, and at the end one exit code.

use mur_seal::{EXIT_ABSENT, EXIT_ERROR, EXIT_NOTED, EXIT_VERIFIED, RecordReport, Verdict, escape};

use crate::check::{RECORD_LOOKS_LIKE, nothing_to_verify};
use crate::console::Console;
use crate::find::Located;
use crate::human::{self, Company, Layout, Open, grouped, has_notes};
use crate::many::Checked;
use crate::{Format, Notes, Request, Search, to_json};

/// The verdicts as a summary lists them.
const FROM_BEST_TO_WORST: [Verdict; 5] =
    [Verdict::Verified, Verdict::Absent, Verdict::Unverifiable, Verdict::Unsealed, Verdict::Changed];

/// Prints what comes of each record, and remembers no more of it than counts.
pub(crate) struct Results<'r, 'c, 'a> {
    request: &'r Request,
    console: &'c mut Console<'a>,
    company: Company,
    /// Reports that were printed.
    printed: u64,
    tally: Tally,
    open: Open,
}

/// How many records read how.
#[derive(Debug, Default)]
struct Tally {
    verdicts: [u64; FROM_BEST_TO_WORST.len()],
    /// Records that are verified and have notes.
    noted: u64,
    /// Records in a place that the capsule of another record may write.
    inside: u64,
    /// Trees without a record.
    empty_trees: u64,
    errors: u64,
}

impl<'r, 'c, 'a> Results<'r, 'c, 'a> {
    pub(crate) fn new(request: &'r Request, console: &'c mut Console<'a>) -> Self {
        let alone = request.search != Search::Trees && request.records.len() == 1;
        let company = if alone { Company::Alone } else { Company::OfMany };
        Results { request, console, company, printed: 0, tally: Tally::default(), open: Open::default() }
    }

    /// Takes what came of a record, and shows how far the check is where somebody watches.
    pub(crate) fn take(&mut self, checked: Checked) {
        match checked {
            Checked::Record(located, Ok(report)) => self.report(&located, &report),
            Checked::Record(_, Err(error)) => self.error(&error),
            Checked::Unsearched(error) => self.error(&error),
            Checked::Nothing(root) => {
                self.tally.empty_trees += 1;
                let root = root.display();
                self.console
                    .error(&format!("{root}: nothing to verify: no record is in this tree; {RECORD_LOOKS_LIKE}"));
            }
        }
        let total = match self.request.search {
            Search::Named | Search::Follow => Some(self.request.records.len() as u64),
            Search::Trees => None,
        };
        // Who asked for nothing but errors gets no progress, and of one record there is none.
        if self.request.format != Format::Quiet && self.company == Company::OfMany {
            self.console.progress(self.tally.records() + self.tally.errors, total);
        }
    }

    fn error(&mut self, error: &dyn std::fmt::Display) {
        self.tally.errors += 1;
        self.console.error(error);
    }

    fn report(&mut self, located: &Located, report: &RecordReport) {
        let (request, company, first) = (self.request, self.company, self.printed == 0);
        let layout = |styling| Layout { origin: request.key_origin, notes: request.notes, styling, company };
        let styling = self.console.styling();
        self.console.result(|out| match request.format {
            Format::Human(wanted) => {
                if !first {
                    writeln!(out)?;
                }
                human::print(out, report, layout(wanted.styling(styling)))
            }
            Format::Json if company == Company::OfMany => {
                write!(out, "{}{}", if first { "[" } else { ",\n" }, to_json(report))
            }
            Format::Json | Format::Jsonl => writeln!(out, "{}", to_json(report)),
            Format::Quiet => Ok(()),
        });
        self.printed += 1;
        self.tally.add(report.verdict, has_notes(report));
        if matches!(request.format, Format::Human(_)) && company == Company::OfMany {
            self.open.add(report);
        }
        if report.verdict == Verdict::Absent {
            self.console.error(&nothing_to_verify(&located.path));
        }
        self.tally.inside += u64::from(located.inside.is_some());
    }

    /// Ends what was printed. The exit code: an error above all, then the worst.
    pub(crate) fn end(self) -> u8 {
        let Results { request, console, company, printed, tally, open } = self;
        console.end_progress();
        if company == Company::OfMany {
            console.result(|out| match request.format {
                Format::Human(_) if tally.records() + tally.errors > 0 => {
                    if printed > 0 {
                        writeln!(out)?;
                    }
                    writeln!(out, "{}", escape(&tally.summary(request.notes)))?;
                    open.print(out)
                }
                Format::Json => writeln!(out, "{}", if printed == 0 { "[]" } else { "]" }),
                Format::Human(_) | Format::Jsonl | Format::Quiet => Ok(()),
            });
        }
        if console.failed() { EXIT_ERROR } else { tally.exit_code(request.notes) }
    }
}

impl Tally {
    fn add(&mut self, verdict: Verdict, noted: bool) {
        for (other, count) in FROM_BEST_TO_WORST.iter().zip(&mut self.verdicts) {
            *count += u64::from(*other == verdict);
        }
        self.noted += u64::from(verdict == Verdict::Verified && noted);
    }

    fn records(&self) -> u64 {
        self.verdicts.iter().sum()
    }

    /// An error above all, then the worst verdict. A stream may be absent where others are verified; a record that turns out
    /// to hold nothing was not checked, and that is no success.
    fn exit_code(&self, notes: Notes) -> u8 {
        if self.errors > 0 {
            return EXIT_ERROR;
        }
        let seen = FROM_BEST_TO_WORST.iter().zip(self.verdicts).filter(|(_, count)| *count > 0);
        match seen.map(|(verdict, _)| *verdict).next_back() {
            None => EXIT_ABSENT,
            Some(Verdict::Verified | Verdict::Absent) if self.empty_trees > 0 => EXIT_ABSENT,
            Some(Verdict::Verified) if notes == Notes::Count && self.noted > 0 => EXIT_NOTED,
            Some(Verdict::Verified) => EXIT_VERIFIED,
            Some(worse) => worse.exit_code(),
        }
    }

    /// `10,000 records: 9,998 verified, 2 changed; 1 error`.
    fn summary(&self, notes: Notes) -> String {
        let number =
            |count: u64, one: &str, many: &str| format!("{} {}", grouped(count), if count == 1 { one } else { many });
        let counts = FROM_BEST_TO_WORST.iter().zip(self.verdicts).filter(|(_, count)| *count > 0);
        let verdicts: Vec<String> = counts.map(|(verdict, count)| format!("{} {verdict}", grouped(count))).collect();
        let mut text = number(self.records(), "record", "records");
        if !verdicts.is_empty() {
            text.push_str(&format!(": {}", verdicts.join(", ")));
        }
        if notes == Notes::Count && self.noted > 0 {
            text.push_str(&format!("; {} of the verified with notes", grouped(self.noted)));
        }
        if self.inside > 0 {
            text.push_str(&format!("; {} inside another record", grouped(self.inside)));
        }
        if self.errors > 0 {
            text.push_str(&format!("; {}", number(self.errors, "error", "errors")));
        }
        text
    }
}
