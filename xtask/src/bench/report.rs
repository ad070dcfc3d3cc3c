//! What was measured, as text and as Markdown.

use std::fs;

use crate::command::Command;
use crate::table;

/// Between these lines of the document stands what was measured.
const BEGIN: &str = "<!-- measured: begin; written by `cargo xtask bench --write` -->";
const END: &str = "<!-- measured: end -->";

/// One table, and what it was made with.
pub(crate) struct Scene {
    /// What was measured.
    pub(crate) title: String,
    /// The table; its first row holds the names of the columns.
    pub(crate) rows: Vec<Vec<String>>,
    /// The commands, as a shell takes them.
    pub(crate) commands: Vec<String>,
    pub(crate) targets: Vec<Target>,
}

/// A number that was to be reached.
pub(crate) struct Target {
    /// What it is a number of.
    pub(crate) what: String,
    /// The most that it may be.
    pub(crate) at_most: f64,
    /// What it is; `None` where it could not be measured.
    pub(crate) measured: Option<f64>,
    pub(crate) unit: &'static str,
}

impl Target {
    fn row(&self) -> Vec<String> {
        let number = |number: f64| format!("{number:.2}").trim_end_matches('0').trim_end_matches('.').to_owned();
        let (measured, met) = match self.measured {
            Some(measured) if measured <= self.at_most => (number(measured) + self.unit, "yes"),
            Some(measured) => (number(measured) + self.unit, "no"),
            None => ("not measured".to_owned(), "-"),
        };
        vec![self.what.clone(), number(self.at_most) + self.unit, measured, met.to_owned()]
    }
}

fn target_rows(scenes: &[Scene]) -> Vec<Vec<String>> {
    let header = ["", "at most", "measured", "met"].map(String::from).to_vec();
    let targets = scenes.iter().flat_map(|scene| &scene.targets).map(Target::row);
    std::iter::once(header).chain(targets).collect()
}

/// The tables for a terminal.
pub(crate) fn text(machine: &str, scenes: &[Scene]) -> String {
    let mut text = format!("{machine}\n");
    for scene in scenes {
        text += &format!("\n{}\n{}", scene.title, table::aligned(&scene.rows));
    }
    text + &format!("\nTargets\n{}", table::aligned(&target_rows(scenes)))
}

/// The same for the document, with the commands.
pub(crate) fn markdown(machine: &str, flag: &str, scenes: &[Scene]) -> String {
    let mut text = format!("{machine}\n\n    cargo xtask bench{flag} --write\n\n### Targets\n\n");
    text += &markdown_table(&target_rows(scenes));
    for scene in scenes {
        let commands: String = scene.commands.iter().map(|command| format!("    {command}\n")).collect();
        text += &format!("\n### {}\n\n{}\n{commands}", scene.title, markdown_table(&scene.rows));
    }
    text
}

fn markdown_table(rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let line = |row: &Vec<String>| format!("| {} |\n", row.join(" | "));
    let rule = format!("|---|{}\n", "---:|".repeat(columns.saturating_sub(1)));
    let mut lines = rows.iter().map(line);
    let header = lines.next().unwrap_or_default();
    header + &rule + &lines.collect::<String>()
}

/// The document with `measured` between its two marks.
pub(crate) fn replace_measured(document: &str, measured: &str) -> Result<String, String> {
    let place = document.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let Some((before, after)) = place else {
        return Err(format!("the lines `{BEGIN}` and `{END}` are not in it"));
    };
    Ok(format!("{before}{BEGIN}\n\n{measured}\n{END}{after}"))
}

/// The machine and the day: what the numbers depend on, and nothing that tells whose they are.
pub(crate) fn machine() -> String {
    let said = |program: &str, arguments: &[&str]| {
        let command = Command::new(std::path::Path::new(program)).args(arguments.iter().copied());
        let output = command.capture().ok().filter(|output| output.status.success());
        output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let of_file = |path: &str, member: &str| {
        let text = fs::read_to_string(path).ok()?;
        let line = text.lines().find(|line| line.starts_with(member))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let unknown = || "unknown".to_owned();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let model = of_file("/proc/cpuinfo", "model name").unwrap_or_else(unknown);
    let sha = match of_file("/proc/cpuinfo", "flags") {
        Some(flags) if flags.split(' ').any(|flag| flag == "sha_ni") => "with SHA instructions",
        Some(_) => "without SHA instructions",
        None => "SHA instructions unknown",
    };
    let memory = of_file("/proc/meminfo", "MemTotal").and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
    let memory = memory.map_or_else(unknown, |kib| format!("{} GiB", kib.div_ceil(1 << 20)));
    format!(
        "{}; {model}, {cores} cores, {sha}; {memory} of memory; {}; {}",
        said("date", &["-u", "+%Y-%m-%d"]).unwrap_or_else(unknown),
        said("uname", &["-s", "-r", "-m"]).unwrap_or_else(unknown),
        said("rustc", &["--version"]).unwrap_or_else(unknown),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_measured_before_is_replaced_and_the_rest_is_kept() {
        let document = format!("# Title\n\n{BEGIN}\nold\n{END}\n\nMore.\n");
        let replaced = replace_measured(&document, "new\n");
        assert_eq!(replaced, Ok(format!("# Title\n\n{BEGIN}\n\nnew\n\n{END}\n\nMore.\n")));
        assert!(replace_measured("# Title\n", "new").is_err());
    }

    #[test]
    fn a_target_that_was_missed_says_so() {
        let target = |measured| Target { what: "x".into(), at_most: 3.0, measured, unit: "×" };
        assert_eq!(target(Some(2.504)).row(), ["x", "3×", "2.5×", "yes"]);
        assert_eq!(target(Some(3.01)).row(), ["x", "3×", "3.01×", "no"]);
        assert_eq!(target(None).row(), ["x", "3×", "not measured", "-"]);
    }
}
