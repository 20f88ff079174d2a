//! Keeps looking at the files that facts came from, and tells the service when one has changed.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use mnemon_protocol::admin::SourceJson;

use super::Desk;
use super::files::{Found, Tree};
use crate::arguments::Connection;
use crate::printer::Printer;

/// How often files are looked at. Only their size and time are read.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// How often the service is asked for sources, in looks: somebody may have saved new facts.
const LIST_EVERY: u32 = 15;

/// Size and time of a file; none if it is gone.
type Stamp = Option<(u64, Option<SystemTime>)>;

/// Looks until the process is ended.
pub fn run(desk: &Desk, paths: &[PathBuf], printer: &Printer) -> anyhow::Result<()> {
    let mut stamps: HashMap<PathBuf, Stamp> = HashMap::new();
    loop {
        let tree = Tree::walk(&desk.working_dir, paths, None)?;
        let sources = desk.list()?;
        let files: Vec<(PathBuf, &SourceJson)> =
            sources.iter().filter_map(|one| Some((file(&tree, one)?, one))).collect();
        for _ in 0..LIST_EVERY {
            let changed = changed(&mut stamps, &files);
            if !changed.is_empty() {
                let tree = Tree::walk(&desk.working_dir, paths, None)?;
                desk.check(&tree, changed.into_iter())?.print(printer);
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

/// The same beside something else: nothing is printed, and what goes wrong is tried again.
pub fn run_quietly(connection: &Connection) {
    loop {
        let _ = Desk::beside(connection).and_then(|desk| run(&desk, &[], &Printer::silent()));
        std::thread::sleep(LOOK_EVERY * LIST_EVERY);
    }
}

fn file(tree: &Tree, source: &SourceJson) -> Option<PathBuf> {
    match tree.find(&source.source_id) {
        Found::File(path) => Some(path),
        Found::Gone(_) | Found::LeftAlone | Found::NoFile => None,
    }
}

/// The sources whose files differ from the last look.
fn changed<'a>(stamps: &mut HashMap<PathBuf, Stamp>, files: &[(PathBuf, &'a SourceJson)]) -> Vec<&'a SourceJson> {
    let mut changed = Vec::new();
    let mut now: HashMap<&Path, Stamp> = HashMap::new();
    for (path, source) in files {
        let stamp = *now.entry(path).or_insert_with(|| stamp(path));
        if stamps.get(path) != Some(&stamp) {
            changed.push(*source);
        }
    }
    stamps.extend(now.into_iter().map(|(path, stamp)| (path.to_owned(), stamp)));
    changed
}

fn stamp(path: &Path) -> Stamp {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.len(), metadata.modified().ok()))
}
