//! Why a search ranked the records as it did, as JSON.

use mnemon_engine::admin::{Explained, ExplainedRecord};
use mnemon_engine::{ExplainedHit, ExplainedWord};
use mnemon_protocol::admin::{ExplainedHitJson, ExplainedJson, ExplainedWordJson, HeldBackJson};

use crate::record_json::record_json;

/// Every part of every score, and which records were held back.
pub(crate) fn explained(explained: &Explained) -> ExplainedJson<'_> {
    let reasons = &explained.reasons;
    let hits = reasons.hits.iter().filter_map(|hit| Some(explained_hit(hit, explained.records.get(&hit.seq)?)));
    let held_back = reasons.held_back.iter().filter_map(|held| {
        let found = explained.records.get(&held.seq)?;
        Some(HeldBackJson {
            record: record_json(&found.record, found.status, None),
            cosine: held.cosine,
            why: "it contains none of the query's words, and its cosine is below the threshold".to_owned(),
        })
    });
    ExplainedJson {
        words: reasons.words.iter().map(explained_word).collect(),
        lent: reasons.lent.iter().map(explained_word).collect(),
        hits: hits.collect(),
        held_back: held_back.collect(),
        cosine_bar: reasons.cosine_bar,
        locality: reasons.locality,
    }
}

fn explained_word(word: &ExplainedWord) -> ExplainedWordJson {
    ExplainedWordJson { stem: word.stem.clone(), weight: word.weight, records: word.records }
}

fn explained_hit<'a>(hit: &ExplainedHit, found: &'a ExplainedRecord) -> ExplainedHitJson<'a> {
    ExplainedHitJson {
        record: record_json(&found.record, found.status, Some(hit.score)),
        spans: found.spans.iter().map(|span| [span.start, span.end]).collect(),
        matched: hit.matched.clone(),
        chance: hit.chance,
        strength: hit.strength,
        words: hit.words,
        words_with_lent: hit.words_with_lent,
        pairs: hit.pairs,
        cosine: hit.cosine,
        words_share: hit.words_share,
        cosine_share: hit.cosine_share,
        count_share: hit.count_share,
        cover_share: hit.cover_share,
        around_share: hit.around_share,
        ring_share: hit.ring_share,
        pairs_share: hit.pairs_share,
        time_share: hit.time_share,
        all_words_bonus: hit.all_words_bonus,
        as_typed_bonus: hit.as_typed_bonus,
        is_stale: hit.is_stale,
        truth_share: hit.truth_share,
    }
}
