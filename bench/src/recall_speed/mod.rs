//! `recall-speed`: what a search, a save and a cold start cost, by the size of the workspace.

#[derive(clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args) -> anyhow::Result<()> {
    Ok(())
}
