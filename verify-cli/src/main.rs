//! The auditor's command. All of it is the library beside this file.

fn main() -> std::process::ExitCode {
    mur_verify::run(std::env::args_os(), &mut mur_verify::Console::of_process()).into()
}
