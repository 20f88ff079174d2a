//! Faults that the service must survive, caused from outside against the real program: kill -9 and power loss. The
//! tests run a short form; the bench runs a long one and more kinds of faults.
//!
//! Writers save and forget, and record every acknowledgement in a [`Story`]. After the fault and a restart, the service
//! is compared with the stories.

mod backup;
mod balancer;
mod dump;
mod kill;
mod locked;
mod mounts;
pub mod network;
pub mod nodes;
pub mod packets;
pub mod patroni;
mod power;
mod service;
mod story;
mod sync;
mod writers;

pub use backup::{BackupReport, backup};
pub use balancer::{Balancer, guides_balancer};
pub use dump::backup_postgres;
pub use kill::{KillReport, kill};
pub use locked::LockedReport;
pub use mounts::{Mounted, make_ext4, missing_for_mounts};
pub use power::{PowerReport, power, power_under};
pub use service::{Program, Service, Signal};
pub use story::{Findings, Story, check_all};
pub use sync::{SyncReport, kill_sync};
pub use writers::{Writers, WritersSpec};

use std::ops::Range;
use std::time::Duration;

/// How long a fault scenario runs.
#[derive(Debug, Clone)]
pub struct Rounds {
    pub count: usize,
    /// The fault comes at a random moment in this range.
    pub fault_after: Range<Duration>,
    pub seed: u64,
}

impl Rounds {
    /// The long form: between 0.2 and 3 seconds.
    pub const fn long(count: usize, seed: u64) -> Self {
        Self { count, fault_after: Duration::from_millis(200)..Duration::from_secs(3), seed }
    }

    /// For tests: the fault comes within a second.
    pub const fn short(count: usize, seed: u64) -> Self {
        Self { count, fault_after: Duration::from_millis(200)..Duration::from_secs(1), seed }
    }

    fn moment(&self, round: usize) -> Duration {
        let span = (self.fault_after.end - self.fault_after.start).as_micros().max(1) as u64;
        let drawn = scramble(self.seed ^ (round as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)) % span;
        self.fault_after.start + Duration::from_micros(drawn)
    }
}

/// Spreads a number over all of its bits, repeatably.
pub(crate) const fn scramble(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
