//! Why a search ranked the records as it did.

use serde::{Deserialize, Serialize};

/// `POST /projects/{id}/explain`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExplainSearch {
    pub query: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// Why a search ranked the records as it did.
#[derive(Debug, Serialize, Deserialize)]
pub struct ExplainedJson {
    /// The query's words.
    pub words: Vec<ExplainedWordJson>,
    /// Words added from the best hits.
    pub lent: Vec<ExplainedWordJson>,
    /// Best first.
    pub hits: Vec<ExplainedHitJson>,
    /// Near in meaning, but not near enough.
    pub held_back: Vec<HeldBackJson>,
    /// The cosine that a record without any of the query's words must exceed.
    pub cosine_bar: f64,
    /// How much neighbours counted, from 0 to 1.
    pub locality: f64,
}

/// A word that took part.
#[derive(Debug, Serialize, Deserialize)]
pub struct ExplainedWordJson {
    pub stem: String,
    pub weight: f64,
    /// How many records contain it.
    pub records: u32,
}

/// A hit, with every part of its score.
#[derive(Debug, Serialize, Deserialize)]
pub struct ExplainedHitJson {
    pub id: String,
    pub content: String,
    pub score: f64,
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
    pub all_words_bonus: f64,
    pub as_typed_bonus: f64,
    pub is_stale: bool,
    /// What staleness took away.
    pub truth_share: f64,
}

/// A record that contains none of the query's words and was not near enough in meaning.
#[derive(Debug, Serialize, Deserialize)]
pub struct HeldBackJson {
    pub id: String,
    pub content: String,
    pub cosine: f64,
    pub why: String,
}
