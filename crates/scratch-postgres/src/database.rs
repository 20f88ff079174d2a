//! A database of one's own in the cluster that all tests of a user share.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{FlockOperation, flock};

use crate::cluster::{self, ClusterOptions};
use crate::programs::{ServerUser, chosen, find_program};

/// Stops the cluster once the file `users` was without holders for a while. A separate process, because the first user
/// of the cluster is seldom the last.
const KEEPER: &str = r#"
while sleep 30; do
    if flock -n -x "$1/users" true; then
        flock -x "$1/users" "$2" stop -D "$1/data" -m immediate -w && rm -rf "$1/data"
        exit
    fi
done
"#;

/// An empty database, or a copy of a prepared one. It is dropped together with this value.
#[derive(Debug)]
pub struct Database {
    /// Its URL, for the superuser.
    pub url: String,
    name: String,
    shared: &'static Shared,
}

#[derive(Debug)]
struct Shared {
    folder: PathBuf,
    user: ServerUser,
    /// Held for as long as this process lives.
    _users: File,
}

impl Database {
    /// An empty database.
    pub fn fresh() -> io::Result<Self> {
        Self::copy_of("template0")
    }

    /// A copy of the database `name`, which `prepare` fills the first time it is needed: copying is much faster than
    /// filling. The name must change when `prepare` changes.
    pub fn prepared(name: &str, prepare: impl FnOnce(&str)) -> io::Result<Self> {
        let shared = shared()?;
        {
            let _turn = lock(&shared.folder.join("preparing"), FlockOperation::LockExclusive)?;
            let exists = format!("SELECT 1 FROM pg_database WHERE datname = '{name}' AND datistemplate");
            if shared.sql("postgres", &exists)?.is_empty() {
                shared.sql("postgres", &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"))?;
                shared.sql("postgres", &format!("CREATE DATABASE {name} TEMPLATE template0"))?;
                prepare(&cluster::url(&shared.folder, name));
                shared.sql("postgres", &format!("ALTER DATABASE {name} IS_TEMPLATE true ALLOW_CONNECTIONS false"))?;
                let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ";
                shared.sql("postgres", &format!("{end}'{name}'"))?;
            }
        }
        Self::copy_of(name)
    }

    fn copy_of(template: &str) -> io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let shared = shared()?;
        let name = format!("test_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        // Left over from a killed process that had the same number.
        shared.sql("postgres", &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"))?;
        shared.sql("postgres", &format!("CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY"))?;
        Ok(Self { url: cluster::url(&shared.folder, &name), name, shared })
    }

    /// Runs a statement as the superuser and returns what it prints.
    pub fn sql(&self, statement: &str) -> io::Result<String> {
        self.shared.sql(&self.name, statement)
    }

    /// The directory of its files, after everything was written to them.
    pub fn files(&self) -> io::Result<PathBuf> {
        self.sql("CHECKPOINT")?;
        let number = self.sql("SELECT oid FROM pg_database WHERE datname = current_database()")?;
        Ok(cluster::data(&self.shared.folder).join("base").join(number))
    }

    /// The definitions of everything in it, as `pg_dump` prints them.
    pub fn schema(&self) -> io::Result<String> {
        let mut dump = self.shared.user.command(&find_program("pg_dump")?);
        dump.args(["-U", "postgres", "--schema-only", "-d", &self.name, "-h"]).arg(&self.shared.folder);
        let output = crate::programs::run(&mut dump)?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let _ = self.shared.sql("postgres", &format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name));
    }
}

impl Shared {
    fn sql(&self, database: &str, statement: &str) -> io::Result<String> {
        cluster::sql(&self.folder, self.user, database, statement)
    }
}

fn shared() -> io::Result<&'static Shared> {
    static SHARED: OnceLock<Shared> = OnceLock::new();
    static STARTING: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _turn = STARTING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(shared) = SHARED.get() {
        return Ok(shared);
    }
    let shared = join()?;
    Ok(SHARED.get_or_init(|| shared))
}

/// Joins the cluster, and starts it if none is running.
fn join() -> io::Result<Shared> {
    let user = ServerUser::find()?;
    // One per version: a directory of another version can't be opened.
    let version = chosen().map(|version| format!("-{:016x}", hash_of(&version))).unwrap_or_default();
    let owner = rustix::process::getuid().as_raw();
    let folder = std::env::temp_dir().join(format!("mnemon-test-postgres-{owner}{version}"));
    fs::create_dir_all(&folder)?;
    user.own(&folder)?;
    // All users share this lock; getting it exclusively means that there are none.
    let users = lock(&folder.join("users"), FlockOperation::LockShared)?;
    let _turn = lock(&folder.join("starting"), FlockOperation::LockExclusive)?;
    if !cluster::is_ready(&folder, user) {
        let _ = cluster::stop(&folder, user);
        let _ = fs::remove_dir_all(cluster::data(&folder));
        cluster::init(&folder, user)?;
        cluster::start(&folder, user, &ClusterOptions::default())?;
        let mut keeper = Command::new("sh");
        keeper.args(["-c", KEEPER, "keeper"]).arg(&folder).arg(find_program("pg_ctl")?);
        let mut keeper = as_user(user, keeper);
        keeper.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        std::os::unix::process::CommandExt::process_group(&mut keeper, 0);
        let mut keeper = keeper.spawn()?;
        std::thread::spawn(move || keeper.wait());
    }
    Ok(Shared { folder, user, _users: users })
}

/// A short name for a path, the same in every process.
fn hash_of(path: &std::path::Path) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    std::hash::Hash::hash(path, &mut hasher);
    std::hash::Hasher::finish(&hasher)
}

/// The same command, run as the server's user.
fn as_user(user: ServerUser, command: Command) -> Command {
    let mut own = user.command(std::path::Path::new(command.get_program()));
    own.args(command.get_args());
    own
}

fn lock(path: &std::path::Path, how: FlockOperation) -> io::Result<File> {
    let file = File::options().create(true).truncate(false).write(true).read(true).open(path)?;
    // The keeper reads it as the server's user.
    let everybody = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    let _ = file.set_permissions(everybody);
    flock(&file, how)?;
    Ok(file)
}
