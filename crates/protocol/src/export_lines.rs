//! The lines of an export: what `export` writes and `import` reads, one JSON object a line (`docs/guides/moving.md`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The format's name and version, on the first line.
pub const FORMAT: &str = "mnemon";
pub const VERSION: u32 = 1;
/// The longest line that an import reads, in bytes: the longest content with every byte escaped, and room for the rest.
pub const LINE_BYTES_MAX: usize = 256 << 10;

/// A line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ExportLine {
    /// The first line.
    Export(HeaderLine),
    Record(Box<RecordLine>),
    Source(SourceLine),
    /// The last line: without it, the rest is missing.
    End(EndLine),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeaderLine {
    pub format: String,
    pub version: u32,
}

impl Default for HeaderLine {
    fn default() -> Self {
        Self { format: FORMAT.to_owned(), version: VERSION }
    }
}

/// A record with all its fields. Only `content` is needed to import one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordLine {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// `draft`, `department` or `shared`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    pub content: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fact_key: Option<String>,
    /// Whether a caller chose the key: only such keys take part in conflicts. Absent means yes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fact_key_given: Option<bool>,
    /// As the exporter saw it. It is derived, so an import ignores it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_hash: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_revision: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// When it happened: a date, a time, or a range of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occurred_at: Option<String>,
    /// The name of the member who saved it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// The name of the author's department when it was saved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub department: Option<String>,
    /// RFC 3339, UTC, as are the other moments; here with all digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    /// Only if it differs from `created_at`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<String>,
    /// The guard's warning. An import ignores it and judges again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caution: Option<String>,
}

/// What was known about a source of a workspace: the statuses of its records follow from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SourceLine {
    pub source_id: String,
    /// Without it, every workspace with records of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Who knows it: `draft` (the exporter), `department` or `shared`.
    pub scope: String,
    /// With the scope `department`: its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub department: Option<String>,
    /// The newest hash; several hashes of one content are separated by spaces. Absent if the source is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_hash: Option<String>,
    /// Where a source that is gone has moved to, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_to: Option<String>,
    /// The last one that a check confirmed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed_hash: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EndLine {
    pub records: u64,
    pub sources: u64,
}

impl ExportLine {
    /// The line's text, with its end.
    pub fn to_text(&self) -> String {
        let mut text = serde_json::to_string(self).expect("plain members always serialize");
        text.push('\n');
        text
    }
}

/// What became of an import.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImportReport {
    /// Records that are new here.
    pub saved: u64,
    /// Records that were here already.
    pub present: u64,
    /// Lines that were not taken.
    pub refused: u64,
    /// Secrets that were replaced.
    pub redacted: u64,
    /// Records that the guard was unsure about. They are saved, with a caution.
    pub cautioned: u64,
    /// Records by an author who is no member here. They carry the importer's name.
    pub other_author: u64,
    /// Sources whose state was taken over.
    pub sources: u64,
    /// Whether nothing was written.
    pub dry_run: bool,
    /// The first lines that were not taken, and why.
    pub problems: Vec<ImportProblem>,
    /// Set if the rest was not read: from which line on to send it again, and when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<ImportStop>,
}

/// How many problems a report lists; the others are only counted.
pub const PROBLEMS_MAX: usize = 100;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImportProblem {
    /// Counted from 1.
    pub line: u64,
    /// `invalid`, `guard`, `full` or `forgotten`.
    pub code: String,
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImportStop {
    /// The first line that was not read.
    pub line: u64,
    pub retry_after_seconds: u64,
    pub message: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_tagged_and_read_back() {
        let header = ExportLine::Export(HeaderLine::default()).to_text();
        assert_eq!(header, "{\"type\":\"export\",\"format\":\"mnemon\",\"version\":1}\n");
        let record = RecordLine { content: "a\nb".to_owned(), confidence: Some(0.5), ..RecordLine::default() };
        let line = ExportLine::Record(Box::new(record));
        assert_eq!(line.to_text(), "{\"type\":\"record\",\"content\":\"a\\nb\",\"confidence\":0.5}\n");
        assert_eq!(serde_json::from_str::<ExportLine>(&line.to_text()).unwrap(), line);
    }

    #[test]
    fn a_misspelt_member_is_no_silent_loss() {
        let error = serde_json::from_str::<ExportLine>(r#"{"type":"record","content":"a","sorce":"b"}"#).unwrap_err();
        assert!(error.to_string().contains("unknown field `sorce`"), "{error}");
    }
}
