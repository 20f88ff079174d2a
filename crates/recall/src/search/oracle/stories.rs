//! Random workspaces and queries, and the comparison of the index with the oracle.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::{AudienceNo, Bounds, Day, Days, Filter, Model, NewDoc, Recipe, SearchRequest, WorkspaceIndex, time_phrase};

use super::reading::is_stale;
use super::{Doc, Sighting, answer};

/// Few words, so that records share them; identifiers, stop words and other scripts among them.
fn word() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "the",
        "who",
        "after",
        "boiler",
        "boilers",
        "code",
        "coded",
        "deploy",
        "deployed",
        "deploys",
        "server",
        "release",
        "parseHttpHeader",
        "http",
        "header",
        "lib.rs",
        "v1.2",
        "snake_case",
        "ключ",
        "ключами",
        "東京都",
        "京都",
        "cats",
        "cat",
        "kitten",
        "meeting",
        "friday",
        "didn't",
        "Caroline",
        "4711",
        "1970-01-05",
        "2 January 1970",
        "1890-01-01",
    ])
}

fn text(words: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    prop::collection::vec(word(), words).prop_map(|words| words.join(" "))
}

const SOURCES: [&str; 3] = ["docs/release.md", "server_code", "wiki"];
const HASHES: [&str; 3] = ["h1", "h2", "h3"];
const KEYS: [&str; 3] = ["release.day", "boiler", "4711"];

