//! Where the server's programs are, and which user may run them.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Debian keeps the server's programs out of PATH, in one directory per version.
const FOLDERS: [&str; 3] = ["/usr/lib/postgresql", "/usr/local/pgsql", "/opt/homebrew/opt/postgresql"];

/// A directory with another version's `bin`, whose programs are preferred.
const CHOICE: &str = "MNEMON_TEST_POSTGRES";

/// The newest installed program with this name, for example `postgres` or `psql`, unless a version was chosen that has
/// it. Some packages have the server alone; older clients get along with it.
pub fn find_program(name: &str) -> io::Result<PathBuf> {
    let chosen = chosen().map(|version| version.join("bin").join(name));
    if let Some(program) = chosen.filter(|program| program.exists()) {
        return Ok(program);
    }
    let mut found: Vec<(u32, PathBuf)> = Vec::new();
    for folder in FOLDERS {
        let own = Path::new(folder).join("bin").join(name);
        let versions = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        for path in versions.map(|version| version.join("bin").join(name)).chain([own]).filter(|path| path.exists()) {
            let version =
                path.ancestors().nth(2).and_then(Path::file_name).and_then(|name| name.to_str()?.parse().ok());
            found.push((version.unwrap_or(0), path));
        }
    }
    let newest = found.into_iter().max().map(|(_, path)| path);
    let on_path =
        || std::env::split_paths(&std::env::var_os("PATH")?).map(|dir| dir.join(name)).find(|path| path.exists());
    newest.or_else(on_path).ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::NotFound,
            format!("{name} is not installed; on Debian: apt-get install postgresql"),
        )
    })
}

/// The version that was chosen.
pub(crate) fn chosen() -> Option<PathBuf> {
    std::env::var_os(CHOICE).filter(|folder| !folder.is_empty()).map(PathBuf::from)
}

/// The user that the server runs as: it refuses to run as root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerUser {
    ids: Option<(u32, u32)>,
}

impl ServerUser {
    /// The user `postgres` for root, and oneself for everybody else.
    pub fn find() -> io::Result<Self> {
        if !rustix::process::geteuid().is_root() {
            return Ok(Self { ids: None });
        }
        let users = std::fs::read_to_string("/etc/passwd")?;
        let ids_of = |name: &str| {
            let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
            let mut fields = line.split(':').skip(2);
            Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
        };
        let ids = ids_of("postgres").or_else(|| ids_of("nobody"));
        ids.map(|ids| Self { ids: Some(ids) }).ok_or_else(|| io::Error::other("there is no user to run PostgreSQL as"))
    }

    /// Changes a directory's owner to this user.
    pub fn own(self, folder: &Path) -> io::Result<()> {
        match self.ids {
            Some((user, group)) => std::os::unix::fs::chown(folder, Some(user), Some(group)),
            None => Ok(()),
        }
    }

    /// A command that runs as this user.
    pub fn command(self, program: &Path) -> Command {
        let mut command = Command::new(program);
        if let Some((user, group)) = self.ids {
            command.gid(group).uid(user);
        }
        // A directory that this user may enter.
        command.current_dir("/");
        command
    }
}

/// Runs a command to its end; if it fails, the error contains its output.
pub(crate) fn run(command: &mut Command) -> io::Result<Output> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(output);
    }
    let words = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("{:?} failed: {}", command.get_program(), words.trim())))
}
