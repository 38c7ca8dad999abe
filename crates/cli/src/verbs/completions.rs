//! `baton completions`: what a shell needs to complete our verbs.

use clap::Args;
use clap_complete::Shell;

use crate::args;
use crate::failure::Failure;
use crate::show::Output;

/// Print completions for a shell
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton completions bash > ~/.local/share/bash-completion/completions/baton
  baton completions zsh > ~/.zfunc/_baton
  baton completions fish > ~/.config/fish/completions/baton.fish")]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self, out: Output) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut args::command(), "baton", &mut script);
        out.write(&String::from_utf8_lossy(&script))
    }
}
