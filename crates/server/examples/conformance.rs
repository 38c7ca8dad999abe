//! A coordinator for the public conformance suite: everything is as in `baton serve`, and `/mcp`
//! has the suite's own tools, resources and prompts, too.
//!
//! It is an example and no verb: no feature of `baton` brings them in.
//!
//! ```console
//! $ cargo run --example conformance --features conformance WORKSPACE
//! ```

use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;

use baton_server::{Listen, Network, Options, serve};

fn main() -> ExitCode {
    let Some(workspace) = std::env::args_os().nth(1) else {
        eprintln!("error: no workspace is named\n hint: run `baton init` in a folder and name it");
        return ExitCode::from(2);
    };
    let network = Network {
        listen: Listen::At(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))),
        tls: None,
        clear_text: false,
        hosts: Vec::new(),
    };
    let options = Options {
        workspace: workspace.into(),
        idle_after: None,
        retention: Default::default(),
        packing: Default::default(),
        audit_dir: None,
        outgoing: Default::default(),
        accept_loss: false,
        network: Some(network),
        // The suite asks faster than any agent should.
        requests_per_second: None,
        otlp: None,
    };
    match serve(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
