//! What is generated from the command line's own definitions: completions and
//! manual pages.

use std::process::ExitCode;

use clap::{Command, CommandFactory};

use crate::cli::exit::{self, Stop};
use crate::cli::output;
use crate::cli::{Cli, CompletionsArgs, ManualArgs};

/// Prints a shell's completions.
///
/// # Errors
///
/// Those of writing.
pub fn completions(args: &CompletionsArgs) -> Result<ExitCode, Stop> {
    let mut text = Vec::new();
    let mut command = Cli::command();
    clap_complete::generate(args.shell, &mut command, env!("CARGO_PKG_NAME"), &mut text);
    output::print(&[], &text)?;
    Ok(ExitCode::from(exit::PASS))
}

/// Prints a manual page in roff, the program's or a subcommand's.
///
/// # Errors
///
/// A subcommand that is not there, or those of writing.
pub fn manual(args: &ManualArgs) -> Result<ExitCode, Stop> {
    let mut program = Cli::command();
    // So that subcommands have their whole name and the global options.
    program.build();
    let command = match &args.subcommand {
        None => program,
        Some(name) => named(&program, name)?,
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(command).render(&mut text)?;
    output::print(&[], &text)?;
    Ok(ExitCode::from(exit::PASS))
}

fn named(program: &Command, name: &str) -> Result<Command, Stop> {
    program.find_subcommand(name).cloned().ok_or_else(|| {
        Stop::usage(
            format!("there is no subcommand {name:?}"),
            "--help lists the subcommands",
        )
    })
}
