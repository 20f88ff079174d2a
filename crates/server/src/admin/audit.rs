//! The audit log.

use mnemon_core::{AuditId, Timestamp};
use mnemon_engine::admin::{AdminError, AuditLine};
use mnemon_engine::stored::{ActorKind, AuditFilter};
use serde::Deserialize;
use serde_json::json;

use super::csv::Format;
use super::error::Failure;
use super::extract::{Admin, Path, Query, id, id_in, limit, moment, word};
use super::{csv, show};
use axum::response::{IntoResponse, Response};

#[derive(Debug, Deserialize)]
pub(crate) struct Filter {
    before: Option<String>,
    limit: Option<String>,
    actor: Option<String>,
    member_id: Option<String>,
    action: Option<String>,
    except: Option<String>,
    project_id: Option<String>,
    subject: Option<String>,
    from: Option<String>,
    to: Option<String>,
    format: Option<String>,
}

pub(crate) async fn list(
    admin: Admin,
    Path(account): Path<String>,
    Query(asked): Query<Filter>,
) -> Result<Response, Failure> {
    let (limit, format) = (limit(asked.limit.as_deref())?, Format::read(asked.format.as_deref())?);
    let page = admin.engine.list_audit(&admin.ctx, id(&account, "account")?, filter(asked)?, limit).await?;
    let lines: Vec<_> = page.lines.iter().map(show::audit).collect();
    Ok(match format {
        Format::Json => {
            let next = page.next.map(|(at, id)| format!("{}.{id}", at.as_microsecond()));
            show::ok(&json!({"audit": lines, "next": next})).into_response()
        }
        Format::Csv => csv::audit(&lines),
    })
}

/// Lines as the console gives them away.
pub(crate) fn audit_csv(lines: &[AuditLine]) -> Response {
    csv::audit(&lines.iter().map(show::audit).collect::<Vec<_>>())
}

fn filter(asked: Filter) -> Result<AuditFilter, AdminError> {
    let words = |list: Option<String>| list.map(|list| list.split(',').map(|word| word.trim().to_owned()).collect());
    Ok(AuditFilter {
        before: asked.before.as_deref().map(place).transpose()?,
        actor: asked
            .actor
            .map(|text| word(&text, "actor", ActorKind::parse, "member, operator, service"))
            .transpose()?,
        member: id_in(asked.member_id.as_deref(), "member_id")?,
        actions: words(asked.action),
        except: words(asked.except),
        project: id_in(asked.project_id.as_deref(), "project_id")?,
        subject: asked.subject,
        from: moment(asked.from.as_deref(), "from")?,
        to: moment(asked.to.as_deref(), "to")?,
    })
}

/// A place in the list, as `next` names it.
fn place(text: &str) -> Result<(Timestamp, AuditId), AdminError> {
    let read = || {
        let (micros, id) = text.split_once('.')?;
        Some((Timestamp::from_microsecond(micros.parse().ok()?).ok()?, id.parse().ok()?))
    };
    read().ok_or_else(|| AdminError::Invalid("before must be the `next` value of the previous page".to_owned()))
}
