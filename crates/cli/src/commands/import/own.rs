//! An export of Mnemon: its lines as they are, or a folder of notes.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use mnemon_protocol::export_lines::{EndLine, ExportLine, FORMAT, HeaderLine, LINE_BYTES_MAX, RecordLine, VERSION};

use super::{Desk, notes};
use crate::commands::export::{HIDDEN, ORDER, REST, front_matter};

/// The lines of an export.
pub fn lines(path: &Path, desk: &mut Desk<'_>) -> anyhow::Result<()> {
    let file = File::open(path).with_context(|| format!("can't read {}", path.display()))?;
    let mut count = Count::default();
    each_line(BufReader::new(file), |nth, text| {
        let place = format!("{}:{nth}", path.display());
        line(place, text, desk, &mut count)
    })
    .with_context(|| format!("can't read {}", path.display()))?;
    count.check(path, desk);
    Ok(())
}

/// What was read, against what the last line says.
#[derive(Default)]
struct Count {
    records: u64,
    has_header: bool,
    end: Option<EndLine>,
}

impl Count {
    /// An export that broke off is taken as far as it goes, and said to be incomplete.
    fn check(&self, path: &Path, desk: &mut Desk<'_>) {
        if self.has_header && self.end.as_ref().is_none_or(|end| end.records != self.records) {
            desk.left_out(path.display().to_string(), "the file is incomplete: its last line is missing");
        }
    }
}

fn line(place: String, text: &str, desk: &mut Desk<'_>, count: &mut Count) -> anyhow::Result<()> {
    match serde_json::from_str(text) {
        Ok(ExportLine::Record(record)) => {
            count.records += 1;
            desk.record(place, *record)
        }
        Ok(ExportLine::Export(HeaderLine { format, version })) => {
            if format != FORMAT || version > VERSION {
                bail!("it has format '{format}', version {version}; this program reads '{FORMAT}' up to {VERSION}");
            }
            count.has_header = true;
            Ok(())
        }
        Ok(ExportLine::End(end)) => {
            count.end = Some(end);
            Ok(())
        }
        Ok(ExportLine::Source(source)) => desk.source(place, source),
        Err(error) => {
            desk.left_out(place, format!("not a line of an export: {error}"));
            Ok(())
        }
    }
}

/// A folder of notes: in the order that they were saved in, then those that came later, then what is known about
/// sources.
pub fn folder(path: &Path, desk: &mut Desk<'_>) -> anyhow::Result<()> {
    let hidden = path.join(HIDDEN);
    let order = fs::read_to_string(hidden.join(ORDER)).unwrap_or_default();
    let mut seen: HashSet<PathBuf> = HashSet::new();
    for name in order.lines() {
        // What was written by somebody else must not lead out of the folder.
        let is_inside = Path::new(name).components().all(|part| matches!(part, std::path::Component::Normal(_)));
        let file = path.join(name);
        if is_inside && file.is_file() && !leads_elsewhere(path, &file) {
            note(&file, desk)?;
            seen.insert(file);
        }
    }
    for file in notes::files(path, desk) {
        if !seen.contains(&file) {
            note(&file, desk)?;
        }
    }
    let rest = hidden.join(REST);
    if leads_elsewhere(path, &rest) {
        desk.left_out(rest.display().to_string(), notes::LINK);
    } else if rest.is_file() {
        let file = File::open(&rest).with_context(|| format!("can't read {}", rest.display()))?;
        let mut count = Count::default();
        each_line(BufReader::new(file), |nth, text| {
            let place = format!("{}:{nth}", rest.display());
            line(place, text, desk, &mut count)
        })?;
    }
    Ok(())
}

/// Whether a file is not where its name says, because of a link on the way from the folder.
fn leads_elsewhere(folder: &Path, file: &Path) -> bool {
    let Ok(inner) = file.strip_prefix(folder) else { return true };
    match (fs::canonicalize(folder), fs::canonicalize(file)) {
        (Ok(folder), Ok(real)) => real != folder.join(inner),
        _ => false,
    }
}

/// A note with the fields of a record; any other is a plain note.
fn note(file: &Path, desk: &mut Desk<'_>) -> anyhow::Result<()> {
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) => {
            desk.left_out(file.display().to_string(), format!("can't read it as UTF-8 text: {error}"));
            return Ok(());
        }
    };
    let (pairs, body) = front_matter::split(&text);
    match to_record(&pairs, body) {
        Ok(Some(record)) => desk.record(file.display().to_string(), record),
        Ok(None) => notes::file(file, file.parent().unwrap_or(file), desk),
        Err(why) => {
            desk.left_out(file.display().to_string(), why);
            Ok(())
        }
    }
}

fn to_record(pairs: &[(String, String)], body: &str) -> Result<Option<RecordLine>, String> {
    let value = |name: &str| pairs.iter().find(|(own, _)| own == name).map(|(_, value)| value.clone());
    if value("id").is_none() || value("workspace").is_none() {
        return Ok(None);
    }
    let parsed = |name: &str| match value(name) {
        Some(text) => text.parse().map(Some).map_err(|_| format!("{name} is not a number")),
        None => Ok(None),
    };
    Ok(Some(RecordLine {
        id: value("id"),
        workspace: value("workspace"),
        scope: value("scope"),
        content: body.strip_suffix('\n').unwrap_or(body).to_owned(),
        fact_key: value("fact_key"),
        fact_key_given: value("fact_key_given").map(|text| text == "true"),
        status: None,
        source: value("source"),
        source_id: value("source_id"),
        source_hash: value("source_hash"),
        source_revision: value("source_revision"),
        confidence: parsed("confidence")?,
        tags: value("tags").map_or(Ok(Vec::new()), |list| {
            serde_json::from_str(&list).map_err(|_| "tags is not a list of strings".to_owned())
        })?,
        occurred_at: value("occurred_at"),
        author: value("author"),
        department: value("department"),
        valid_until: value("valid_until"),
        created_at: value("created_at"),
        updated_at: value("updated_at"),
        caution: None,
    }))
}

/// Calls with every line that is not empty, and its number. One that is longer than a line may be ends the reading.
pub fn each_line(
    mut reader: impl BufRead,
    mut act: impl FnMut(usize, &str) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let (mut bytes, mut nth) = (Vec::new(), 0);
    loop {
        bytes.clear();
        let read = std::io::Read::take(&mut reader, LINE_BYTES_MAX as u64 + 1).read_until(b'\n', &mut bytes)?;
        if read == 0 {
            return Ok(());
        }
        nth += 1;
        if bytes.len() > LINE_BYTES_MAX {
            bail!("line {nth} is longer than {LINE_BYTES_MAX} bytes");
        }
        let text = std::str::from_utf8(&bytes).with_context(|| format!("line {nth} is not UTF-8"))?.trim();
        if !text.is_empty() {
            act(nth, text)?;
        }
    }
}
