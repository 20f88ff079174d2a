//! Writing: a record is added, or takes the place of one that is wrong. What a form brings in obeys the limits of the
//! tool.

use axum::extract::Path;
use axum::response::Response;
use mnemon_core::{Fact, FactKey, Scope, WorkspaceName, check_content, check_source_text};
use mnemon_engine::admin::AdminError;
use mnemon_engine::console::ConsoleError;
use mnemon_engine::{CallError, Remember, Remembered};

use super::flash::Flash;
use super::parts as p;
use super::visit::{Act, Visit};
use super::{memory, record};
use crate::http::Fields;

/// The form that adds a record.
pub(super) const ADD: &str = "rec-new";
/// The form that replaces one.
pub(super) const REPLACE: &str = "replace";

/// `POST /console/records`
pub(super) async fn add(act: Act) -> Response {
    match try_add(&act).await {
        Ok(saved) => done(&act.visit, "Saved.", &saved),
        Err(error) => match act.again(ADD, &error) {
            Ok(visit) => visit.show_again(memory::build(&visit, &Fields::default()).await),
            Err(trouble) => *trouble,
        },
    }
}

async fn try_add(act: &Act) -> Result<Remembered, ConsoleError> {
    act.visit.engine().add_in_console(&act.visit.visitor, written(&act.fields)?).await
}

/// The record that a form describes.
fn written(fields: &Fields) -> Result<Remember, ConsoleError> {
    let text = |name| fields.find(name).map(str::trim).filter(|text| !text.is_empty());
    let content = fields.take("content").unwrap_or_default();
    check_content(&content).map_err(CallError::from)?;
    let source = |name: &'static str| match text(name) {
        Some(source) => check_source_text(name, source).map(|()| Some(source.to_owned())).map_err(CallError::from),
        None => Ok(None),
    };
    let invalid = |error: &dyn std::fmt::Display| AdminError::Invalid(error.to_string());
    Ok(Remember {
        fact: Fact { source_id: source("source_id")?, source: source("source")?, ..Fact::new(content) },
        workspace: match text("workspace") {
            Some(name) => WorkspaceName::parse(name).map_err(|error| invalid(&error))?,
            None => WorkspaceName::default(),
        },
        scope: fields.find("scope").and_then(Scope::parse).unwrap_or(Scope::Shared),
        fact_key: text("fact_key").map(FactKey::given).transpose().map_err(CallError::from)?,
        supersedes: Vec::new(),
        replace: fields.find("replace") == Some("yes"),
        idempotency_key: None,
    })
}

/// `POST /console/records/{id}/replace`: the new text takes the place of the old one, or of everything that disputes
/// its key.
pub(super) async fn replace(Path(id): Path<String>, act: Act) -> Response {
    match try_replace(&act, &id).await {
        Ok(saved) => {
            let old = p::counted(saved.superseded.len() as u64, "record");
            let told = format!("Saved in the place of {old}. What was replaced can be restored for 30 days.");
            done(&act.visit, &told, &saved)
        }
        Err(error) => match act.again(REPLACE, &error) {
            Ok(visit) => visit.show_again(record::build(&visit, &id).await),
            Err(trouble) => *trouble,
        },
    }
}

async fn try_replace(act: &Act, id: &str) -> Result<Remembered, ConsoleError> {
    let content = act.fields.find("content").unwrap_or_default();
    check_content(content).map_err(CallError::from)?;
    let settles = act.fields.find("settle") == Some("yes");
    act.visit.engine().replace_in_console(&act.visit.visitor, record::parse(id)?, content, settles).await
}

fn done(visit: &Visit, told: &str, saved: &Remembered) -> Response {
    let already = "There was an equal record already; this is it.";
    let told = Flash::new(if saved.is_duplicate { already } else { told });
    visit.done(Ok(told), &format!("/console/records/{}", saved.record.id))
}
