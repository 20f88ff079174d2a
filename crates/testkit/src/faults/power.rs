//! Power loss. The data is on a file system inside a file; what the service has not synced is not in that file. So:
//! stop the service while it writes, copy the file, and continue with the copy as if the machine had come back.
//!
//! kill -9 can't reveal a missing sync, because the kernel still writes what a killed process left. Every round proves
//! that this method can: a file written without a sync must not be in the copy.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use super::Rounds;
use super::kill::{first_answer, recheck};
use super::mounts::{Mounted, make_ext4, missing_for_mounts, run};
use super::service::{Program, Service, Signal};
use super::story::{Findings, Story, check_all};
use super::writers::{Writers, WritersSpec};

const WRITERS: usize = 8;
const DISK_BYTES: u64 = 768 << 20;
const COPIES_MAX: usize = 10;
const UNSYNCED: &[u8] = b"written and never synced";

#[derive(Debug, Clone, Copy, Default, serde::Serialize)]
pub struct PowerReport {
    pub rounds: usize,
    /// Rounds in which the unsynced file arrived, so that they prove nothing.
    pub blind: usize,
    /// What was found after each round and, once more for all records, at the end.
    pub findings: Findings,
    /// The longest time from the start of the process to the first answered search.
    pub restart_max: Duration,
}

impl PowerReport {
    /// Nothing lost, nothing back, and every round could have noticed it.
    pub const fn is_passed(&self) -> bool {
        self.findings.is_clean() && self.findings.saved > 0 && self.blind == 0
    }
}

/// Runs the rounds with all files in `scratch`. Each continues with the disk that the one before left.
pub async fn power(binary: &Path, scratch: &Path, rounds: &Rounds) -> Result<PowerReport> {
    power_under(&[], binary, scratch, rounds).await
}

/// The same with a wrapper program, for example one that disables syncs.
pub async fn power_under(under: &[OsString], binary: &Path, scratch: &Path, rounds: &Rounds) -> Result<PowerReport> {
    if let Some(missing) = missing_for_mounts() {
        bail!("{missing}");
    }
    let (binary, scratch) = (binary.to_owned(), scratch.to_owned());
    let mut machine = Machine { under: under.to_vec(), binary, scratch, disks: 0, key: None };
    let mut disk = machine.first_disk()?;
    let mut service = machine.start(&disk).await?;
    let mut report = PowerReport::default();
    let mut all: Vec<Story> = Vec::new();
    for round in 0..rounds.count {
        let spec = WritersSpec { count: WRITERS, workspace: format!("round-{round}") };
        let writers = Writers::start(&service, &spec).await?;
        tokio::time::sleep(rounds.moment(round)).await;
        std::fs::write(disk.mounted.path.join("unsynced"), UNSYNCED)?;
        service.signal(Signal::Stop)?;
        let copy = machine.copy_of(&disk)?;
        service.kill()?;
        let stories = writers.stories().await?;
        disk.remove()?;
        report.blind += usize::from(std::fs::read(copy.mounted.path.join("unsynced")).is_ok_and(|b| b == UNSYNCED));
        let _ = std::fs::remove_file(copy.mounted.path.join("unsynced"));
        disk = copy;
        let began = Instant::now();
        service = machine.start(&disk).await?;
        first_answer(&service, &spec.workspace).await?;
        report.restart_max = report.restart_max.max(began.elapsed());
        report.findings += check_all(&stories, &mut service.connect().await?).await?;
        report.rounds += 1;
        all.extend(stories);
    }
    report.findings += recheck(&all, &service).await?;
    service.kill()?;
    disk.remove()?;
    Ok(report)
}

struct Disk {
    image: PathBuf,
    mounted: Mounted,
}

impl Disk {
    fn remove(self) -> Result<()> {
        drop(self.mounted);
        Ok(std::fs::remove_file(self.image)?)
    }
}

struct Machine {
    under: Vec<OsString>,
    binary: PathBuf,
    scratch: PathBuf,
    disks: usize,
    key: Option<String>,
}

impl Machine {
    fn first_disk(&mut self) -> Result<Disk> {
        let image = self.next_image();
        make_ext4(&image, DISK_BYTES)?;
        self.mount(image)
    }

    /// The disk as it is now, with only what was synced. The kernel goes on for a moment after the service was stopped:
    /// a copy that differs from the disk afterwards has blocks of two moments, which no power loss leaves.
    fn copy_of(&mut self, disk: &Disk) -> Result<Disk> {
        let image = self.next_image();
        for _ in 0..COPIES_MAX {
            run(Command::new("cp").arg("--sparse=always").arg(&disk.image).arg(&image))?;
            if Command::new("cmp").arg("--silent").arg(&disk.image).arg(&image).status()?.success() {
                return self.mount(image);
            }
        }
        bail!("{} does not come to rest", disk.image.display())
    }

    fn next_image(&mut self) -> PathBuf {
        self.disks += 1;
        self.scratch.join(format!("disk-{}.img", self.disks))
    }

    fn mount(&self, image: PathBuf) -> Result<Disk> {
        let mounted = Mounted::image(&image, &self.scratch.join(format!("mounted-{}", self.disks)))?;
        Ok(Disk { image, mounted })
    }

    async fn start(&mut self, disk: &Disk) -> Result<Service> {
        let mut program = Program::new(&self.binary, &disk.mounted.path.join("data"), &self.scratch);
        program.key.clone_from(&self.key);
        program.under.clone_from(&self.under);
        let service = program.start().await?;
        self.key = Some(service.key.clone());
        Ok(service)
    }
}
