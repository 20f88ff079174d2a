//! An export: one line of JSON per record, streamed as the reader takes it.

use std::collections::VecDeque;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use futures_util::stream::try_unfold;
use http::HeaderValue;
use http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE};
use mnemon_core::{ProjectId, Record, Status, WorkspaceName};
use mnemon_engine::Engine;
use mnemon_engine::admin::{AdminContext, AdminError, Export, ExportPiece, ExportedSource};
use mnemon_engine::stored::Seen;
use mnemon_protocol::export_lines::{EndLine, ExportLine, HeaderLine, RecordLine, SourceLine};
use serde::Deserialize;

use super::error::Failure;
use super::extract::{Admin, Path, Query, id, word};
use crate::http::{App, RunningExport};
use crate::record_json::CAUTION;

#[derive(Debug, Deserialize)]
pub(crate) struct Narrowing {
    workspace: Option<String>,
    format: Option<String>,
}

/// How an export is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Written {
    /// One JSON object a line: what an import takes.
    Lines,
    /// One text to read.
    Markdown,
}

impl Written {
    fn parse(word: &str) -> Option<Self> {
        match word {
            "jsonl" => Some(Self::Lines),
            "markdown" => Some(Self::Markdown),
            _ => None,
        }
    }

    const fn kind(self) -> &'static str {
        match self {
            Self::Lines => "application/x-ndjson",
            Self::Markdown => "text/markdown; charset=utf-8",
        }
    }

    const fn disposition(self) -> &'static str {
        match self {
            Self::Lines => "attachment; filename=\"mnemon-export.jsonl\"",
            Self::Markdown => "attachment; filename=\"mnemon-export.md\"",
        }
    }
}

pub(crate) async fn export(
    State(app): State<App>,
    admin: Admin,
    Path(project): Path<String>,
    Query(asked): Query<Narrowing>,
) -> Result<Response, Failure> {
    let asked = wanted(asked.workspace.as_deref(), asked.format.as_deref())?;
    Ok(stream(&app, admin.engine, &admin.ctx, id(&project, "project")?, asked).await?)
}

/// Which workspace an export is narrowed to, and how it is written.
pub(crate) fn wanted(
    workspace: Option<&str>,
    format: Option<&str>,
) -> Result<(Option<WorkspaceName>, Written), AdminError> {
    let workspace = workspace.map(WorkspaceName::parse).transpose();
    let workspace = workspace.map_err(|error| AdminError::Invalid(error.to_string()))?;
    let written = format.map(|text| word(text, "format", Written::parse, "jsonl, markdown")).transpose()?;
    Ok((workspace, written.unwrap_or(Written::Lines)))
}

