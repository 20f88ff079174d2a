//! The figures as a table, and the bars they are compared with.

use std::fmt;

use serde::Serialize;

use super::drive::{Kind, Phase};
use crate::figures::Verdict;

/// How much more CPU time than the floor a search may take.
const SEARCH_CPU_RATIO_MAX: f64 = 4.0;
/// The same where texts and queries are as long as people write them.
const REAL_SEARCH_CPU_RATIO_MAX: f64 = 10.0;
/// How many times the searches of an earlier build this one answers in the same time.
const BEFORE_RATE_MIN: f64 = 1.6;
/// How much more CPU time than in an earlier build a save may take.
const BEFORE_SAVE_CPU_MAX: f64 = 1.05;
/// Durable saves per second that are always enough; on a slower machine, half the floor's rate is.
const SAVES_PER_SECOND_MIN: f64 = 10_000.0;
const SAVES_CLIENTS: usize = 64;
const SEARCH_P50_US_MAX: f64 = 2_000.0;

/// One kind of call from a number of clients, compared with the floor.
#[derive(Debug, Serialize)]
pub(crate) struct LoadResult {
    pub(crate) kind: &'static str,
    pub(crate) clients: usize,
    pub(crate) measured: Phase,
    pub(crate) floor: Phase,
    pub(crate) rate_ratio: f64,
    pub(crate) cpu_ratio: f64,
    /// The service of an earlier build, if one takes part.
    pub(crate) before: Option<Phase>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// Whether texts and queries are real ones; the bars differ.
    pub(crate) is_real: bool,
    pub(crate) records: u64,
    pub(crate) cores: usize,
    pub(crate) rounds: usize,
    pub(crate) seconds: f64,
    pub(crate) rows: Vec<LoadResult>,
    /// Storing the records that are searched, before they are indexed.
    pub(crate) fill: Phase,
    pub(crate) resident_mib_filled: f64,
    pub(crate) resident_mib_end: f64,
    pub(crate) resident_mib_floor: f64,
    pub(crate) verdicts: Vec<Verdict>,
}

impl Report {
    pub(crate) fn bars(&self) -> Vec<Verdict> {
        let searches = || self.rows.iter().filter(|row| row.kind == Kind::Search.name());
        let saves = self.rows.iter().filter(|row| row.kind == Kind::Save.name() && row.clients == SAVES_CLIENTS);
        if self.is_real {
            let by_floor = searches().map(|row| search_cpu(row, REAL_SEARCH_CPU_RATIO_MAX));
            return by_floor.chain(self.rows.iter().filter_map(by_earlier_build)).collect();
        }
        let dearest = searches().max_by(|one, other| one.cpu_ratio.total_cmp(&other.cpu_ratio));
        let quickest = searches().min_by_key(|row| row.clients);
        let bars = dearest
            .map(|row| search_cpu(row, SEARCH_CPU_RATIO_MAX))
            .into_iter()
            .chain(saves.map(save_rate))
            .chain(quickest.map(search_wait));
        bars.collect()
    }
}

fn search_cpu(row: &LoadResult, ratio_max: f64) -> Verdict {
    let ratio = row.cpu_ratio;
    let bar = format!(
        "a search costs {ratio:.2} x the floor's processor time at {} clients (bar: <= {ratio_max} x)",
        row.clients
    );
    Verdict { bar, is_met: ratio <= ratio_max }
}

fn by_earlier_build(row: &LoadResult) -> Option<Verdict> {
    let before = row.before.as_ref()?;
    let (kind, clients) = (row.kind, row.clients);
    Some(if kind == Kind::Search.name() {
        let ratio = row.measured.calls_per_second / before.calls_per_second;
        let bar =
            format!("{ratio:.2} x the earlier build's searches/s at {clients} clients (bar: >= {BEFORE_RATE_MIN} x)");
        Verdict { bar, is_met: ratio >= BEFORE_RATE_MIN }
    } else {
        let ratio = row.measured.cpu_us_per_call / before.cpu_us_per_call;
        let bar = format!(
            "a save costs {ratio:.2} x the earlier build's processor time at {clients} clients \
             (bar: <= {BEFORE_SAVE_CPU_MAX} x)"
        );
        Verdict { bar, is_met: ratio <= BEFORE_SAVE_CPU_MAX }
    })
}

fn save_rate(row: &LoadResult) -> Verdict {
    let wanted = SAVES_PER_SECOND_MIN.min(row.floor.calls_per_second / 2.0);
    let found = row.measured.calls_per_second;
    let bar = format!("{found:.0} durable saves/s from {SAVES_CLIENTS} clients (bar: >= {wanted:.0})");
    Verdict { bar, is_met: found >= wanted }
}

fn search_wait(row: &LoadResult) -> Verdict {
    let found = row.measured.p50_us;
    let bar = format!(
        "half of all searches answer within {found:.0} µs at {} clients (bar: < {SEARCH_P50_US_MAX:.0} µs)",
        row.clients
    );
    Verdict { bar, is_met: found < SEARCH_P50_US_MAX }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { records, cores, rounds, seconds, .. } = self;
        let (texts, figure) = if self.is_real { ("real texts", "lowest") } else { ("records", "medians") };
        writeln!(f, "{records} {texts}, {cores} cores, {figure} of {rounds} x {seconds} s\n")?;
        writeln!(
            f,
            "{:8}{:>8}{:>10}{:>10}{:>10}{:>11}{:>9} |{:>11}{:>11} |{:>7}{:>7}",
            "", "clients", "calls/s", "p50 µs", "p99 µs", "CPU µs", "bytes", "floor /s", "floor CPU", "rate", "CPU"
        )?;
        for row in &self.rows {
            let Phase { calls_per_second, p50_us, p99_us, cpu_us_per_call, answer_bytes, .. } = row.measured;
            writeln!(
                f,
                "{:8}{:>8}{calls_per_second:>10.0}{p50_us:>10.0}{p99_us:>10.0}{cpu_us_per_call:>10.1}{answer_bytes:>9.0} \
                 |{:>10.0}{:>11.1} |{:>6.2}x{:>6.2}x",
                row.kind,
                row.clients,
                row.floor.calls_per_second,
                row.floor.cpu_us_per_call,
                row.rate_ratio,
                row.cpu_ratio,
            )?;
            if let Some(before) = &row.before {
                let Phase { calls_per_second, p50_us, p99_us, cpu_us_per_call, answer_bytes, .. } = *before;
                writeln!(
                    f,
                    "{:>16}{calls_per_second:>10.0}{p50_us:>10.0}{p99_us:>10.0}{cpu_us_per_call:>10.1}{answer_bytes:>9.0} |",
                    "earlier build",
                )?;
            }
        }
        writeln!(
            f,
            "\nstored at {:.0}/s; resident {:.1} MiB once stored, {:.1} MiB at the end, the floor {:.1} MiB",
            self.fill.calls_per_second, self.resident_mib_filled, self.resident_mib_end, self.resident_mib_floor,
        )
    }
}
