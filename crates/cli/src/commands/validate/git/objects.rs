//! Contents, as git stores them: no filter changes them, and what lies in the working tree does not matter.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout};

use anyhow::{Context, bail};

use super::Repository;

/// A larger content is not compared.
const CONTENT_BYTES_MAX: u64 = 256 << 20;

/// One process of git that hands out contents by their ids.
pub struct Objects {
    child: Child,
    /// None at the end, so that git sees the end of its input.
    asks: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Objects {
    pub fn open(repository: &Repository) -> anyhow::Result<Self> {
        let mut command = repository.command();
        command.args(["cat-file", "--batch"]).stderr(std::process::Stdio::null());
        let mut child = command.spawn().map_err(super::cannot_run)?;
        let asks = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().context("git gives no answers")?);
        Ok(Self { child, asks, answers })
    }

    pub fn read(&mut self, id: &str) -> anyhow::Result<Vec<u8>> {
        let asks = self.asks.as_mut().context("git has ended")?;
        asks.write_all(format!("{id}\n").as_bytes()).context("git has ended")?;
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        // `<id> blob <size>`, or `<id> missing`.
        let size = line.trim_end().split(' ').nth(2).and_then(|size| size.parse::<u64>().ok());
        let Some(size) = size else { bail!("this clone does not have its content") };
        if size > CONTENT_BYTES_MAX {
            std::io::copy(&mut (&mut self.answers).take(size + 1), &mut std::io::sink())?;
            bail!("too large to compare ({size} bytes)");
        }
        // The content, and the line break that ends it.
        let mut content = Vec::new();
        (&mut self.answers).take(size + 1).read_to_end(&mut content)?;
        content.pop();
        Ok(content)
    }
}

impl Drop for Objects {
    fn drop(&mut self) {
        self.asks = None;
        let _ = self.child.wait();
    }
}
