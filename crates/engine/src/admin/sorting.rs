//! Lists of records in other orders than the log's. The indexes know what they are ordered by; only the texts of one
//! page are read.

use std::collections::BinaryHeap;

use mnemon_core::{Project, Record, Seq};
use mnemon_store::{Listed, WorkspaceRow};

use super::record_order::{Place, RecordSort, as_read};
use super::records::{RecordPage, RecordQuery};
use super::{AdminContext, AdminError};
use crate::Engine;
use crate::standings::Stood;

impl Engine {
    /// As `list_records`, in another order than the log's.
    pub(super) async fn list_sorted(
        &self,
        ctx: &AdminContext,
        project: &Project,
        query: RecordQuery,
    ) -> Result<RecordPage, AdminError> {
        if query.author.is_some() {
            let text = "the records of one author are listed newest first; leave sort out, or author";
            return Err(AdminError::Invalid(text.to_owned()));
        }
        let sort = query.sort;
        let after = match query.before {
            Some(seq) => Some(self.last_place(project, sort, seq).await?),
            None => None,
        };
        // The first of those that come after, as many as a page has and one more.
        let mut first: BinaryHeap<(Place<String>, Seq)> = BinaryHeap::new();
        let gather = |row: &WorkspaceRow, records: &mut dyn Iterator<Item = Stood<'_>>| {
            if query.workspace.as_ref().is_some_and(|name| row.name != *name) {
                return;
            }
            for record in records.filter(|record| fits(&query, record)) {
                let place = sort.place(
                    || record.fact_key(),
                    || record.source_id(),
                    record.saved_at().as_second(),
                    record.seq(),
                );
                let is_full = first.len() > query.limit;
                if after.as_ref().is_some_and(|after| place <= as_read(after))
                    || is_full && first.peek().is_some_and(|(last, _)| place >= as_read(last))
                {
                    continue;
                }
                if is_full {
                    first.pop();
                }
                first.push(((place.0, place.1.to_owned(), place.2, place.3), record.seq()));
            }
        };
        self.each_workspace(project.id, &ctx.viewer(), ctx.now, gather).await?;
        let mut seqs: Vec<Seq> = first.into_sorted_vec().into_iter().map(|(_, seq)| seq).collect();
        let has_more = seqs.len() > query.limit;
        seqs.truncate(query.limit);
        let records = self.store.load(project.id, &seqs).await?;
        let seen = records.into_iter().filter(|record| ctx.viewer().sees(&record.audience));
        let listed = seen.map(|record| Listed { record, forgotten_at: None, superseded_by: None }).collect();
        let next = seqs.last().copied().filter(|_| has_more);
        Ok(RecordPage { records: self.judge_listed(ctx, project.id, listed).await?, next })
    }

    /// Where the page before ended.
    async fn last_place(&self, project: &Project, sort: RecordSort, seq: Seq) -> Result<Place<String>, AdminError> {
        let found = self.store.load(project.id, &[seq]).await?;
        let record: &Record = found.first().ok_or_else(|| {
            let text = "the record where the next page starts is gone; start from the first page";
            AdminError::Invalid(text.to_owned())
        })?;
        let (key, source) = (|| record.fact_key.chosen(), || record.fact.source_id.as_deref());
        let place = sort.place(key, source, record.updated_at.as_second(), seq);
        Ok((place.0, place.1.to_owned(), place.2, place.3))
    }
}

fn fits(query: &RecordQuery, record: &Stood<'_>) -> bool {
    query.status.is_none_or(|wanted| record.status() == wanted)
        && query.scope.is_none_or(|scope| record.scope() == scope)
        && query.source_id.as_deref().is_none_or(|id| record.source_id() == Some(id))
        && query.has_source.is_none_or(|has| record.source_no().is_some() == has)
        && query.fact_key.as_deref().is_none_or(|key| record.fact_key() == Some(key))
}
