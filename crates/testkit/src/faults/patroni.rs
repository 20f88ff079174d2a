//! Three PostgreSQL servers under Patroni, with an etcd of their own, all real processes on loopback: a cluster that
//! chooses its primary by itself.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use mnemon_scratch_postgres::{ServerUser, find_program};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::service::{Signal, send};

const MEMBERS: usize = 3;
/// How long a lease lasts: as short as Patroni allows.
pub const TTL: Duration = Duration::from_secs(20);
/// How often a member looks after its lease.
pub const LOOP_WAIT: Duration = Duration::from_secs(3);
/// How long a cluster may take until it is whole, on a busy machine.
const WHOLE_MAX: Duration = Duration::from_secs(240);
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// A running cluster. On drop all of it is killed and removed.
pub struct Patroni {
    folder: TempDir,
    user: ServerUser,
    etcd: Child,
    members: Vec<Member>,
    client: reqwest::Client,
}

struct Member {
    name: String,
    server: SocketAddr,
    api: SocketAddr,
    process: Option<Child>,
}

impl Patroni {
    /// Starts a cluster and waits until it has a primary and a synchronous standby.
    pub async fn start() -> Result<Self> {
        let user = ServerUser::find()?;
        let folder = tempfile::Builder::new().prefix("mnemon-patroni-").tempdir()?;
        user.own(folder.path())?;
        let (clients, peers) = (free_address()?, free_address()?);
        let etcd = start_etcd(folder.path(), user, clients, peers)?;
        let mut members = Vec::new();
        for nth in 1..=MEMBERS {
            let (name, server, api) = (format!("m{nth}"), free_address()?, free_address()?);
            let settings = settings(folder.path(), &name, server, api, clients)?;
            // JSON is YAML too.
            std::fs::write(folder.path().join(format!("{name}.yml")), settings.to_string())?;
            members.push(Member { name, server, api, process: None });
        }
        let mut cluster = Self { folder, user, etcd, members, client: crate::caller::plain_client() };
        for nth in 0..MEMBERS {
            cluster.start_member(nth)?;
        }
        cluster.until_whole().await?;
        Ok(cluster)
    }

    /// The address of whichever of them is the primary.
    pub fn url(&self, database: &str) -> String {
        let hosts: Vec<String> = self.members.iter().map(|member| member.server.to_string()).collect();
        format!("postgres://postgres@{}/{database}?target_session_attrs=read-write", hosts.join(","))
    }

    /// Starts a member that was killed.
    pub fn start_member(&mut self, nth: usize) -> Result<()> {
        let name = self.members[nth].name.clone();
        let program = program("patroni")?;
        let mut command = self.user.command(&program);
        command.arg(self.folder.path().join(format!("{name}.yml")));
        self.members[nth].process = Some(spawn(command, self.folder.path(), &name)?);
        Ok(())
    }

    /// The member that is the primary.
    pub async fn primary(&self) -> Result<usize> {
        let roles = self.roles().await?;
        let primary = roles.iter().position(|role| role.as_deref() == Some("leader"));
        primary.context("there is no primary now")
    }

    /// Kills a member: its Patroni and its server, with no chance to clean up.
    pub fn kill(&mut self, nth: usize) -> Result<()> {
        let processes = self.processes(nth)?;
        for pid in processes {
            // A child may have ended with its parent.
            let _ = send(pid, Signal::Kill);
        }
        if let Some(mut process) = self.members[nth].process.take() {
            process.wait()?;
        }
        Ok(())
    }

    /// Stops all of a member without ending it, as a machine that hangs or lost its network.
    pub fn freeze(&self, nth: usize) -> Result<()> {
        for pid in self.processes(nth)? {
            let _ = send(pid, Signal::Stop);
        }
        Ok(())
    }

    /// Stops etcd without ending it, so that no lease can be renewed; or lets it go on.
    pub fn freeze_leases(&self, is_frozen: bool) -> Result<()> {
        send(self.etcd.id(), if is_frozen { Signal::Stop } else { Signal::Continue })
    }

