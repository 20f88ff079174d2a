//! Writes `docs/results.md`, its plots and `docs/operations/sizing.md` from the recorded runs in `bench/runs`. It
//! measures nothing and knows no figure by itself.
//!
//!     cargo run -p mnemon-results              # writes the page and the plots
//!     cargo run -p mnemon-results -- --check   # fails if they are not what the runs say

#![expect(clippy::print_stdout, reason = "it says what it wrote")]

mod chapters;
mod page;
mod plot;
mod run;
mod sizing;
mod table;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use page::Page;
use run::Runs;

fn main() -> Result<()> {
    let root = root();
    let made = Page::of(&Runs::read(&root.join("bench/runs"))?)?;
    match std::env::args().nth(1).as_deref() {
        None => write(&root, &made),
        Some("--check") => check(&root, &made),
        Some(other) => bail!("unknown argument `{other}`; use none to write the page, or --check to compare it"),
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn write(root: &Path, made: &Page) -> Result<()> {
    for (name, text) in made.files() {
        let path = root.join("docs").join(&name);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(&path, text).with_context(|| format!("docs/{name} can't be written"))?;
        println!("docs/{name}");
    }
    Ok(())
}

/// The first file that is not what the runs say.
fn check(root: &Path, made: &Page) -> Result<()> {
    let files = made.files();
    for (name, text) in &files {
        let there = std::fs::read_to_string(root.join("docs").join(name)).unwrap_or_default();
        if there != *text {
            bail!("docs/{name} is not what bench/runs says; run: cargo run -p mnemon-results");
        }
    }
    for entry in std::fs::read_dir(root.join("docs/results"))? {
        let name = format!("results/{}", entry?.file_name().display());
        if !files.contains_key(&name) {
            bail!("docs/{name} is made by no run any more; delete it");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_and_its_plots_are_what_the_recorded_runs_say() {
        let made = Page::of(&Runs::read(&root().join("bench/runs")).unwrap()).unwrap();
        check(&root(), &made).unwrap();
    }

    #[test]
    fn a_figure_changed_by_hand_is_noticed() {
        let made = Page::of(&Runs::read(&root().join("bench/runs")).unwrap()).unwrap();
        let copy = tempfile::tempdir().unwrap();
        write(copy.path(), &made).unwrap();
        check(copy.path(), &made).unwrap();
        let page = copy.path().join("docs/results.md");
        let text = std::fs::read_to_string(&page).unwrap();
        std::fs::write(&page, text.replacen('4', "5", 1)).unwrap();
        assert!(check(copy.path(), &made).unwrap_err().to_string().contains("docs/results.md is not what"));
    }
}
