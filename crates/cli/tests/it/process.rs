//! Running the binary: each test has its own directory, and no settings from the environment reach it.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A configuration file that every command is told to use, if it is there.
pub(crate) const NAMED_CONFIG: &str = "named.toml";

/// A directory for a test's files.
pub(crate) struct Place(TempDir);

/// The result of a command.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory for the test"))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn data_dir(&self) -> PathBuf {
        self.path().join("data")
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        std::fs::write(&path, text).expect("a file in the test's directory");
        path
    }

    /// `mnemon` with these arguments, in this directory, without settings from outside.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mnemon"));
        command.args(arguments).current_dir(self.path()).env_clear().stdin(Stdio::null());
        // The usual address has one port, and tests run beside each other.
        command.env("MNEMON_METRICS_LISTEN", "");
        let config = self.path().join(NAMED_CONFIG);
        if config.exists() {
            command.env("MNEMON_CONFIG", config);
        }
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Done {
        Done::of(self.command(arguments).output().expect("the binary runs"))
    }

    /// Runs with something on standard input.
    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &[u8]) -> Done {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary runs");
        // A command that fails before it reads may close the pipe.
        let _ = child.stdin.take().expect("piped").write_all(input);
        Done::of(child.wait_with_output().expect("the binary ends"))
    }

    /// Starts the service on a free port with its data in `data`, and waits until it is ready.
    pub(crate) fn serve(&self, more: &[&str]) -> Service {
        Service::start(self, more)
    }

    /// The same from a shell that allows this many open files.
    pub(crate) fn serve_with_open_files(&self, count: usize) -> Service {
        let mut shell = Command::new("sh");
        let script = format!("ulimit -S -n {count} && exec \"$0\" \"$@\"");
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_mnemon")]).current_dir(self.path()).env_clear();
        shell.env("MNEMON_METRICS_LISTEN", "");
        Service::start_by(self, shell, &[])
    }
}

impl Done {
    pub(crate) fn of(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
        Self { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
    }

    /// What was printed, as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Runs a command at a terminal and types an answer. Everything that appears there is returned as the error text.
pub(crate) fn at_terminal(mut command: Command, typed: &str) -> Done {
    let (mut screen, terminal) = open_terminal();
    command.stdin(terminal.try_clone().expect("a terminal")).stderr(terminal).stdout(Stdio::piped());
    screen.write_all(typed.as_bytes()).expect("somebody types");
    let child = command.spawn().expect("the binary runs");
    // The test's own copies of the terminal must go, so that its screen ends with the command.
    drop(command);
    let reader = std::thread::spawn(move || {
        let mut seen = Vec::new();
        // A terminal whose last user has gone ends with an error.
        let _ = screen.read_to_end(&mut seen);
        String::from_utf8_lossy(&seen).into_owned()
    });
    let mut done = Done::of(child.wait_with_output().expect("the command ends"));
    done.err = reader.join().expect("the screen is read");
    done
}

fn open_terminal() -> (File, File) {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let screen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&screen).expect("a terminal");
    unlockpt(&screen).expect("a terminal");
    let name = ptsname(&screen, Vec::new()).expect("a terminal has a name");
    let name = name.to_str().expect("a terminal's name is plain").to_owned();
    let terminal = File::options().read(true).write(true).open(name).expect("a terminal opens");
    (File::from(screen), terminal)
}

/// A running service. It is killed when the value is dropped, unless it was stopped before.
pub(crate) struct Service {
    child: Child,
    stdout: BufReader<ChildStdout>,
    /// What it printed when it was ready.
    pub(crate) welcome: String,
    pub(crate) url: String,
    log: PathBuf,
}

impl Service {
    fn start(place: &Place, more: &[&str]) -> Self {
        Self::start_by(place, place.command(&[]), more)
    }

    /// The same, where something else starts the binary.
    pub(crate) fn start_by(place: &Place, mut command: Command, more: &[&str]) -> Self {
        let log = place.path().join("log");
        command.args(["serve", "--data-dir", "data", "--listen", "127.0.0.1:0"]);
        let log_file = File::options().create(true).append(true).open(&log).expect("a file for the log");
        command.args(more).stdout(Stdio::piped()).stderr(log_file);
        let mut child = command.spawn().expect("the binary runs");
        let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
        let welcome = read_welcome(&mut stdout, &log);
        let url = first_url(&welcome);
        Self { child, stdout, welcome, url, log }
    }

    /// The key that the first start printed.
    pub(crate) fn key(&self) -> String {
        let line = self.welcome.lines().map(str::trim).find(|line| line.starts_with("mnm_"));
        line.expect("the first start prints a key").to_owned()
    }

    pub(crate) fn pid(&self) -> String {
        self.child.id().to_string()
    }

    /// Asks it to stop, and waits until it has: exit code, what else it printed, and the log.
    pub(crate) fn stop(mut self) -> Done {
        signal(&self.pid(), "TERM");
        self.wait()
    }

    pub(crate) fn wait(&mut self) -> Done {
        let mut out = String::new();
        self.stdout.read_to_string(&mut out).expect("output is UTF-8");
        let status = self.child.wait().expect("the service ends");
        let err = std::fs::read_to_string(&self.log).expect("the log can be read");
        Done { code: status.code().unwrap_or(-1), out, err }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn signal(pid: &str, name: &str) {
    let status = Command::new("kill").args(["-s", name, pid]).status().expect("kill runs");
    assert!(status.success());
}

/// Reads everything that the service prints at its start: up to its last line, or one line of JSON.
fn read_welcome(stdout: &mut impl BufRead, log: &Path) -> String {
    let mut welcome = String::new();
    loop {
        let start = welcome.len();
        if stdout.read_line(&mut welcome).expect("output is UTF-8") == 0 {
            panic!("the service ended: {welcome}\n{}", std::fs::read_to_string(log).unwrap_or_default());
        }
        let line = &welcome[start..];
        if line.starts_with("Press Ctrl-C") || line.contains("using the data in") || line.starts_with('{') {
            return welcome;
        }
    }
}

/// The address that was printed first.
fn first_url(text: &str) -> String {
    let word = text.split(|c: char| c.is_whitespace() || "\",".contains(c)).find(|word| word.starts_with("http"));
    word.expect("the address is printed").to_owned()
}
