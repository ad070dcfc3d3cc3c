//! `mur-verify explain`: what a verdict, a finding, a statement, an open question or an exit code means, and what to do
//! about it.
//!
//! The texts are in `table`. Here they are looked up and set.

mod table;

use std::io::{self, Write};

use clap::builder::{PossibleValue, PossibleValuesParser};
use mur_seal::{Code, Verdict};

use table::{EXIT_CODES, QUESTIONS, STATEMENTS};

/// What is said of one word.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Explanation {
    /// What it says of the record.
    pub(crate) meaning: &'static str,
    /// What it usually comes from.
    pub(crate) causes: &'static str,
    /// What to do about it.
    pub(crate) advice: &'static str,
}

/// The verdicts, from best to worst.
const VERDICTS: [Verdict; 5] =
    [Verdict::Absent, Verdict::Verified, Verdict::Unverifiable, Verdict::Unsealed, Verdict::Changed];

/// Columns of the text.
const WIDTH: usize = 88;

/// The words that can be explained. All are possible values, so that shells complete them and a mistyped one is answered
/// with the nearest.
pub(crate) fn words() -> PossibleValuesParser {
    let verdicts = VERDICTS.iter().map(|verdict| verdict.as_str());
    let codes = Code::ALL.iter().map(|code| code.as_str());
    let questions = QUESTIONS.iter().map(|(word, _)| *word);
    let statements = STATEMENTS.iter().map(|(word, _)| *word);
    let exit_codes = EXIT_CODES.iter().map(|(word, _)| *word);
    PossibleValuesParser::new(
        verdicts.chain(codes).chain(statements).chain(questions).chain(exit_codes).map(PossibleValue::new),
    )
}

/// Explains a word, one of [`words`].
pub(crate) fn print(out: &mut dyn Write, word: &str) -> io::Result<()> {
    if let Some(verdict) = VERDICTS.into_iter().find(|verdict| verdict.as_str() == word) {
        let title = format!("{word}: a verdict, exit code {}", verdict.exit_code());
        return print_explanation(out, &title, &table::of_verdict(verdict));
    }
    if let Some(code) = Code::ALL.iter().find(|code| code.as_str() == word) {
        let title = match code.verdict() {
            Some(verdict) => format!("{word}: a finding; the stream reads {verdict}"),
            None => format!("{word}: a note; the verdict stays, and --strict counts it"),
        };
        return print_explanation(out, &title, &table::of_code(*code));
    }
    if let Some((_, statement)) = STATEMENTS.iter().find(|(code, _)| *code == word) {
        return print_explanation(out, &format!("{word}: something that a check established"), statement);
    }
    if let Some((_, question)) = QUESTIONS.iter().find(|(code, _)| *code == word) {
        return print_explanation(out, &format!("{word}: a question that a check leaves open"), question);
    }
    match EXIT_CODES.iter().find(|(code, _)| *code == word) {
        Some((_, exit_code)) => print_explanation(out, &format!("{word}: an exit code"), exit_code),
        None => Ok(()),
    }
}

fn print_explanation(out: &mut dyn Write, title: &str, explanation: &Explanation) -> io::Result<()> {
    writeln!(out, "{title}")?;
    for (heading, text) in
        [("Meaning", explanation.meaning), ("Usual causes", explanation.causes), ("What to do", explanation.advice)]
    {
        writeln!(out, "\n{heading}")?;
        for line in wrapped(text, WIDTH - 2) {
            writeln!(out, "  {line}")?;
        }
    }
    Ok(())
}

/// Lists everything that can be explained, with the first sentence of each.
pub(crate) fn print_list(out: &mut dyn Write) -> io::Result<()> {
    let verdicts: Vec<_> =
        VERDICTS.iter().map(|verdict| (verdict.as_str(), table::of_verdict(*verdict).meaning)).collect();
    let codes = |counts: fn(&Code) -> bool| -> Vec<_> {
        let codes = Code::ALL.iter().filter(|code| counts(code));
        codes.map(|code| (code.as_str(), table::of_code(*code).meaning)).collect()
    };
    let of_table = |table: &[(&'static str, Explanation)]| -> Vec<_> {
        table.iter().map(|(word, explanation)| (*word, explanation.meaning)).collect()
    };
    let sections = [
        ("Verdicts, from best to worst", verdicts),
        ("Findings that decide a verdict", codes(|code| code.verdict().is_some())),
        ("Notes, which do not change a verdict", codes(|code| code.verdict().is_none())),
        ("What a check establishes, under `checked`", of_table(&STATEMENTS)),
        ("Questions that a check leaves open", of_table(&QUESTIONS)),
        ("Exit codes", of_table(&EXIT_CODES)),
    ];
    let widest = sections.iter().flat_map(|(_, words)| words).map(|(word, _)| word.len()).max().unwrap_or(0);
    for (index, (heading, words)) in sections.iter().enumerate() {
        writeln!(out, "{}{heading}", if index == 0 { "" } else { "\n" })?;
        for (word, meaning) in words {
            let sentence = meaning.split_once(". ").map_or(*meaning, |(first, _)| first).trim_end_matches('.');
            let mut lines = wrapped(sentence, WIDTH - widest - 4).into_iter();
            writeln!(out, "  {word:widest$}  {}", lines.next().unwrap_or_default())?;
            for line in lines {
                writeln!(out, "  {:widest$}  {line}", "")?;
            }
        }
    }
    writeln!(out, "\nmur-verify explain WORD says more of each.")
}

/// `text` in lines of at most `width` characters, cut between words.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut().filter(|line| line.chars().count() + 1 + word.chars().count() <= width) {
            Some(line) => {
                line.push(' ');
                line.push_str(word);
            }
            None => lines.push(word.into()),
        }
    }
    lines
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Every word, from all tables.
    fn all() -> Vec<&'static str> {
        let verdicts = VERDICTS.iter().map(|verdict| verdict.as_str());
        let codes = Code::ALL.iter().map(|code| code.as_str());
        let tables = STATEMENTS.iter().chain(&QUESTIONS).chain(&EXIT_CODES).map(|(word, _)| *word);
        verdicts.chain(codes).chain(tables).collect()
    }

    #[test]
    fn no_word_has_two_meanings() {
        assert_eq!(all().iter().collect::<BTreeSet<_>>().len(), all().len());
    }

    #[test]
    fn every_word_has_a_meaning_causes_and_advice_in_whole_sentences() {
        for word in all() {
            let mut text = Vec::new();
            print(&mut text, word).unwrap();
            let text = String::from_utf8(text).unwrap();
            for heading in ["\nMeaning\n", "\nUsual causes\n", "\nWhat to do\n"] {
                let below = text.split_once(heading).unwrap().1.split("\n\n").next().unwrap();
                assert!(below.trim_end().ends_with('.'), "{text}");
            }
            assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        }
    }

    #[test]
    fn text_is_cut_between_words() {
        assert_eq!(wrapped("one two three", 8), ["one two", "three"]);
        assert_eq!(wrapped("longer-than-that", 8), ["longer-than-that"]);
    }
}
