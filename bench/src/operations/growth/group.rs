//! A control group with a limit of memory, of either version, removed at the end.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

pub(super) struct Group {
    folder: PathBuf,
    is_v1: bool,
}

impl Group {
    pub(super) fn create(limit_bytes: u64) -> Result<Self> {
        let root = Path::new("/sys/fs/cgroup");
        let is_v1 = root.join("memory").exists();
        let root = if is_v1 { root.join("memory") } else { root.to_owned() };
        let folder = root.join(format!("mnemon-bench-{}", std::process::id()));
        std::fs::create_dir(&folder).context("can't make a control group; this needs root")?;
        let group = Self { folder, is_v1 };
        let limit = if is_v1 { "memory.limit_in_bytes" } else { "memory.max" };
        std::fs::write(group.folder.join(limit), limit_bytes.to_string())
            .context("the memory controller is not enabled for this control group")?;
        // Without swap there is nothing to set.
        let swap = if is_v1 { ("memory.swappiness", "0") } else { ("memory.swap.max", "0") };
        let _ = std::fs::write(group.folder.join(swap.0), swap.1);
        Ok(group)
    }

    /// A program that starts the binary inside of the group.
    pub(super) fn entrance(&self, binary: &Path, script: &Path) -> Result<()> {
        let (folder, binary) = (self.folder.display(), binary.display());
        let enter = format!("#!/bin/sh\necho $$ > '{folder}/cgroup.procs'\nexec '{binary}' \"$@\"\n");
        std::fs::write(script, enter)?;
        Ok(std::fs::set_permissions(script, std::fs::Permissions::from_mode(0o755))?)
    }

    /// The most memory that the group had, with the files that the system holds for it. Old kernels of version 2 do not
    /// tell.
    pub(super) fn peak_bytes(&self) -> Option<u64> {
        let peak = if self.is_v1 { "memory.max_usage_in_bytes" } else { "memory.peak" };
        std::fs::read_to_string(self.folder.join(peak)).ok()?.trim().parse().ok()
    }

    /// How many processes were killed for want of memory.
    pub(super) fn kills(&self) -> Result<u64> {
        let events = if self.is_v1 { "memory.oom_control" } else { "memory.events" };
        let events = std::fs::read_to_string(self.folder.join(events))?;
        let kills = events.lines().find_map(|line| line.strip_prefix("oom_kill "));
        kills.context("the group counts its kills")?.trim().parse().context("a number of kills")
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.folder);
    }
}
