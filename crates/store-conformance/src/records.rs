//! Stories of saving and reading records.

use std::sync::Arc;

use mnemon_core::{Audience, ContentHash, Fact, FactKey, NewRecord, Occurred, Role, Seq, Tags, WorkspaceName};
use mnemon_store::{Insert, Inserted};

use super::{House, MakeEngine, at, with_fact, workspace};

/// Everything that was given comes back, and what was not given is absent.
pub async fn a_saved_record_comes_back_whole(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let works = house.add_department("Works", None).await;
    let ben = house.add_member("Ben", Role::Member, Some(works)).await;
    let given = NewRecord {
        workspace: workspace("team notes"),
        audience: Audience::Department(works),
        author: ben,
        department: Some(works),
        fact_key: FactKey { text: "boiler".to_owned(), is_given: true },
        fact: Fact {
            content: "the boiler code is 4711".to_owned(),
            source: Some("the manual".to_owned()),
            source_id: Some("manual.pdf".to_owned()),
            source_hash: Some("abc".to_owned()),
            source_revision: Some("r7".to_owned()),
            confidence: Some(0.75),
            valid_until: Some(at(5_000)),
            tags: Tags::parse(&["Heating".to_owned(), "house 7".to_owned()]).expect("two tags"),
            occurred_at: Some(Occurred::parse("2027-01-01/2027-01-31").expect("a range")),
        },
        ..house.record("")
    };
    let (seq, no) = house.save_numbered(given.clone()).await;
    let record = house.load(seq).await.expect("it is alive");
    assert_eq!((record.id, record.seq, record.workspace_no), (given.id, seq, no));
    assert_eq!((&record.workspace, record.audience), (&given.workspace, given.audience));
    assert_eq!((record.author, record.author_name.as_deref()), (ben, Some("Ben")));
    assert_eq!(record.department_name.as_deref(), Some("Works"));
    assert_eq!((&record.fact_key, &record.fact), (&given.fact_key, &given.fact));
    assert_eq!((record.created_at, record.updated_at), (given.created_at, given.created_at));
    assert_eq!(house.store.find(house.project, given.id).await, Ok(Some(record)));

    let bare = house.load(house.save_text("no more than this").await).await.expect("it is alive");
    assert_eq!((bare.fact, bare.department_name), (Fact::new("no more than this"), None));
}

/// No text is trimmed, folded, cut or escaped on its way.
pub async fn odd_texts_come_back_byte_for_byte(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let long = "ж".repeat(8 * 1024);
    let texts = [
        " leading and trailing ",
        "line\r\nbreaks\n\tand tabs",
        "'; DROP TABLE record; --",
        "\"quoted\" \\ back % _",
        "👩‍👩‍👧‍👦 🇺🇦 e\u{301} é",
        "\u{feff}bom \u{202e}rtl \u{200b}zero",
        "\u{1}\u{7f}\u{85}",
        "\u{10ffff}\u{fffd}",
        "0",
        "NULL",
        &long,
    ];
    for text in texts {
        let record = NewRecord {
            fact_key: FactKey {
                text: "key of ".to_owned() + &text.chars().take(20).collect::<String>(),
                is_given: true,
            },
            embedding: text.bytes().rev().collect(),
            ..with_fact(house.sourced(text, &text.chars().take(512).collect::<String>(), text), |fact| {
                fact.source.clone_from(&fact.source_id);
                fact.source_revision.clone_from(&fact.source_id);
            })
        };
        let (seq, no) = house.save_numbered(record.clone()).await;
        let back = house.load(seq).await.expect("it is alive");
        assert_eq!((&back.fact_key, &back.fact), (&record.fact_key, &record.fact));
        let tail = house.store.tail(house.project, no, Seq(seq.0 - 1), 10).await.expect("storage works");
        let mnemon_store::Change::Present(present) = &tail.changes[0] else { panic!("{tail:?}") };
        assert_eq!((&present.fact, &present.embedding), (&record.fact, &record.embedding));
        let source = record.fact.source_id.clone().expect("it has one");
        let found = house.store.list_by_source(house.project, &source, None).await.expect("storage works");
        assert_eq!(found.iter().map(|summary| summary.seq).collect::<Vec<_>>(), [seq]);
    }
    for confidence in [0.0, 1.0, 0.1 + 0.2, f64::MIN_POSITIVE] {
        let text = format!("sure by {confidence}");
        let seq = house.save(with_fact(house.record(&text), |fact| fact.confidence = Some(confidence))).await;
        assert_eq!(house.load(seq).await.expect("it is alive").fact.confidence, Some(confidence));
    }
}

