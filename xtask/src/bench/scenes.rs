//! What is measured: one function a table.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use super::measure::{Clock, Contestant, Measured, in_turns, printed_seconds};
use super::report::{Scene, Target};
use super::{Programs, Size};
use crate::Failure;
use crate::command::Command;

pub(super) const MIB: f64 = 1024.0 * 1024.0;

/// The baseline of [`one_trace`], of which the others are multiples.
const HASHING: &str = "sha2, the lines in memory";

/// Checking one long trace, beside hashing its lines and beside programs that hash the file.
pub(crate) fn one_trace(programs: &Programs, size: &Size, line: u64) -> Result<Scene, Failure> {
    let (bytes, line_text) = (size.trace.to_string(), line.to_string());
    let directory = programs.generated(&format!("trace-{bytes}-{line}"), &["inline", &bytes, &line_text])?;
    let (record, key) = (directory.join("record"), directory.join("record-seal.pub"));
    let trace = record.join("trace.jsonl");
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut jobs = vec![1, 2, cores];
    jobs.retain(|jobs| *jobs <= cores);
    jobs.dedup();

    let contestant = |name: &str, command, clock| Contestant { name: name.into(), command, clock };
    let hashing = Command::new(&programs.workload).args(["hash"]).path(&trace);
    let mut contestants = vec![contestant(HASHING, hashing, Clock::Printed("hash"))];
    for jobs in &jobs {
        let command = Command::new(&programs.verifier).path(&record).args(["--key"]).path(&key);
        let command = command.args(["--jobs", jobs.to_string().as_str()]);
        contestants.push(contestant(&jobs_name(*jobs), command, Clock::Process));
    }
    let component = Command::new(&programs.wasi_host).path(&programs.component).path(&record);
    let component = component.args(["record", "--key", read(&key)?.trim()]);
    contestants.push(contestant(COMPONENT, component, Clock::Printed("run")));
    let openssl = Command::new(Path::new("openssl")).args(["dgst", "-sha256"]).path(&trace);
    contestants.push(contestant("openssl dgst -sha256, the file", openssl, Clock::Process));
    let sha256sum = Command::new(Path::new("sha256sum")).path(&trace);
    contestants.push(contestant("sha256sum, the file", sha256sum, Clock::Process));

    let measured = in_turns(&contestants, size.turns)?;
    let file = fs::metadata(&trace).map_err(|error| Failure::new(format!("{}: {error}", trace.display())))?.len();
    let baseline = measured[0].time();
    let mut rows = vec![row(["", "seconds", "MB/s", "× sha2", "peak memory"])];
    for (contestant, measured) in contestants.iter().zip(&measured) {
        let Some(time) = measured.time() else {
            rows.push(row([&contestant.name, "not installed", "", "", ""]));
            continue;
        };
        let seconds = time.as_secs_f64();
        rows.push(row([
            contestant.name.as_str(),
            &format!("{seconds:.3}"),
            &format!("{:.0}", file as f64 / 1e6 / seconds),
            &ratio(Some(time), baseline).map_or_else(String::new, |ratio| format!("{ratio:.2}")),
            &mib(measured.peak()),
        ]));
        if let Measured::Done { printed, .. } = measured
            && let Some(compiling) = printed_seconds(printed, "compile")
        {
            rows.push(row(["compiling check-capsule, once", &format!("{:.3}", compiling.as_secs_f64()), "", "", ""]));
        }
    }
    let of = |name: &str| contestants.iter().zip(&measured).find(|(one, _)| one.name == name).map(|(_, found)| found);
    let time = |name: &str| of(name).and_then(Measured::time);
    let (one, two) = (time(&jobs_name(1)), time(&jobs_name(2)));
    let peak = jobs.iter().filter_map(|jobs| of(&jobs_name(*jobs))?.peak()).max();
    let target = |what: &str, at_most, measured, unit| Target {
        what: format!("{what}, lines of {line} bytes"),
        at_most,
        measured,
        unit,
    };
    Ok(Scene {
        title: format!("One trace of {} MiB, lines of {line} bytes", size.trace >> 20),
        rows,
        commands: commands(&contestants),
        targets: vec![
            target("`--jobs 1` against sha2", 1.15, ratio(one, baseline), "×"),
            target("`--jobs 2` against `--jobs 1`", 0.6, ratio(two, one), "×"),
            target("the component against `--jobs 1`", 5.0, ratio(time(COMPONENT), one), "×"),
            target("peak memory of the check", 16.0, peak.map(|peak| peak as f64 / MIB), " MiB"),
        ],
    })
}

