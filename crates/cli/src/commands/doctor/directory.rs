//! Checks a data directory: the file, the records, the room on the disk, and who can read it.

use std::path::Path;

use anyhow::{anyhow, bail};
use mnemon_store::sqlite::{Inspection, inspect};

use super::Finding;

const MB: u64 = 1_000_000;
/// With less, the write-ahead log or a snapshot may not fit any more.
const FREE_MIN_BYTES: u64 = 100 * MB;

/// Nothing if there is no database yet.
pub fn check(dir: &Path) -> Vec<Finding> {
    let found = match inspect(dir) {
        Ok(None) => return Vec::new(),
        Ok(Some(found)) => found,
        Err(error) => {
            return vec![Finding { what: "data directory".to_owned(), outcome: Err(damaged(dir, &error.to_string())) }];
        }
    };
    let read = format!(
        "{} records in {:.1} MB read; all checksums match; {} index snapshots",
        found.read.records,
        found.read.bytes as f64 / MB as f64,
        found.snapshots
    );
    vec![
        Finding { what: "data directory".to_owned(), outcome: Ok(read) },
        Finding { what: "room on the disk".to_owned(), outcome: room(&found) },
        Finding { what: "file permissions".to_owned(), outcome: permissions(&found) },
    ]
}

fn damaged(dir: &Path, problem: &str) -> anyhow::Error {
    anyhow!("{problem}; the file is in {}", dir.display())
}

fn room(found: &Inspection) -> anyhow::Result<String> {
    let Some(free) = found.free_bytes else { bail!("the disk does not say how much is free") };
    let (free_mb, data_mb) = (free / MB, found.read.bytes.div_ceil(MB));
    if free < FREE_MIN_BYTES {
        bail!(
            "only {free_mb} MB are free; saves fail when the disk is full. Free space, or move the data to a larger disk"
        );
    }
    if free < found.read.bytes {
        return Ok(format!(
            "{free_mb} MB free; too little for a backup or `mnemon compact` there, which take {data_mb} MB"
        ));
    }
    Ok(format!("{free_mb} MB free; a backup takes {data_mb} MB"))
}

fn permissions(found: &Inspection) -> anyhow::Result<String> {
    if found.open_to_others.is_empty() {
        return Ok("only the owner can read the data".to_owned());
    }
    let names: Vec<String> = found.open_to_others.iter().map(|path| path.display().to_string()).collect();
    bail!("others can read {}; run: {}", names.join(", "), mnemon_platform::files::how_to_close(&found.open_to_others))
}
