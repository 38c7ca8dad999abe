//! The `baton` binary: reads the command line, asks the coordinator, prints what it says.
//!
//! No rule about handoffs lives here; whatever another way in would need too belongs further down.

mod args;
mod bench;
mod caller;
mod client;
mod demo;
mod doctor;
mod evidence;
mod failure;
mod hook;
mod identity;
mod launch;
mod line;
mod noted;
mod place;
mod prime;
mod session;
mod setup;
mod shelf;
mod show;
mod tagging;
mod top;
mod usage;
mod value;
mod verbs;
mod workspace;

use std::process::ExitCode;

use clap::FromArgMatches;

use crate::args::Cli;

fn main() -> ExitCode {
    let quick = hook::quick(std::env::args_os()).or_else(|| verbs::Mcp::quick(std::env::args_os()));
    if let Some(done) = quick {
        return done;
    }
    let read = args::command().try_get_matches();
    let cli = read.and_then(|read| Cli::from_arg_matches(&read).map(|cli| (cli, read)));
    let cli = match cli {
        Ok((mut cli, read)) => {
            cli.global.typed_first(&read);
            cli
        }
        Err(error) => return usage::told(error, usage::wants_json(std::env::args_os())),
    };
    let (json, color) = (cli.global.json, cli.global.color());
    match verbs::run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.tell(json, color);
            ExitCode::from(failure.exit as u8)
        }
    }
}
