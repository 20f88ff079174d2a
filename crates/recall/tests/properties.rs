//! What must hold for every workspace: order of arrival, deletes, snapshots and unseen records leave no trace.

use std::collections::BTreeMap;

use mnemon_recall::{AudienceNo, Embedding, Hit, Model, NewDoc, SearchRequest, SnapshotError, WorkspaceIndex};
use proptest::prelude::*;

/// Audience 0 is everybody: only its records are counted. The others are drafts and departments.
const EVERYBODY: u32 = 0;
/// Everybody has seen `h1` of it, audience 1 has seen `h2` later.
const SOURCE: &str = "docs/heating.md";

#[derive(Debug, Clone)]
struct Doc {
    text: String,
    audience: u32,
    hash: Option<&'static str>,
    key: Option<&'static str>,
}

#[derive(Debug, Clone)]
enum Step {
    Put(u64, Doc),
    Forget(u64),
}

fn text(words: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "the",
        "boiler",
        "boilers",
        "code",
        "deploy",
        "deployed",
        "server",
        "release",
        "parseHttpHeader",
        "http",
        "header",
        "lib.rs",
        "v1.2",
        "ключ",
        "ключами",
        "東京都",
        "cat",
        "kitten",
        "meeting",
        "friday",
        "Caroline",
        "4711",
    ]);
    prop::collection::vec(word, words).prop_map(|words| words.join(" "))
}

fn doc() -> impl Strategy<Value = Doc> {
    let hash = prop::sample::select(vec![None, Some("h1"), Some("h2")]);
    let key = prop::sample::select(vec![None, Some("boiler.code"), Some("release")]);
    (text(0..12), prop::sample::select(vec![0_u32, 0, 0, 1, 2]), hash, key)
        .prop_map(|(text, audience, hash, key)| Doc { text, audience, hash, key })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0_u64..30, doc()).prop_map(|(seq, doc)| Step::Put(seq, doc)),
        1 => (0_u64..30).prop_map(Step::Forget),
    ];
    prop::collection::vec(step, 0..60)
}

fn apply(index: &mut WorkspaceIndex, steps: &[Step]) {
    for step in steps {
        match step {
            Step::Put(seq, doc) => put(index, *seq, doc),
            Step::Forget(seq) => {
                index.remove(*seq);
            }
        }
    }
}

fn put(index: &mut WorkspaceIndex, seq: u64, doc: &Doc) {
    let (audience, counted) = (AudienceNo(doc.audience), doc.audience == EVERYBODY);
    let source_id = doc.hash.map(|_| SOURCE);
    index.add(NewDoc {
        audience,
        counted,
        source_id,
        source_hash: doc.hash,
        fact_key: doc.key,
        ..NewDoc::new(seq, &doc.text)
    });
    // The end of a source's news is the same whatever came before.
    index.sight(SOURCE, None, Some("h1"), 1_000);
    index.sight(SOURCE, Some(AudienceNo(1)), Some("h2"), 1_001);
}

/// What is left after the steps.
fn live(steps: &[Step]) -> BTreeMap<u64, Doc> {
    let mut live = BTreeMap::new();
    for step in steps {
        match step {
            Step::Put(seq, doc) => live.insert(*seq, doc.clone()),
            Step::Forget(seq) => live.remove(seq),
        };
    }
    live
}

fn built<'a>(docs: impl Iterator<Item = (&'a u64, &'a Doc)>) -> WorkspaceIndex {
    let mut index = WorkspaceIndex::new(Model::shipped());
    docs.for_each(|(seq, doc)| put(&mut index, *seq, doc));
    index
}

