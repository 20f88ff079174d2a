//! The order of system calls: every answer to a save or forget comes after a finished sync of the WAL that follows a
//! write to it since the answer before. One client, so that each answer belongs to the writes right before it, but for
//! the few that the service makes on its own.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Result, bail};
use mnemon_testkit::faults::Story;

use super::outcome::Outcome;
use super::{Setup, strace};

const SAVES: usize = 400;
/// One save in this many is forgotten again.
const FORGET_ONE_OF: usize = 4;
/// The service writes something of its own every few seconds: this share of answers may coincide with that.
const OVERLAPPING_PERCENT_MAX: usize = 2;
const TRACED: &str = "trace=pwrite64,pwritev,write,writev,sendto,sendmsg,fdatasync,fsync";

pub(crate) async fn run(setup: &Setup) -> Result<Outcome> {
    let saves = setup.rounds(SAVES);
    let (mut program, scratch) = setup.program()?;
    let log = scratch.path().join("trace");
    program.under = strace(&log, &["-y", "-s", "16", "-e", TRACED])?;
    let service = program.start().await?;
    let mut wire = service.connect().await?;
    let mut story = Story::new("ordered", "one-writer");
    for number in 0..saves {
        let is_saved = story.save(&mut wire).await?;
        if number % FORGET_ONE_OF == 0 && is_saved {
            let id = story.saved.keys().find(|id| !story.forgotten.contains(*id)).cloned();
            if let Some(id) = id {
                story.forget(&mut wire, &id).await?;
            }
        }
    }
    service.kill()?;
    let acknowledged = story.saved.len() + story.forgotten.len();
    let order = Order::read(&log)?;
    Ok(Outcome::new("ack-order", saves)
        .must(story.refusals.is_empty(), format!("{} refusals", story.refusals.len()))
        .must(order.answers == acknowledged, format!("{} of {acknowledged} answers seen", order.answers))
        .must(order.unsynced == 0, format!("{} before their sync", order.unsynced))
        .must(
            order.overlapping * 100 <= acknowledged * OVERLAPPING_PERCENT_MAX,
            format!("{} while the next write had begun", order.overlapping),
        ))
}

/// What a trace says about answers and the syncs before them.
#[derive(Debug, Default, PartialEq, Eq)]
struct Order {
    answers: usize,
    /// No sync has ended that followed a write since the answer before.
    unsynced: usize,
    /// One has, but the next write has begun. One client asks for nothing before it has its answer, so this is rare:
    /// the service's own figures are being written.
    overlapping: usize,
}

impl Order {
    fn read(log: &Path) -> Result<Self> {
        let text = String::from_utf8_lossy(&std::fs::read(log)?).into_owned();
        let order = Self::of(&text);
        if order.answers == 0 {
            bail!("the trace shows no answer");
        }
        Ok(order)
    }

    fn of(trace: &str) -> Self {
        let mut order = Self::default();
        // A call that is interrupted in the log counts when it ends if it is a sync, and when it begins otherwise: the
        // strictest reading.
        let mut begun_syncs: HashMap<&str, bool> = HashMap::new();
        let (mut is_dirty, mut has_written, mut is_synced) = (false, false, false);
        for line in trace.lines() {
            let Some((thread, call)) = line.split_once(' ') else { continue };
            let call = call.trim_start();
            let is_sync = call.starts_with("fdatasync(") || call.starts_with("fsync(");
            let is_resumed_sync = call.starts_with("<... fdatasync") || call.starts_with("<... fsync");
            let is_wal = call.contains("-wal>");
            let is_done = call.ends_with("= 0");
            if is_sync && call.ends_with("<unfinished ...>") {
                begun_syncs.insert(thread, is_wal);
            } else if (is_sync && is_wal && is_done)
                || (is_resumed_sync && is_done && begun_syncs.remove(thread) == Some(true))
            {
                is_synced = is_dirty && has_written || is_synced;
                is_dirty = false;
            } else if is_wal && call.starts_with("pwrite") {
                (is_dirty, has_written) = (true, true);
            } else if call.contains("\"HTTP/1.1 200") {
                order.answers += 1;
                order.unsynced += usize::from(!is_synced);
                order.overlapping += usize::from(is_synced && is_dirty);
                (has_written, is_synced) = (false, false);
            }
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITE: &str = "7 pwrite64(9</d/mnemon.db-wal>, \"x\"..., 4096, 0) = 4096\n";
    const SYNC: &str = "7 fdatasync(9</d/mnemon.db-wal>) = 0\n";
    const ANSWER: &str = "8 writev(12<socket:[77]>, [{iov_base=\"HTTP/1.1 200 OK\\r\"..., iov_len=99}], 1) = 99\n";

    fn unsynced(lines: &[&str]) -> usize {
        Order::of(&lines.concat()).unsynced
    }

    #[test]
    fn a_write_between_a_sync_and_its_answer_is_told_apart() {
        let order = Order::of(&[WRITE, SYNC, WRITE, ANSWER, SYNC, WRITE, SYNC, ANSWER].concat());
        assert_eq!(order, Order { answers: 2, unsynced: 0, overlapping: 1 });
    }

    #[test]
    fn an_answer_needs_a_finished_sync_of_its_own() {
        assert_eq!(unsynced(&[WRITE, SYNC, ANSWER]), 0);
        assert_eq!(unsynced(&[WRITE, ANSWER, SYNC]), 1);
        assert_eq!(unsynced(&[WRITE, ANSWER, SYNC, WRITE, ANSWER]), 2, "that sync is the first answer's");
        assert_eq!(unsynced(&[WRITE, SYNC, ANSWER, ANSWER]), 1, "the second answer has no sync of its own");
        let failed = "7 fdatasync(9</d/mnemon.db-wal>) = -1 EIO (Input/output error)\n";
        assert_eq!(unsynced(&[WRITE, failed, ANSWER]), 1);
        let (begun, ended) = ("7 fdatasync(9</d/mnemon.db-wal> <unfinished ...>\n", "7 <... fdatasync resumed>) = 0\n");
        assert_eq!(unsynced(&[WRITE, begun, ANSWER, ended]), 1);
        assert_eq!(unsynced(&[WRITE, begun, ended, ANSWER]), 0);
    }
}