/// Records come in the order asked for, and what is not there is left out.
pub async fn load_keeps_the_order_and_leaves_out_what_is_not_there(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let mut seqs = Vec::new();
    for n in 0..100 {
        seqs.push(house.save_text(&format!("fact {n}")).await);
    }
    house.forget(&[seqs[3]], 20).await;
    let asked = [seqs[5], Seq(9_999), seqs[1], seqs[3], seqs[0]];
    let found = house.store.load(house.project, &asked).await.expect("storage works");
    assert_eq!(found.iter().map(|record| record.seq).collect::<Vec<_>>(), [seqs[5], seqs[1], seqs[0]]);
    assert_eq!(house.store.load(house.project, &[]).await, Ok(Vec::new()));
    // More than an engine may read in one go.
    seqs.reverse();
    let all = house.store.load(house.project, &seqs).await.expect("storage works");
    let expected: Vec<Seq> = seqs.iter().copied().filter(|seq| seq.0 != 4).collect();
    assert_eq!(all.iter().map(|record| record.seq).collect::<Vec<_>>(), expected);
}

/// Commit order is seq order: no number is left out, none comes twice, and the log's end is never behind an answer.
pub async fn concurrent_saves_take_consecutive_places(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let mut tasks = Vec::new();
    for caller in 0..16 {
        let house = house.clone();
        tasks.push(tokio::spawn(async move {
            let mut seqs = Vec::new();
            for n in 0..20 {
                let seq = house.save_text(&format!("fact {n} of caller {caller}")).await;
                assert!(house.last_seq().await >= seq);
                assert!(house.load(seq).await.is_some(), "what was acknowledged can be read");
                seqs.push(seq);
            }
            seqs
        }));
    }
    let mut seqs = Vec::new();
    for task in tasks {
        seqs.extend(task.await.expect("a caller"));
    }
    seqs.sort();
    assert_eq!(seqs, (1..=320).map(Seq).collect::<Vec<_>>());
    assert_eq!(house.last_seq().await, Seq(320));
}

/// What says the same, in the same workspace, audience, `source` and `source_id`, is a duplicate; one difference makes
/// it new.
pub async fn a_duplicate_is_equal_in_five_things(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let works = house.add_department("Works", None).await;
    let base = with_fact(house.sourced("a fact", "page", "h1"), |fact| fact.source = Some("wiki".to_owned()));
    let again = |house: &House| NewRecord { id: house.record("").id, ..base.clone() };
    let seq = house.save(base.clone()).await;
    let Inserted::Duplicate { record: found, .. } = house.insert(again(&house)).await else { panic!("a duplicate") };
    assert_eq!((found.seq, found.id), (seq, base.id));
    let variants = [
        with_fact(again(&house), |fact| fact.content.push_str(" or two")),
        NewRecord { workspace: workspace("other"), ..again(&house) },
        NewRecord { audience: Audience::Author(house.ana), ..again(&house) },
        NewRecord { audience: Audience::Department(works), ..again(&house) },
        with_fact(again(&house), |fact| fact.source = None),
        with_fact(again(&house), |fact| fact.source = Some("Wiki".to_owned())),
        with_fact(again(&house), |fact| fact.source_id = None),
        with_fact(again(&house), |fact| fact.source_id = Some("page2".to_owned())),
    ];
    for variant in variants {
        house.save(variant).await;
    }
    let same_words = with_fact(again(&house), |fact| fact.content = " a  fact.".to_owned());
    let Inserted::Duplicate { record: found, .. } = house.insert(same_words).await else { panic!("a duplicate") };
    assert_eq!((found.seq, found.fact.content.as_str()), (seq, "a fact"), "the same fact, as it was first put");
    let fact_key = FactKey { text: "other key".to_owned(), is_given: true };
    let other_key = NewRecord { fact_key, author: house.add_member("Ben", Role::Member, None).await, ..again(&house) };
    let Inserted::Duplicate { record: found, .. } = house.insert(other_key).await else { panic!("a duplicate") };
    assert_eq!((found.seq, found.author, &found.fact_key), (seq, house.ana, &base.fact_key), "who came first stays");
}

