//! Records, as visible to the caller: listed, restored, purged.

use std::collections::BTreeSet;

use futures_util::future::try_join_all;
use jiff::SignedDuration;
use mnemon_core::{
    AccountId, Member, MemberId, Project, ProjectId, RecordId, Scope, Seq, Status, Timestamp, Viewer, WorkspaceName,
};
use mnemon_store::{Listed, Portion, RecordFilter, WorkspaceRow};

use super::record_order::RecordSort;
use super::{ADMINS_ONLY, AdminContext, AdminError};
use crate::Engine;
use crate::freshness::Claim;
use crate::standings::Stood;

/// How long a forgotten record, or a deleted workspace, can be restored.
pub(super) const RESTORE_DAYS: i64 = 30;
/// How many rows are read at a time while looking for those the caller may see.
const PAGE_ROWS: usize = 200;
/// How many reads look for what somebody forgot who is no admin: what others forgot lies between.
const OTHERS_READS_MAX: usize = 10;
/// The texts of a page have at most a mebibyte: a read ends with the record that fills this, which has less than the
/// difference.
const PAGE_BYTES: usize = (1 << 20) - (24 << 10);
/// How many records one round of the clean-up purges: few enough to let saves through in between.
const PURGE_ROWS: usize = 500;

/// Which records to list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordQuery {
    pub workspace: Option<WorkspaceName>,
    pub source_id: Option<String>,
    /// Forgotten records instead of live ones.
    pub is_forgotten: bool,
    pub status: Option<Status>,
    pub scope: Option<Scope>,
    /// The author's name, or its id as a member.
    pub author: Option<String>,
    /// A key that a caller gave.
    pub fact_key: Option<String>,
    /// Whether a source is named.
    pub has_source: Option<bool>,
    pub sort: RecordSort,
    /// Only records after the one at this log position, in the order of the list.
    pub before: Option<Seq>,
    /// Maximum number of rows.
    pub limit: usize,
}

/// A record in a list, with its status for the caller.
#[derive(Debug, Clone, PartialEq)]
pub struct ShownRecord {
    pub listed: Listed,
    pub status: Status,
}

/// A page of records, newest first: as many as were asked for, or fewer that have a mebibyte of text together.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordPage {
    pub records: Vec<ShownRecord>,
    /// Where the next page starts, if there may be one.
    pub next: Option<Seq>,
}

impl Engine {
    /// Lists records that the caller may see.
    pub async fn list_records(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        query: RecordQuery,
    ) -> Result<RecordPage, AdminError> {
        let project = self.readable_project(ctx, project).await?;
        if query.is_forgotten {
            return self.list_gone(ctx, &project, query).await;
        }
        if query.sort != RecordSort::Newest {
            return self.list_sorted(ctx, &project, query).await;
        }
        let (viewer, wanted, limit, mut before) = (ctx.viewer(), query.status, query.limit, query.before);
        let Some(filter) = self.narrow(ctx, &project, &viewer, query).await? else {
            return Ok(RecordPage { records: Vec::new(), next: None });
        };
        // Storage knows who may see a record, and not what its status is for them.
        let is_exact = wanted.is_none() || filter.among.is_some();
        let rows_max = if is_exact { PAGE_ROWS.min(limit + 1) } else { PAGE_ROWS };
        let (mut seen, mut bytes): (Vec<ShownRecord>, usize) = (Vec::new(), 0);
        let next = loop {
            let portion = Portion { rows_max, bytes_max: PAGE_BYTES.saturating_sub(bytes) };
            let mut rows = self.store.list_records(project.id, filter.clone(), before, portion).await?;
            let is_end = !portion.is_filled_by(rows.iter().map(|row| &row.record));
            before = rows.last().map(|row| row.record.seq).or(before);
            rows.retain(|row| viewer.sees(&row.record.audience));
            let judged = self.judge_listed(ctx, project.id, rows).await?;
            let fits = |shown: &ShownRecord| wanted.is_none_or(|wanted| shown.status == wanted);
            for shown in judged.into_iter().filter(fits) {
                bytes += shown.listed.record.text_bytes();
                seen.push(shown);
            }
            if seen.len() > limit {
                seen.truncate(limit);
                break seen.last().map(|shown| shown.listed.record.seq);
            }
            if is_end {
                break None;
            }
            if bytes >= PAGE_BYTES {
                break before;
            }
        };
        Ok(RecordPage { records: seen, next })
    }

