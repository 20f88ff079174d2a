//! An import: lines of JSON, read as they arrive and saved in batches. The answer counts what became of them.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use mnemon_core::{
    Fact, FactKey, InvalidText, Occurred, ProjectId, RecordId, Scope, Tags, WorkspaceName, check_content,
    check_hash_text, check_source_text, to_hex,
};
use mnemon_engine::Engine;
use mnemon_engine::admin::{
    AdminContext, AdminError, ImportItem, ImportOutcome, ImportedRecord, ImportedSource, Refusal,
};
use mnemon_engine::stored::Seen;
use mnemon_protocol::export_lines::{
    ExportLine, FORMAT, HeaderLine, ImportProblem, ImportReport, ImportStop, LINE_BYTES_MAX, PROBLEMS_MAX, RecordLine,
    SourceLine, VERSION,
};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::error::Failure;
use super::extract::{Admin, Path, Query, flag, id, moment};
use super::show;
use crate::http::{NoBody, Reply, next_piece};

/// How many lines are saved together, and how many bytes: a batch ends with the line that fills it.
const BATCH_LINES: usize = 256;
const BATCH_BYTES: usize = 512 << 10;

#[derive(Debug, Deserialize)]
pub(crate) struct Way {
    dry_run: Option<String>,
}

pub(crate) async fn import(
    admin: Admin,
    Path(project): Path<String>,
    Query(way): Query<Way>,
    body: Body,
) -> Result<Response, Failure> {
    let dry_run = way.dry_run.map(|text| flag(&text, "dry_run")).transpose()?.unwrap_or(false);
    Ok(match take(&admin.engine, &admin.ctx, id(&project, "project")?, dry_run, body).await? {
        Ok(report) => show::ok(&report).into_response(),
        Err(Unreadable::Body(error)) => {
            Reply::error(StatusCode::BAD_REQUEST, "invalid", &error.to_string()).into_response()
        }
        Err(Unreadable::Format(text)) => Failure(AdminError::Invalid(text)).into_response(),
    })
}

/// Takes every line of a body. The inner error says that the rest of it can't be read.
pub(crate) async fn take(
    engine: &Engine,
    ctx: &AdminContext,
    project: ProjectId,
    dry_run: bool,
    body: Body,
) -> Result<Result<ImportReport, Unreadable>, AdminError> {
    let mut import = engine.begin_import(ctx, project, dry_run).await?;
    let mut lines = Lines { body, arrived: Vec::new(), count: 0, is_over: false };
    let mut report = ImportReport { dry_run, ..ImportReport::default() };
    let outcome = loop {
        let (batch, end) = match lines.batch(&mut report).await {
            Ok(batch) => batch,
            Err(refused) => break Err(refused),
        };
        let (numbers, items): (Vec<u64>, Vec<ImportItem>) = batch.into_iter().unzip();
        let outcomes = engine.continue_import(&mut import, items).await?;
        numbers.iter().zip(outcomes).for_each(|(line, outcome)| note(&mut report, *line, outcome));
        if end || report.stopped.is_some() {
            break Ok(());
        }
    };
    engine.finish_import(import).await?;
    report.problems.sort_by_key(|problem| problem.line);
    Ok(outcome.map(|()| report))
}

/// Why the rest of a body can't be read. What came before it is saved.
pub(crate) enum Unreadable {
    Body(NoBody),
    Format(String),
}

/// A body, line by line.
struct Lines {
    body: Body,
    /// What has arrived and was not read yet.
    arrived: Vec<u8>,
    count: u64,
    is_over: bool,
}

impl Lines {
    /// The next items with their line numbers, and whether they are the last. Lines that are no items are reported.
    async fn batch(&mut self, report: &mut ImportReport) -> Result<(Vec<(u64, ImportItem)>, bool), Unreadable> {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while batch.len() < BATCH_LINES && bytes < BATCH_BYTES {
            let Some(line) = self.next().await.map_err(Unreadable::Body)? else { return Ok((batch, true)) };
            bytes += line.as_ref().map_or(0, Vec::len);
            let item = match line {
                Some(line) if line.trim_ascii().is_empty() => continue,
                Some(line) => parse(&line).map_err(Unreadable::Format)?,
                None => Err(format!("the line is longer than {LINE_BYTES_MAX} bytes")),
            };
            match item {
                Ok(Some(item)) => batch.push((self.count, item)),
                Ok(None) => {}
                Err(text) => {
                    note(report, self.count, ImportOutcome::Refused(Refusal { code: "invalid", text }));
                }
            }
        }
        Ok((batch, false))
    }

    /// The next line without its end; `Some(None)` for one that is too long, and `None` at the end of the body.
    async fn next(&mut self) -> Result<Option<Option<Vec<u8>>>, NoBody> {
        let (mut looked_at, mut is_too_long) = (0, false);
        loop {
            if let Some(end) = self.arrived[looked_at..].iter().position(|byte| *byte == b'\n') {
                let rest = self.arrived.split_off(looked_at + end + 1);
                let mut line = std::mem::replace(&mut self.arrived, rest);
                line.pop();
                return Ok(Some(self.counted(line, is_too_long)));
            }
            if self.arrived.len() > LINE_BYTES_MAX {
                is_too_long = true;
                self.arrived.clear();
            }
            looked_at = self.arrived.len();
            if self.is_over {
                let line = std::mem::take(&mut self.arrived);
                return Ok((!line.is_empty() || is_too_long).then(|| self.counted(line, is_too_long)));
            }
            match next_piece(&mut self.body).await? {
                Some(piece) => self.arrived.extend_from_slice(&piece),
                None => self.is_over = true,
            }
        }
    }

