//! Running programs in turns: how long they take, and the most memory they have.

use std::io::Read;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::Failure;
use crate::command::Command;

/// A program that is measured.
pub(crate) struct Contestant {
    /// What it is called in the table.
    pub(crate) name: String,
    pub(crate) command: Command,
    pub(crate) clock: Clock,
}

/// Which time of a program counts.
#[derive(Clone, Copy)]
pub(crate) enum Clock {
    /// From its start to its end.
    Process,
    /// What it prints itself, in seconds after this word: it does something else besides.
    Printed(&'static str),
}

/// What was measured of a program.
pub(crate) enum Measured {
    /// It is not installed.
    Missing,
    /// It did its work each time.
    Done {
        /// The median of its turns.
        time: Duration,
        /// From its start to the end of its first line of output; the median of its turns.
        first_line: Duration,
        /// The most memory that it had resident, in bytes; unknown where there is no GNU time.
        peak: Option<u64>,
        /// What it printed in its first run.
        printed: String,
    },
}

impl Measured {
    /// The median time; `None` for a missing program.
    pub(crate) fn time(&self) -> Option<Duration> {
        match self {
            Self::Done { time, .. } => Some(*time),
            Self::Missing => None,
        }
    }

    /// The peak memory, in bytes.
    pub(crate) fn peak(&self) -> Option<u64> {
        match self {
            Self::Done { peak, .. } => *peak,
            Self::Missing => None,
        }
    }
}

/// Runs every contestant `turns` times, in turns, so that what else the machine does falls on all of them alike. A first
/// run of each, which is not timed, brings its files into memory and tells its peak memory.
///
/// # Errors
/// When a contestant that could be started does not end with 0, or does not print the time that counts.
pub(crate) fn in_turns(contestants: &[Contestant], turns: usize) -> Result<Vec<Measured>, Failure> {
    let mut first = Vec::new();
    for contestant in contestants {
        println!("  $ {}", contestant.command);
        first.push(first_run(&contestant.command)?);
    }
    let mut times: Vec<Vec<Duration>> = contestants.iter().map(|_| Vec::new()).collect();
    let mut first_lines = times.clone();
    for _ in 0..turns {
        for (index, contestant) in contestants.iter().enumerate() {
            if first[index].is_some() {
                let turn = one_turn(contestant)?;
                times[index].push(turn.time);
                first_lines[index].push(turn.first_line);
            }
        }
    }
    let measured = first.into_iter().zip(times.into_iter().zip(first_lines)).map(|(first, (times, first_lines))| {
        first.map_or(Measured::Missing, |First { peak, printed }| Measured::Done {
            time: median(times),
            first_line: median(first_lines),
            peak,
            printed,
        })
    });
    Ok(measured.collect())
}

struct First {
    peak: Option<u64>,
    printed: String,
}

/// `None` when the program is not installed.
fn first_run(command: &Command) -> Result<Option<First>, Failure> {
    let output = match command.prepare().stdin(Stdio::null()).output() {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Failure::new(format!("cannot start `{command}`: {error}"))),
    };
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Failure::new(format!("`{command}` ended with {}: {said}", output.status)));
    }
    Ok(Some(First { peak: peak_memory(command), printed: String::from_utf8_lossy(&output.stdout).into_owned() }))
}

/// The most memory that the program has resident, in bytes, as GNU time tells it; `None` where that is not installed.
fn peak_memory(command: &Command) -> Option<u64> {
    let plain = command.prepare();
    let output = std::process::Command::new("time")
        .args(["--format", "%M", "--quiet"])
        .arg(plain.get_program())
        .args(plain.get_args())
        .envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .output()
        .ok()?;
    let said = String::from_utf8_lossy(&output.stderr);
    Some(said.lines().next_back()?.trim().parse::<u64>().ok()? * 1024)
}

struct Turn {
    time: Duration,
    first_line: Duration,
}

fn one_turn(contestant: &Contestant) -> Result<Turn, Failure> {
    let command = &contestant.command;
    let failed = |error| Failure::new(format!("`{command}`: {error}"));
    let started = Instant::now();
    let mut child =
        command.prepare().stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().map_err(failed)?;
    let mut printed = Vec::new();
    let mut first_line = None;
    if let Some(mut stdout) = child.stdout.take() {
        let mut block = [0; 64 * 1024];
        loop {
            let read = stdout.read(&mut block).map_err(failed)?;
            if read == 0 {
                break;
            }
            printed.extend_from_slice(&block[..read]);
            if first_line.is_none() && block[..read].contains(&b'\n') {
                first_line = Some(started.elapsed());
            }
        }
    }
    let status = child.wait().map_err(failed)?;
    let whole = started.elapsed();
    if !status.success() {
        return Err(Failure::new(format!("`{command}` ended with {status}")));
    }
    let time = match contestant.clock {
        Clock::Process => whole,
        Clock::Printed(word) => printed_seconds(&String::from_utf8_lossy(&printed), word)
            .ok_or_else(|| Failure::new(format!("`{command}` did not print the seconds that its `{word}` took")))?,
    };
    Ok(Turn { time, first_line: first_line.unwrap_or(whole) })
}

/// The seconds on the line that begins with `word`.
pub(crate) fn printed_seconds(printed: &str, word: &str) -> Option<Duration> {
    let seconds = printed.lines().find_map(|line| line.strip_prefix(word)?.strip_prefix(' '))?;
    Duration::try_from_secs_f64(seconds.parse().ok()?).ok()
}

/// The middle one; of an even number, the later of the two in the middle.
fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_not_moved_by_one_slow_turn() {
        let times = [3, 900, 1, 2, 4].map(Duration::from_millis);
        assert_eq!(median(times.to_vec()), Duration::from_millis(3));
    }

    #[test]
    fn a_printed_time_is_found_by_its_word() {
        let printed = "compile 1.5\nrun 0.25\n";
        assert_eq!(printed_seconds(printed, "run"), Some(Duration::from_millis(250)));
        assert_eq!(printed_seconds(printed, "ru"), None);
    }

    #[test]
    fn a_program_that_is_not_installed_is_missing_and_no_error() {
        let command = Command::new(std::path::Path::new("no-such-program-is-installed"));
        let contestant = Contestant { name: String::new(), command, clock: Clock::Process };
        let measured = in_turns(&[contestant], 1).map(|measured| matches!(measured[..], [Measured::Missing]));
        assert!(matches!(measured, Ok(true)));
    }
}
