//! What a person would expect of the search, example by example.

use mnemon_recall::{AudienceNo, Hit, Model, NewDoc, SearchRequest, WorkspaceIndex};

fn index_of(texts: &[&str]) -> WorkspaceIndex {
    let mut index = WorkspaceIndex::new(Model::shipped());
    for (seq, text) in (1..).zip(texts) {
        index.add(NewDoc::new(seq, text));
    }
    index
}

fn search(index: &WorkspaceIndex, query: &str) -> Vec<Hit> {
    index.search(&SearchRequest { query, limit: 10, visible: &|_| true })
}

fn first(texts: &[&str], query: &str) -> Option<u64> {
    search(&index_of(texts), query).first().map(|hit| hit.seq)
}

#[test]
fn scores_fall_with_rank_and_lie_between_zero_and_one() {
    let index = index_of(&["red fox", "red fox jumps", "the fox", "a dog", "red"]);
    let hits = search(&index, "red fox");
    assert!(hits.len() >= 4);
    assert!(hits.iter().all(|hit| hit.score > 0.0 && hit.score <= 1.0));
    assert!(hits.is_sorted_by(|a, b| a.score >= b.score));
}

#[test]
fn of_equal_records_the_newest_comes_first() {
    let hits = search(&index_of(&["the boiler code", "the boiler code", "the boiler code"]), "boiler");
    assert_eq!(hits.iter().map(|hit| hit.seq).collect::<Vec<_>>(), [3, 2, 1]);
}

#[test]
fn a_query_without_words_or_with_foreign_words_finds_nothing() {
    let index = index_of(&["the boiler code is 4711", "deploys run on friday"]);
    for query in ["", "  ", "?!…", "xylophone zebra", "Паровоз", "猫犬"] {
        assert_eq!(search(&index, query), [], "{query:?}");
    }
}

#[test]
fn stop_words_count_where_there_is_nothing_else() {
    assert_eq!(first(&["who are you", "boiler code"], "who are you"), Some(1));
}

#[test]
fn russian_endings_do_not_matter() {
    let texts = ["Сервер хранит ключи доступа в сейфе", "Погода сегодня хорошая"];
    assert_eq!(first(&texts, "ключами серверов"), Some(1));
    assert_eq!(first(&texts, "хорошей погоды"), Some(2));
}

#[test]
fn two_characters_and_one_find_unspaced_text() {
    let texts = ["東京都の天気は晴れです", "大阪の料理"];
    assert_eq!(first(&texts, "天気"), Some(1));
    assert_eq!(first(&texts, "料理"), Some(2));
    assert_eq!(first(&texts, "阪"), Some(2));
}

#[test]
fn identifiers_are_found_by_their_parts() {
    let texts =
        ["parseHttpHeader panics on empty input", "see crates/store/src/lib.rs", "max_retry_count is 5", "uses v1.2"];
    assert_eq!(first(&texts, "http header"), Some(1));
    assert_eq!(first(&texts, "store lib"), Some(2));
    assert_eq!(first(&texts, "retry count"), Some(3));
    assert_eq!(first(&texts, "MAX_RETRY_COUNT"), Some(3));
    assert_eq!(first(&texts, "version 1.2"), Some(4));
}

#[test]
fn a_removed_record_is_gone_and_a_replaced_one_answers_by_its_new_text() {
    let mut index = index_of(&["red fox", "red dog"]);
    assert!(index.remove(1));
    assert!(!index.remove(1));
    assert!(!index.contains(1));
    assert_eq!(index.len(), 1);
    assert_eq!(search(&index, "fox"), []);
    index.add(NewDoc::new(2, "blue cat"));
    assert_eq!(search(&index, "dog"), []);
    assert_eq!(search(&index, "cat").len(), 1);
    assert_eq!(index.len(), 1);
}

#[test]
fn unseen_records_are_not_found() {
    let mut index = index_of(&["red fox"]);
    index.add(NewDoc { audience: AudienceNo(7), counted: false, ..NewDoc::new(9, "red draft") });
    let asked = |number| {
        let hits = index.search(&SearchRequest { query: "red", limit: 10, visible: &|a| a.0 <= number });
        hits.iter().map(|hit| hit.seq).collect::<Vec<_>>()
    };
    assert_eq!(asked(0), [1]);
    assert_eq!(asked(7).len(), 2);
}

#[test]
fn seventy_thousand_people_have_drafts_of_their_own() {
    const PEOPLE: u32 = 70_000;
    let mut index = WorkspaceIndex::new(Model::shipped());
    let draft = |person: u32| NewDoc {
        audience: AudienceNo(person),
        counted: false,
        ..NewDoc::new(u64::from(person) + 1, "my draft")
    };
    (0..PEOPLE).for_each(|person| index.add(draft(person)));
    index.remove(draft(7).seq);
    index.add(NewDoc { text: "a newcomer's draft", ..draft(PEOPLE) });
    let restored = WorkspaceIndex::from_snapshot(Model::shipped(), &index.to_snapshot()).unwrap();
    for index in [index, restored] {
        for (person, found) in [(0, true), (7, false), (32_767, true), (65_536, true), (PEOPLE, true)] {
            let visible = |audience: AudienceNo| audience.0 == person;
            let hits = index.search(&SearchRequest { query: "draft", limit: 10, visible: &visible });
            let seqs: Vec<u64> = hits.iter().map(|hit| hit.seq).collect();
            let own = found.then_some(u64::from(person) + 1);
            assert_eq!(seqs, Vec::from_iter(own), "{person}");
        }
    }
}

#[test]
fn the_first_hit_of_keywords_has_all_of_them_as_typed() {
    let texts = [
        "table table table tables of results",
        "the table was moved into the hall",
        "bond bonds bonding with the team",
        "a special bond, made for life",
        "release v13.2 of the server",
    ];
    assert_eq!(first(&texts, "table into"), Some(2));
    assert_eq!(first(&texts, "bond for"), Some(4));
    assert_eq!(first(&texts, "server v13"), Some(5));
}

#[test]
fn meaning_finds_what_words_do_not() {
    let texts = ["The physician prescribed antibiotics", "Deploys run on friday", "The boiler code is 4711"];
    assert_eq!(first(&texts, "doctor medicine"), Some(1));
}

#[test]
fn an_explanation_names_words_parts_and_who_was_held_back() {
    let index = index_of(&["the boiler code is 4711", "boiler room", "deploys run on friday"]);
    let explanation = index.explain(&SearchRequest { query: "boiler code", limit: 10, visible: &|_| true });
    assert_eq!(explanation.words.iter().map(|word| word.stem.as_str()).collect::<Vec<_>>(), ["boiler", "code"]);
    assert_eq!(explanation.hits[0].seq, 1);
    assert_eq!(explanation.hits[0].matched, ["boiler", "code"]);
    assert!(explanation.hits[0].pairs > 0.0 && explanation.hits[0].all_words_bonus > 0.0);
    assert_eq!(explanation.held_back.iter().map(|record| record.seq).collect::<Vec<_>>(), [3]);
}

#[test]
fn an_index_may_be_shared_between_threads() {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<WorkspaceIndex>();
}