    /// Lists forgotten records, the latest forgotten first. Those who are no admins see what they forgot themselves.
    async fn list_gone(
        &self,
        ctx: &AdminContext,
        project: &Project,
        query: RecordQuery,
    ) -> Result<RecordPage, AdminError> {
        let (wanted, limit, last) = (query.status, query.limit, query.before);
        let Some(filter) = self.narrow(ctx, project, &ctx.viewer(), query).await? else {
            return Ok(RecordPage { records: Vec::new(), next: None });
        };
        let mut before = match last {
            Some(seq) => Some(self.gone_at(project, &filter, seq).await?),
            None => None,
        };
        let audiences = filter.audiences.clone().unwrap_or_default();
        let (mut seen, mut bytes): (Vec<ShownRecord>, usize) = (Vec::new(), 0);
        let mut reads_left = if ctx.not_admin().is_some() { OTHERS_READS_MAX } else { usize::MAX };
        loop {
            reads_left -= 1;
            let places = self.store.list_gone(project.id, &audiences, before, PAGE_ROWS).await?;
            let is_end = places.len() < PAGE_ROWS;
            before = places.last().copied().or(before);
            let among = Some(places.iter().map(|(_, seq)| *seq).collect());
            let filter = RecordFilter { among, ..filter.clone() };
            let mut rows = self.store.list_records(project.id, filter, None, Portion::of_rows(PAGE_ROWS)).await?;
            rows.retain(|row| ctx.viewer().sees(&row.record.audience));
            rows.sort_by_key(|row| std::cmp::Reverse((row.forgotten_at, row.record.seq)));
            for shown in self.judge_listed(ctx, project.id, rows).await? {
                let fits = wanted.is_none_or(|wanted| shown.status == wanted);
                if !fits || (ctx.not_admin().is_some() && !self.is_own_forget(ctx, project, &shown.listed).await?) {
                    continue;
                }
                if seen.len() == limit || bytes >= PAGE_BYTES {
                    let next = seen.last().map(|shown| shown.listed.record.seq);
                    return Ok(RecordPage { records: seen, next });
                }
                bytes += shown.listed.record.text_bytes();
                seen.push(shown);
            }
            if is_end || reads_left == 0 {
                return Ok(RecordPage { records: seen, next: None });
            }
        }
    }

    /// When the record at a place was forgotten.
    async fn gone_at(
        &self,
        project: &Project,
        filter: &RecordFilter,
        seq: Seq,
    ) -> Result<(Timestamp, Seq), AdminError> {
        let audiences = filter.audiences.clone();
        let filter = RecordFilter { is_forgotten: true, among: Some(vec![seq]), audiences, ..RecordFilter::default() };
        let found = self.store.list_records(project.id, filter, None, Portion::of_rows(1)).await?;
        let at = found.first().and_then(|row| row.forgotten_at);
        at.map(|at| (at, seq)).ok_or_else(|| {
            let text = "the record where the next page starts is not forgotten any more; start from the first page";
            AdminError::Invalid(text.to_owned())
        })
    }

    /// The part of a query that storage can answer; `None` where nothing can fit.
    async fn narrow(
        &self,
        ctx: &AdminContext,
        project: &Project,
        viewer: &Viewer,
        query: RecordQuery,
    ) -> Result<Option<RecordFilter>, AdminError> {
        let mut audiences = viewer.audiences();
        audiences.retain(|audience| query.scope.is_none_or(|scope| audience.scope() == scope));
        let authors = match &query.author {
            Some(author) => Some(self.members_called(project.account, author).await?),
            None => None,
        };
        let is_confirmed = match query.status.filter(|_| authors.is_some()) {
            Some(Status::Verified) => Some(true),
            Some(Status::Unverified) => Some(false),
            Some(Status::Stale | Status::Conflict) | None => None,
        };
        let among = match query.status.filter(|_| !query.is_forgotten && is_confirmed.is_none()) {
            Some(wanted) => Some(self.list_with_status(ctx, project.id, viewer, wanted, &query).await?),
            None => None,
        };
        let is_hopeless = audiences.is_empty()
            || authors.as_ref().is_some_and(Vec::is_empty)
            || among.as_ref().is_some_and(Vec::is_empty);
        let RecordQuery { workspace, source_id, is_forgotten, fact_key, has_source, .. } = query;
        let audiences = Some(audiences);
        let filter = RecordFilter {
            workspace,
            source_id,
            is_forgotten,
            audiences,
            authors,
            fact_key,
            has_source,
            is_confirmed,
            among,
        };
        Ok((!is_hopeless).then_some(filter))
    }