    fn counted(&mut self, line: Vec<u8>, is_too_long: bool) -> Option<Vec<u8>> {
        self.count += 1;
        (!is_too_long && line.len() <= LINE_BYTES_MAX).then_some(line)
    }
}

/// What a line asks for: nothing, an item, or something that is wrong with it alone. The outer error concerns the whole
/// body.
fn parse(line: &[u8]) -> Result<Result<Option<ImportItem>, String>, String> {
    match serde_json::from_slice(line) {
        Ok(ExportLine::Export(HeaderLine { format, version })) => {
            if format != FORMAT || version > VERSION {
                return Err(format!(
                    "this is an export of format '{format}', version {version}; this service reads '{FORMAT}' up to \
                     version {VERSION}"
                ));
            }
            Ok(Ok(None))
        }
        Ok(ExportLine::End(_)) => Ok(Ok(None)),
        Ok(ExportLine::Record(record)) => Ok(record_of(line, *record).map(|record| Some(ImportItem::Record(record)))),
        Ok(ExportLine::Source(source)) => Ok(source_of(source).map(|source| Some(ImportItem::Source(source)))),
        Err(error) => Ok(Err(format!("not a line of an export: {error}"))),
    }
}

fn record_of(line: &[u8], record: RecordLine) -> Result<Box<ImportedRecord>, String> {
    let invalid = |error: InvalidText| error.to_string();
    let RecordLine { id, workspace, scope, content, fact_key, fact_key_given, .. } = record;
    check_content(&content).map_err(invalid)?;
    for (name, text) in [("source", &record.source), ("source_id", &record.source_id)] {
        text.as_deref().map(|text| check_source_text(name, text)).transpose().map_err(invalid)?;
    }
    for (name, text) in [("source_hash", &record.source_hash), ("source_revision", &record.source_revision)] {
        text.as_deref().map(|text| check_hash_text(name, text)).transpose().map_err(invalid)?;
    }
    if record.confidence.is_some_and(|value| !(0.0..=1.0).contains(&value)) {
        return Err("confidence must be between 0 and 1".to_owned());
    }
    let at = |text: &Option<String>, field: &str| moment(text.as_deref(), field).map_err(|error| error.to_string());
    let key = fact_key.filter(|_| fact_key_given != Some(false)).map(|key| FactKey::given(&key));
    let workspace = workspace.map(|name| WorkspaceName::parse(&name)).transpose();
    let id = id.as_deref().map(parse_id).transpose()?;
    let occurred_at = filled(record.occurred_at).map(|text| Occurred::parse(&text));
    Ok(Box::new(ImportedRecord {
        idempotency_key: id.is_none().then(|| format!("import:{}", to_hex(Sha256::digest(line.trim_ascii())))),
        id,
        workspace: workspace.map_err(|error| error.to_string())?,
        scope: scope.as_deref().map_or(Ok(Scope::Shared), parse_scope)?,
        fact_key: key.transpose().map_err(invalid)?,
        author: record.author,
        department: record.department,
        created_at: at(&record.created_at, "created_at")?,
        updated_at: at(&record.updated_at, "updated_at")?,
        fact: Fact {
            content,
            source: filled(record.source),
            source_id: filled(record.source_id),
            source_hash: filled(record.source_hash),
            source_revision: filled(record.source_revision),
            confidence: record.confidence,
            valid_until: at(&record.valid_until, "valid_until")?,
            tags: Tags::parse(&record.tags).map_err(|error| error.to_string())?,
            occurred_at: occurred_at.transpose().map_err(|error| error.to_string())?,
        },
    }))
}

fn source_of(line: SourceLine) -> Result<ImportedSource, String> {
    let SourceLine { source_id, workspace, scope, department, known_hash, moved_to, confirmed_hash } = line;
    check_source_text("source_id", &source_id).map_err(|error| error.to_string())?;
    let workspace = workspace.as_deref().map(WorkspaceName::parse).transpose().map_err(|error| error.to_string())?;
    let known = match (known_hash, moved_to) {
        (Some(_), Some(_)) => return Err("give known_hash or moved_to, not both".to_owned()),
        (Some(hash), None) => Seen::Hash(hash),
        (None, moved_to) => Seen::Gone { moved_to },
    };
    Ok(ImportedSource { source_id, workspace, scope: parse_scope(&scope)?, department, known, confirmed_hash })
}

/// Only ids that a service of this kind makes: they tell when a record was saved.
fn parse_id(text: &str) -> Result<RecordId, String> {
    let id = text.parse().ok().filter(|id: &RecordId| id.uuid().get_version_num() == 7);
    id.ok_or_else(|| "id must be a UUIDv7; leave it out to get a new one".to_owned())
}

fn parse_scope(word: &str) -> Result<Scope, String> {
    Scope::parse(word.trim()).ok_or_else(|| "scope must be one of draft, department, shared".to_owned())
}

fn filled(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}

/// Adds an outcome to the report.
fn note(report: &mut ImportReport, line: u64, outcome: ImportOutcome) {
    match outcome {
        ImportOutcome::Saved { redacted, is_cautioned, is_by_other } => {
            report.saved += 1;
            report.redacted += redacted as u64;
            report.cautioned += u64::from(is_cautioned);
            report.other_author += u64::from(is_by_other);
        }
        ImportOutcome::Present => report.present += 1,
        ImportOutcome::Source(is_taken) => report.sources += u64::from(is_taken),
        ImportOutcome::Refused(Refusal { code, text }) => {
            report.refused += 1;
            if report.problems.len() < PROBLEMS_MAX {
                report.problems.push(ImportProblem { line, code: code.to_owned(), message: text });
            }
        }
        ImportOutcome::Later { retry_after_seconds, why } => {
            let message = format!("{why}; send the rest later");
            report.stopped = Some(ImportStop { line, retry_after_seconds, message });
        }
    }
}