/// Everything that the caller sees of a project, as a file.
pub(crate) async fn stream(
    app: &App,
    engine: Arc<Engine>,
    ctx: &AdminContext,
    project: ProjectId,
    (workspace, format): (Option<WorkspaceName>, Written),
) -> Result<Response, AdminError> {
    let export = engine.begin_export(ctx, project, workspace).await?;
    let running = match app.0.exports.begin(ctx.identity()) {
        Ok(running) => running,
        Err(too_many) => return Ok(too_many.into_response()),
    };
    let writing = Writing {
        engine,
        format,
        export,
        waiting: VecDeque::new(),
        written: EndLine { records: 0, sources: 0 },
        stage: Stage::Head,
        _running: running,
    };
    let mut response = Response::new(Body::from_stream(try_unfold(writing, next_text)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(format.kind()));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(CONTENT_DISPOSITION, HeaderValue::from_static(format.disposition()));
    Ok(response)
}

/// A text has as many lines as fill this; one line may have as much again.
const TEXT_BYTES: usize = 128 << 10;

/// An export on its way to the reader. A piece is read from storage when the reader has taken the one before.
struct Writing {
    engine: Arc<Engine>,
    export: Export,
    format: Written,
    /// What was read and is not written yet. JSON may have six times the bytes of its text, so a piece may become
    /// several texts.
    waiting: VecDeque<Item>,
    written: EndLine,
    stage: Stage,
    _running: RunningExport,
}

enum Item {
    Record(Box<(Record, Status)>),
    Source(ExportedSource),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Head,
    Pieces,
    Done,
}

/// A failure ends the body without its last line, so a broken export can't be mistaken for a whole one.
async fn next_text(mut writing: Writing) -> Result<Option<(String, Writing)>, AdminError> {
    let text = match writing.stage {
        Stage::Head => {
            writing.stage = Stage::Pieces;
            match writing.format {
                Written::Lines => ExportLine::Export(HeaderLine::default()).to_text(),
                Written::Markdown => "# Memory\n\n".to_owned(),
            }
        }
        Stage::Pieces if !writing.waiting.is_empty() => writing.next_lines(),
        Stage::Pieces => match writing.engine.continue_export(&mut writing.export).await {
            Ok(Some(piece)) => {
                writing.waiting = items(piece);
                writing.next_lines()
            }
            Ok(None) => {
                writing.stage = Stage::Done;
                let end = writing.written.clone();
                match writing.format {
                    Written::Lines => ExportLine::End(end).to_text(),
                    Written::Markdown => format!("---\n\nRecords: {}. This is all of them.\n", end.records),
                }
            }
            Err(error) => {
                tracing::error!(%error, "an export broke off");
                return Err(error);
            }
        },
        Stage::Done => return Ok(None),
    };
    Ok(Some((text, writing)))
}

impl Writing {
    fn next_lines(&mut self) -> String {
        let mut text = String::new();
        while text.len() < TEXT_BYTES
            && let Some(item) = self.waiting.pop_front()
        {
            match &item {
                Item::Record(_) => self.written.records += 1,
                Item::Source(_) => self.written.sources += 1,
            }
            match (item, self.format) {
                (Item::Record(record), Written::Lines) => text.push_str(&record_line(record.0, record.1).to_text()),
                (Item::Record(record), Written::Markdown) => text.push_str(&section(&record.0, record.1)),
                (Item::Source(source), Written::Lines) => text.push_str(&source_line(source).to_text()),
                (Item::Source(_), Written::Markdown) => {}
            }
        }
        text
    }
}

fn items(piece: ExportPiece) -> VecDeque<Item> {
    match piece {
        ExportPiece::Records(records) => records.into_iter().map(|record| Item::Record(Box::new(record))).collect(),
        ExportPiece::Sources(sources) => sources.into_iter().map(Item::Source).collect(),
    }
}

/// A record to read. Its text is quoted, so that nothing in it looks like a part of the file.
fn section(record: &Record, status: Status) -> String {
    let on_one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let quoted: String = record.fact.content.lines().map(|line| format!("> {line}\n")).collect();
    let mut about = vec![status.as_str().to_owned(), format!("workspace {}", record.workspace)];
    let sources = [&record.fact.source, &record.fact.source_id];
    about.extend(sources.into_iter().flatten().map(|source| format!("source {}", on_one_line(source))));
    about.extend(record.author_name.as_deref().map(|author| format!("by {}", on_one_line(author))));
    about.push(format!("saved {}", record.created_at.strftime("%Y-%m-%d")));
    about.push(format!("id {}", record.id));
    format!("## {}\n\n{quoted}\n{}\n\n", on_one_line(&record.fact_key.text), about.join(" · "))
}

fn record_line(record: Record, status: Status) -> ExportLine {
    let updated_at = (record.updated_at != record.created_at).then(|| record.updated_at.to_string());
    ExportLine::Record(Box::new(RecordLine {
        id: Some(record.id.to_string()),
        workspace: Some(record.workspace.as_str().to_owned()),
        scope: Some(record.audience.scope().as_str().to_owned()),
        content: record.fact.content,
        fact_key: Some(record.fact_key.text),
        fact_key_given: Some(record.fact_key.is_given),
        status: Some(status.as_str().to_owned()),
        source: record.fact.source,
        source_id: record.fact.source_id,
        source_hash: record.fact.source_hash,
        source_revision: record.fact.source_revision,
        confidence: record.fact.confidence,
        tags: record.fact.tags.as_slice().to_vec(),
        occurred_at: record.fact.occurred_at.map(|at| at.as_str().to_owned()),
        author: record.author_name,
        department: record.department_name,
        valid_until: record.fact.valid_until.map(|at| at.to_string()),
        created_at: Some(record.created_at.to_string()),
        updated_at,
        caution: record.is_cautioned.then(|| CAUTION.to_owned()),
    }))
}

fn source_line(source: ExportedSource) -> ExportLine {
    let ExportedSource { source_id, workspace, scope, department, known, confirmed_hash } = source;
    let (known_hash, moved_to) = match known {
        Seen::Hash(hash) => (Some(hash), None),
        Seen::Gone { moved_to } => (None, moved_to),
    };
    ExportLine::Source(SourceLine {
        source_id,
        workspace: Some(workspace.to_string()),
        scope: scope.as_str().to_owned(),
        department,
        known_hash,
        moved_to,
        confirmed_hash,
    })
}