/// A duplicate brings hash, revision, confidence and end of validity up to date, each only where it was given.
pub async fn a_duplicate_brings_given_values_up_to_date(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let base = house.sourced("a fact", "page", "h1");
    let seq = house.save(base.clone()).await;
    let before = house.load(seq).await.expect("alive");
    let bare = NewRecord { created_at: at(11), ..with_fact(base.clone(), |fact| fact.source_hash = None) };
    assert_eq!(
        house.insert(bare).await,
        Inserted::Duplicate { record: Box::new(before.clone()), superseded: Vec::new() },
        "nothing given, nothing changed"
    );
    assert_eq!(house.last_seq().await, seq, "and no place of the log taken");

    let full = NewRecord {
        created_at: at(12),
        ..with_fact(base.clone(), |fact| {
            fact.source_hash = Some("h2".to_owned());
            fact.source_revision = Some("r2".to_owned());
            fact.confidence = Some(0.5);
            fact.valid_until = Some(at(99));
            fact.tags = Tags::from_lines("b\na");
            fact.occurred_at = Occurred::parse("2027-01-31").ok();
        })
    };
    let Inserted::Duplicate { record: now, .. } = house.insert(full).await else { panic!("a duplicate") };
    assert_eq!((now.fact.source_hash.as_deref(), now.fact.source_revision.as_deref()), (Some("h2"), Some("r2")));
    assert_eq!((now.fact.confidence, now.fact.valid_until), (Some(0.5), Some(at(99))));
    assert_eq!((now.fact.tags.to_lines().as_deref(), now.fact.occurred_at.is_some()), (Some("b\na"), true));
    assert_eq!((now.created_at, now.updated_at, now.seq), (at(10), at(12), seq));
    assert_eq!(house.load(seq).await, Some(*now));
    assert_eq!(house.last_seq().await, Seq(seq.0 + 1), "the sighting of its source takes a place");

    let one = with_fact(base, |fact| (fact.source_hash, fact.confidence) = (None, Some(0.9)));
    let one = NewRecord { created_at: at(13), ..one };
    let Inserted::Duplicate { record: now, .. } = house.insert(one).await else { panic!("a duplicate") };
    assert_eq!((now.fact.source_hash.as_deref(), now.fact.confidence, now.updated_at), (Some("h2"), Some(0.9), at(13)));
    assert_eq!((now.fact.valid_until, now.fact.tags.as_slice().len()), (Some(at(99)), 2));
}

/// What was forgotten is no duplicate any more.
pub async fn a_forgotten_record_is_no_duplicate(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let first = house.save_text("a fact").await;
    house.forget(&[first], 20).await;
    let second = house.save_text("a fact").await;
    assert!(second > first);
    assert!(house.load(first).await.is_none());
}

/// The limit comes after the duplicate and stores nothing.
pub async fn a_full_project_takes_duplicates_and_nothing_else(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let insert = async |text: &str, max: u64| {
        let insert = Insert {
            record: house.record(text),
            records_max: Some(max),
            workspaces_max: None,
            idempotency: None,
            supersede: None,
        };
        house.store.insert(insert).await.expect("storage works")
    };
    assert_eq!(insert("one", 0).await, Inserted::LimitReached);
    assert_eq!(
        house.store.find_workspace(house.project, &WorkspaceName::default()).await,
        Ok(None),
        "nothing was made"
    );
    assert!(matches!(insert("one", 1).await, Inserted::New { .. }));
    assert_eq!(insert("two", 1).await, Inserted::LimitReached);
    assert!(matches!(insert("one", 1).await, Inserted::Duplicate { .. }));
    assert_eq!(house.last_seq().await, Seq(1), "a refusal takes no place");
    house.forget(&[Seq(1)], 20).await;
    assert!(matches!(insert("two", 1).await, Inserted::New { .. }), "forgetting makes room");
    assert_eq!(insert("three", 1).await, Inserted::LimitReached);
    house.delete_workspace("default", 30).await;
    assert!(matches!(insert("three", 1).await, Inserted::New { .. }), "deleting a workspace makes room");
}

