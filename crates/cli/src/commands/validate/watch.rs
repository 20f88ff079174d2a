//! Checks again and again. New commits of the branch that counts are reported; changes in the working tree are shown.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use mnemon_protocol::admin::SourceJson;
use serde_json::Value;

use super::Desk;
use crate::arguments::Validate;
use crate::printer::Printer;

/// How often files are looked at. Only their size and time are read.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// How often the service is asked for sources, in looks: somebody may have saved new facts.
const LIST_EVERY: u32 = 15;

/// Size and time of each file; none if it is not there.
type Stamps = BTreeMap<PathBuf, Option<(u64, Option<SystemTime>)>>;

/// Looks until the process is ended.
pub fn run(desk: &Desk<'_>) -> anyhow::Result<()> {
    let (mut watched, mut before, mut known, mut shown) = (Vec::new(), None, Vec::new(), None);
    loop {
        // Taken first, so that what changes during the look is seen by the next one.
        let now = stamps(&watched);
        let sources = desk.list(Some(&desk.workspace))?;
        let outline = sources.iter().map(outline).collect::<anyhow::Result<Vec<Value>>>()?;
        if before.as_ref() != Some(&now) || known != outline {
            let ground = desk.ground(&sources)?;
            let report = desk.check(&ground, &sources)?;
            if shown.as_ref().is_none_or(|shown| !report.is_same_as(shown)) {
                report.print(&desk.printer);
            }
            watched = ground.watched(&sources)?;
            shown = Some(report);
        }
        (before, known) = (Some(now), outline);
        for _ in 0..LIST_EVERY {
            std::thread::sleep(LOOK_EVERY);
            if before.as_ref() != Some(&stamps(&watched)) {
                break;
            }
        }
    }
}

/// The same beside something else: nothing is printed, and what goes wrong is tried again.
pub fn run_quietly(validate: &Validate) {
    loop {
        let _ = Desk::open(validate, Printer::silent()).and_then(|desk| run(&desk));
        std::thread::sleep(LOOK_EVERY * LIST_EVERY);
    }
}

/// What is known about a source, without the times, which every check moves.
fn outline(source: &SourceJson) -> anyhow::Result<Value> {
    let mut outline = serde_json::to_value(source)?;
    for time in ["known_at", "confirmed_at"] {
        outline[time] = Value::Null;
    }
    Ok(outline)
}

fn stamps(files: &[PathBuf]) -> Stamps {
    let stamp = |path: &Path| {
        let about = path.symlink_metadata().ok()?;
        Some((about.len(), about.modified().ok()))
    };
    files.iter().map(|path| (path.clone(), stamp(path))).collect()
}