fn search(index: &WorkspaceIndex, query: &str, seen: u32) -> Vec<Hit> {
    index.search(&SearchRequest {
        visible: &|audience| audience.0 == EVERYBODY || audience.0 == seen,
        knows: &|audience| audience.0 == seen,
        ..SearchRequest::new(query, 20)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn equal_live_records_answer_alike_whatever_came_before(steps in steps(), query in text(1..6)) {
        let mut index = WorkspaceIndex::new(Model::shipped());
        apply(&mut index, &steps);
        let live = live(&steps);
        let (forwards, backwards) = (built(live.iter()), built(live.iter().rev()));
        prop_assert_eq!(index.len(), live.len());
        for seen in 0..3 {
            let answer = search(&index, &query, seen);
            prop_assert_eq!(&answer, &search(&forwards, &query, seen));
            prop_assert_eq!(&answer, &search(&backwards, &query, seen));
        }
    }

    #[test]
    fn a_snapshot_with_the_tail_is_a_rebuild(before in steps(), tail in steps(), query in text(1..6)) {
        let mut original = WorkspaceIndex::new(Model::shipped());
        apply(&mut original, &before);
        let snapshot = original.to_snapshot(b"note").to_bytes();
        let (note, mut restored) = WorkspaceIndex::from_snapshot(Model::shipped(), &snapshot).unwrap();
        prop_assert_eq!(note, b"note");
        apply(&mut restored, &tail);
        let rebuilt = built(live(&[before, tail].concat()).iter());
        prop_assert_eq!(restored.len(), rebuilt.len());
        for seen in 0..3 {
            prop_assert_eq!(search(&restored, &query, seen), search(&rebuilt, &query, seen));
        }
    }

    #[test]
    fn unseen_records_change_nothing(steps in steps(), query in text(1..6)) {
        let live = live(&steps);
        let whole = built(live.iter());
        for caller in 0..3 {
            let seen = |doc: &Doc| doc.audience == EVERYBODY || doc.audience == caller;
            let alone = built(live.iter().filter(|(_, doc)| seen(doc)));
            let visible = |audience: AudienceNo| audience.0 == EVERYBODY || audience.0 == caller;
            let request = SearchRequest { visible: &visible, knows: &visible, ..SearchRequest::new(&query, 20) };
            prop_assert_eq!(whole.search(&request), alone.search(&request));
            prop_assert_eq!(whole.explain(&request), alone.explain(&request));
        }
    }

    #[test]
    fn an_explanation_is_about_the_answer(steps in steps(), query in text(1..6)) {
        let index = built(live(&steps).iter());
        let request = SearchRequest::new(&query, 10);
        let explanation = index.explain(&request);
        let explained: Vec<Hit> = explanation.hits.iter().map(|hit| Hit { seq: hit.seq, score: hit.score, is_in_time: false }).collect();
        prop_assert_eq!(explained, index.search(&request));
        for hit in &explanation.hits {
            let words = hit.words_share + hit.pairs_share + hit.count_share + hit.cover_share;
            let neighbours = hit.around_share + hit.ring_share;
            let parts = words + hit.cosine_share + neighbours + hit.all_words_bonus + hit.as_typed_bonus;
            let parts = parts + hit.truth_share;
            prop_assert!((parts - hit.strength).abs() < 1e-9);
            let is_kindred = hit.cosine.is_some_and(|cosine| cosine > explanation.cosine_bar);
            prop_assert!(is_kindred || !hit.matched.is_empty());
        }
    }

    #[test]
    fn a_stored_vector_serves_as_the_computed_one(texts in prop::collection::vec(text(0..10), 1..20), query in text(1..6)) {
        let model = Model::shipped();
        let (mut computed, mut stored) = (WorkspaceIndex::new(model), WorkspaceIndex::new(model));
        for (seq, text) in (1..).zip(&texts) {
            let doc = NewDoc::new(seq, text);
            computed.add(doc);
            let embedding = Embedding::from_bytes(&model.encode(text).to_bytes()).unwrap();
            stored.add(NewDoc { embedding: Some(&embedding), ..doc });
        }
        prop_assert_eq!(search(&computed, &query, 0), search(&stored, &query, 0));
    }

    #[test]
    fn a_damaged_snapshot_is_refused(steps in steps(), at in any::<prop::sample::Index>(), flip in 1_u8..) {
        let mut index = WorkspaceIndex::new(Model::shipped());
        apply(&mut index, &steps);
        let mut bytes = index.to_snapshot(b"note").to_bytes();
        let at = at.index(bytes.len());
        prop_assert!(WorkspaceIndex::from_snapshot(Model::shipped(), &bytes[..at]).is_err());
        bytes[at] ^= flip;
        prop_assert!(WorkspaceIndex::from_snapshot(Model::shipped(), &bytes).is_err());
    }
}

#[test]
fn a_snapshot_of_another_kind_is_refused_by_name() {
    let index = built([(&1, &Doc { text: "red fox".into(), audience: 0, hash: None, key: None })].into_iter());
    let load = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = index.to_snapshot(b"note").to_bytes();
        change(&mut bytes);
        WorkspaceIndex::from_snapshot(Model::shipped(), &bytes).err()
    };
    assert_eq!(load(&|_| {}), None);
    assert_eq!(load(&|bytes| bytes.clear()), Some(SnapshotError::NotASnapshot));
    assert_eq!(load(&|bytes| bytes[0] = b'?'), Some(SnapshotError::NotASnapshot));
    assert_eq!(load(&|bytes| bytes[4] = 99), Some(SnapshotError::OtherFormat { found: 99 }));
    assert_eq!(load(&|bytes| bytes[8] ^= 1), Some(SnapshotError::OtherModel));
    assert_eq!(load(&|bytes| bytes[20] ^= 1), Some(SnapshotError::Damaged));
}

#[test]
fn forgetting_nearly_everything_gives_the_memory_back() {
    let docs: Vec<(u64, Doc)> = (0..5000)
        .map(|n| {
            (
                n,
                Doc {
                    text: format!("ticket{n} was closed by worker{}", n * 7),
                    audience: EVERYBODY,
                    hash: None,
                    key: None,
                },
            )
        })
        .collect();
    let index_of = |docs: &[(u64, Doc)]| built(docs.iter().map(|(seq, doc)| (seq, doc)));
    let mut index = index_of(&docs);
    let full = index.size_bytes();
    (10..5000).for_each(|seq| assert!(index.remove(seq)));
    assert!(index.size_bytes() < full / 2, "{} of {full} bytes are still held", index.size_bytes());
    let query = "ticket3 worker";
    assert_eq!(search(&index, query, EVERYBODY), search(&index_of(&docs[..10]), query, EVERYBODY));
}
