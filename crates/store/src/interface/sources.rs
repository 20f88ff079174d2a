//! What each audience knows about the sources of a workspace.

use async_trait::async_trait;
use mnemon_core::{
    Audience, KeyId, MemberId, ProjectId, Seq, SourceState, Timestamp, WorkspaceName, WorkspaceNo, admits_hash,
    confirms_hash, known_after_save,
};

use crate::StoreError;
use crate::rows::{Cells, Row};
use crate::statement::{Cell, Sql, statement};
use crate::tenant::Tenant;

/// The columns that [`read_part`] reads.
macro_rules! part_columns {
    () => {
        "SELECT source_id, workspace_no, audience, known_seq, confirmed_seq, known_hash, confirmed_hash, moved_to, known_at,
            confirmed_at, confirmed_by
        FROM source
        "
    };
}

pub(crate) const LIST: &str = concat!(
    part_columns!(),
    "WHERE project_id = $1 AND source_id = ANY($2) ORDER BY source_id, workspace_no, audience"
);

/// How many sources are looked up in a short read.
const FEW: usize = 100;

/// All parts of a source in one workspace.
pub(crate) const PARTS: &str =
    concat!(part_columns!(), "WHERE project_id = $1 AND source_id = $2 AND workspace_no = $3 ORDER BY audience");

/// Reads and records what is known about sources.
#[async_trait]
pub trait Sources: Sql {
    /// What each audience knows about these sources, in every workspace.
    async fn list_sources(&self, project: ProjectId, source_ids: &[&str]) -> Result<Vec<SourcePart>, StoreError> {
        let list = statement!(LIST, project, Cell::list(source_ids.iter().copied()));
        let rows = match source_ids.len() {
            0..=FEW => self.select_few(Tenant::project(project), list).await?,
            _ => self.select(Tenant::project(project), list).await?,
        };
        rows.iter().map(|row| read_part(row, project)).collect()
    }

    /// What each audience knows to be confirmed of every source of a project, in no particular order.
    async fn list_confirmations(&self, project: ProjectId) -> Result<Vec<Confirmation>, StoreError> {
        const SELECT: &str = "SELECT source_id, workspace_no, audience, confirmed_seq, confirmed_hash, confirmed_at
            FROM source
            WHERE project_id = $1 AND confirmed_hash IS NOT NULL";
        let rows = self.select(Tenant::project(project), statement!(SELECT, project)).await?;
        rows.iter().map(|row| read_confirmation(row, project)).collect()
    }

    /// Records for everybody what was observed of a source in the living workspace of this name. Without a name it
    /// counts for each workspace that knows the source or has records from it, and for the default one. Takes a seq and
    /// returns it if this is news to anybody (`is_news`), or confirms what nobody had confirmed.
    async fn observe_source(
        &self,
        project: ProjectId,
        workspace: Option<&WorkspaceName>,
        observation: Observation,
        look: Look,
    ) -> Result<Option<Seq>, StoreError>;

    /// Takes over what an audience knew about a source elsewhere. If that audience knows something about it here,
    /// nothing changes: that is newer. Returns whether it was taken over; this takes a seq.
    async fn adopt_source(&self, project: ProjectId, source: AdoptedSource, at: Timestamp) -> Result<bool, StoreError>;
}

/// What somebody saw when they looked at a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    pub source_id: String,
    pub seen: Seen,
}

/// Who looked, and when. `by` is `None` for the operator, who is not a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    pub by: Option<MemberId>,
    /// With which key.
    pub key: Option<KeyId>,
    pub at: Timestamp,
}

/// Whether a source is there, and its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// It has this hash (or several, joined by [`mnemon_core::join_hashes`]), which becomes the newest known and
    /// confirmed one.
    Hash(String),
    /// It does not exist any more.
    Gone { moved_to: Option<String> },
}

impl Seen {
    /// The hash, if it is there.
    pub fn hash(&self) -> Option<&str> {
        match self {
            Self::Hash(hash) => Some(hash),
            Self::Gone { .. } => None,
        }
    }

    /// Where it moved to, if it is gone and that is known.
    pub fn moved_to(&self) -> Option<&str> {
        match self {
            Self::Hash(_) => None,
            Self::Gone { moved_to } => moved_to.as_deref(),
        }
    }
}

/// What an audience knew about a source elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdoptedSource {
    /// A living one; in any other nothing can be known.
    pub workspace: WorkspaceName,
    pub source_id: String,
    pub audience: Audience,
    /// The newest hash, or several of one content, or that it is gone.
    pub known: Seen,
    /// The last confirmed hash.
    pub confirmed_hash: Option<String>,
}