const COMPONENT: &str = "check-capsule under Wasmtime, compiled before";

fn jobs_name(jobs: usize) -> String {
    format!("mur-verify --jobs {jobs}")
}

/// Checking listed streams: their seals hold a hash a line.
pub(crate) fn listed(programs: &Programs, size: &Size) -> Result<Scene, Failure> {
    let mut contestants = Vec::new();
    for lines in size.listed {
        let text = lines.to_string();
        let directory = programs.generated(&format!("listed-{lines}"), &["listed", &text])?;
        let command = Command::new(&programs.verifier).path(&directory.join("record"));
        let command = command.args(["--key"]).path(&directory.join("record-seal.pub"));
        contestants.push(Contestant { name: text, command, clock: Clock::Process });
    }
    let measured = in_turns(&contestants, size.turns)?;
    let mut rows = vec![row(["lines", "seconds", "lines a second", "peak memory", "bytes a line"])];
    let mut targets = Vec::new();
    for (lines, measured) in size.listed.into_iter().zip(&measured) {
        let seconds = measured.time().unwrap_or_default().as_secs_f64();
        let a_line = measured.peak().map(|peak| peak as f64 / lines as f64);
        rows.push(row([
            &grouped(lines),
            &format!("{seconds:.3}"),
            &grouped((lines as f64 / seconds) as u64),
            &mib(measured.peak()),
            &a_line.map_or_else(|| UNKNOWN.into(), |bytes| format!("{bytes:.1}")),
        ]));
        let what = format!("peak memory a line of a listed stream of {}", grouped(lines));
        targets.push(Target { what, at_most: 48.0, measured: a_line, unit: " bytes" });
    }
    Ok(Scene { title: "A listed stream".into(), rows, commands: commands(&contestants), targets })
}

/// Checking many small records in one tree.
pub(crate) fn many_records(programs: &Programs, size: &Size) -> Result<Scene, Failure> {
    let records = size.records.to_string();
    let directory = programs.generated(&format!("many-{records}"), &["many", &records])?;
    let command = Command::new(&programs.verifier).args(["--recursive"]).path(&directory.join("records"));
    let command = command.args(["--key"]).path(&directory.join("record-seal.pub"));
    let contestants = [Contestant { name: records, command, clock: Clock::Process }];
    let measured = in_turns(&contestants, size.turns)?;
    let (whole, first, peak) = match &measured[..] {
        [Measured::Done { time, first_line, peak, .. }] => (*time, *first_line, *peak),
        _ => return Err(Failure::new("the verifier was not built")),
    };
    Ok(Scene {
        title: format!("{} records of three streams each in one tree", grouped(size.records)),
        rows: vec![
            row(["", "first line", "in all", "peak memory"]),
            row([
                "mur-verify --recursive",
                &format!("{:.1} ms", first.as_secs_f64() * 1e3),
                &format!("{:.2} s", whole.as_secs_f64()),
                &mib(peak),
            ]),
        ],
        commands: commands(&contestants),
        targets: vec![Target {
            what: format!("{} records in one tree", grouped(size.records)),
            at_most: 6.0,
            measured: Some(whole.as_secs_f64()),
            unit: " s",
        }],
    })
}