    /// The places of the newest records with a status, as many as a page needs. What the indexes do not know is their
    /// author.
    async fn list_with_status(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        viewer: &Viewer,
        wanted: Status,
        query: &RecordQuery,
    ) -> Result<Vec<Seq>, AdminError> {
        let mut seqs: Vec<Seq> = Vec::new();
        let fits = |record: &Stood<'_>| {
            record.status() == wanted
                && query.before.is_none_or(|before| record.seq() < before)
                && query.scope.is_none_or(|scope| record.scope() == scope)
                && query.source_id.as_deref().is_none_or(|id| record.source_id() == Some(id))
                && query.has_source.is_none_or(|has| record.source_no().is_some() == has)
                && query.fact_key.as_deref().is_none_or(|key| record.fact_key() == Some(key))
        };
        let gather = |place: &WorkspaceRow, records: &mut dyn Iterator<Item = Stood<'_>>| {
            if query.workspace.as_ref().is_none_or(|name| place.name == *name) {
                seqs.extend(records.filter(fits).map(|record| record.seq()));
            }
        };
        self.each_workspace(project, viewer, ctx.now, gather).await?;
        seqs.sort_unstable_by(|a, b| b.cmp(a));
        if query.author.is_none() {
            seqs.truncate(query.limit + 1);
        }
        Ok(seqs)
    }

    /// The members of an account with this name, or with this id.
    async fn members_called(&self, account: AccountId, author: &str) -> Result<Vec<MemberId>, AdminError> {
        let members = self.store.list_members(account).await?;
        let id = author.parse::<MemberId>().ok();
        let is_meant = |member: &Member| member.name == author || Some(member.id) == id;
        Ok(members.iter().filter(|member| is_meant(member)).map(|member| member.id).collect())
    }

    /// Restores a record forgotten in the last 30 days: an admin any that it sees, others what they forgot themselves.
    pub async fn restore_record(&self, ctx: &AdminContext, id: RecordId) -> Result<ShownRecord, AdminError> {
        let (project, listed) = match ctx.not_admin() {
            Some(credential) => {
                let project = self.reachable_project(ctx, credential.project).await?;
                let listed = self.store.find_any(project.id, id).await?.ok_or(ADMINS_ONLY)?;
                if !self.is_own_forget(ctx, &project, &listed).await? {
                    return Err(ADMINS_ONLY);
                }
                (project, listed)
            }
            None => self.visible_record(ctx, id, false).await?,
        };
        ctx.need_write()?;
        if listed.forgotten_at.is_none() {
            return Err(AdminError::Conflict("the record is not forgotten".to_owned()));
        }
        let records_max = self.records_max(&project).await?;
        let since = moment_before(ctx.now);
        let audit = self.admin_audit(ctx, project.account, Some(project.id), "record.restore", id);
        let record = self.store.restore(project.id, id, since, records_max, audit).await?.ok_or_else(|| {
            let text = format!(
                "can't restore the record: it was forgotten more than {RESTORE_DAYS} days ago, or the project is full"
            );
            AdminError::Conflict(text)
        })?;
        let restored = vec![Listed { record, forgotten_at: None, superseded_by: None }];
        let mut shown = self.judge_listed(ctx, project.id, restored).await?;
        Ok(shown.pop().expect("one record gives one"))
    }

    /// Makes room for what was just forgotten in a project, as its account's plan has it. What was forgotten stays so
    /// if this fails: the answer must not say otherwise.
    pub(super) async fn purge_beyond_plan(&self, ctx: &AdminContext, project: &Project, count: usize) -> u64 {
        match self.find_account_or_absent(project.account).await.map(|account| account.plan()) {
            Ok(Some(plan)) => self.purge_beyond(project.id, self.plans.limits(plan), count, ctx.now).await,
            Ok(None) => 0,
            Err(error) => {
                tracing::warn!(%error, project = %project.id, "could not look up the plan of a project");
                0
            }
        }
    }

    /// How many live records a project may have.
    pub(super) async fn records_max(&self, project: &Project) -> Result<Option<u64>, AdminError> {
        let account = self.find_account_or_absent(project.account).await?;
        Ok(account.plan().and_then(|plan| self.plans.limits(plan).records_max))
    }

    /// Forgets a record, or purges it. Answers how many others had to be purged to make room among the forgotten ones.
    pub async fn delete_record(&self, ctx: &AdminContext, id: RecordId, is_purge: bool) -> Result<u64, AdminError> {
        let (project, listed) = self.visible_record(ctx, id, is_purge).await?;
        ctx.need_write()?;
        if is_purge {
            let audit = self.admin_audit(ctx, project.account, Some(project.id), "record.purge", id);
            let was_there = self.store.purge(project.id, id, audit).await?;
            return if was_there { Ok(0) } else { Err(AdminError::NotFound("record")) };
        }
        let audit = self.admin_audit(ctx, project.account, Some(project.id), "record.forget", id);
        let forgotten = self.store.forget(project.id, &[listed.record.seq], audit).await?;
        if forgotten.is_empty() {
            return Err(AdminError::NotFound("record"));
        }
        Ok(self.purge_beyond_plan(ctx, &project, forgotten.len()).await)
    }

    /// Purges records forgotten more than 30 days ago. Returns the number of records removed.
    pub async fn purge_old(&self) -> Result<u64, mnemon_store::StoreError> {
        let before = moment_before(self.clock.now());
        let mut total = 0;
        loop {
            let purged = self.store.purge_forgotten(before, PURGE_ROWS).await?;
            total += purged;
            if purged < PURGE_ROWS as u64 {
                return Ok(total);
            }
        }
    }

    /// Rewrites storage and reclaims free space.
    pub async fn compact(&self, ctx: &AdminContext) -> Result<(), AdminError> {
        ctx.need_operator()?;
        Ok(self.store.compact().await?)
    }

    /// A live or forgotten record that the caller may see, in any of the caller's projects.
    async fn visible_record(
        &self,
        ctx: &AdminContext,
        id: RecordId,
        is_purge: bool,
    ) -> Result<(Project, Listed), AdminError> {
        if ctx.not_admin().is_some() {
            return Err(ADMINS_ONLY);
        }
        // The operator may purge what it can't read, because it needs only the id. Restoring shows the text.
        self.find_in_any_project(ctx, id, is_purge && ctx.is_operator()).await
    }

    /// The record with this id in the caller's projects. An id is one record's within a project; an import may have
    /// brought it to another one too. Then the project of the caller's key is meant.
    pub(super) async fn find_in_any_project(
        &self,
        ctx: &AdminContext,
        id: RecordId,
        sees_all: bool,
    ) -> Result<(Project, Listed), AdminError> {
        let (viewer, mut found) = (ctx.viewer(), Vec::new());
        for project in self.administered_projects(ctx).await? {
            let listed = self.store.find_any(project.id, id).await?;
            found.extend(
                listed
                    .filter(|listed| sees_all || viewer.sees(&listed.record.audience))
                    .map(|listed| (project, listed)),
            );
        }
        let own = ctx.credential().map(|credential| credential.project);
        if let Some(at) = found.iter().position(|(project, _)| Some(project.id) == own) {
            return Ok(found.swap_remove(at));
        }
        if found.len() > 1 {
            let text = "several projects have a record with this id; use the key of an admin of the right one";
            return Err(AdminError::Conflict(text.to_owned()));
        }
        found.pop().ok_or(AdminError::NotFound("record"))
    }

    pub(super) async fn administered_projects(&self, ctx: &AdminContext) -> Result<Vec<Project>, AdminError> {
        if let Some(account) = ctx.account_of_caller() {
            return Ok(self.store.list_projects(account).await?);
        }
        let (mut projects, mut after) = (Vec::new(), None);
        loop {
            let accounts = self.store.list_accounts(after, PAGE_ROWS).await?;
            for account in &accounts {
                projects.extend(self.store.list_projects(account.id).await?);
            }
            after = accounts.last().map(|account| account.id);
            if accounts.len() < PAGE_ROWS {
                return Ok(projects);
            }
        }
    }

    /// Leaves out which record took the place of another where the caller can't see it: a draft may have done so.
    pub(super) async fn hide_successors(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        listed: &mut [Listed],
    ) -> Result<(), AdminError> {
        let ids: BTreeSet<RecordId> = listed.iter().filter_map(|row| row.superseded_by).collect();
        let found = try_join_all(ids.iter().map(|id| self.store.find_any(project, *id))).await?;
        let viewer = ctx.viewer();
        let seen = found.into_iter().flatten().filter(|row| viewer.sees(&row.record.audience));
        let seen: BTreeSet<RecordId> = seen.map(|row| row.record.id).collect();
        listed.iter_mut().for_each(|row| row.superseded_by = row.superseded_by.filter(|id| seen.contains(id)));
        Ok(())
    }

    pub(super) async fn judge_listed(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        mut listed: Vec<Listed>,
    ) -> Result<Vec<ShownRecord>, AdminError> {
        self.hide_successors(ctx, project, &mut listed).await?;
        let claims: Vec<Claim<'_>> = listed.iter().map(|row| Claim::of_record(&row.record)).collect();
        let judged = self.judge_for(project, &ctx.viewer(), ctx.now, &claims, &[]).await?;
        Ok(listed
            .into_iter()
            .zip(judged)
            .map(|(listed, judged)| ShownRecord { listed, status: judged.status() })
            .collect())
    }
}

/// What was forgotten or deleted before this moment can't be restored.
pub(super) fn moment_before(now: Timestamp) -> Timestamp {
    now.saturating_sub(SignedDuration::from_hours(24 * RESTORE_DAYS)).unwrap_or(Timestamp::MIN)
}
