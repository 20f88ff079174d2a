//! What becomes of a save, decided by what its transaction found. Both engines gather the facts and carry the
//! decision out; the rule itself is only here.

use mnemon_core::{RecordId, Seq, WorkspaceNo};

use super::RecordSummary;
use super::audit::insert_audit;
use super::log::changes;
use super::records::{EarlierUse, Insert, Inserted};
use crate::statement::{Cell, Statement, statement};

/// What a save depends on, as it is while the project is locked.
pub(crate) struct Found {
    /// The use of its idempotency key that still counts.
    pub(crate) earlier: Option<EarlierUse>,
    /// The records that it replaces, in any order, or the id of one that its viewer can't see.
    pub(crate) superseded: Result<Vec<RecordSummary>, RecordId>,
    /// The oldest live record that it would only repeat.
    pub(crate) duplicate: Option<Seq>,
    pub(crate) live_records: u64,
    /// The active workspace of its name.
    pub(crate) workspace: Option<WorkspaceNo>,
    /// How many workspaces are active. Only read if the save would begin one and the plan limits them.
    pub(crate) workspaces: u64,
}

pub(crate) enum Decision {
    /// The first call with this idempotency key is answered again.
    Replay(EarlierUse),
    /// Nothing is stored, and this is the answer.
    Refuse(Inserted),
    /// An equal record is there. It is refreshed, and takes the place of the others.
    Refresh { duplicate: Seq, superseded: Vec<RecordSummary> },
    /// The record is stored, and takes the place of these, oldest first.
    Write { superseded: Vec<RecordSummary> },
}

/// Idempotency key, superseded records, duplicate, limits, in this order: the first that applies decides.
pub(crate) fn decide(insert: &Insert, found: Found) -> Decision {
    match found.earlier {
        Some(earlier) if earlier.is_same => return Decision::Replay(earlier),
        Some(_) => return Decision::Refuse(Inserted::KeyReused),
        None => {}
    }
    let superseded = match found.superseded {
        Ok(superseded) => to_supersede(superseded, found.duplicate),
        Err(id) => return Decision::Refuse(Inserted::NotFound(id)),
    };
    if let Some(duplicate) = found.duplicate {
        return Decision::Refresh { duplicate, superseded };
    }
    let staying = found.live_records.saturating_sub(superseded.len() as u64);
    if insert.records_max.is_some_and(|max| staying >= max) {
        return Decision::Refuse(Inserted::LimitReached);
    }
    let begins_workspace = found.workspace.is_none();
    if begins_workspace && insert.workspaces_max.is_some_and(|max| found.workspaces >= max) {
        return Decision::Refuse(Inserted::TooManyWorkspaces);
    }
    Decision::Write { superseded }
}

/// Forgets the records that another one replaces, each at a place in the log, from the first one on.
pub(crate) fn supersede(insert: &Insert, by: RecordId, superseded: &[RecordSummary], first: Seq) -> Vec<Statement> {
    const UPDATE: &str =
        "UPDATE record SET forgotten_at = $3, superseded_by = $4 WHERE project_id = $1 AND seq = ANY($2)";
    let Some(wanted) = &insert.supersede else { return Vec::new() };
    let (project, at) = (insert.record.project, wanted.audit.at);
    let seqs: Vec<Seq> = superseded.iter().map(|summary| summary.seq).collect();
    vec![
        statement!(UPDATE, project, Cell::list(seqs.iter().copied()), at, by),
        changes(project, first, "forget", &seqs, at),
        insert_audit(&wanted.audit_of(by, insert.record.audience), seqs.len() as u64),
    ]
}

/// Oldest first, each once, without the record that takes their place.
fn to_supersede(mut summaries: Vec<RecordSummary>, kept: Option<Seq>) -> Vec<RecordSummary> {
    summaries.sort_unstable_by_key(|summary| summary.seq);
    summaries.dedup_by_key(|summary| summary.seq);
    summaries.retain(|summary| Some(summary.seq) != kept);
    summaries
}

#[cfg(test)]
mod tests {
    use mnemon_core::{Audience, ContentHash, Fact, FactKey, MemberId, NewRecord, ProjectId, Timestamp, WorkspaceName};

    use super::*;

