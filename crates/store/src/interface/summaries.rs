//! Reading what is needed to judge records, without their texts.

use mnemon_core::{Audience, ContentHash, ProjectId, RecordId, Seq, Timestamp, WorkspaceNo};

use crate::StoreError;
use crate::rows::{Cells, Row};

/// What it takes to judge a record without reading its text.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordSummary {
    pub id: RecordId,
    pub seq: Seq,
    pub workspace_no: WorkspaceNo,
    /// Who may see it.
    pub audience: Audience,
    /// Its fact key, only if the caller chose it.
    pub given_fact_key: Option<String>,
    pub content_hash: ContentHash,
    pub source_id: Option<String>,
    /// The source's hash when the fact was taken from it.
    pub source_hash: Option<String>,
    /// From then on it is stale.
    pub valid_until: Option<Timestamp>,
}

/// The columns that [`read_summary`] reads.
macro_rules! summary_columns {
    ($from:literal) => {
        concat!(
            "
            SELECT r.seq, r.id, r.workspace_no, r.audience, r.is_key_given, r.fact_key, r.content_hash, r.source_id,
                r.source_hash, r.valid_until",
            $from
        )
    };
}
pub(crate) use summary_columns;

/// The living records of a source, of one workspace or of all.
pub(crate) const BY_SOURCE: &str = summary_columns!(
    "
    FROM record r /* INDEXED BY record_source */
    CROSS JOIN workspace w
    WHERE r.project_id = $1 AND r.source_id = $2 AND r.source_id IS NOT NULL AND r.forgotten_at IS NULL
        AND w.project_id = r.project_id AND w.no = r.workspace_no AND w.deleted_at IS NULL
        AND (w.name = $3 OR $3 IS NULL)
    ORDER BY r.seq"
);

/// The living records of the next sources after one, each source complete. No source has an empty name, so the empty
/// text sorts before all of them.
pub(crate) const AFTER_SOURCE: &str = concat!(
    "
    WITH next AS (
        SELECT DISTINCT r.source_id
        FROM record r /* INDEXED BY record_source */
        CROSS JOIN workspace w
        WHERE r.project_id = $1 AND r.source_id > $2 AND r.source_id IS NOT NULL AND r.forgotten_at IS NULL
            AND w.project_id = r.project_id AND w.no = r.workspace_no AND w.deleted_at IS NULL
        ORDER BY r.source_id
        LIMIT $3)",
    summary_columns!(
        "
    FROM next n
    CROSS JOIN record r /* INDEXED BY record_source */
    CROSS JOIN workspace w
    WHERE r.project_id = $1 AND r.source_id = n.source_id AND r.source_id IS NOT NULL AND r.forgotten_at IS NULL
        AND w.project_id = r.project_id AND w.no = r.workspace_no AND w.deleted_at IS NULL
    ORDER BY r.source_id, r.seq"
    )
);

/// The living ones of these records.
pub(crate) const BY_ID: &str = summary_columns!(
    "
    FROM record r
    CROSS JOIN workspace w
    WHERE r.project_id = $1 AND r.id = ANY($2) AND r.forgotten_at IS NULL
        AND w.project_id = r.project_id AND w.no = r.workspace_no AND w.deleted_at IS NULL"
);

/// Reads seq, id, workspace_no, audience, is_key_given, fact_key, content_hash, source_id, source_hash and valid_until.
pub(crate) fn read_summary<R: Row>(row: &R, project: ProjectId) -> Result<RecordSummary, StoreError> {
    read_brief_from(row, 0, project)
}

/// As [`read_summary`], from column `first` on.
pub(crate) fn read_brief_from<R: Row>(row: &R, first: usize, project: ProjectId) -> Result<RecordSummary, StoreError> {
    let seq = Seq(Cells::new(row, "record", || project.to_string()).count(first, "seq")?);
    let cells = Cells::new(row, "record", || format!("{project}/{seq}"));
    let is_given = cells.flag(first + 4, "is_key_given")?;
    Ok(RecordSummary {
        id: cells.id(first + 1, "id")?,
        seq,
        workspace_no: WorkspaceNo(cells.count(first + 2, "workspace_no")?),
        audience: cells.audience(first + 3, "audience")?,
        given_fact_key: is_given.then(|| cells.text(first + 5, "fact_key")).transpose()?,
        content_hash: cells.content_hash(first + 6, "content_hash")?,
        source_id: cells.text_opt(first + 7, "source_id")?,
        source_hash: cells.text_opt(first + 8, "source_hash")?,
        valid_until: cells.time_opt(first + 9, "valid_until")?,
    })
}
