//! The page: chapters of parts, each with its figures, where they come from, and what they do not show.

use std::collections::BTreeMap;
use std::fmt::Write;

use anyhow::Result;

use crate::chapters::{self, Part, as_printed};
use crate::run::{Run, Runs};

pub(crate) struct Page {
    files: BTreeMap<String, String>,
}

const OPENING: &str = "\
# Results

What Mnemon measures about itself. One command makes this page from the recorded runs in `bench/runs` (`cargo run -p mnemon-results`), and a test
compares the two. Each part names the command, the machine, the day, the commit that recorded the run, and what its figures do not show.
`mnemon-bench X` stands for `cargo run --release -p mnemon-bench -- X`. A bar that a run missed is shown as missed.

";

impl Page {
    pub(crate) fn of(runs: &Runs) -> Result<Page> {
        let mut files = BTreeMap::new();
        let mut text = OPENING.to_owned();
        let mut known = Vec::new();
        let mut not_measured = Vec::new();
        for chapter in chapters::all() {
            let _ = writeln!(text, "## {}\n", chapter.title);
            for part in &chapter.parts {
                let _ = writeln!(text, "### {}\n", part.title);
                match runs.0.get(part.run) {
                    Some(run) => add(&mut text, &mut files, part, run, !known.contains(&part.run))?,
                    None => {
                        not_measured.push(part.title);
                        let _ = writeln!(text, "**Not measured.** No run `bench/runs/{}.txt` is recorded.\n", part.run);
                    }
                }
                known.push(part.run);
            }
        }
        add_others(&mut text, runs, &known);
        add_missing(&mut text, &not_measured);
        files.insert("operations/sizing.md".to_owned(), crate::sizing::page(runs)?);
        files.insert("results.md".to_owned(), format!("{}\n", text.trim_end()));
        Ok(Page { files })
    }

    /// Paths below `docs`, and the content of each file.
    pub(crate) fn files(&self) -> BTreeMap<String, String> {
        self.files.clone()
    }
}

fn add(text: &mut String, files: &mut BTreeMap<String, String>, part: &Part, run: &Run, is_first: bool) -> Result<()> {
    let shown = (part.show)(run)?;
    let _ = writeln!(text, "{}\n", shown.text.trim_end());
    for (name, words, svg) in shown.plots {
        let _ = writeln!(text, "![{words}](results/{name}.svg)\n");
        files.insert(format!("results/{name}.svg"), svg);
    }
    add_origin(text, run, is_first);
    let _ = writeln!(text, "*It does not show:* {}\n", part.not_shown);
    Ok(())
}

/// The notes of a run that several parts show are in the first of them.
fn add_origin(text: &mut String, run: &Run, with_notes: bool) {
    let _ = writeln!(
        text,
        "`{}`; {}; {}; commit {}; [the whole run](../bench/runs/{}.txt).",
        run.command.replace('`', "'"),
        run.machine,
        run.date,
        run.commit,
        run.name
    );
    for note in run.notes.iter().filter(|_| with_notes) {
        let _ = writeln!(text, "{note}");
    }
    text.push('\n');
}

/// Runs without a part of their own are shown as they were printed, so that none is forgotten.
fn add_others(text: &mut String, runs: &Runs, known: &[&str]) {
    let others: Vec<&Run> = runs.0.values().filter(|run| !known.contains(&run.name.as_str())).collect();
    if others.is_empty() {
        return;
    }
    let _ = writeln!(text, "## Other runs\n");
    for run in others {
        let _ = writeln!(text, "### `{}`\n", run.name);
        let _ = writeln!(text, "{}", as_printed(run));
        add_origin(text, run, true);
    }
}

fn add_missing(text: &mut String, titles: &[&str]) {
    if !titles.is_empty() {
        let _ = writeln!(text, "## Not measured yet\n");
        for title in titles {
            let _ = writeln!(text, "- {title}");
        }
    }
}
