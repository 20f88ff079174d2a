//! Why a search ranked the records as it did.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::memory::RecordJson;

/// `POST /projects/{id}/explain`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExplainSearch {
    pub query: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exclude_stale: Option<bool>,
}

/// Why a search ranked the records as it did.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ExplainedJson<'a> {
    /// The query's words.
    pub words: Vec<ExplainedWordJson>,
    /// Words added from the best hits.
    pub lent: Vec<ExplainedWordJson>,
    /// Best first.
    pub hits: Vec<ExplainedHitJson<'a>>,
    /// Near in meaning, but not near enough.
    pub held_back: Vec<HeldBackJson<'a>>,
    /// The cosine that a record without any of the query's words must exceed.
    pub cosine_bar: f64,
    /// How much neighbours counted, from 0 to 1.
    pub locality: f64,
}

/// A word that took part.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ExplainedWordJson {
    pub stem: String,
    pub weight: f64,
    /// How many records contain it.
    pub records: u32,
}

/// A hit, with every part of its score.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ExplainedHitJson<'a> {
    /// The record as the search returns it.
    #[serde(flatten)]
    pub record: RecordJson<'a>,
    /// Where its content has words of the query: pairs of the first byte and the one after the last.
    pub spans: Vec<[usize; 2]>,
    /// How likely it is an answer by itself. The score is the lowest chance down to this hit.
    pub chance: f64,
    /// What hits are ordered by.
    pub strength: f64,
    /// The query's words that it contains.
    pub matched: Vec<String>,
    pub words: f64,
    pub words_with_lent: f64,
    pub pairs: f64,
    pub cosine: Option<f64>,
    pub words_share: f64,
    pub cosine_share: f64,
    pub count_share: f64,
    pub cover_share: f64,
    pub around_share: f64,
    pub ring_share: f64,
    pub pairs_share: f64,
    pub time_share: f64,
    pub all_words_bonus: f64,
    pub as_typed_bonus: f64,
    pub is_stale: bool,
    /// What staleness took away.
    pub truth_share: f64,
}

/// A record that contains none of the query's words and was not near enough in meaning.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct HeldBackJson<'a> {
    #[serde(flatten)]
    pub record: RecordJson<'a>,
    pub cosine: f64,
    pub why: String,
}
