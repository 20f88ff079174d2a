//! An export as a folder: a Markdown file per record, in a folder per workspace. What has no place in a note (the order
//! of the records, and what is known about sources) is in `.mnemon`, which note programs do not show.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use mnemon_protocol::export_lines::{ExportLine, RecordLine};

use super::{Sink, front_matter, private_file};

/// The folder beside the notes, and its files.
pub const HIDDEN: &str = ".mnemon";
/// The notes, one path a line, oldest first.
pub const ORDER: &str = "order";
/// The lines of the export that are no records.
pub const REST: &str = "export.jsonl";

/// Longest part of a file name that comes from a text.
const STEM_CHARS_MAX: usize = 60;

/// A folder that is being filled.
pub struct Folder {
    to: PathBuf,
    order: BufWriter<File>,
    rest: BufWriter<File>,
    taken: HashSet<String>,
}

impl Folder {
    pub fn new(to: &Path) -> anyhow::Result<Self> {
        if to.exists() && fs::read_dir(to).with_context(|| format!("can't read {}", to.display()))?.next().is_some() {
            bail!("{} is not empty; choose another folder", to.display());
        }
        let hidden = to.join(HIDDEN);
        make_folder(&hidden)?;
        let (order, rest) = (private_file(&hidden.join(ORDER))?, private_file(&hidden.join(REST))?);
        let (order, rest) = (BufWriter::new(order), BufWriter::new(rest));
        Ok(Self { to: to.to_owned(), order, rest, taken: HashSet::new() })
    }

    fn note(&mut self, record: &RecordLine) -> anyhow::Result<()> {
        let folder = file_name(record.workspace.as_deref().unwrap_or("default"));
        let key = record.fact_key.as_deref().unwrap_or(&record.content);
        let stem = file_name(key);
        // Some file systems do not tell upper case from lower.
        let free = |name: &str| !self.taken.contains(&format!("{folder}/{name}").to_lowercase());
        let names = std::iter::once(stem.clone()).chain((2..).map(|n| format!("{stem} {n}")));
        let name = names.into_iter().find(|name| free(name)).expect("numbers do not end");
        let path = format!("{folder}/{name}.md");
        self.taken.insert(format!("{folder}/{name}").to_lowercase());
        make_folder(&self.to.join(&folder))?;
        let failed = || format!("can't write {path}");
        let mut file = private_file(&self.to.join(&path))?;
        file.write_all(to_note(record).as_bytes()).with_context(failed)?;
        writeln!(self.order, "{path}").with_context(failed)
    }
}

impl Sink for Folder {
    fn take(&mut self, text: &[u8], line: ExportLine) -> anyhow::Result<()> {
        match line {
            ExportLine::Record(record) => self.note(&record),
            _ => self.rest.write_all(text).context("can't write the folder"),
        }
    }

    fn finish(mut self) -> anyhow::Result<()> {
        self.order.flush().and_then(|()| self.rest.flush()).context("can't write the folder")
    }
}

fn make_folder(path: &Path) -> anyhow::Result<()> {
    mnemon_platform::files::make_folder(path).with_context(|| format!("can't make {}", path.display()))
}

/// A record as a note: its fields, then its text with one end of line after it.
fn to_note(record: &RecordLine) -> String {
    let mut pairs: Vec<(&str, String)> = Vec::new();
    let fields = [
        ("id", &record.id),
        ("workspace", &record.workspace),
        ("scope", &record.scope),
        ("fact_key", &record.fact_key),
        ("status", &record.status),
        ("source", &record.source),
        ("source_id", &record.source_id),
        ("source_hash", &record.source_hash),
        ("source_revision", &record.source_revision),
        ("author", &record.author),
        ("department", &record.department),
        ("occurred_at", &record.occurred_at),
        ("valid_until", &record.valid_until),
        ("created_at", &record.created_at),
        ("updated_at", &record.updated_at),
        ("caution", &record.caution),
    ];
    for (name, value) in fields {
        pairs.extend(value.as_ref().map(|value| (name, value.clone())));
        if name == "fact_key" {
            pairs.extend(record.fact_key_given.map(|given| ("fact_key_given", given.to_string())));
        }
        if name == "source_revision" {
            pairs.extend(record.confidence.map(|confidence| ("confidence", confidence.to_string())));
            let tags = (!record.tags.is_empty()).then(|| serde_json::json!(record.tags).to_string());
            pairs.extend(tags.map(|tags| ("tags", tags)));
        }
    }
    format!("{}{}\n", front_matter::write(&pairs), record.content)
}

/// A name that every file system and note program takes: no separators, no marks of links, no dots at its ends.
fn file_name(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let is_kept = |c: char| c.is_alphanumeric() || " -_.,()".contains(c);
    let kept: String = line.chars().map(|c| if is_kept(c) { c } else { '-' }).take(STEM_CHARS_MAX).collect();
    let kept = kept.trim_matches([' ', '.', '-']).to_owned();
    // Windows keeps these names for devices.
    let is_device = matches!(kept.to_ascii_lowercase().as_str(), "con" | "prn" | "aux" | "nul");
    if kept.is_empty() || is_device { format!("note-{kept}").trim_end_matches('-').to_owned() } else { kept }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_safe_everywhere() {
        let check = |text: &str, name: &str| assert_eq!(file_name(text), name);
        check("deploy-day", "deploy-day");
        check("../../etc/passwd", "etc-passwd");
        check("a/b\\c:d|e", "a-b-c-d-e");
        check("...", "note");
        check("CON", "note-CON");
        check("Grüße an [[alle]]", "Grüße an --alle");
        check(&"x".repeat(200), &"x".repeat(60));
    }
}
