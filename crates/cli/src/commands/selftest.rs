//! `mnemon selftest isolation`: random organizations in a scratch store, random calls by random members through the
//! real engine, and every answer compared with a naive model that shares no code with the engine.

mod beyond;
mod chance;
mod checks;
mod model;
mod pages;
mod reads;
mod visits;
mod world;

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use anyhow::Context;
use serde_json::json;

use crate::arguments::{Selftest, SelftestCommand};
use crate::printer::Printer;
use chance::Chance;
use world::World;

/// A new organization is created after this many cases: lists stay short, so the naive model stays fast.
const CASES_PER_WORLD: u64 = 1_500;
/// Maximum number of findings shown.
const SHOWN_MAX: usize = 10;

/// An answer that differs from the model's.
#[derive(Debug)]
pub struct Finding {
    /// Whether the answer showed, counted or confirmed something the caller may not know about.
    pub is_leak: bool,
    /// What was asked and what differed, in ids and words made up by the test.
    pub what: String,
}

fn leak(what: String) -> Finding {
    Finding { is_leak: true, what }
}

fn mismatch(what: String) -> Finding {
    Finding { is_leak: false, what }
}

pub fn run(selftest: &Selftest, printer: &Printer) -> anyhow::Result<ExitCode> {
    let SelftestCommand::Isolation { cases, seed, ref database } = selftest.command;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let findings = runtime.block_on(isolation(cases, seed, database.as_deref()))?;
    let leaks = findings.iter().filter(|finding| finding.is_leak).count();
    let mismatches = findings.len() - leaks;
    if printer.is_json() {
        let shown: Vec<&str> = findings.iter().take(SHOWN_MAX).map(|finding| finding.what.as_str()).collect();
        printer.value(&json!({"cases": cases, "seed": seed, "leaks": leaks, "mismatches": mismatches, "first": shown}));
    } else {
        for finding in findings.iter().take(SHOWN_MAX) {
            printer.text(&format!("{}: {}", if finding.is_leak { "LEAK" } else { "mismatch" }, finding.what));
        }
        printer.text(&format!("isolation: {cases} cases, {leaks} leaks, {mismatches} other mismatches (seed {seed})"));
    }
    Ok(if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn isolation(cases: u64, seed: u64, database: Option<&str>) -> anyhow::Result<Vec<Finding>> {
    if let Some(url) = database {
        world::check_empty(url).await?;
    }
    let mut findings = Vec::new();
    let mut done = 0;
    while done < cases {
        let chance = Chance::new(seed.wrapping_add(done));
        let mut world = World::make(chance, database).await.context("can't create a scratch organization")?;
        let until = cases.min(done + CASES_PER_WORLD);
        while done < until {
            findings.extend(world.play().await?);
            done += 1;
        }
        world.end().await;
        progress(done, cases, findings.len());
    }
    Ok(findings)
}

/// A progress line that overwrites itself, on a terminal only.
fn progress(done: u64, cases: u64, findings: usize) {
    let mut out = std::io::stderr();
    if out.is_terminal() {
        let end = if done == cases { "\n" } else { "" };
        let _ = write!(out, "\r{done} of {cases} cases, {findings} findings{end}");
        let _ = out.flush();
    }
}
