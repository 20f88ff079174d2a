//! One record: why it has its status, what contradicts it, and which of those to keep.

use mnemon_core::{Project, Reason, Record, RecordId, Seq};
use mnemon_store::Listed;

use super::records::ShownRecord;
use super::{AdminContext, AdminError};
use crate::freshness::{Claim, KnownSource};
use crate::{Engine, Forgotten};

/// More texts than these are not shown beside a record. A list of the records with its key, or with its status, shows
/// all.
const RIVALS_BYTES: usize = 1 << 20;

/// A record with everything that helps a person to judge it.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordDetail {
    pub shown: ShownRecord,
    pub reason: Reason,
    /// What the caller knows about its source; empty without one.
    pub source: KnownSource,
    /// The records that contradict it, oldest first: as many as have a mebibyte of text together.
    pub rivals: Vec<ShownRecord>,
    /// How many there are.
    pub rivals_count: usize,
    pub project: Project,
}

impl Engine {
    /// One record that the caller may see. Forgotten ones are shown to those who may restore them.
    pub async fn show_record(&self, ctx: &AdminContext, id: RecordId) -> Result<RecordDetail, AdminError> {
        let (project, mut listed) = self.readable_record(ctx, id).await?;
        self.hide_successors(ctx, project.id, std::slice::from_mut(&mut listed)).await?;
        let viewer = ctx.viewer();
        let claim = Claim::of_record(&listed.record);
        let judged = self.judge_for(project.id, &viewer, ctx.now, &[claim], &[]).await?;
        let judged = judged.into_iter().next().expect("one claim gives one judgement");
        let (mut rivals, mut bytes) = (Vec::new(), 0);
        for rival in &judged.rivals {
            if bytes >= RIVALS_BYTES {
                break;
            }
            let found = self.store.find(project.id, *rival).await?;
            bytes += found.as_ref().map_or(0, Record::text_bytes);
            rivals.extend(found.map(living));
        }
        let read = rivals.len();
        // A rival may change hands between two reads.
        rivals.retain(|rival| viewer.sees(&rival.record.audience));
        let rivals_count = judged.rivals.len().saturating_sub(read - rivals.len());
        let source = match &listed.record.fact.source_id {
            Some(source_id) => {
                let parts = self.store.list_sources(project.id, &[source_id]).await?;
                KnownSource::of(&viewer, &parts, listed.record.workspace_no, source_id)
            }
            None => KnownSource::default(),
        };
        let rivals = self.judge_listed(ctx, project.id, rivals).await?;
        let shown = ShownRecord { listed, status: judged.status() };
        Ok(RecordDetail { shown, reason: judged.reason, source, rivals, rivals_count, project })
    }

    /// Decides a dispute: forgets the visible records that contradict this one, all or none.
    pub async fn keep_record(&self, ctx: &AdminContext, id: RecordId) -> Result<Forgotten, AdminError> {
        let (project, listed) = self.readable_record(ctx, id).await?;
        ctx.need_write()?;
        if listed.forgotten_at.is_some() {
            return Err(AdminError::Conflict("the record is forgotten; restore it first".to_owned()));
        }
        let rivals = self.rivals_of(project.id, &ctx.viewer(), ctx.now, &listed.record).await?;
        if rivals.is_empty() {
            return Ok(Forgotten { ids: Vec::new(), purged: 0 });
        }
        let seqs: Vec<Seq> = rivals.iter().map(|rival| rival.seq).collect();
        let audit = self.admin_audit(ctx, project.account, Some(project.id), "record.keep", id);
        let ids = self.store.forget(project.id, &seqs, audit).await?;
        let purged = self.purge_beyond_plan(ctx, &project, ids.len()).await;
        Ok(Forgotten { ids, purged })
    }

    /// A record that the caller may see. Only those who may restore a forgotten record find it.
    async fn readable_record(&self, ctx: &AdminContext, id: RecordId) -> Result<(Project, Listed), AdminError> {
        if let Some(credential) = ctx.not_admin() {
            let project = self.reachable_project(ctx, credential.project).await?;
            let found = self.store.find_any(project.id, id).await?;
            let found = found.filter(|listed| credential.viewer.sees(&listed.record.audience));
            let listed = found.ok_or(AdminError::NotFound("record"))?;
            let is_open = listed.forgotten_at.is_none() || self.is_own_forget(ctx, &project, &listed).await?;
            return if is_open { Ok((project, listed)) } else { Err(AdminError::NotFound("record")) };
        }
        self.find_in_any_project(ctx, id, false).await
    }
}

const fn living(record: Record) -> Listed {
    Listed { record, forgotten_at: None, superseded_by: None }
}