/// The hash of a source that an audience knows to be confirmed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confirmation {
    pub source_id: String,
    pub workspace_no: WorkspaceNo,
    /// Who may know it.
    pub audience: Audience,
    /// Its position in the log; the latest counts.
    pub seq: Seq,
    pub hash: String,
    pub at: Option<Timestamp>,
}

/// What one audience knows about one source of a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcePart {
    pub source_id: String,
    pub workspace_no: WorkspaceNo,
    /// Who may know it.
    pub audience: Audience,
    pub state: SourceState,
    /// When its newest hash was seen, or that it is gone.
    pub known_at: Option<Timestamp>,
    /// When it was last confirmed.
    pub confirmed_at: Option<Timestamp>,
    /// Who confirmed it, if that is known.
    pub confirmed_by: Option<MemberId>,
}

/// Something that may change what is known about a source.
#[derive(Clone, Copy)]
pub(crate) enum Sight<'a> {
    /// A hash came with a save. One that could not be compared before is no news: nothing was learned about the rest.
    Saved(&'a str),
    /// Somebody looked.
    Observed(&'a Seen),
}

impl Sight<'_> {
    fn is_known(self, state: &SourceState) -> bool {
        match (self, state.known_hash.as_deref()) {
            (Self::Saved(hash), Some(known)) => admits_hash(known, hash),
            (Self::Observed(Seen::Hash(hash)), Some(known)) => confirms_hash(known, hash),
            (Self::Observed(Seen::Gone { moved_to }), None) => state.is_gone && *moved_to == state.moved_to,
            _ => false,
        }
    }
}

/// Whether something that an audience saw changes what anybody knows about a source. `parts` are all parts of that
/// source in one workspace.
///
/// Of the sightings open to a reader the latest counts. Seeing what the audience already knows changes nothing, unless
/// another audience has seen something else since: readers who belong to both would go on believing that.
pub(crate) fn is_news(parts: &[SourcePart], audience: Audience, sight: Sight<'_>) -> bool {
    let own = parts.iter().find(|part| part.audience == audience).map(|part| &part.state);
    let Some(own) = own.filter(|own| sight.is_known(own)) else { return true };
    let is_other = |part: &SourcePart| !sight.is_known(&part.state);
    parts.iter().any(|part| part.state.known_seq > own.known_seq && is_other(part))
}

/// Splits workspaces into those for which an observation is news and those that knew it. `parts` are all parts of that
/// source in them.
pub(crate) fn split_by_news(
    workspaces: Vec<WorkspaceNo>,
    parts: &[SourcePart],
    seen: &Seen,
) -> (Vec<WorkspaceNo>, Vec<WorkspaceNo>) {
    workspaces.into_iter().partition(|no| {
        let own: Vec<SourcePart> = parts.iter().filter(|part| part.workspace_no == *no).cloned().collect();
        is_news(&own, Audience::Shared, Sight::Observed(seen))
    })
}

/// What an audience knows after a save with this hash.
pub(crate) fn kept_hash(parts: &[SourcePart], audience: Audience, hash: &str) -> String {
    let own = parts.iter().find(|part| part.audience == audience).and_then(|part| part.state.known_hash.as_deref());
    known_after_save(own, hash)
}

/// Reads the columns that both engines select in this order. A source that is known without a hash is gone.
pub(crate) fn read_part<R: Row>(row: &R, project: ProjectId) -> Result<SourcePart, StoreError> {
    read_part_from(row, 0, project)
}

fn read_confirmation<R: Row>(row: &R, project: ProjectId) -> Result<Confirmation, StoreError> {
    let source_id = Cells::new(row, "source", || project.to_string()).text(0, "source_id")?;
    let cells = Cells::new(row, "source", || format!("{project}/{source_id}"));
    let (workspace_no, seq) = (WorkspaceNo(cells.count(1, "workspace_no")?), Seq(cells.count(3, "confirmed_seq")?));
    let (audience, hash) = (cells.audience(2, "audience")?, cells.text(4, "confirmed_hash")?);
    let at = cells.time_opt(5, "confirmed_at")?;
    Ok(Confirmation { source_id, workspace_no, audience, seq, hash, at })
}

