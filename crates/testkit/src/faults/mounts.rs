//! Disks of our own: one that can lose power, one that can fill up.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// A mounted disk, unmounted on drop.
#[derive(Debug)]
pub struct Mounted {
    pub path: PathBuf,
}

impl Mounted {
    /// Mounts a file that contains an ext4 file system. Only a sync reaches the file: periodic write-back by file
    /// system and kernel comes later than any round ends.
    pub fn image(image: &Path, at: &Path) -> Result<Self> {
        Self::mount([OsStr::new("-o"), OsStr::new("loop,commit=300"), image.as_os_str()], at)
    }

    /// Mounts a disk in memory.
    pub fn tmpfs(size_bytes: u64, at: &Path) -> Result<Self> {
        let options = format!("size={size_bytes}");
        Self::mount(["-t", "tmpfs", "-o", &options, "tmpfs"].map(OsStr::new), at)
    }

    /// Takes every byte that is left, as a file that can be removed.
    pub fn fill(&self) -> Result<PathBuf> {
        let path = self.path.join("filler");
        let mut file = std::fs::File::create(&path)?;
        loop {
            match file.write_all(&[1; 4096]) {
                Ok(()) => {}
                Err(error) if error.kind() == std::io::ErrorKind::StorageFull => return Ok(path),
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn mount<'a>(arguments: impl IntoIterator<Item = &'a OsStr>, at: &Path) -> Result<Self> {
        std::fs::create_dir_all(at)?;
        run(Command::new("mount").args(arguments).arg(at))?;
        Ok(Self { path: at.to_owned() })
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // A process that was just killed may hold a file for a moment; lazy unmounting waits for it.
        let is_done = run(Command::new("umount").arg(&self.path)).is_ok();
        if !is_done {
            let _ = run(Command::new("umount").arg("--lazy").arg(&self.path));
        }
    }
}

/// Creates a file that contains an empty ext4 file system.
pub fn make_ext4(image: &Path, size_bytes: u64) -> Result<()> {
    std::fs::File::create(image)?.set_len(size_bytes)?;
    // Tables and journal are written now, not in the background by the kernel, which would blur the picture.
    let options = "lazy_itable_init=0,lazy_journal_init=0";
    run(Command::new("mkfs.ext4").args(["-q", "-F", "-E", options]).arg(image))
}

/// Why mounting is not possible, in one line.
pub fn missing_for_mounts() -> Option<String> {
    let owner = std::fs::metadata("/proc/self").map(|own| std::os::unix::fs::MetadataExt::uid(&own));
    if !matches!(owner, Ok(0)) {
        return Some("mounting a disk needs root".to_owned());
    }
    let wanted = [("mkfs.ext4", "e2fsprogs"), ("mount", "mount"), ("umount", "mount")];
    for (program, package) in wanted {
        if Command::new(program).arg("-V").output().is_err() {
            return Some(format!("mounting a disk needs {program} (package {package})"));
        }
    }
    if !Path::new("/dev/loop-control").exists() {
        return Some("mounting a disk image needs loop devices (/dev/loop-control; modprobe loop)".to_owned());
    }
    None
}

pub(super) fn run(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("{program} can't be run"))?;
    if output.status.success() {
        return Ok(());
    }
    bail!("{program} failed: {}", String::from_utf8_lossy(&output.stderr).trim())
}
