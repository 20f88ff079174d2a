//! What a person would expect of the search, example by example.

use mnemon_recall::{AudienceNo, Days, Filter, Hit, Model, NewDoc, SearchRequest, WorkspaceIndex, day_of, time_phrase};

fn index_of(texts: &[&str]) -> WorkspaceIndex {
    let mut index = WorkspaceIndex::new(Model::shipped());
    for (seq, text) in (1..).zip(texts) {
        index.add(NewDoc::new(seq, text));
    }
    index
}

fn search(index: &WorkspaceIndex, query: &str) -> Vec<Hit> {
    index.search(&SearchRequest::new(query, 10))
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
    for query in ["", "  ", "?!…", "xylophone zebra", "Виолончель", "猫犬"] {
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
    let mut index = index_of(&["quarterly report", "red dog"]);
    assert!(index.remove(1));
    assert!(!index.remove(1));
    assert!(!index.contains(1));
    assert_eq!(index.len(), 1);
    assert_eq!(search(&index, "report"), []);
    index.add(NewDoc::new(2, "invoice template"));
    assert_eq!(search(&index, "dog"), []);
    assert_eq!(search(&index, "invoice").len(), 1);
    assert_eq!(index.len(), 1);
}

#[test]
fn a_few_facts_are_found_by_meaning_alone_and_a_foreign_question_finds_none_of_them() {
    let index = index_of(&["failover is manual with pg_ctl promote", "the office is closed on fridays"]);
    let found = search(&index, "how do we fail over the database");
    assert_eq!(found.first().map(|hit| hit.seq), Some(1), "{found:?}");
    assert_eq!(search(&index, "recipe for lasagne"), []);
}

#[test]
fn unseen_records_are_not_found() {
    let mut index = index_of(&["red fox"]);
    index.add(NewDoc { audience: AudienceNo(7), counted: false, ..NewDoc::new(9, "red draft") });
    let asked = |number| {
        let hits = index.search(&SearchRequest { visible: &|a| a.0 <= number, ..SearchRequest::new("red", 10) });
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
    let snapshot = index.to_snapshot(b"").to_bytes();
    let (_, restored) = WorkspaceIndex::from_snapshot(Model::shipped(), &snapshot).unwrap();
    for index in [index, restored] {
        for (person, found) in [(0, true), (7, false), (32_767, true), (65_536, true), (PEOPLE, true)] {
            let visible = |audience: AudienceNo| audience.0 == person;
            let hits = index.search(&SearchRequest { visible: &visible, ..SearchRequest::new("draft", 10) });
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
    let explanation = index.explain(&SearchRequest::new("boiler code", 10));
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

fn seqs(index: &WorkspaceIndex, request: &SearchRequest<'_>) -> Vec<u64> {
    index.search(request).iter().map(|hit| hit.seq).collect()
}

#[test]
fn what_holds_comes_before_what_does_not() {
    let mut index = index_of(&["deploys need two approvals", "the boiler code is 4711"]);
    let day = |seq, text, hash| NewDoc {
        source_id: Some("docs/release.md"),
        source_hash: Some(hash),
        ..NewDoc::new(seq, text)
    };
    index.add(day(10, "the day of the release is tuesday", "h1"));
    index.sight("docs/release.md", None, Some("h1"), 10);
    assert_eq!(seqs(&index, &SearchRequest::new("which day is the release", 1)), [10]);
    index.add(day(11, "the release moved to thursday", "h2"));
    index.sight("docs/release.md", None, Some("h2"), 11);
    assert_eq!(seqs(&index, &SearchRequest::new("which day is the release", 10)), [11, 10]);
    assert_eq!(seqs(&index, &SearchRequest::new("which day is the release", 1)), [11]);
    // Where nothing else answers, the stale one does.
    assert!(index.remove(11));
    let request = SearchRequest::new("which day is the release", 10);
    assert_eq!(seqs(&index, &request), [10]);
    assert!(index.explain(&request).hits[0].is_stale);
    let filter = Filter { exclude_stale: true, ..Filter::default() };
    assert_eq!(seqs(&index, &SearchRequest { filter, ..request }), [0; 0]);
}

#[test]
fn a_hash_that_only_some_have_seen_turns_nothing_stale_for_others() {
    let mut index = WorkspaceIndex::new(Model::shipped());
    index.add(NewDoc { source_id: Some("a.md"), source_hash: Some("h1"), ..NewDoc::new(1, "the boiler code") });
    index.sight("a.md", None, Some("h1"), 1);
    index.sight("a.md", Some(AudienceNo(7)), Some("h2"), 2);
    let is_stale = |index: &WorkspaceIndex, person: u32| {
        let knows = |audience: AudienceNo| audience.0 == person;
        index.explain(&SearchRequest { knows: &knows, ..SearchRequest::new("boiler", 1) }).hits[0].is_stale
    };
    assert!(is_stale(&index, 7));
    assert!(!is_stale(&index, 8));
    // Older news arrives late and changes nothing; newer news does.
    index.sight("a.md", None, Some("h0"), 0);
    assert!(!is_stale(&index, 8));
    index.sight("a.md", None, Some("h1"), 3);
    assert!(!is_stale(&index, 7));
}

#[test]
fn of_records_that_dispute_a_key_the_newest_comes_first() {
    let mut index = index_of(&["lunch is at noon"]);
    let keyed = |seq, text| NewDoc { fact_key: Some("release.day"), ..NewDoc::new(seq, text) };
    index.add(keyed(10, "the release day is tuesday, the release day of the team"));
    index.add(keyed(11, "we now release on thursday"));
    let request = SearchRequest::new("what is the release day of the team", 10);
    assert_eq!(seqs(&index, &request)[..2], [11, 10]);
    let explained = index.explain(&request);
    assert!(explained.hits[0].truth_share > 0.0 && explained.hits[1].truth_share < 0.0);
}

#[test]
fn words_of_source_and_key_are_found_and_count_less() {
    let mut index = index_of(&["lunch is at noon", "boilers are loud"]);
    index.add(NewDoc { fact_key: Some("slo.tracking"), ..NewDoc::new(10, "99.9 percent over 30 days") });
    index.add(NewDoc { source: Some("Runbook heating"), ..NewDoc::new(11, "call the janitor") });
    index.add(NewDoc { source_id: Some("docs/uptime.md"), ..NewDoc::new(12, "measured every minute") });
    assert_eq!(seqs(&index, &SearchRequest::new("what is our SLO", 10)), [10]);
    assert_eq!(seqs(&index, &SearchRequest::new("heating runbook", 10))[0], 11);
    assert_eq!(seqs(&index, &SearchRequest::new("uptime", 10))[0], 12);
    index.add(NewDoc { fact_key: Some("boiler.place"), ..NewDoc::new(13, "it stands in the cellar room") });
    index.add(NewDoc::new(14, "the boiler stands in the cellar"));
    assert_eq!(seqs(&index, &SearchRequest::new("boiler", 10))[0], 14);
}

#[test]
fn a_star_lists_everything_newest_first() {
    let mut index = index_of(&["one", "two", "three"]);
    index.add(NewDoc { time: 500, ..NewDoc::new(9, "nine") });
    assert_eq!(seqs(&index, &SearchRequest::new(" * ", 3)), [9, 3, 2]);
    let filter = Filter { since: Some(500), until: Some(500), ..Filter::default() };
    assert_eq!(seqs(&index, &SearchRequest { filter, ..SearchRequest::new("*", 3) }), [9]);
    let filter = Filter { since: Some(501), ..Filter::default() };
    assert_eq!(seqs(&index, &SearchRequest { filter, ..SearchRequest::new("*", 3) }), [0; 0]);
    let filter = Filter { seqs: Some(&[2, 9, 77]), ..Filter::default() };
    assert_eq!(seqs(&index, &SearchRequest { filter, ..SearchRequest::new("*", 3) }), [9, 2]);
}

#[test]
fn fresh_records_are_found_behind_any_number_of_stale_ones() {
    // With 400 stale and 300 fresh records the best fresh one was missing; with 1,500 of 6,000 stale, all fresh ones
    // were.
    for (stale, fresh) in [(400_u64, 300_u64), (5_900, 100)] {
        let mut index = WorkspaceIndex::new(Model::shipped());
        for seq in 0..stale {
            let text = format!("boiler boiler boiler code {seq}");
            index.add(NewDoc { valid_until: Some(5), ..NewDoc::new(seq, &text) });
        }
        for seq in stale..stale + fresh {
            index.add(NewDoc::new(seq, &format!("ticket {seq} is about the boiler in room {seq}")));
        }
        let filter = Filter { exclude_stale: true, ..Filter::default() };
        let request = SearchRequest { now: 10, filter, ..SearchRequest::new("boiler", 50) };
        let found = seqs(&index, &request);
        assert_eq!(found.len(), 50);
        assert!(found.iter().all(|&seq| seq >= stale));
        // The first answers are those of a workspace that has only the fresh ones.
        let best = format!("ticket {} boiler room", stale + 7);
        let request = SearchRequest { query: &best, limit: 1, ..request };
        assert_eq!(seqs(&index, &request), [stale + 7]);
    }
}

#[test]
fn the_first_hits_are_the_same_whatever_the_limit() {
    let mut index = index_of(&["the boiler of the house", "a boiler of the house", "boiler"]);
    for seq in 10..13 {
        index.add(NewDoc { fact_key: Some("boiler"), ..NewDoc::new(seq, "house of a boiler") });
        index.add(NewDoc { valid_until: Some(1), ..NewDoc::new(seq + 10, "house of the old boiler") });
    }
    let all = seqs(&index, &SearchRequest { now: 2, ..SearchRequest::new("boiler house", 50) });
    for limit in 1..all.len() {
        assert_eq!(seqs(&index, &SearchRequest { now: 2, ..SearchRequest::new("boiler house", limit) }), all[..limit]);
    }
}

#[test]
fn a_phrase_of_time_lifts_the_records_of_its_days_and_filters_nothing() {
    let today = day_of(2026, 11, 18);
    let at = |year, month, day| i64::from(day_of(year, month, day)) * 86_400;
    let mut index = WorkspaceIndex::new(Model::shipped());
    let release =
        |seq, time| NewDoc { time, ..NewDoc::new(seq, "the release of the payment service for all customers") };
    index.add(release(1, at(2026, 6, 12)));
    index.add(release(2, at(2026, 9, 1)));
    index.add(NewDoc { time: at(2026, 9, 2), ..NewDoc::new(3, "the release of the payment service on 5 June 2026") });
    let june = Days { first: day_of(2026, 6, 1), last: day_of(2026, 6, 30) };
    index.add(NewDoc { occurred: Some(june), ..release(4, at(2026, 6, 1)) });
    index.add(release(5, at(2026, 10, 1)));
    let ask = |query: &str| {
        let phrase = time_phrase(query, today);
        index.search(&SearchRequest { time: phrase.as_ref(), ..SearchRequest::new(query, 10) })
    };
    let hits = ask("release of the payment service");
    let places = |hits: &[Hit]| hits.iter().map(|hit| hit.seq).collect::<Vec<_>>();
    assert_eq!(places(&hits)[..4], [5, 4, 2, 1], "without a time the newest of equals is first");
    let hits = ask("release of the payment service in June");
    let mut inside = places(&hits)[..3].to_vec();
    inside.sort_unstable();
    assert_eq!(inside, [1, 3, 4], "saved, named and given as its time");
    assert_eq!(hits.len(), 5, "nothing is filtered");
    assert_eq!(hits.iter().map(|hit| hit.is_in_time).collect::<Vec<_>>(), [true, true, true, false, false]);
    let hits = ask("what happened in June");
    assert_eq!(hits.iter().filter(|hit| hit.is_in_time).count(), 3, "a time alone finds its records");
    assert!(ask("what did we do in June 2020").iter().all(|hit| !hit.is_in_time));
}

#[test]
fn times_before_1970_and_beyond_2106_are_kept() {
    let mut index = WorkspaceIndex::new(Model::shipped());
    let [old, far] = [day_of(1789, 7, 14), day_of(2200, 1, 1)].map(i64::from).map(|day| day * 86_400);
    index.add(NewDoc { time: old, occurred: Some(Days::one(day_of(1789, 7, 14))), ..NewDoc::new(1, "the storming") });
    index.add(NewDoc { time: far, ..NewDoc::new(2, "the storming again") });
    let find = |since, until| {
        let filter = Filter { since, until, ..Filter::default() };
        seqs(&index, &SearchRequest { filter, ..SearchRequest::new("storming", 10) })
    };
    assert_eq!(find(Some(old), Some(old)), [1]);
    assert_eq!(find(Some(old + 1), None), [2]);
    assert_eq!(find(None, Some(far - 1)), [1]);
    assert_eq!(find(Some(far), Some(far)), [2]);
}
