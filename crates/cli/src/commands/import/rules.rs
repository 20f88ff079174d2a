//! Rules for assistants: CLAUDE.md, AGENTS.md and the like. Each item of a list and each paragraph becomes a record,
//! with the headings above it, so that it can be found and replaced alone.

use std::fs;
use std::path::Path;

use mnemon_protocol::export_lines::RecordLine;

use super::Desk;
use crate::commands::validate::kinds::{Kind, hash_file};

/// Separates headings from text.
const UNDER: &str = " › ";

/// A piece of a file, and the line that it begins in.
#[derive(Debug, PartialEq, Eq)]
pub struct Item {
    pub line: usize,
    pub content: String,
}

pub fn read(path: &Path, desk: &mut Desk<'_>) -> anyhow::Result<()> {
    let place = path.display().to_string();
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => {
            desk.left_out(place, format!("can't read it as UTF-8 text: {error}"));
            return Ok(());
        }
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let hash = hash_file(path, Kind::PrefixedSha256)?;
    for Item { line, content } in items(&text) {
        let record = RecordLine {
            content,
            source: Some(name.clone()),
            source_id: Some(super::notes::source_id(path, Path::new(""))),
            source_hash: Some(hash.clone()),
            ..RecordLine::default()
        };
        desk.record(format!("{place}:{line}"), record)?;
    }
    Ok(())
}

/// The items and paragraphs of a text. A block of code belongs to the paragraph before it.
pub fn items(text: &str) -> Vec<Item> {
    let mut reader = Reader::default();
    for (nth, line) in text.lines().enumerate() {
        reader.line(nth + 1, line);
    }
    reader.end_item();
    reader.items
}

#[derive(Default)]
struct Reader {
    /// The headings above, with their depths.
    headings: Vec<(usize, String)>,
    items: Vec<Item>,
    current: Option<Item>,
    is_code: bool,
}

impl Reader {
    fn line(&mut self, nth: usize, line: &str) {
        let trimmed = line.trim();
        let is_fence = trimmed.starts_with("```") || trimmed.starts_with("~~~");
        if self.is_code || is_fence {
            self.is_code ^= is_fence;
            return self.add(nth, line);
        }
        if trimmed.is_empty() || trimmed.starts_with("<!--") || is_rule(trimmed) {
            // A blank line ends a paragraph; an item may go on in an indented line or a block of code.
            if self.current.as_ref().is_none_or(|item| !is_list(&item.content)) {
                self.end_item();
            }
            return;
        }
        if let Some((depth, title)) = heading(trimmed) {
            self.end_item();
            self.headings.retain(|(other, _)| *other < depth);
            self.headings.push((depth, title.to_owned()));
            return;
        }
        let is_indented = line.starts_with([' ', '\t']);
        let is_after_list = self.current.as_ref().is_some_and(|item| is_list(&item.content));
        if !is_indented && (is_list(trimmed) || is_after_list) {
            self.end_item();
        }
        self.add(nth, line);
    }

    fn add(&mut self, nth: usize, line: &str) {
        let item = self.current.get_or_insert_with(|| Item { line: nth, content: String::new() });
        if !item.content.is_empty() {
            item.content.push('\n');
        }
        item.content.push_str(line.trim_end());
    }

    fn end_item(&mut self) {
        let Some(Item { line, content }) = self.current.take() else { return };
        let content = content.trim();
        let content = marker(content).map_or(content, |length| content[length..].trim_start());
        if content.is_empty() {
            return;
        }
        let headings: Vec<&str> = self.headings.iter().map(|(_, title)| title.as_str()).collect();
        let above = if headings.is_empty() { String::new() } else { format!("{}: ", headings.join(UNDER)) };
        self.items.push(Item { line, content: format!("{above}{content}") });
    }
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let depth = line.bytes().take_while(|byte| *byte == b'#').count();
    let title = line[depth..].strip_prefix(' ')?.trim().trim_end_matches('#').trim_end();
    ((1..=6).contains(&depth) && !title.is_empty()).then_some((depth, title))
}

fn is_rule(line: &str) -> bool {
    line.len() >= 3 && ["-", "*", "_"].iter().any(|mark| line.replace([' '], "").replace(mark, "").is_empty())
}

fn is_list(line: &str) -> bool {
    marker(line.trim_start()).is_some()
}

/// The length of a list's marker.
fn marker(line: &str) -> Option<usize> {
    if ["- ", "* ", "+ "].iter().any(|mark| line.starts_with(mark)) {
        return Some(2);
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = &line[digits..];
    ((1..=3).contains(&digits) && (rest.starts_with(". ") || rest.starts_with(") "))).then_some(digits + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_and_paragraphs_stand_alone_under_their_headings() {
        let text = "# Acme\n\nA shop for tools.\nIn Rust.\n\n## Testing\n- Run `just check`\n  before a push.\n- Use nextest:\n\n\
            ```sh\n- not an item\n```\n\n1. First\n2) Second\n\n---\n\n### Deep ##\nLast words\n\n## Style\n* short\n";
        let found: Vec<(usize, String)> = items(text).into_iter().map(|item| (item.line, item.content)).collect();
        let expected = [
            (3, "Acme: A shop for tools.\nIn Rust."),
            (7, "Acme › Testing: Run `just check`\n  before a push."),
            (9, "Acme › Testing: Use nextest:\n```sh\n- not an item\n```"),
            (15, "Acme › Testing: First"),
            (16, "Acme › Testing: Second"),
            (21, "Acme › Testing › Deep: Last words"),
            (24, "Acme › Style: short"),
        ];
        let expected: Vec<(usize, String)> = expected.into_iter().map(|(line, text)| (line, text.to_owned())).collect();
        assert_eq!(found, expected);
        assert_eq!(items("\n\n---\n"), []);
    }
}
