//! One running server with its own directory.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::programs::{ServerUser, find_program, run};

/// How long a start may take on a busy machine.
const START_MAX: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Default)]
pub struct ClusterOptions {
    /// Whether commits reach the disk. Most tests need no protection against power loss, and are many times faster
    /// without.
    pub is_durable: bool,
    /// Whether it also listens on loopback, on a free port. A socket has no TLS.
    pub is_on_loopback: bool,
    /// The certificate for TLS; without one, the server offers none.
    pub certificate: Option<ServerCertificate>,
    /// Where its directory is made, if not among the other temporary ones.
    pub parent: Option<PathBuf>,
    /// Further settings, as in `postgresql.conf`.
    pub settings: Vec<(String, String)>,
}

/// A certificate with its key, both as PEM.
#[derive(Debug, Clone)]
pub struct ServerCertificate {
    /// The certificate and its intermediates.
    pub chain: String,
    pub key: String,
}

/// The port of servers that listen only on a socket: it is part of the socket's name.
const SOCKET_PORT: u16 = 5432;

/// A server of one's own. It is stopped and removed on drop.
#[derive(Debug)]
pub struct Cluster {
    folder: TempDir,
    user: ServerUser,
    options: ClusterOptions,
}

impl Cluster {
    /// Creates and starts a cluster.
    pub fn start(options: ClusterOptions) -> io::Result<Self> {
        let user = ServerUser::find()?;
        let parent = options.parent.clone().unwrap_or_else(std::env::temp_dir);
        let folder = tempfile::Builder::new().prefix("mnemon-pg-").tempdir_in(parent)?;
        user.own(folder.path())?;
        init(folder.path(), user)?;
        let cluster = Self { folder, user, options };
        cluster.start_again()?;
        Ok(cluster)
    }

    /// Creates and starts a standby of a running cluster.
    pub fn standby_of(primary: &Self, name: &str) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("mnemon-pg-").tempdir()?;
        primary.user.own(folder.path())?;
        let mut copy = primary.user.command(&find_program("pg_basebackup")?);
        copy.args(at(primary.folder.path())).args(["-U", "postgres", "-D"]).arg(data(folder.path()));
        let (host, port) = (primary.folder.path().display(), port(primary.folder.path()));
        let source = format!("host={host} port={port} user=postgres application_name={name}");
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

    /// The directory of the socket and the data.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The URL of a database in it, for the superuser.
    pub fn url(&self, database: &str) -> String {
        url(self.folder.path(), database)
    }

    /// Its address on loopback.
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, port(self.folder.path())))
    }

    /// The server's main process.
    pub fn pid(&self) -> io::Result<u32> {
        pid(self.folder.path())
    }

    /// Runs a statement as the superuser and returns what it prints.
    pub fn sql(&self, database: &str, statement: &str) -> io::Result<String> {
        sql(self.folder.path(), self.user, database, statement)
    }

    /// Starts a statement as the superuser in its own session, and leaves it running.
    pub fn session(&self, database: &str, statement: &str) -> io::Result<std::process::Child> {
        self.session_of("postgres", database, statement)
    }

    /// The same as somebody else.
    pub fn session_of(&self, role: &str, database: &str, statement: &str) -> io::Result<std::process::Child> {
        let mut psql = self.user.command(&find_program("psql")?);
        psql.args(["-X", "-q", "-U", role, "-d", database]).args(at(self.folder.path()));
        psql.arg("-c").arg(statement).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
    }

    /// Promotes a standby to primary.
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
    format!("postgres://postgres@{host}:{}/{database}", port(folder))
}

/// The options with which PostgreSQL's programs find a server.
fn at(folder: &Path) -> [OsString; 4] {
    ["-h".into(), folder.into(), "-p".into(), port(folder).to_string().into()]
}

