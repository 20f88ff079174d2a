//! In and out: an export as a file, and an import from one, looked at before anything is saved.

use std::time::Duration;

use askama::Template;
use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Multipart, Request, State};
use axum::response::Response;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, StatusCode};
use mnemon_engine::admin::AdminError;
use mnemon_engine::console::ConsoleError;
use mnemon_protocol::export_lines::ImportReport;
use serde_json::json;

use super::page;
use super::parts as p;
use super::shell::{Place, Shell};
use super::visit::{Visit, comes_from_our_page};
use crate::admin::{self, Unreadable};
use crate::http::{App, Fields};

/// The largest file that a form may bring. With script it comes in pieces, and may be of any size.
pub(super) const FILE_BYTES_MAX: usize = 4 << 20;
/// How long a file may take to arrive.
const UPLOAD_TIMEOUT: Duration = Duration::from_secs(60);
/// How many problems the page shows.
const PROBLEMS_MAX: usize = 50;

#[derive(Template)]
#[template(path = "console/moving.html")]
struct Page<'a> {
    shell: Shell<'a>,
    project: String,
    workspaces: Vec<String>,
    may_import: bool,
    report: Option<Report>,
    file_max: String,
}

/// What became of a file, or would become.
struct Report {
    title: &'static str,
    lines: Vec<String>,
    problems: Vec<(u64, String)>,
}

/// `GET /console/moving`
pub(super) async fn show(visit: Visit) -> Response {
    visit.show(build(&visit, None).await)
}

async fn build<'a>(visit: &'a Visit, report: Option<Report>) -> Result<Page<'a>, ConsoleError> {
    let me = visit.member()?;
    let workspaces = visit.engine().list_workspace_names(&visit.visitor.admin, me.project.id).await?;
    Ok(Page {
        shell: Shell::new(visit, Place::Moving, "In and out"),
        project: me.project.name.clone(),
        // More than these are narrowed by the admin API.
        workspaces: workspaces.into_iter().take(100).map(|name| name.to_string()).collect(),
        may_import: visit.may_change_memory(),
        report,
        file_max: p::bytes(FILE_BYTES_MAX as u64),
    })
}

/// `GET /console/moving/export`
pub(super) async fn export(State(app): State<App>, visit: Visit, request: Request) -> Response {
    let fields = Fields::parse(request.uri().query().unwrap_or_default().as_bytes());
    match try_export(&app, &visit, &fields).await {
        Ok(mut response) => {
            let kind = response.headers().get(CONTENT_TYPE).cloned();
            page::guard(&mut response);
            response.headers_mut().extend(kind.map(|kind| (CONTENT_TYPE, kind)));
            response
        }
        Err(error) => visit.trouble(&error),
    }
}

async fn try_export(app: &App, visit: &Visit, fields: &Fields) -> Result<Response, ConsoleError> {
    let wanted = admin::wanted_export(fields.find("workspace"), fields.find("format"))?;
    let engine = std::sync::Arc::clone(&app.0.engine);
    Ok(admin::stream_export(app, engine, &visit.visitor.admin, visit.project()?, wanted).await?)
}

/// What a form brings along with its file.
struct Upload {
    seal: Option<String>,
    is_dry_run: bool,
    file: Bytes,
}

impl Upload {
    /// Reads the fields, and the file whole: the seal has to be right before a line of it is looked at.
    async fn read(request: Request) -> Result<Self, String> {
        let is_plain =
            request.headers().get(CONTENT_TYPE).is_some_and(|kind| kind == "application/x-www-form-urlencoded");
        if is_plain {
            let bytes = Bytes::from_request(request, &()).await.map_err(|error| error.body_text())?;
            let fields = Fields::parse(&bytes);
            let file = fields.take("file").unwrap_or_default().into();
            return Ok(Self { seal: fields.take("seal"), is_dry_run: fields.find("way") != Some("import"), file });
        }
        let mut parts = Multipart::from_request(request, &()).await.map_err(|error| error.body_text())?;
        let mut upload = Self { seal: None, is_dry_run: true, file: Bytes::new() };
        while let Some(part) = parts.next_field().await.map_err(|error| error.body_text())? {
            let name = part.name().unwrap_or_default().to_owned();
            let bytes = part.bytes().await.map_err(|error| error.body_text())?;
            match name.as_str() {
                "seal" => upload.seal = String::from_utf8(bytes.to_vec()).ok(),
                "way" => upload.is_dry_run = bytes != "import",
                "file" => upload.file = bytes,
                _ => {}
            }
        }
        Ok(upload)
    }
}

