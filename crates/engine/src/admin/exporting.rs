//! Reads everything that the caller sees of a project, piece by piece: the records oldest first, then what is known
//! about their sources. One upper bound of the log holds for all pieces. It works in every state of the subscription.

use std::collections::HashSet;

use mnemon_core::{Audience, Department, ProjectId, Record, Scope, Seq, Status, WorkspaceName, WorkspaceNo};
use mnemon_store::{Portion, Seen, Stretch};

use super::{AdminContext, AdminError};
use crate::Engine;
use crate::freshness::{Claim, Judged};

/// How much a piece has: little enough to be small in memory for as long as a slow reader takes.
const PORTION: Portion = Portion { rows_max: 200, bytes_max: 96 << 10 };
/// How many sources one look reads.
const SOURCES_MAX: usize = 50;

/// An export on its way.
#[derive(Debug)]
pub struct Export {
    ctx: AdminContext,
    project: ProjectId,
    stretch: Stretch,
    /// The only workspace to export.
    workspace: Option<WorkspaceNo>,
    departments: Vec<Department>,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    Records,
    /// After this source.
    Sources(Option<String>),
    Done,
}

/// A part of an export.
#[derive(Debug)]
pub enum ExportPiece {
    Records(Vec<(Record, Status)>),
    Sources(Vec<ExportedSource>),
}

/// What an audience knows about a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedSource {
    pub source_id: String,
    pub workspace: WorkspaceName,
    pub scope: Scope,
    /// The name of the department that knows it.
    pub department: Option<String>,
    pub known: Seen,
    pub confirmed_hash: Option<String>,
}

impl Engine {
    /// Begins an export of what the caller sees, of one workspace or all. What is saved from now on is not part of it.
    pub async fn begin_export(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        workspace: Option<WorkspaceName>,
    ) -> Result<Export, AdminError> {
        let project = self.readable_project(ctx, project).await?;
        let upto = self.store.last_seq(project.id).await?.unwrap_or_default();
        let only = match &workspace {
            Some(name) => Some(self.store.find_workspace(project.id, name).await?),
            None => None,
        };
        let only = only.map(|found| found.ok_or(AdminError::NotFound("workspace"))).transpose()?;
        if only.as_ref().is_some_and(|only| !only.audiences.iter().any(|audience| ctx.viewer().sees(audience))) {
            return Err(AdminError::NotFound("workspace"));
        }
        let stretch = Stretch { audiences: ctx.viewer().audiences(), workspace, after: Seq(0), upto };
        let departments = self.store.list_departments(project.account).await?;
        let (ctx, project, workspace) = (ctx.clone(), project.id, only.map(|only| only.no));
        Ok(Export { ctx, project, stretch, workspace, departments, stage: Stage::Records })
    }

    /// The next piece; `None` at the end.
    pub async fn continue_export(&self, export: &mut Export) -> Result<Option<ExportPiece>, AdminError> {
        loop {
            let piece = match &export.stage {
                Stage::Records => self.export_records(export).await?,
                Stage::Sources(_) => self.export_sources(export).await?,
                Stage::Done => return Ok(None),
            };
            let is_empty = match &piece {
                ExportPiece::Records(records) => records.is_empty(),
                ExportPiece::Sources(sources) => sources.is_empty(),
            };
            if !is_empty {
                return Ok(Some(piece));
            }
        }
    }

    async fn export_records(&self, export: &mut Export) -> Result<ExportPiece, AdminError> {
        let (viewer, now) = (export.ctx.viewer(), export.ctx.now);
        let mut records = self.store.list_onward(export.project, export.stretch.clone(), PORTION).await?;
        match records.last() {
            Some(last) => export.stretch.after = last.seq,
            None => export.stage = Stage::Sources(None),
        }
        records.retain(|record| viewer.sees(&record.audience));
        let claims: Vec<Claim<'_>> = records.iter().map(Claim::of_record).collect();
        let judged = self.judge_for(export.project, &viewer, now, &claims, &[]).await?;
        let statuses: Vec<Status> = judged.iter().map(Judged::status).collect();
        Ok(ExportPiece::Records(records.into_iter().zip(statuses).collect()))
    }

    async fn export_sources(&self, export: &mut Export) -> Result<ExportPiece, AdminError> {
        let Stage::Sources(after) = &export.stage else { return Ok(ExportPiece::Sources(Vec::new())) };
        let viewer = export.ctx.viewer();
        let mut summaries = self.store.list_after_source(export.project, after.as_deref(), SOURCES_MAX).await?;
        let last = summaries.last().and_then(|summary| summary.source_id.clone());
        export.stage = last.map_or(Stage::Done, |last| Stage::Sources(Some(last)));
        let is_in = |no: WorkspaceNo| export.workspace.is_none_or(|only| only == no);
        summaries.retain(|summary| {
            viewer.sees(&summary.audience) && summary.seq <= export.stretch.upto && is_in(summary.workspace_no)
        });
        let sources: HashSet<(WorkspaceNo, &str)> = summaries
            .iter()
            .filter_map(|summary| Some((summary.workspace_no, summary.source_id.as_deref()?)))
            .collect();
        let ids: Vec<&str> = sources.iter().map(|(_, id)| *id).collect();
        if ids.is_empty() {
            return Ok(ExportPiece::Sources(Vec::new()));
        }
        let names = self.workspace_names(export.project).await?;
        let mut parts = self.store.list_sources(export.project, &ids).await?;
        parts.retain(|part| {
            viewer.sees(&part.audience) && sources.contains(&(part.workspace_no, part.source_id.as_str()))
        });
        // Of what several audiences know the latest counts, so they are taken over in that order.
        parts.sort_by_cached_key(|part| (part.source_id.clone(), part.workspace_no, part.state.known_seq));
        let exported = parts.into_iter().filter_map(|part| {
            Some(ExportedSource {
                workspace: names.get(&part.workspace_no)?.clone(),
                scope: part.audience.scope(),
                department: export.department_name(part.audience),
                known: match part.state.known_hash {
                    Some(hash) => Seen::Hash(hash),
                    None => Seen::Gone { moved_to: part.state.moved_to },
                },
                confirmed_hash: part.state.confirmed_hash,
                source_id: part.source_id,
            })
        });
        Ok(ExportPiece::Sources(exported.collect()))
    }
}

impl Export {
    fn department_name(&self, audience: Audience) -> Option<String> {
        let Audience::Department(id) = audience else { return None };
        let is_meant = |department: &&Department| department.id == id;
        self.departments.iter().find(is_meant).map(|department| department.name.clone())
    }
}
