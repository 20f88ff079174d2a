//! The same as `backup.rs` on PostgreSQL: `pg_dump` under load, each dump preceded by one that is killed, `pg_restore`
//! into a new database, `mnemon doctor --restore-check`, and a node on the restored data that gives the same answers.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use mnemon_scratch_postgres::{Cluster, ClusterOptions, find_program};

use super::Rounds;
use super::backup::{BackupReport, WRITERS, compare, furnish, run, text};
use super::service::Program;
use super::writers::{Writers, WritersSpec};

const ORIGINAL: &str = "original";
/// How fast the file of a dump that is killed grows, in bytes a second: slow enough to be killed in the middle.
const SLOW_RATE: usize = 1_000_000;
const PORTION: usize = 10_000;

/// Runs the rounds with a server of its own and all files in `scratch`.
pub async fn backup_postgres(binary: &Path, scratch: &Path, rounds: &Rounds) -> Result<BackupReport> {
    let cluster = Cluster::start(ClusterOptions::default())?;
    cluster.sql("postgres", &format!("CREATE DATABASE {ORIGINAL}"))?;
    let mut program = Program::new(binary, &scratch.join("data"), scratch);
    program.database = Some(cluster.url(ORIGINAL));
    let service = program.start().await?;
    program.key = Some(service.key.clone());
    furnish(&mut service.connect().await?).await?;
    let dumps = Dumps { cluster: &cluster, program: &program };
    let mut report = BackupReport::default();
    for round in 0..rounds.count {
        let spec = |part: &str| WritersSpec { count: WRITERS, workspace: format!("round-{round}-{part}") };
        let before = Writers::start(&service, &spec("before")).await?;
        tokio::time::sleep(rounds.moment(round) / 4).await;
        let before = before.stop().await?;
        let during = Writers::start(&service, &spec("during")).await?;
        let (killed, kept) = (scratch.join("killed.dump"), scratch.join("kept.dump"));
        report.killed += usize::from(dumps.kill_one(&killed, rounds.moment(round) / 4)?);
        dumps.make(&kept)?;
        during.stop().await?;
        // A half dump must not pass for a whole one.
        report.half += usize::from(dumps.restore(&killed, &format!("half_{round}")).is_ok());
        let copy = format!("copy_{round}");
        dumps.restore(&kept, &copy)?;
        let folder = scratch.join(&copy);
        std::fs::create_dir_all(&folder)?;
        let database = Some(cluster.url(&copy));
        let second = Program { data_dir: folder.join("data"), scratch: folder.clone(), database, ..program.clone() };
        let restored = second.start().await?;
        report.add(compare(&service, &restored, &before).await?);
        restored.kill()?;
        for database in [copy, format!("half_{round}")] {
            cluster.sql("postgres", &format!("DROP DATABASE {database} WITH (FORCE)"))?;
        }
        std::fs::remove_dir_all(&folder)?;
    }
    Ok(report)
}

/// Dumps of one database, restored into others of the same server.
struct Dumps<'a> {
    cluster: &'a Cluster,
    program: &'a Program,
}

impl Dumps<'_> {
    fn make(&self, to: &Path) -> Result<()> {
        tool(self.command()?.arg("-f").arg(to))
    }

    /// Restores a dump into a new database and has the program check it, as the operator's guide says.
    fn restore(&self, from: &Path, database: &str) -> Result<()> {
        self.cluster.sql("postgres", &format!("CREATE DATABASE {database}"))?;
        let url = self.cluster.url(database);
        tool(Command::new(find_program("pg_restore")?).args(["--exit-on-error", "-d", &url, text(from)?]))?;
        run(self.program, &["doctor", "--restore-check", "--database", &url])
    }

    /// Starts a dump whose file grows slowly, and kills it a while after its first bytes. Whether that was before its
    /// end.
    fn kill_one(&self, to: &Path, after: Duration) -> Result<bool> {
        let mut child = self.command()?.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let (mut file, mut dump) = (File::create(to)?, child.stdout.take());
        let mut portion = [0; PORTION];
        let mut began = None;
        while let Some(dump) = &mut dump
            && began.is_none_or(|began: Instant| began.elapsed() < after)
        {
            let count = dump.read(&mut portion)?;
            began.get_or_insert_with(Instant::now);
            file.write_all(&portion[..count])?;
            if count == 0 {
                break;
            }
            std::thread::sleep(Duration::from_secs(1) * PORTION as u32 / SLOW_RATE as u32);
        }
        let _ = child.kill();
        Ok(!child.wait()?.success())
    }

    /// A dump in the custom format. Uncompressed, so that there is something to be killed in.
    fn command(&self) -> Result<Command> {
        let mut command = Command::new(find_program("pg_dump")?);
        command.args(["-Fc", "-Z0", &self.cluster.url(ORIGINAL)]).stdin(Stdio::null());
        Ok(command)
    }
}

fn tool(command: &mut Command) -> Result<()> {
    let output = command.output()?;
    if !output.status.success() {
        bail!("{} failed: {}", command.get_program().display(), String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}
