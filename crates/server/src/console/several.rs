//! One act on the records that were chosen in a list, or on the one of a page, and taking it back.

use axum::response::Response;
use mnemon_core::{RecordId, Scope, WorkspaceName};
use mnemon_engine::admin::{AdminError, Several, SeveralAct};
use mnemon_engine::console::ConsoleError;
use mnemon_protocol::admin::ChangeSeveral;

use super::flash::Flash;
use super::parts as p;
use super::record;
use super::visit::Act;
use crate::admin;
use crate::http::Fields;

const RECORDS: &str = "/console/records/";
/// A browser keeps no more until the next page.
const UNDO_BYTES_MAX: usize = 2_600;

/// `POST /console/records/several`
pub(super) async fn change(act: Act) -> Response {
    let outcome = try_change(&act).await;
    let back = act.back("/console/memory");
    match outcome {
        Ok((doing, several)) => {
            let onward = match (&doing, several.done.as_slice()) {
                // Of one moved record the new place is shown.
                (SeveralAct::Move { .. }, [one]) if act.fields.find("back").is_none() => {
                    format!("{RECORDS}{one}")
                }
                _ => back.to_owned(),
            };
            act.visit.done(Ok(told(&doing, &several)), &onward)
        }
        Err(error) => act.visit.trouble(&error),
    }
}

async fn try_change(act: &Act) -> Result<(SeveralAct, Several), ConsoleError> {
    let visit = &act.visit;
    let ids = act.fields.all("ids");
    let ids = ids.iter().map(|id| record::parse(id)).collect::<Result<Vec<_>, _>>()?;
    let doing = doing(&act.fields)?;
    let several = visit.engine().change_several(&visit.visitor.admin, visit.project()?, &ids, &doing).await?;
    match several.left.first() {
        Some((_, why)) if several.done.is_empty() => Err(AdminError::Conflict(why.clone()).into()),
        _ => Ok((doing, several)),
    }
}

fn doing(fields: &Fields) -> Result<SeveralAct, ConsoleError> {
    let words = |name| -> Vec<String> {
        let words = fields.find(name).unwrap_or_default().split(',');
        words.map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    Ok(match fields.find("act") {
        Some("forget") => SeveralAct::Forget,
        Some("restore") => SeveralAct::Restore,
        Some("tag") => {
            let add = words("add");
            let mut remove = words("had");
            remove.retain(|tag| !add.contains(tag));
            SeveralAct::Tag { add, remove }
        }
        Some("move") => SeveralAct::Move {
            workspace: match fields.find("to").map(str::trim).filter(|name| !name.is_empty()) {
                Some(name) => Some(WorkspaceName::parse(name).map_err(|error| AdminError::Invalid(error.to_string()))?),
                None => None,
            },
            scope: fields.find("scope").and_then(Scope::parse),
        },
        _ => return Err(AdminError::Invalid("choose what to do with the records".to_owned()).into()),
    })
}

fn told(doing: &SeveralAct, several: &Several) -> Flash {
    let done = match doing {
        SeveralAct::Forget => "forgotten",
        SeveralAct::Restore => "restored",
        SeveralAct::Tag { .. } => "tagged",
        SeveralAct::Move { .. } => "moved",
    };
    let count = several.done.len();
    let left = several.left.first().map(|(_, why)| {
        let others = p::counted(several.left.len() as u64, "other");
        format!(" {others} stayed as they were: {why}.")
    });
    let told = Flash::new(format!("{} {done}.{}", p::counted(count as u64, "record"), left.unwrap_or_default()));
    let undo = admin::undo_of(several);
    match serde_json::to_string(&undo) {
        Ok(acts) if !undo.is_empty() && acts.len() <= UNDO_BYTES_MAX => {
            told.with_undo("/console/records/several/undo", "acts", acts)
        }
        _ => told,
    }
}

/// `POST /console/records/several/undo`
pub(super) async fn undo(act: Act) -> Response {
    let back = act.back("/console/memory");
    match try_undo(&act).await {
        // The page of a record that is gone again leads to the one that is back.
        Ok((told, came_back)) => match came_back.as_slice() {
            [one] if back.starts_with(RECORDS) => act.visit.done(Ok(told), &format!("{RECORDS}{one}")),
            _ => act.visit.done(Ok(told), back),
        },
        Err(error) => act.visit.trouble(&error),
    }
}

/// Does the acts that take another one back. Returns what came back by them.
async fn try_undo(act: &Act) -> Result<(Flash, Vec<RecordId>), ConsoleError> {
    let visit = &act.visit;
    let unreadable = |_| AdminError::Invalid("there is nothing to undo".to_owned());
    let acts: Vec<ChangeSeveral> =
        serde_json::from_str(act.fields.find("acts").unwrap_or_default()).map_err(unreadable)?;
    let (mut came_back, mut left) = (Vec::new(), None);
    let mut changed = 0;
    for one in acts {
        let (doing, ids) = admin::read_several(one)?;
        let several = visit.engine().change_several(&visit.visitor.admin, visit.project()?, &ids, &doing).await?;
        if doing != SeveralAct::Forget {
            changed += several.done.len();
            came_back.extend(several.done);
        }
        left = left.or(several.left.into_iter().next());
    }
    if let Some((_, why)) = left.as_ref().filter(|_| changed == 0) {
        return Err(AdminError::Conflict(why.clone()).into());
    }
    let left = left.map(|(_, why)| format!(" Not everything could be undone: {why}."));
    let changed = p::counted(changed as u64, "record");
    Ok((Flash::new(format!("Undone: {changed} as before.{}", left.unwrap_or_default())), came_back))
}