/// As [`read_part`], from column `first` on.
pub(crate) fn read_part_from<R: Row>(row: &R, first: usize, project: ProjectId) -> Result<SourcePart, StoreError> {
    let source_id = Cells::new(row, "source", || project.to_string()).text(first, "source_id")?;
    let cells = Cells::new(row, "source", || format!("{project}/{source_id}"));
    let known_hash = cells.text_opt(first + 5, "known_hash")?;
    let state = SourceState {
        is_gone: known_hash.is_none(),
        known_hash,
        moved_to: cells.text_opt(first + 7, "moved_to")?,
        known_seq: Seq(cells.count(first + 3, "known_seq")?),
        confirmed_seq: Seq(cells.count(first + 4, "confirmed_seq")?),
        confirmed_hash: cells.text_opt(first + 6, "confirmed_hash")?,
    };
    let workspace_no = WorkspaceNo(cells.count(first + 1, "workspace_no")?);
    let audience = cells.audience(first + 2, "audience")?;
    let (known_at, confirmed_at) = (cells.time_opt(first + 8, "known_at")?, cells.time_opt(first + 9, "confirmed_at")?);
    let confirmed_by = cells.id_opt(first + 10, "confirmed_by")?;
    Ok(SourcePart { source_id, workspace_no, audience, state, known_at, confirmed_at, confirmed_by })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(audience: Audience, hash: &str, seq: u64) -> SourcePart {
        let state = SourceState { known_hash: Some(hash.to_owned()), known_seq: Seq(seq), ..SourceState::default() };
        let (source_id, workspace_no) = ("page".to_owned(), WorkspaceNo(1));
        let (known_at, confirmed_at, confirmed_by) = (None, None, None);
        SourcePart { source_id, workspace_no, audience, state, known_at, confirmed_at, confirmed_by }
    }

    fn gone(audience: Audience, moved_to: Option<&str>, seq: u64) -> SourcePart {
        let moved_to = moved_to.map(str::to_owned);
        let state = SourceState { is_gone: true, moved_to, known_seq: Seq(seq), ..SourceState::default() };
        SourcePart { state, ..part(audience, "a", seq) }
    }

    #[test]
    fn a_sighting_is_news_unless_all_who_may_know_it_know_it_already() {
        let (shared, draft) = (Audience::Shared, Audience::Author(MemberId::from_bytes([1; 16])));
        let (hash_a, hash_b) = (Seen::Hash("a".to_owned()), Seen::Hash("b".to_owned()));
        for (a, b) in [(Sight::Saved("a"), Sight::Saved("b")), (Sight::Observed(&hash_a), Sight::Observed(&hash_b))] {
            assert!(is_news(&[], shared, a), "the first sighting");
            assert!(!is_news(&[part(shared, "a", 1)], shared, a), "the same again");
            assert!(is_news(&[part(shared, "a", 1)], shared, b), "another hash");
            assert!(is_news(&[part(shared, "a", 1)], draft, a), "the first sighting of this audience");
            assert!(is_news(&[part(shared, "a", 1), part(draft, "b", 2)], shared, a), "back to what was known before");
            assert!(!is_news(&[part(shared, "a", 1), part(draft, "a", 2)], shared, a), "all agree");
            assert!(!is_news(&[part(shared, "a", 2), part(draft, "b", 1)], shared, a), "the other one is older");
            assert!(!is_news(&[part(shared, "b a", 1)], shared, a), "one of several");
        }
        assert!(!is_news(&[part(shared, "b ?a", 1)], shared, Sight::Saved("a")), "nothing is learned about the rest");
        assert!(is_news(&[part(shared, "b ?a", 1)], shared, Sight::Observed(&hash_a)), "now it is known");
        assert_eq!(kept_hash(&[part(shared, "b ?a", 1)], shared, "a"), "b ?a");
        assert_eq!(kept_hash(&[part(shared, "b", 1)], shared, "a"), "a");
    }

    #[test]
    fn that_a_source_is_gone_is_news_once_and_any_hash_brings_it_back() {
        let (shared, draft) = (Audience::Shared, Audience::Author(MemberId::from_bytes([1; 16])));
        let (lost, moved) = (Seen::Gone { moved_to: None }, Seen::Gone { moved_to: Some("new".to_owned()) });
        let [lost, moved] = [&lost, &moved].map(Sight::Observed);
        assert!(is_news(&[], shared, lost) && is_news(&[part(shared, "a", 1)], shared, lost));
        assert!(!is_news(&[gone(shared, None, 1)], shared, lost), "the same again");
        assert!(is_news(&[gone(shared, None, 1)], shared, moved), "where it is was not known");
        assert!(is_news(&[gone(shared, None, 1), part(draft, "a", 2)], shared, lost), "somebody saw it since");
        for sight in [Sight::Saved("a"), Sight::Observed(&Seen::Hash("a".to_owned()))] {
            assert!(is_news(&[gone(shared, None, 1)], shared, sight), "it is back");
        }
    }
}