pub(crate) fn init(folder: &Path, user: ServerUser) -> io::Result<()> {
    let mut init = user.command(&find_program("initdb")?);
    init.arg("-D").arg(data(folder)).args(["-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"]);
    // A locale that sorts differently from bytes: code that relies on the order must say so itself.
    init.args(["--locale", "C.UTF-8"]);
    run(&mut init).map(|_| ())
}

pub(crate) fn start(folder: &Path, user: ServerUser, options: &ClusterOptions) -> io::Result<()> {
    let log = fs::File::options().create(true).append(true).open(folder.join("log"))?;
    let mut server = user.command(&find_program("postgres")?);
    server.arg("-D").arg(data(folder)).arg("-k").arg(folder);
    for (name, value) in settings(folder, user, options)? {
        server.arg("-c").arg(format!("{name}={value}"));
    }
    server.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    // Its own process group: a test runner that interrupts a test's group must not stop the server.
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
    // Its exit is collected when it comes, so that it never remains as a zombie that looks alive.
    std::thread::spawn(move || child.wait());
    Ok(())
}

fn settings(folder: &Path, user: ServerUser, options: &ClusterOptions) -> io::Result<Vec<(String, String)>> {
    let mut settings = vec![("max_connections", "300".to_owned()), ("logging_collector", "off".to_owned())];
    if options.is_on_loopback {
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
        settings.extend([("listen_addresses", address.ip().to_string()), ("port", address.port().to_string())]);
    } else {
        settings.extend([("listen_addresses", String::new()), ("port", SOCKET_PORT.to_string())]);
    }
    if !options.is_durable {
        settings.extend(["fsync", "full_page_writes"].map(|name| (name, "off".to_owned())));
    }
    if let Some(certificate) = &options.certificate {
        let chain = write_secret(folder, user, "server.crt", &certificate.chain)?;
        let key = write_secret(folder, user, "server.key", &certificate.key)?;
        settings.extend([("ssl", "on".to_owned()), ("ssl_cert_file", chain), ("ssl_key_file", key)]);
    }
    let own = settings.into_iter().map(|(name, value)| (name.to_owned(), value));
    Ok(own.chain(options.settings.iter().cloned()).collect())
}

/// Writes a file that only the server's user may read: the server refuses a key that others can read.
fn write_secret(folder: &Path, user: ServerUser, name: &str, text: &str) -> io::Result<String> {
    let path = folder.join(name);
    fs::write(&path, text)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
    user.own(&path)?;
    Ok(path.display().to_string())
}

pub(crate) fn is_ready(folder: &Path, user: ServerUser) -> bool {
    let Ok(program) = find_program("pg_isready") else { return false };
    let asked = user.command(&program).arg("-q").args(at(folder)).args(["-U", "postgres"]).status();
    asked.is_ok_and(|status| status.success())
}

pub(crate) fn pid(folder: &Path) -> io::Result<u32> {
    note(folder, 0).ok_or_else(|| io::Error::other("no server runs here"))
}

/// The port of a running server.
fn port(folder: &Path) -> u16 {
    note(folder, 3).unwrap_or(SOCKET_PORT)
}

/// A line of what a running server records about itself.
fn note<T: std::str::FromStr>(folder: &Path, line: usize) -> Option<T> {
    let text = fs::read_to_string(data(folder).join("postmaster.pid")).ok()?;
    text.lines().nth(line)?.trim().parse().ok()
}

pub(crate) fn stop(folder: &Path, user: ServerUser) -> io::Result<()> {
    let mut stop = user.command(&find_program("pg_ctl")?);
    run(stop.arg("stop").arg("-D").arg(data(folder)).args(["-m", "immediate", "-w"])).map(|_| ())
}

pub(crate) fn sql(folder: &Path, user: ServerUser, database: &str, statement: &str) -> io::Result<String> {
    let mut psql = user.command(&find_program("psql")?);
    psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", "postgres", "-d", database]).args(at(folder));
    let output = run(psql.arg("-c").arg(statement))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
