//! Markdown files: each becomes a record, and a long one several, cut at its headings. The file is the records' source,
//! with its hash, so that `mnemon validate` sees when it has changed.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;
use mnemon_core::CONTENT_BYTES_MAX;
use mnemon_protocol::export_lines::RecordLine;

use super::Desk;
use crate::commands::export::front_matter;
use crate::commands::validate::kinds::{Kind, hash_file};

/// A note up to this size stays whole: about a page, which a search shows as one result.
const WHOLE_BYTES: usize = 3_000;

/// Why a link is left out.
pub const LINK: &str = "it is a link, and links are not followed; name the file it leads to if you want it";

pub fn read(path: &Path, desk: &mut Desk<'_>) -> anyhow::Result<()> {
    if !path.is_dir() {
        return file(path, Path::new(""), desk);
    }
    for found in files(path, desk) {
        file(&found, path, desk)?;
    }
    Ok(())
}

/// The Markdown files of a folder, by path. Hidden ones and those that .gitignore names are left alone. So are links:
/// the folder's author chose where they lead, and that may be a private file of the reader's. A link to one of the
/// notes is skipped silently.
pub fn files(folder: &Path, desk: &mut Desk<'_>) -> Vec<PathBuf> {
    let is_note = |path: &Path| {
        let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
        path.is_file() && matches!(extension.as_str(), "md" | "markdown")
    };
    let walk = WalkBuilder::new(folder).sort_by_file_path(Ord::cmp).build();
    let found = walk.filter_map(Result::ok).map(ignore::DirEntry::into_path).filter(|path| is_note(path));
    let (links, files): (Vec<PathBuf>, Vec<PathBuf>) = found.partition(|path| path.is_symlink());
    let real = |path: &PathBuf| fs::canonicalize(path).ok();
    let known: HashSet<PathBuf> = files.iter().filter_map(real).collect();
    for link in links.iter().filter(|link| real(link).is_none_or(|real| !known.contains(&real))) {
        desk.left_out(link.display().to_string(), LINK);
    }
    files
}

/// One file.
pub fn file(path: &Path, root: &Path, desk: &mut Desk<'_>) -> anyhow::Result<()> {
    let place = path.display().to_string();
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => {
            desk.left_out(place, format!("can't read it as UTF-8 text: {error}"));
            return Ok(());
        }
    };
    let (pairs, body) = front_matter::split(&text);
    let value = |name: &str| pairs.iter().find(|(own, _)| own == name).map(|(_, value)| value.clone());
    let title = value("title").unwrap_or_else(|| path.file_stem().unwrap_or_default().to_string_lossy().into_owned());
    if body.trim().is_empty() {
        desk.left_out(place, "the note is empty");
        return Ok(());
    }
    let hash = hash_file(path, Kind::PrefixedSha256)?;
    for content in pieces(body, &title) {
        let record = RecordLine {
            content,
            source: Some(title.clone()),
            source_id: Some(source_id(path, root)),
            source_hash: Some(hash.clone()),
            ..RecordLine::default()
        };
        desk.record(place.clone(), record)?;
    }
    Ok(())
}

/// A file's name as a source: its path inside the folder, with slashes.
pub fn source_id(path: &Path, root: &Path) -> String {
    let inner = path.strip_prefix(root).unwrap_or(path);
    let inner = inner.strip_prefix("./").unwrap_or(inner);
    inner.to_string_lossy().replace('\\', "/")
}

/// A note as records: whole, or cut at headings, and a part that is still too long at blank lines. Each begins with the
/// title.
pub fn pieces(body: &str, title: &str) -> Vec<String> {
    let named = |text: &str| {
        let text = text.trim();
        let has_title = text.trim_start_matches('#').trim_start().starts_with(title);
        if has_title { text.to_owned() } else { format!("{title}\n\n{text}") }
    };
    if body.trim().is_empty() {
        return Vec::new();
    }
    if body.len() <= WHOLE_BYTES {
        return vec![named(body)];
    }
    let sections = joined(&cut(body, |line| line.starts_with('#')), WHOLE_BYTES);
    // Room for the title, which is at most a file name.
    let max = CONTENT_BYTES_MAX - title.len().min(1_024) - 8;
    sections
        .iter()
        .flat_map(|section| fitting(section, max))
        .filter(|part| !part.trim().is_empty())
        .map(|part| named(&part))
        .collect()
}

/// The text before each line that begins a part, and what follows the last one.
fn cut(text: &str, begins: impl Fn(&str) -> bool) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut is_code = false;
    for line in text.split_inclusive('\n') {
        is_code ^= line.trim_start().starts_with("```");
        if begins(line) && !is_code && parts.last().is_some_and(|part| !part.trim().is_empty()) {
            parts.push(String::new());
        }
        parts.last_mut().expect("there is always one").push_str(line);
    }
    parts
}

/// Neighbours together, as long as they are not longer than this.
fn joined(parts: &[String], bytes_max: usize) -> Vec<String> {
    let mut whole: Vec<String> = Vec::new();
    for part in parts {
        match whole.last_mut() {
            Some(last) if last.len() + part.len() <= bytes_max => last.push_str(part),
            _ => whole.push(part.clone()),
        }
    }
    whole
}

/// Parts of at most this many bytes: at blank lines if possible, then at line ends, then between characters.
fn fitting(text: &str, bytes_max: usize) -> Vec<String> {
    if text.len() <= bytes_max {
        return vec![text.to_owned()];
    }
    let mut parts = Vec::new();
    let mut rest = text;
    while rest.len() > bytes_max {
        let end = (0..=bytes_max).rev().find(|at| rest.is_char_boundary(*at)).unwrap_or(bytes_max);
        let head = &rest[..end];
        let at = head.rfind("\n\n").map(|at| at + 2).or_else(|| head.rfind('\n').map(|at| at + 1)).unwrap_or(end);
        let (part, after) = rest.split_at(at);
        parts.push(part.to_owned());
        rest = after;
    }
    parts.push(rest.to_owned());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_note_stays_whole_and_has_its_title() {
        assert_eq!(pieces("Water the plants.\n", "Home"), ["Home\n\nWater the plants."]);
        assert_eq!(pieces("# Home\nWater", "Home"), ["# Home\nWater"]);
        assert!(pieces(" \n", "Home").is_empty());
    }

    #[test]
    fn a_long_note_is_cut_and_nothing_is_lost() {
        for line in ["word ".repeat(200), "ж".repeat(9_000), format!("{}\n\n", "text ".repeat(300))] {
            let body: String = (0..12).map(|n| format!("## Part {n}\n\n{line}\n\n")).collect();
            let parts = pieces(&body, "Notes");
            assert!(parts.len() > 1);
            assert!(parts.iter().all(|part| part.len() <= CONTENT_BYTES_MAX), "{:?}", parts.iter().map(String::len));
            let kept: usize = parts.iter().map(|part| part.matches(['w', 'ж', 'x']).count()).sum();
            assert_eq!(kept, body.matches(['w', 'ж', 'x']).count());
        }
    }
}
