//! What is known of sources, per audience.

use async_trait::async_trait;
use mnemon_core::{Audience, ProjectId, Seq, SourceState, Timestamp};

use crate::StoreError;
use crate::rows::{Cells, Row};

/// What is known of sources.
#[async_trait]
pub trait Sources: Send + Sync {
    /// What each audience knows of these sources.
    async fn list_sources(&self, project: ProjectId, source_ids: &[&str]) -> Result<Vec<SourcePart>, StoreError>;

    /// Notes that a source was seen with this hash: for everybody the newest known one, and confirmed.
    async fn observe_source(
        &self,
        project: ProjectId,
        source_id: &str,
        hash: &str,
        at: Timestamp,
    ) -> Result<Seq, StoreError>;
}

/// What is known of one source by one audience.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcePart {
    /// The source.
    pub source_id: String,
    /// Who may know it.
    pub audience: Audience,
    /// What is known.
    pub state: SourceState,
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
    Ok(SourcePart { source_id, audience, state })
}
