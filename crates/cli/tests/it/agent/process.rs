//! Running the agent: its own home directory, lines in, lines out, and a terminal where a person is needed.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::process::{Done, at_terminal};

/// Longer than any of this should take.
const LINE_TIMEOUT: Duration = Duration::from_secs(30);

/// A person's home folder.
pub(super) struct Home(TempDir);

impl Home {
    pub(super) fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory for the test"))
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(super) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder can be made");
        std::fs::write(&path, text).expect("a file can be written");
        path
    }

    /// `mnemon agent …` in this home, with these environment variables and no others.
    pub(super) fn command(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mnemon"));
        command.arg("agent").args(arguments).current_dir(self.path()).env_clear().env("HOME", self.path());
        command.envs(variables.iter().copied()).stdin(Stdio::null());
        command
    }

    pub(super) fn run(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Done {
        Done::of(self.command(arguments, variables).output().expect("the binary runs"))
    }

    pub(super) fn start(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Agent {
        Agent::start(self.command(arguments, variables))
    }

    /// Runs at a terminal and types an answer. Everything that appears there is returned as the error text.
    pub(super) fn at_terminal(&self, arguments: &[&str], variables: &[(&str, &str)], typed: &str) -> Done {
        at_terminal(self.command(arguments, variables), typed)
    }
}

/// A running agent. It is killed when the value is dropped.
pub(super) struct Agent {
    child: Child,
    lines: mpsc::Receiver<String>,
    errors: mpsc::Receiver<String>,
}

impl Agent {
    fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary runs");
        let lines = read_lines(child.stdout.take().expect("piped"));
        let errors = read_lines(child.stderr.take().expect("piped"));
        Self { child, lines, errors }
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn send(&mut self, line: impl AsRef<[u8]>) {
        let stdin = self.child.stdin.as_mut().expect("the agent's input is open");
        stdin.write_all(line.as_ref()).expect("the agent reads");
        stdin.write_all(b"\n").expect("the agent reads");
        stdin.flush().expect("the agent reads");
    }

    /// The next line, whatever it answers.
    pub(super) fn line(&self) -> String {
        self.lines.recv_timeout(LINE_TIMEOUT).expect("the agent answers")
    }

    pub(super) fn line_within(&self, time: Duration) -> Option<String> {
        self.lines.recv_timeout(time).ok()
    }

    pub(super) fn ask(&mut self, request: &Value) -> Value {
        self.send(request.to_string());
        serde_json::from_str(&self.line()).expect("answers are JSON")
    }

    /// Closes the agent's input and waits for it to exit: exit code, the rest of its output, its log.
    pub(super) fn finish(mut self) -> (i32, Vec<String>, Vec<String>) {
        drop(self.child.stdin.take());
        let status = self.child.wait().expect("the agent ends");
        (status.code().unwrap_or(-1), self.lines.iter().collect(), self.errors.iter().collect())
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read_lines(stream: impl Read + Send + 'static) -> mpsc::Receiver<String> {
    let (line, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for read in BufReader::new(stream).lines() {
            let Ok(read) = read else { return };
            if line.send(read).is_err() {
                return;
            }
        }
    });
    lines
}