/// Starting the verifier, beside starting a program that does nothing.
pub(crate) fn start(programs: &Programs, size: &Size) -> Result<Scene, Failure> {
    let contestants = [
        contestant("mur-verify --version", Command::new(&programs.verifier).args(["--version"])),
        contestant("true", Command::new(Path::new("true"))),
    ];
    let measured = in_turns(&contestants, size.starts)?;
    let size = fs::metadata(&programs.verifier)
        .map_err(|error| Failure::new(format!("{}: {error}", programs.verifier.display())))?
        .len();
    let mut rows = vec![row(["", "milliseconds", "peak memory", "size, stripped"])];
    for (contestant, measured) in contestants.iter().zip(&measured) {
        let time = measured.time().map_or_else(|| "not installed".into(), |time| format!("{:.2}", milliseconds(time)));
        let size = if contestant.name == "true" { String::new() } else { format!("{:.2} MB", size as f64 / 1e6) };
        rows.push(row([&contestant.name, &time, &mib(measured.peak()), &size]));
    }
    let time = measured[0].time().map(milliseconds);
    Ok(Scene {
        title: "Starting".into(),
        rows,
        commands: commands(&contestants),
        targets: vec![
            Target { what: "`mur-verify --version`".into(), at_most: 3.0, measured: time, unit: " ms" },
            Target {
                what: "size of `mur-verify`, stripped".into(),
                at_most: 3.0,
                measured: Some(size as f64 / 1e6),
                unit: " MB",
            },
        ],
    })
}

/// Appending to a chain, beside bare writes of the same bytes.
pub(crate) fn appending(programs: &Programs, size: &Size) -> Result<Scene, Failure> {
    const WAYS: [(&str, &str); 5] = [
        ("write", "a bare write"),
        ("stat-write", "stat and write"),
        ("lock-stat-write-unlock", "lock, stat, write, unlock"),
        ("sole", "InlineChain, sole appender"),
        ("shared", "InlineChain, shared file"),
    ];
    const THREADS: [u64; 2] = [1, 8];
    let command = Command::new(&programs.workload).args(["append"]).path(&programs.target.join("append"));
    let command = command.args([size.appends.to_string().as_str()]);
    let contestants = [Contestant { name: String::new(), command, clock: Clock::Process }];
    // It takes turns itself: one run of it is enough, and the first one is not timed from outside.
    let measured = in_turns(&contestants, 0)?;
    let [Measured::Done { printed, .. }] = &measured[..] else {
        return Err(Failure::new("the workload was not built"));
    };
    let mut times = BTreeMap::new();
    for (way, _) in WAYS {
        for threads in THREADS {
            let time = printed_seconds(printed, &format!("{way} {threads}"))
                .ok_or_else(|| Failure::new(format!("the workload told no time for `{way} {threads}`")))?;
            times.insert((way, threads), time);
        }
    }
    let against_write =
        |way, threads| ratio(times.get(&(way, threads)).copied(), times.get(&("write", threads)).copied());
    let mut rows = vec![row(["", "threads", "µs a line", "× a bare write by as many"])];
    let mut targets = Vec::new();
    for threads in THREADS {
        for (way, name) in WAYS {
            let time = times.get(&(way, threads)).copied().unwrap_or_default();
            rows.push(row([
                name,
                &threads.to_string(),
                &format!("{:.2}", time.as_secs_f64() * 1e6 / size.appends as f64),
                &against_write(way, threads).map_or_else(String::new, |ratio| format!("{ratio:.2}")),
            ]));
            if way == "sole" || way == "shared" {
                let what = format!("appending: {name}, {threads} {}", if threads == 1 { "thread" } else { "threads" });
                targets.push(Target { what, at_most: 3.0, measured: against_write(way, threads), unit: "×" });
            }
        }
    }
    Ok(Scene { title: "Appending lines of 478 bytes".into(), rows, commands: commands(&contestants), targets })
}

const UNKNOWN: &str = "unknown";

pub(super) fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(String::from).to_vec()
}

/// A program whose whole time counts.
pub(super) fn contestant(name: &str, command: Command) -> Contestant {
    Contestant { name: name.into(), command, clock: Clock::Process }
}

pub(super) fn commands(contestants: &[Contestant]) -> Vec<String> {
    contestants.iter().map(|contestant| contestant.command.to_string()).collect()
}

fn ratio(time: Option<Duration>, baseline: Option<Duration>) -> Option<f64> {
    Some(time?.as_secs_f64() / baseline?.as_secs_f64())
}

pub(super) fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

pub(super) fn mib(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| UNKNOWN.into(), |bytes| format!("{:.1} MiB", bytes as f64 / MIB))
}

/// `10,000`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| Failure::new(format!("cannot read {}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped_by_three() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