/// `POST /console/moving/import`: a page for a person, figures for the page's script.
pub(super) async fn import(State(app): State<App>, request: Request) -> Response {
    if !comes_from_our_page(&app.0, request.headers()) {
        return page::foreign(&app);
    }
    let (parts, body) = request.into_parts();
    let visit = match Visit::enter(&app, &parts).await {
        Ok(visit) => visit,
        Err(answer) => return answer,
    };
    if let Err(no_room) = visit.hold_upload(&parts).await {
        return page::busy(&app, no_room);
    }
    let headers = parts.headers.clone();
    let reading = Upload::read(Request::from_parts(parts, body));
    let too_slow = |_| Err("It took longer than a minute to arrive. Send it in smaller parts.".to_owned());
    let upload = match tokio::time::timeout(UPLOAD_TIMEOUT, reading).await.unwrap_or_else(too_slow) {
        Ok(upload) => upload,
        Err(text) => return page::plain_error(&app, StatusCode::PAYLOAD_TOO_LARGE, "That file can’t be read", &text),
    };
    if !visit.is_sealed(upload.seal.as_deref()) {
        return page::foreign(&app);
    }
    let is_dry_run = upload.is_dry_run;
    let taken = take(&visit, upload).await;
    if wants_figures(&headers) {
        return figures(taken);
    }
    match taken {
        Ok(report) => visit.show(build(&visit, Some(tell(&report, is_dry_run))).await),
        Err(error) => visit.trouble(&error),
    }
}

async fn take(visit: &Visit, upload: Upload) -> Result<ImportReport, ConsoleError> {
    let (engine, admin) = (visit.engine(), &visit.visitor.admin);
    let taken = admin::take_import(engine, admin, visit.project()?, upload.is_dry_run, Body::from(upload.file)).await?;
    taken.map_err(|error| {
        let text = match error {
            Unreadable::Body(error) => error.to_string(),
            Unreadable::Format(text) => text,
        };
        AdminError::Invalid(text).into()
    })
}

fn wants_figures(headers: &HeaderMap) -> bool {
    headers.get(ACCEPT).is_some_and(|kind| kind == "application/json")
}

fn figures(taken: Result<ImportReport, ConsoleError>) -> Response {
    match taken {
        Ok(report) => page::data(&json!(report)),
        Err(error) => {
            let (status, _, text) = page::words(&error);
            let mut response = page::data(&json!({"error": text}));
            *response.status_mut() = status;
            page::with_retry(response, &error)
        }
    }
}

fn tell(report: &ImportReport, is_dry_run: bool) -> Report {
    let saved = if is_dry_run { "would be saved" } else { "saved" };
    let counts = [
        (report.saved, saved),
        (report.present, "here already"),
        (report.sources, "sources known"),
        (report.redacted, "secrets replaced"),
        (report.cautioned, "marked by the guard"),
        (report.other_author, "by somebody who is no member here; they get your name"),
        (report.refused, "refused"),
    ];
    let mut lines: Vec<String> = counts
        .into_iter()
        .enumerate()
        .filter(|(at, (count, _))| *at == 0 || *count > 0)
        .map(|(_, (count, what))| format!("{} {what}", p::number(count)))
        .collect();
    lines.extend(report.stopped.as_ref().map(|stop| {
        format!("Stopped at line {}: {}. Go on with the same file in {}.", stop.line, stop.message, {
            p::span_of(i64::try_from(stop.retry_after_seconds).unwrap_or(i64::MAX).max(60))
        })
    }));
    Report {
        title: if is_dry_run { "This is what an import would do. Nothing was changed." } else { "Imported" },
        lines,
        problems: report
            .problems
            .iter()
            .take(PROBLEMS_MAX)
            .map(|problem| (problem.line, problem.message.clone()))
            .collect(),
    }
}
