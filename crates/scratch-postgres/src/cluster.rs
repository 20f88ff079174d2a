//! One running server with a folder of its own.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::programs::{ServerUser, find_program, run};

/// How long a start may take on a busy machine.
const START_MAX: Duration = Duration::from_secs(60);

/// What a test may want different.
#[derive(Debug, Clone, Default)]
pub struct ClusterOptions {
    /// Whether commits reach the disk. Most tests need no power-loss safety, and are many times faster without.
    pub is_durable: bool,
    /// Further settings, as in `postgresql.conf`.
    pub settings: Vec<(String, String)>,
}

/// A server of one's own. It is stopped and gone when this is dropped.
#[derive(Debug)]
pub struct Cluster {
    folder: TempDir,
    user: ServerUser,
    options: ClusterOptions,
}

impl Cluster {
    /// Makes a cluster and starts it.
    pub fn start(options: ClusterOptions) -> io::Result<Self> {
        let user = ServerUser::find()?;
        let folder = tempfile::Builder::new().prefix("mnemon-pg-").tempdir()?;
        user.own(folder.path())?;
        init(folder.path(), user)?;
        let cluster = Self { folder, user, options };
        cluster.start_again()?;
        Ok(cluster)
    }

    /// Makes a standby of a running cluster, and starts it.
    pub fn standby_of(primary: &Self, name: &str) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("mnemon-pg-").tempdir()?;
        primary.user.own(folder.path())?;
        let mut copy = primary.user.command(&find_program("pg_basebackup")?);
        copy.arg("-h").arg(primary.folder.path()).args(["-U", "postgres", "-D"]).arg(data(folder.path()));
        let source = format!("host={} user=postgres application_name={name}", primary.folder.path().display());
        copy.args(["-c", "fast", "-R", "-d", &source]);
        run(&mut copy)?;
        let cluster = Self { folder, user: primary.user, options: primary.options.clone() };
        cluster.start_again()?;
        Ok(cluster)
    }

    /// Starts the server after it was stopped or killed.
    pub fn start_again(&self) -> io::Result<()> {
        start(self.folder.path(), self.user, &self.options)
    }

    /// The folder of the socket and the data.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The address of a database in it, for its superuser.
    pub fn url(&self, database: &str) -> String {
        url(self.folder.path(), database)
    }

    /// The process that all others of the server are children of.
    pub fn pid(&self) -> io::Result<u32> {
        pid(self.folder.path())
    }

    /// Runs a statement as the superuser, and answers what it prints.
    pub fn sql(&self, database: &str, statement: &str) -> io::Result<String> {
        sql(self.folder.path(), self.user, database, statement)
    }

    /// Starts a statement as the superuser in a session of its own, and leaves it running.
    pub fn session(&self, database: &str, statement: &str) -> io::Result<std::process::Child> {
        let mut psql = self.user.command(&find_program("psql")?);
        psql.args(["-X", "-q", "-U", "postgres", "-d", database, "-h"]).arg(self.folder.path());
        psql.arg("-c").arg(statement).stdin(Stdio::null()).stdout(Stdio::null()).spawn()
    }

    /// Makes a standby the primary.
    pub fn promote(&self) -> io::Result<()> {
        let mut promote = self.user.command(&find_program("pg_ctl")?);
        run(promote.arg("promote").arg("-D").arg(data(self.folder.path())).arg("-w")).map(|_| ())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = stop(self.folder.path(), self.user);
    }
}

pub(crate) fn data(folder: &Path) -> PathBuf {
    folder.join("data")
}

pub(crate) fn url(folder: &Path, database: &str) -> String {
    let host = folder.display().to_string().replace('/', "%2F");
    format!("postgres://postgres@{host}/{database}")
}

pub(crate) fn init(folder: &Path, user: ServerUser) -> io::Result<()> {
    let mut init = user.command(&find_program("initdb")?);
    init.arg("-D").arg(data(folder)).args(["-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"]);
    // A language that sorts unlike bytes do: what relies on the order says so itself.
    init.args(["--locale", "C.UTF-8"]);
    run(&mut init).map(|_| ())
}

pub(crate) fn start(folder: &Path, user: ServerUser, options: &ClusterOptions) -> io::Result<()> {
    let log = fs::File::options().create(true).append(true).open(folder.join("log"))?;
    let mut server = user.command(&find_program("postgres")?);
    server.arg("-D").arg(data(folder)).arg("-k").arg(folder);
    let mut settings = vec![("listen_addresses", ""), ("max_connections", "300"), ("logging_collector", "off")];
    if !options.is_durable {
        settings.extend([("fsync", "off"), ("full_page_writes", "off")]);
    }
    for (name, value) in settings {
        server.arg("-c").arg(format!("{name}={value}"));
    }
    for (name, value) in &options.settings {
        server.arg("-c").arg(format!("{name}={value}"));
    }
    server.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    // Its own group: a test runner that interrupts a test's group leaves the server to whoever owns it.
    std::os::unix::process::CommandExt::process_group(&mut server, 0);
    let mut child = server.spawn()?;
    let begun = Instant::now();
    while !is_ready(folder, user) {
        if let Some(status) = child.try_wait()? {
            let log = fs::read_to_string(folder.join("log")).unwrap_or_default();
            return Err(io::Error::other(format!("PostgreSQL ended with {status}: {log}")));
        }
        if begun.elapsed() > START_MAX {
            return Err(io::Error::other("PostgreSQL did not start in time"));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    // Its end is collected when it comes, so that it never stays behind as a zombie that looks alive.
    std::thread::spawn(move || child.wait());
    Ok(())
}

pub(crate) fn is_ready(folder: &Path, user: ServerUser) -> bool {
    let Ok(program) = find_program("pg_isready") else { return false };
    let asked = user.command(&program).arg("-q").arg("-h").arg(folder).args(["-U", "postgres"]).status();
    asked.is_ok_and(|status| status.success())
}

pub(crate) fn pid(folder: &Path) -> io::Result<u32> {
    let text = fs::read_to_string(data(folder).join("postmaster.pid"))?;
    text.lines().next().and_then(|line| line.trim().parse().ok()).ok_or_else(|| io::Error::other("no server runs here"))
}

pub(crate) fn stop(folder: &Path, user: ServerUser) -> io::Result<()> {
    let mut stop = user.command(&find_program("pg_ctl")?);
    run(stop.arg("stop").arg("-D").arg(data(folder)).args(["-m", "immediate", "-w"])).map(|_| ())
}

pub(crate) fn sql(folder: &Path, user: ServerUser, database: &str, statement: &str) -> io::Result<String> {
    let mut psql = user.command(&find_program("psql")?);
    psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", "postgres", "-d", database, "-h"]).arg(folder);
    let output = run(psql.arg("-c").arg(statement))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