    fn insert(records_max: Option<u64>, workspaces_max: Option<u64>) -> Insert {
        let record = NewRecord {
            id: RecordId::from_bytes([1; 16]),
            project: ProjectId::from_bytes([2; 16]),
            workspace: WorkspaceName::default(),
            audience: Audience::Shared,
            author: MemberId::from_bytes([3; 16]),
            department: None,
            fact_key: FactKey { text: "key".to_owned(), is_given: true },
            fact: Fact { content: "a fact".to_owned(), ..Fact::default() },
            is_cautioned: false,
            key: None,
            created_at: Timestamp::UNIX_EPOCH,
            refreshed_elsewhere_at: None,
            embedding: Vec::new(),
        };
        Insert { record, records_max, workspaces_max, idempotency: None, supersede: None }
    }

    fn summary(seq: u64) -> RecordSummary {
        RecordSummary {
            id: RecordId::from_bytes([seq as u8; 16]),
            seq: Seq(seq),
            workspace_no: WorkspaceNo(1),
            audience: Audience::Shared,
            given_fact_key: None,
            content_hash: ContentHash::from_bytes([0; 16]),
            source_id: None,
            source_hash: None,
            valid_until: None,
        }
    }

    fn earlier(is_same: bool) -> Option<EarlierUse> {
        Some(EarlierUse { is_same, seq: Seq(1), was_duplicate: false, answer: None })
    }

    /// Nothing is in the way.
    fn free() -> Found {
        let (workspace, superseded) = (Some(WorkspaceNo(1)), Ok(Vec::new()));
        Found { earlier: None, superseded, duplicate: None, live_records: 3, workspace, workspaces: 0 }
    }

    fn refusal(decision: Decision) -> Inserted {
        let Decision::Refuse(inserted) = decision else { panic!("it is not refused") };
        inserted
    }

    #[test]
    fn the_idempotency_key_decides_before_anything_else() {
        let hidden = RecordId::from_bytes([9; 16]);
        let found =
            |is_same| Found { earlier: earlier(is_same), superseded: Err(hidden), duplicate: Some(Seq(2)), ..free() };
        assert!(matches!(decide(&insert(Some(0), None), found(true)), Decision::Replay(_)));
        assert_eq!(refusal(decide(&insert(Some(0), None), found(false))), Inserted::KeyReused);
        let unused = Found { earlier: None, ..found(true) };
        assert_eq!(refusal(decide(&insert(Some(0), None), unused)), Inserted::NotFound(hidden));
    }

    #[test]
    fn a_duplicate_needs_no_room_and_is_not_among_those_it_replaces() {
        let superseded = Ok([7, 2, 5, 2].map(summary).to_vec());
        let found = Found { superseded, duplicate: Some(Seq(5)), ..free() };
        let Decision::Refresh { duplicate, superseded } = decide(&insert(Some(0), None), found) else { panic!() };
        assert_eq!((duplicate, superseded), (Seq(5), vec![summary(2), summary(7)]));
    }

    #[test]
    fn what_a_save_replaces_makes_room_for_it() {
        let with = |count: u64| Found { superseded: Ok((1..=count).map(summary).collect()), ..free() };
        assert_eq!(refusal(decide(&insert(Some(3), None), with(0))), Inserted::LimitReached);
        assert!(matches!(decide(&insert(Some(3), None), with(1)), Decision::Write { .. }));
        assert!(matches!(decide(&insert(Some(4), None), with(0)), Decision::Write { .. }));
        assert_eq!(refusal(decide(&insert(Some(2), None), with(1))), Inserted::LimitReached);
    }

    #[test]
    fn only_a_save_that_begins_a_workspace_needs_room_for_one() {
        let begins = |workspaces| Found { workspace: None, workspaces, ..free() };
        assert_eq!(refusal(decide(&insert(None, Some(2)), begins(2))), Inserted::TooManyWorkspaces);
        assert!(matches!(decide(&insert(None, Some(2)), begins(1)), Decision::Write { .. }));
        assert!(matches!(decide(&insert(None, None), begins(2)), Decision::Write { .. }));
        assert!(matches!(decide(&insert(None, Some(0)), free()), Decision::Write { .. }));
    }
}
