//! `mnemon completions` and `mnemon man`: made from the arguments themselves, so that they name what there is.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use mnemon_agent::private::replace;

use crate::arguments::{Completions, Man};
use crate::help;
use crate::printer::Printer;

pub fn completions(completions: &Completions, printer: &Printer) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(completions.shell, &mut help::command(), "mnemon", &mut script);
    let script = String::from_utf8(script).context("the script is not text")?;
    // Our own text, in which every character counts.
    printer.styled(script.trim_end());
    Ok(ExitCode::SUCCESS)
}

/// Writes a page per command: `mnemon.1`, `mnemon-serve.1`, `mnemon-key-create.1` …
pub fn man(man: &Man, printer: &Printer) -> anyhow::Result<ExitCode> {
    std::fs::create_dir_all(&man.folder).with_context(|| format!("can't create {}", man.folder.display()))?;
    let mut command = help::command();
    // Without this, a page would not show the flags that all commands have.
    command.build();
    let count = write_pages(&command, "mnemon", &man.folder)?;
    printer.text(&format!("{count} pages are in {}.", man.folder.display()));
    Ok(ExitCode::SUCCESS)
}

fn write_pages(command: &clap::Command, name: &str, folder: &Path) -> anyhow::Result<usize> {
    let path = folder.join(format!("{name}.1"));
    let mut page = Vec::new();
    let own = command.clone().display_name(name);
    clap_mangen::Man::new(own).render(&mut page)?;
    replace(&path, &page, Some(0o644)).with_context(|| format!("can't write {}", path.display()))?;
    let shown = command.get_subcommands().filter(|inner| !inner.is_hide_set() && inner.get_name() != "help");
    let mut count = 1;
    for inner in shown {
        count += write_pages(inner, &format!("{name}-{}", inner.get_name()), folder)?;
    }
    Ok(count)
}