fn one_of(texts: [&'static str; 3]) -> impl Strategy<Value = Option<&'static str>> {
    prop::sample::select(vec![None, None, Some(texts[0]), Some(texts[1]), Some(texts[2])])
}

fn tags() -> impl Strategy<Value = Vec<String>> {
    prop::sample::subsequence(vec!["billing", "bill", "house"], 0..=3)
        .prop_map(|tags| tags.into_iter().map(str::to_owned).collect())
}

fn doc() -> impl Strategy<Value = Doc> {
    // Half a day between one time and the next: some neighbours are within a day and some are not.
    let occurred = prop::option::weighted(0.2, 0_i32..40);
    let times = (0_u32..6, 0_i64..6, prop::option::weighted(0.2, 0_i64..6), occurred);
    let names = (one_of(SOURCES), one_of(HASHES), one_of(KEYS), tags());
    (text(0..12), 0_u32..4, times, names).prop_map(|(text, audience, times, names)| Doc {
        seq: 0,
        text,
        audience,
        counted: audience == 0,
        saved_at: times.0 * 43_200,
        time: times.1 * 43_200,
        occurred: times.3.map(|day| Days { first: day, last: day + day % 2 }),
        valid_until: times.2,
        source_id: names.0,
        source_hash: names.1,
        fact_key: names.2,
        tags: names.3,
    })
}

fn docs() -> impl Strategy<Value = Vec<Doc>> {
    prop::collection::vec((doc(), 0_u64..40), 0..30).prop_map(|docs| {
        let docs = docs.into_iter().map(|(doc, seq)| (seq, Doc { seq, ..doc }));
        docs.collect::<BTreeMap<u64, Doc>>().into_values().collect()
    })
}

fn sightings() -> impl Strategy<Value = Vec<Sighting>> {
    let names = (prop::sample::select(SOURCES.to_vec()), prop::option::of(prop::sample::select(HASHES.to_vec())));
    let one = (names, prop::sample::select(vec![None, None, Some(1), Some(2)]));
    prop::collection::vec(one, 0..8).prop_map(|seen| {
        let sighting = |(seq, ((source_id, hash), audience))| Sighting { source_id, audience, hash, seq };
        (0..).zip(seen).map(sighting).collect()
    })
}

/// What a caller asks for beside the query.
#[derive(Debug, Clone)]
struct Wish {
    exclude_stale: bool,
    fact_key: Option<&'static str>,
    source_id: Option<&'static str>,
    tags: Vec<String>,
    seqs: Option<Vec<u64>>,
    since: Option<i64>,
    until: Option<i64>,
    now: i64,
    seen: u32,
    knows: u32,
    limit: usize,
    today: Day,
}

fn wish() -> impl Strategy<Value = Wish> {
    let names = (
        prop::option::weighted(0.15, prop::sample::select(KEYS.to_vec())),
        prop::option::weighted(0.15, prop::sample::select(SOURCES.to_vec())),
        prop_oneof![5 => Just(Vec::new()), 1 => tags()],
    );
    let seqs = prop::option::weighted(0.15, prop::collection::vec(0_u64..40, 0..20));
    let times = (prop::option::weighted(0.2, 0_i64..6), prop::option::weighted(0.2, 0_i64..6), 0_i64..6);
    (any::<bool>(), names, seqs, times, (0_u32..4, 0_u32..4, 1_usize..12, 0_i32..40)).prop_map(
        |(exclude_stale, (fact_key, source_id, tags), seqs, (since, until, now), (seen, knows, limit, today))| Wish {
            exclude_stale,
            fact_key,
            source_id,
            tags,
            seqs,
            since,
            until,
            now,
            seen,
            knows,
            limit,
            today,
        },
    )
}

/// A dialogue: every other record is like the one before, so that neighbours count.
fn dialogue() -> impl Strategy<Value = Vec<Doc>> {
    docs().prop_map(|docs| {
        let mut docs: Vec<Doc> = docs.into_iter().map(|doc| Doc { counted: doc.audience < 2, ..doc }).collect();
        for at in (1..docs.len()).filter(|at| at % 3 != 0) {
            docs[at].text = format!("{} {}", docs[at - 1].text, docs[at].text);
        }
        docs
    })
}

/// Every bound low enough to be crossed by a few records.
const CROSSED: Bounds = Bounds {
    exhaustive_records: 3,
    by_signs: 3,
    company: 3,
    by_words_of_few: 3,
    by_words: 3,
    complete: 3,
    paired: 3,
    paired_first: 2,
    lent_to: 2,
    sampled: 3,
    read: 3,
    rivals: 3,
};

fn index_of(docs: &[Doc]) -> WorkspaceIndex {
    let mut index = WorkspaceIndex::new(Model::shipped());
    docs.iter().for_each(|doc| add(&mut index, doc));
    index
}

fn add(index: &mut WorkspaceIndex, doc: &Doc) {
    index.add(NewDoc {
        audience: AudienceNo(doc.audience),
        counted: doc.counted,
        saved_at: i64::from(doc.saved_at),
        time: doc.time,
        occurred: doc.occurred,
        valid_until: doc.valid_until,
        source_id: doc.source_id,
        source_hash: doc.source_hash,
        fact_key: doc.fact_key,
        tags: &doc.tags,
        ..NewDoc::new(doc.seq, &doc.text)
    });
}

/// Asks both, by every recipe and with the bounds high and low.
fn check(docs: &[Doc], others: &[Doc], sightings: &[Sighting], query: &str, wish: &Wish) -> Result<(), TestCaseError> {
    // Others come first and go again; some are replaced by the docs of the same number. News comes in any order.
    let mut index = index_of(others);
    let (early, late) = sightings.split_at(sightings.len() / 2);
    let sight = |index: &mut WorkspaceIndex, seen: &Sighting| {
        index.sight(seen.source_id, seen.audience.map(AudienceNo), seen.hash, seen.seq);
    };
    late.iter().for_each(|seen| sight(&mut index, seen));
    docs.iter().rev().for_each(|doc| add(&mut index, doc));
    early.iter().for_each(|seen| sight(&mut index, seen));
    let kept = |seq: u64| docs.iter().any(|doc| doc.seq == seq);
    for other in others.iter().filter(|other| !kept(other.seq)) {
        prop_assert!(index.remove(other.seq));
    }
    let (visible, knows) =
        (|audience: AudienceNo| audience.0 <= wish.seen, |audience: AudienceNo| audience.0 <= wish.knows);
    let filter = Filter {
        exclude_stale: wish.exclude_stale,
        fact_key: wish.fact_key,
        source_id: wish.source_id,
        tags: &wish.tags,
        seqs: wish.seqs.as_deref(),
        since: wish.since.map(|since| since * 43_200),
        until: wish.until.map(|until| until * 43_200),
    };
    let time = time_phrase(query, wish.today);
    let request = SearchRequest {
        query,
        limit: wish.limit,
        visible: &visible,
        knows: &knows,
        now: wish.now,
        time: time.as_ref(),
        filter,
    };
    for recipe in [Recipe::FULL, Recipe::LEXICAL, Recipe::WITHOUT_LOCALITY, Recipe::BM25] {
        for bounds in [recipe.bounds, CROSSED] {
            let recipe = Recipe { bounds, ..recipe };
            prop_assert_eq!(index.search_by(&recipe, &request), answer(docs, sightings, &recipe, &request));
        }
    }
    let judged = |hit: &crate::ExplainedHit| {
        docs.iter().find(|doc| doc.seq == hit.seq).map(|doc| is_stale(doc, sightings, &request))
    };
    prop_assert!(
        query.trim() == "*" || index.explain(&request).hits.iter().all(|hit| judged(hit) == Some(hit.is_stale))
    );
    Ok(())
}

fn query() -> impl Strategy<Value = String> {
    let phrase = prop::sample::select(vec!["yesterday", "in January 1970", "on 1970-01-05", "since last week"]);
    let about_time = (text(0..4), phrase).prop_map(|(words, phrase)| format!("{words} {phrase}"));
    prop_oneof![9 => text(0..6), 3 => about_time, 1 => Just("*".to_owned())]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn the_index_answers_as_the_oracle_does(
        docs in docs(), others in docs(), sightings in sightings(), query in query(), wish in wish(),
    ) {
        check(&docs, &others, &sightings, &query, &wish)?;
    }

    #[test]
    fn in_a_dialogue_too(
        docs in dialogue(), others in docs(), sightings in sightings(), query in query(), wish in wish(),
    ) {
        check(&docs, &others, &sightings, &query, &wish)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn with_more_terms_than_can_be_told_apart_too(docs in dialogue(), query in text(40..80), wish in wish()) {
        check(&docs, &[], &[], &query, &wish)?;
    }
}
