//! The `mur` binary. All of it is the library beside this file.

fn main() -> std::process::ExitCode {
    mur_runtime::cli::run(std::env::args_os(), &mur_runtime::context::Context::of_process()).into()
}