    /// Waits until there are a primary, a synchronous standby and another standby.
    pub async fn until_whole(&self) -> Result<()> {
        let began = Instant::now();
        loop {
            let roles = self.roles().await.unwrap_or_default();
            let count = |wanted: &str| roles.iter().filter(|role| role.as_deref() == Some(wanted)).count();
            if count("leader") == 1 && count("sync_standby") == 1 && count("replica") == MEMBERS - 2 {
                return Ok(());
            }
            ensure!(began.elapsed() < WHOLE_MAX, "the cluster is not whole: {roles:?}\n{}", self.logs());
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Runs a statement on the primary and returns what it prints.
    pub async fn sql(&self, database: &str, statement: &str) -> Result<String> {
        let server = self.members[self.primary().await?].server;
        let mut psql = self.user.command(&find_program("psql")?);
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", "postgres", "-d", database]);
        psql.args(["-h", &server.ip().to_string(), "-p", &server.port().to_string(), "-c", statement]);
        let output = psql.output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// What each member is, as a member sees it that answers. `None` for one that does not run.
    async fn roles(&self) -> Result<Vec<Option<String>>> {
        for member in self.members.iter().filter(|member| member.process.is_some()) {
            let request = self.client.get(format!("http://{}/cluster", member.api)).timeout(Duration::from_secs(2));
            let Ok(response) = request.send().await else { continue };
            let Ok(told) = response.text().await else { continue };
            let told: Value = serde_json::from_str(&told)?;
            let empty = Vec::new();
            let listed = told["members"].as_array().unwrap_or(&empty);
            let role = |member: &Member| {
                let own = listed.iter().find(|listed| listed["name"] == member.name.as_str())?;
                let runs = own["state"] == "running" || own["state"] == "streaming";
                runs.then(|| own["role"].as_str().unwrap_or_default().to_owned())
            };
            return Ok(self.members.iter().map(role).collect());
        }
        anyhow::bail!("no member answers")
    }

    /// Patroni itself, the server, and the server's children.
    fn processes(&self, nth: usize) -> Result<Vec<u32>> {
        let member = &self.members[nth];
        let mut all: Vec<u32> = member.process.iter().map(Child::id).collect();
        let note = std::fs::read_to_string(self.folder.path().join(&member.name).join("postmaster.pid"));
        if let Some(pid) = note.ok().and_then(|note| note.lines().next()?.trim().parse::<u32>().ok()) {
            all.push(pid);
            let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
            all.extend(children.split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
        }
        Ok(all)
    }

    fn logs(&self) -> String {
        let end = |member: &Member| {
            let text = std::fs::read_to_string(self.folder.path().join(format!("{}.log", member.name)));
            let text = text.unwrap_or_default();
            let lines: Vec<&str> = text.lines().rev().take(5).collect();
            format!("{}:\n{}", member.name, lines.into_iter().rev().collect::<Vec<_>>().join("\n"))
        };
        self.members.iter().map(end).collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Patroni {
    fn drop(&mut self) {
        for nth in 0..self.members.len() {
            let _ = self.kill(nth);
        }
        let _ = self.freeze_leases(false);
        let _ = self.etcd.kill();
        let _ = self.etcd.wait();
    }
}

/// Bound and released at once: nothing else on the machine takes it within the next moment.
fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}

fn program(name: &str) -> Result<PathBuf> {
    find_program(name)
        .ok()
        .with_context(|| format!("{name} is not installed; on Debian: apt-get install patroni etcd-server"))
}

fn start_etcd(folder: &Path, user: ServerUser, clients: SocketAddr, peers: SocketAddr) -> Result<Child> {
    let mut command = user.command(&program("etcd")?);
    let (clients, peers) = (format!("http://{clients}"), format!("http://{peers}"));
    command.arg("--data-dir").arg(folder.join("etcd"));
    command.args(["--listen-client-urls", &clients, "--advertise-client-urls", &clients]);
    command.args(["--listen-peer-urls", &peers, "--initial-advertise-peer-urls", &peers]);
    command.args(["--initial-cluster", &format!("default={peers}")]);
    spawn(command, folder, "etcd")
}

fn spawn(mut command: Command, folder: &Path, name: &str) -> Result<Child> {
    let log = std::fs::File::options().create(true).append(true).open(folder.join(format!("{name}.log")))?;
    command.env("HOME", folder).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    command.spawn().with_context(|| format!("{name} does not start"))
}

/// A member's configuration, as in the guide on PostgreSQL under Patroni.
fn settings(folder: &Path, name: &str, server: SocketAddr, api: SocketAddr, etcd: SocketAddr) -> Result<Value> {
    let programs = find_program("postgres")?;
    let trusted = ["local all all trust", "host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"];
    Ok(json!({
        "scope": "mnemon",
        "name": name,
        "restapi": {"listen": api.to_string(), "connect_address": api.to_string()},
        "etcd3": {"hosts": [etcd.to_string()]},
        "bootstrap": {
            "dcs": {
                "ttl": TTL.as_secs(),
                "loop_wait": LOOP_WAIT.as_secs(),
                "retry_timeout": 5,
                "synchronous_mode": true,
                "postgresql": {
                    "use_pg_rewind": true,
                    "parameters": {"wal_log_hints": "on", "max_connections": 200},
                },
            },
            "initdb": [{"encoding": "UTF8"}, {"locale": "C.UTF-8"}, {"auth": "trust"}],
            "pg_hba": trusted,
        },
        "postgresql": {
            "listen": server.to_string(),
            "connect_address": server.to_string(),
            "data_dir": folder.join(name),
            "bin_dir": programs.parent(),
            "pgpass": folder.join(format!("{name}.pgpass")),
            "authentication": {"superuser": {"username": "postgres"}, "replication": {"username": "replicator"}},
            "parameters": {"unix_socket_directories": folder},
        },
    }))
}
