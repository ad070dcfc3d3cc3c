//! Launching a capsule: what `mur run` costs as a whole process, beside what Wasmtime alone costs.

use std::fs;
use std::path::{Path, PathBuf};

use super::measure::{Measured, in_turns};
use super::report::{Scene, Target};
use super::scenes::{commands, contestant, mib, milliseconds, row};
use super::{Programs, Size};
use crate::Failure;
use crate::command::Command;

/// Removes what was compiled, then runs a program in its own place.
const FORGETTING: &str = r#"rm -rf "$MURMUR_HOME/compiled" && exec "$0" "$@""#;
/// Calls of the tool in one session.
const CALLS: u32 = 100;

/// The smallest capsule and one with a tool, each in a project of its own.
struct Stage {
    home: PathBuf,
    empty: PathBuf,
    calling: PathBuf,
}

impl Stage {
    fn set(programs: &Programs) -> Result<Self, Failure> {
        let root = programs.target.join("launch");
        let failed = |error: std::io::Error| Failure::new(format!("cannot prepare {}: {error}", root.display()));
        if root.exists() {
            fs::remove_dir_all(&root).map_err(failed)?;
        }
        let stage = Self { home: root.join("home"), empty: root.join("empty"), calling: root.join("calling") };
        let manifest = "name: bench\nversion: 0.1.0\n";
        let with_tool = format!("{manifest}artifacts:\n  - {{name: tool, source: ./tool/tool.wasm}}\n");
        for (directory, manifest, component) in [
            (&stage.empty, manifest, &programs.empty_capsule),
            (&stage.calling, with_tool.as_str(), &programs.calling_capsule),
        ] {
            fs::create_dir_all(directory.join("tool")).map_err(failed)?;
            fs::write(directory.join("murmur.yaml"), manifest).map_err(failed)?;
            fs::copy(component, directory.join("capsule.wasm")).map_err(failed)?;
        }
        fs::copy(&programs.tool, stage.calling.join("tool/tool.wasm")).map_err(failed)?;
        Ok(stage)
    }

    /// `mur run` of a project, and whatever stands before it on the command line.
    fn run(&self, start: Command, project: &Path, task: &str) -> Command {
        let command = start.args(["run", "--manifest"]).path(&project.join("murmur.yaml")).args(["--task", task]);
        command.env("MURMUR_HOME", self.home.display().to_string())
    }
}

/// Launching the smallest capsule.
pub(crate) fn launching(programs: &Programs, size: &Size) -> Result<Scene, Failure> {
    let stage = Stage::set(programs)?;
    let mur = || Command::new(&programs.mur);
    let forgetting = Command::new(Path::new("sh")).args(["-c", FORGETTING]).path(&programs.mur);
    let bare = Command::new(&programs.bare_host).path(&programs.empty_capsule).path(&stage.empty.join("bare.cwasm"));
    let contestants = [
        contestant("mur run, compiled before", stage.run(mur(), &stage.empty, "ok")),
        contestant("mur run, nothing compiled", stage.run(forgetting, &stage.empty, "ok")),
        contestant("Wasmtime alone, compiled before", bare),
        contestant("mur --version", mur().args(["--version"])),
        contestant("true", Command::new(Path::new("true"))),
    ];
    let measured = in_turns(&contestants, size.starts)?;
    let mut rows = vec![row(["", "milliseconds", "peak memory"])];
    for (contestant, measured) in contestants.iter().zip(&measured) {
        let time = measured.time().map_or_else(|| "not installed".into(), |time| format!("{:.2}", milliseconds(time)));
        rows.push(row([&contestant.name, &time, &mib(measured.peak())]));
    }
    let time = |index: usize| measured[index].time().map(milliseconds);
    let target = |what: &str, at_most, measured, unit| Target { what: what.into(), at_most, measured, unit };
    Ok(Scene {
        title: "Launching the smallest capsule".into(),
        rows,
        commands: commands(&contestants),
        targets: vec![
            target("launching, compiled before", 12.0, time(0), " ms"),
            target(
                "peak memory of a launch",
                20.0,
                measured[0].peak().map(|peak| peak as f64 / super::scenes::MIB),
                " MiB",
            ),
            target("launching, nothing compiled", 150.0, time(1), " ms"),
            target("`mur --version`", 3.0, time(3), " ms"),
        ],
    })
}

/// Calling a tool many times in one session.
pub(crate) fn calling(programs: &Programs, size: &Size) -> Result<Scene, Failure> {
    let stage = Stage::set(programs)?;
    let run = |task: &str| stage.run(Command::new(&programs.mur), &stage.calling, task);
    let contestants = [
        contestant("no call", run("call-many 0 tool")),
        contestant(&format!("{CALLS} calls"), run(&format!("call-many {CALLS} tool"))),
    ];
    let measured = in_turns(&contestants, size.starts)?;
    let mut rows = vec![row(["", "milliseconds", "a call", "calls a second", "peak memory"])];
    let none = measured[0].time().map(milliseconds);
    for (index, (contestant, measured)) in contestants.iter().zip(&measured).enumerate() {
        let time = measured.time().map(milliseconds);
        let a_call = time.zip(none).map(|(time, none)| (time - none) / f64::from(CALLS)).filter(|_| index > 0);
        rows.push(row([
            &contestant.name,
            &time.map_or_else(String::new, |time| format!("{time:.2}")),
            &a_call.map_or_else(String::new, |call| format!("{:.0} µs", call * 1e3)),
            &a_call.map_or_else(String::new, |call| format!("{:.0}", 1e3 / call)),
            &mib(Measured::peak(measured)),
        ]));
    }
    Ok(Scene {
        title: "Calling a tool from one session".into(),
        rows,
        commands: commands(&contestants),
        targets: Vec::new(),
    })
}
