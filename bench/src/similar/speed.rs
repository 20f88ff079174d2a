//! What one call costs, right after the save, by the size of the workspace: for a line and for a page of the largest
//! size.

use std::path::Path;

use anyhow::Result;
use mnemon_recall::{Model, NewDoc, WorkspaceIndex};
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

use super::LIMIT;
use crate::figures::rounded;
use crate::recall_speed::texts::Texts;

/// How many saves are measured.
const LINES: u64 = 500;
const PAGES: u64 = 50;
const PAGE_BYTES: usize = 16 * 1024;
/// What a call may take in the mean, in microseconds: with this many records, and for a page with any number.
const LINE_BAR: (u64, f64) = (10_000, 15.0);
const PAGE_BAR: f64 = 150.0;

/// Processor time of a call, by the number of records.
#[derive(Serialize)]
pub(super) struct Times {
    records: u64,
    line_us: f64,
    line_p99_us: f64,
    page_us: f64,
    page_p99_us: f64,
}

impl Times {
    pub(super) fn is_quick(&self) -> bool {
        self.page_us <= PAGE_BAR && (self.records != LINE_BAR.0 || self.line_us <= LINE_BAR.1)
    }
}

/// Prints each at once.
pub(super) fn measure(sentences: &Path, sizes: &[u64]) -> Result<Vec<Times>> {
    let texts = Texts::load(sentences)?;
    println!("{:<14}{:>14}{:>8}{:>18}{:>8}", "records", "line, mean", "p99", "16 KiB page, mean", "p99");
    let mut all = Vec::new();
    for &records in sizes {
        let mut index = WorkspaceIndex::new(Model::shipped());
        (0..records).for_each(|seq| index.add(NewDoc::new(seq, &texts.record(seq))));
        let mut lines = Vec::new();
        for seq in records..records + LINES {
            lines.push(save(&mut index, seq, &texts.record(seq)));
        }
        let mut pages = Vec::new();
        for nth in 0..PAGES {
            pages.push(save(&mut index, records + LINES + nth, &page(&texts, nth)));
        }
        let [line_us, page_us] = [mean(&lines), mean(&pages)].map(|us| rounded(us, 1));
        let [line_p99_us, page_p99_us] = [high(&mut lines), high(&mut pages)].map(|us| rounded(us, 1));
        println!("{records:<14}{line_us:>14.1}{line_p99_us:>8.1}{page_us:>18.1}{page_p99_us:>8.1}");
        all.push(Times { records, line_us, line_p99_us, page_us, page_p99_us });
    }
    Ok(all)
}

fn page(texts: &Texts, nth: u64) -> String {
    let mut page = String::new();
    for part in 0.. {
        page.push_str(&texts.record(1_000_000 + 1_000 * nth + part));
        page.push('\n');
        if page.len() >= PAGE_BYTES {
            break;
        }
    }
    page
}

/// Adds a record and returns how long it takes to look for similar ones: the quickest of three, as neighbours on the
/// machine slow memory down and never up.
fn save(index: &mut WorkspaceIndex, seq: u64, text: &str) -> f64 {
    index.add(NewDoc::new(seq, text));
    let time = || {
        let started = cpu_micros();
        std::hint::black_box(index.similar(seq, LIMIT, &|_| true));
        cpu_micros() - started
    };
    (0..3).map(|_| time()).fold(f64::INFINITY, f64::min)
}

fn cpu_micros() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 * 1e6 + now.tv_nsec as f64 / 1e3
}

fn mean(times: &[f64]) -> f64 {
    times.iter().sum::<f64>() / times.len().max(1) as f64
}

fn high(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() * 99 / 100]
}
