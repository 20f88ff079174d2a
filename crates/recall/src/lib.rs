//! Which records answer a query: words, index, vectors, ranking, snapshots.
//!
//! Pure: no database, no tenants, no clock, and no I/O but for mapping a snapshot whose file is handed in. A
//! [`WorkspaceIndex`] is derived from the change log and may be thrown away at any time; equal live records give equal
//! answers, to the bit, whatever the order they came in.
//!
//! Where to look: `words` cuts text into words, `lexicon` and `postings` hold them, `records` holds what else is known
//! of a record, `truth` which records still hold, `standing` lists them all, `model` turns text into vectors, `search`
//! ranks.

mod bits;
mod bytes;
mod index;
mod interner;
mod lexicon;
mod mapped_vec;
mod meaning;
mod memory;
mod model;
mod postings;
mod recipe;
mod records;
mod search;
mod simd;
mod similar;
mod snapshot;
mod standing;
mod table;
mod time;
mod truth;
mod varint;
mod words;

pub use bytes::SnapshotError;
pub use index::{NewDoc, WorkspaceIndex};
pub use model::{DIMENSIONS, Embedding, EmbeddingError, Model, ModelError};
pub use recipe::{Bounds, Chance, ChanceAcross, Gate, Recipe, Timing, Weights};
pub use records::AudienceNo;
pub use search::{ExplainedHit, ExplainedWord, Explanation, Filter, HeldBack, Hit, SearchRequest};
pub use similar::{Likeness, Similar};
pub use snapshot::Image;
pub use standing::{Holding, Standing, Standings};
pub use time::{Day, Days, TimePhrase, civil, day_of, time_phrase};
pub use words::matched_spans;