/// One more workspace than allowed is refused and stores nothing; those that are there take records.
pub async fn a_project_has_a_limit_of_workspaces(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let insert = async |text: &str, name: &str| {
        let record = NewRecord { workspace: workspace(name), ..house.record(text) };
        let insert = Insert { record, records_max: None, workspaces_max: Some(2), idempotency: None, supersede: None };
        house.store.insert(insert).await.expect("storage works")
    };
    assert!(matches!(insert("one", "a").await, Inserted::New { .. }));
    assert!(matches!(insert("two", "b").await, Inserted::New { .. }), "up to the limit");
    assert_eq!(insert("three", "c").await, Inserted::TooManyWorkspaces);
    assert_eq!(house.last_seq().await, Seq(2), "a refusal takes no place");
    assert!(matches!(insert("three", "b").await, Inserted::New { .. }));
    assert_eq!(house.store.find_workspace(house.project, &workspace("c")).await, Ok(None), "nothing was made");
    house.delete_workspace("a", 30).await;
    assert!(matches!(insert("three", "c").await, Inserted::New { .. }), "deleting one makes room");
    assert_eq!(insert("again", "a").await, Inserted::TooManyWorkspaces);
}

/// 64 callers at ten below the limit: ten get in.
pub async fn concurrent_saves_never_exceed_the_limit(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    for n in 0..20 {
        house.save_text(&format!("fact {n}")).await;
    }
    let mut tasks = Vec::new();
    for caller in 0..64 {
        let (house, store) = (house.clone(), Arc::clone(&engine.store));
        tasks.push(tokio::spawn(async move {
            let record = house.record(&format!("late fact {caller}"));
            store
                .insert(Insert {
                    record,
                    records_max: Some(30),
                    workspaces_max: None,
                    idempotency: None,
                    supersede: None,
                })
                .await
                .expect("storage works")
        }));
    }
    let (mut new, mut refused) = (0, 0);
    for task in tasks {
        match task.await.expect("a caller") {
            Inserted::New { .. } => new += 1,
            Inserted::LimitReached => refused += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((new, refused), (10, 54));
    assert_eq!(house.last_seq().await, Seq(30));
}

/// The records of a source: of one workspace or of all, oldest first, living ones only.
pub async fn records_are_listed_by_source(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let first = house.save(house.sourced("one", "page", "h1")).await;
    house.save(house.sourced("two", "Page", "h1")).await;
    let elsewhere = NewRecord { workspace: workspace("other"), ..house.sourced("three", "page", "h2") };
    let second = house.save(elsewhere).await;
    let third = NewRecord {
        fact_key: FactKey { text: "k".to_owned(), is_given: true },
        audience: Audience::Author(house.ana),
        ..with_fact(house.sourced("four", "page", "h3"), |fact| fact.valid_until = Some(at(50)))
    };
    let third_seq = house.save(third.clone()).await;
    let list = async |source: &str, name: Option<&str>| {
        let name = name.map(workspace);
        house.store.list_by_source(house.project, source, name.as_ref()).await.expect("storage works")
    };
    let seqs =
        |summaries: &[mnemon_store::RecordSummary]| summaries.iter().map(|summary| summary.seq).collect::<Vec<_>>();
    let all = list("page", None).await;
    assert_eq!(seqs(&all), [first, second, third_seq]);
    assert_eq!(seqs(&list("page", Some("other")).await), [second]);
    assert_eq!(seqs(&list("page", Some("absent")).await), []);
    assert_eq!(seqs(&list("pag", None).await), []);
    assert_eq!((all[0].given_fact_key.as_deref(), all[2].given_fact_key.as_deref()), (None, Some("k")));
    assert_eq!((all[2].id, all[2].audience, all[2].valid_until), (third.id, third.audience, third.fact.valid_until));
    let after = async |after: Option<&str>, sources_max: usize| {
        house.store.list_after_source(house.project, after, sources_max).await.expect("storage works")
    };
    let capital = list("Page", None).await;
    assert_eq!(after(None, 2).await, [&capital[..], &all[..]].concat(), "by bytes, and each source complete");
    assert_eq!(after(None, 1).await, capital);
    assert_eq!(after(Some("Page"), 1).await, all);
    assert_eq!(after(Some("page"), 1).await, []);
    assert_eq!(all[2].content_hash, mnemon_core::ContentHash::of("four"));
    assert_eq!((all[2].source_id.as_deref(), all[2].source_hash.as_deref()), (Some("page"), Some("h3")));
    house.forget(&[first], 20).await;
    house.delete_workspace("other", 20).await;
    assert_eq!(seqs(&list("page", None).await), [third_seq]);
    assert_eq!(seqs(&after(Some("Page"), 9).await), [third_seq], "no forgotten one, none of a deleted workspace");
    assert_eq!(seqs(&list("page", Some("other")).await), []);
    for n in 0..200 {
        house.save(house.sourced(&format!("many {n}"), "big", "h")).await;
    }
    let many = seqs(&list("big", None).await);
    assert!(many.len() == 200 && many.is_sorted());
}

/// Copies of a text, the newest first, without those that are gone.
pub async fn records_that_say_the_same_are_found_in_every_workspace(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let of = |text: &str, name: &str| NewRecord { workspace: workspace(name), ..house.record(text) };
    let (first, second) = (of("port is 80", "one"), of("Port  is 80.", "two"));
    let (a, b, c) = (of("port is 80.", "two"), of("port is 81", "one"), of("port is 80", "gone"));
    let ids = [a.id, first.id];
    let saved = house.save(first).await;
    for record in [second, a, b, c] {
        house.save(record).await;
    }
    house.delete_workspace("gone", 20).await;
    let list = async || {
        let copies = house.store.list_saying(house.project, ContentHash::of("port is 80")).await;
        copies.expect("storage works").into_iter().map(|(id, _)| id).collect::<Vec<_>>()
    };
    assert_eq!(list().await, ids, "those of other words or of a deleted workspace are left out");
    house.forget(&[saved], 20).await;
    assert_eq!(list().await, ids[..1]);
}

/// The records under caller-given keys, each in its workspace.
pub async fn records_are_listed_by_given_fact_key(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let given = |text: &str, key: &str, name: &str| NewRecord {
        fact_key: FactKey { text: key.to_owned(), is_given: true },
        workspace: workspace(name),
        ..house.record(text)
    };
    let (a, one) = house.save_numbered(given("port is 80", "port", "one")).await;
    let (b, two) = house.save_numbered(given("port is 81", "port", "two")).await;
    let c = house.save(given("host is x", "host", "one")).await;
    let made =
        NewRecord { fact_key: FactKey { text: "port".to_owned(), is_given: false }, ..given("made", "port", "one") };
    house.save(made).await;
    let list = async |keys: &[(mnemon_core::WorkspaceNo, &str)]| {
        let summaries = house.store.list_by_fact_key(house.project, keys).await.expect("storage works");
        summaries.iter().map(|summary| summary.seq).collect::<Vec<_>>()
    };
    assert_eq!(list(&[(one, "port")]).await, [a]);
    assert_eq!(list(&[(two, "port"), (one, "host"), (one, "port"), (one, "port")]).await, [a, b, c]);
    assert_eq!(list(&[(one, "Port"), (two, "host")]).await, []);
    assert_eq!(list(&[]).await, []);
    house.forget(&[a], 20).await;
    house.delete_workspace("two", 20).await;
    assert_eq!(list(&[(two, "port"), (one, "port")]).await, []);
}

/// A record from elsewhere keeps its moments, is no sighting of its source, and leaves an equal record as it is.
pub async fn a_record_from_elsewhere_keeps_its_past(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let old =
        NewRecord { created_at: at(1), refreshed_elsewhere_at: Some(at(5)), ..house.sourced("old", "page", "h1") };
    let seq = house.save(old.clone()).await;
    let stored = house.load(seq).await.expect("it is there");
    assert_eq!((stored.id, stored.created_at, stored.updated_at), (old.id, at(1), at(5)));
    assert!(house.store.list_sources(house.project, &["page"]).await.expect("storage works").is_empty());
    let again = NewRecord { id: house.record("").id, refreshed_elsewhere_at: Some(at(7)), ..old };
    let again = with_fact(again, |fact| fact.source_hash = Some("h2".to_owned()));
    let Inserted::Duplicate { record, .. } = house.insert(again).await else { panic!("an equal record is there") };
    assert_eq!(*record, stored, "nothing about it changed");
}
