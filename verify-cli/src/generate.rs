//! Completions and the manual page, from the definition of the command line.

use std::io::{self, Write};

use clap::CommandFactory;
use clap_complete::{Shell, generate};

use crate::args::Cli;

const NAME: &str = "mur-verify";

/// The completions of `shell`, as that shell reads them.
pub(crate) fn completions(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    generate(shell, &mut Cli::command(), NAME, &mut script);
    script
}

/// Writes the manual page as roff. The commands are in its synopsis and have no pages of their own to point at.
pub(crate) fn manual(out: &mut dyn Write) -> io::Result<()> {
    let command = Cli::command().mut_subcommands(|command| command.hide(true));
    clap_mangen::Man::new(command).render(out)
}
