//! What each audience knows about sources.

use async_trait::async_trait;
use mnemon_core::{Audience, ProjectId, Seq, SourceState, Timestamp, admits_hash, confirms_hash};

use crate::StoreError;
use crate::rows::{Cells, Row};

/// Reads and records what is known about sources.
#[async_trait]
pub trait Sources: Send + Sync {
    /// What each audience knows about these sources.
    async fn list_sources(&self, project: ProjectId, source_ids: &[&str]) -> Result<Vec<SourcePart>, StoreError>;

    /// Records that a source was seen with this hash (or several, joined by [`mnemon_core::join_hashes`]), which becomes the newest known and confirmed one for everybody. Takes
    /// a seq and returns it if this is news to anybody (`is_news`).
    async fn observe_source(
        &self,
        project: ProjectId,
        source_id: &str,
        hash: &str,
        at: Timestamp,
    ) -> Result<Option<Seq>, StoreError>;

    /// Takes over what an audience knew about a source elsewhere. If that audience knows something about it here, nothing
    /// changes: that is newer. Returns whether it was taken over; this takes a seq.
    async fn adopt_source(&self, project: ProjectId, source: AdoptedSource, at: Timestamp) -> Result<bool, StoreError>;
}

/// What an audience knew about a source elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdoptedSource {
    pub source_id: String,
    pub audience: Audience,
    /// The newest hash, or several of one content.
    pub known_hash: String,
    /// The last confirmed one.
    pub confirmed_hash: Option<String>,
}

/// What one audience knows about one source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcePart {
    pub source_id: String,
    /// Who may know it.
    pub audience: Audience,
    pub state: SourceState,
    /// When its newest hash was seen; unknown for what was seen before moments were kept.
    pub known_at: Option<Timestamp>,
    /// When it was last confirmed.
    pub confirmed_at: Option<Timestamp>,
}

/// A hash that somebody saw.
#[derive(Clone, Copy)]
pub(crate) enum Seen<'a> {
    /// It came with a save. One that could not be compared before is no news: nothing was learned about the rest.
    Saved(&'a str),
    /// It was seen to be the source's own.
    Confirmed(&'a str),
}

impl Seen<'_> {
    fn is_known(self, state: &SourceState) -> bool {
        state.known_hash.as_deref().is_some_and(|known| match self {
            Self::Saved(hash) => admits_hash(known, hash),
            Self::Confirmed(hash) => confirms_hash(known, hash),
        })
    }
}

/// Whether a hash that an audience saw changes what anybody knows about a source. `parts` are all parts of that source.
///
/// Of the sightings open to a reader the latest counts. Seeing the hash that the audience already knows changes nothing,
/// unless another audience has seen another hash since: readers who belong to both would go on believing that one.
pub(crate) fn is_news(parts: &[SourcePart], audience: Audience, seen: Seen<'_>) -> bool {
    let own = parts.iter().find(|part| part.audience == audience).map(|part| &part.state);
    let Some(own) = own.filter(|own| seen.is_known(own)) else { return true };
    let is_other = |part: &SourcePart| !seen.is_known(&part.state);
    parts.iter().any(|part| part.state.known_seq > own.known_seq && is_other(part))
}

/// What an audience knows after a save with this hash: all hashes of the content, if this is one of them.
pub(crate) fn kept_hash<'a>(parts: &'a [SourcePart], audience: Audience, hash: &'a str) -> &'a str {
    let own = parts.iter().find(|part| part.audience == audience).and_then(|part| part.state.known_hash.as_deref());
    own.filter(|known| admits_hash(known, hash)).unwrap_or(hash)
}

pub(crate) fn read_part<R: Row>(row: &R, project: ProjectId) -> Result<SourcePart, StoreError> {
    let source_id = Cells::new(row, "source", || project.to_string()).text(0, "source_id")?;
    let cells = Cells::new(row, "source", || format!("{project}/{source_id}"));
    let state = SourceState {
        known_seq: Seq(cells.count(2, "known_seq")?),
        confirmed_seq: Seq(cells.count(3, "confirmed_seq")?),
        known_hash: cells.text_opt(4, "known_hash")?,
        confirmed_hash: cells.text_opt(5, "confirmed_hash")?,
    };
    let audience = cells.audience(1, "audience")?;
    let (known_at, confirmed_at) = (cells.time_opt(6, "known_at")?, cells.time_opt(7, "confirmed_at")?);
    Ok(SourcePart { source_id, audience, state, known_at, confirmed_at })
}

#[cfg(test)]
mod tests {
    use mnemon_core::MemberId;

    use super::*;

    fn part(audience: Audience, hash: &str, seq: u64) -> SourcePart {
        let state = SourceState { known_hash: Some(hash.to_owned()), known_seq: Seq(seq), ..SourceState::default() };
        SourcePart { source_id: "page".to_owned(), audience, state, known_at: None, confirmed_at: None }
    }

    #[test]
    fn a_sighting_is_news_unless_all_who_may_know_it_know_it_already() {
        let (shared, draft) = (Audience::Shared, Audience::Author(MemberId::from_bytes([1; 16])));
        for seen in [Seen::Saved as fn(&'static str) -> Seen<'static>, Seen::Confirmed] {
            let (a, b) = (seen("a"), seen("b"));
            assert!(is_news(&[], shared, a), "the first sighting");
            assert!(!is_news(&[part(shared, "a", 1)], shared, a), "the same again");
            assert!(is_news(&[part(shared, "a", 1)], shared, b), "another hash");
            assert!(is_news(&[part(shared, "a", 1)], draft, a), "the first sighting of this audience");
            assert!(is_news(&[part(shared, "a", 1), part(draft, "b", 2)], shared, a), "back to what was known before");
            assert!(!is_news(&[part(shared, "a", 1), part(draft, "a", 2)], shared, a), "all agree");
            assert!(!is_news(&[part(shared, "a", 2), part(draft, "b", 1)], shared, a), "the other one is older");
            assert!(!is_news(&[part(shared, "b a", 1)], shared, a), "one of several");
        }
        assert!(!is_news(&[part(shared, "b ?a", 1)], shared, Seen::Saved("a")), "nothing is learned about the rest");
        assert!(is_news(&[part(shared, "b ?a", 1)], shared, Seen::Confirmed("a")), "now it is known");
        assert_eq!(kept_hash(&[part(shared, "b ?a", 1)], shared, "a"), "b ?a");
        assert_eq!(kept_hash(&[part(shared, "b", 1)], shared, "a"), "a");
    }
}
