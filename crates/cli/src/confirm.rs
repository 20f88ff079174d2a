//! Asks before something is destroyed. Every command that deletes, purges, revokes or removes asks, and so does one
//! that forgets many records at once.

use std::io::{BufRead, IsTerminal, Write};

use anyhow::bail;
use clap::Args;

use crate::visible;

#[derive(Debug, Args)]
pub struct Confirmation {
    /// Assume yes; needed in scripts.
    #[arg(long, short = 'y')]
    pub yes: bool,
}

impl Confirmation {
    /// Returns if the person agrees to `act` ("delete the workspace 'notes'"). `note` is a sentence about what follows.
    pub fn ask(&self, act: &str, note: &str) -> anyhow::Result<()> {
        if self.yes {
            return Ok(());
        }
        if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
            bail!("add --yes to {act}: there is no terminal to ask at");
        }
        let mut terminal = std::io::stderr();
        write!(terminal, "{} Go on? [y/N] ", visible::lines(&format!("This will {act}. {note}")))?;
        terminal.flush()?;
        let mut answer = String::new();
        std::io::stdin().lock().read_line(&mut answer)?;
        if !matches!(answer.trim().to_lowercase().as_str(), "y" | "yes") {
            bail!("cancelled; nothing was changed");
        }
        Ok(())
    }
}
