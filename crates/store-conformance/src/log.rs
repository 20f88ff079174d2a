//! Stories of the change log.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mnemon_core::{Audience, FactKey, NewRecord, ProjectId, Role, Seq, WorkspaceName, WorkspaceNo};
use mnemon_store::{Change, Inserted, Seen, Sighting, Store, Tail};

use super::{House, MakeEngine, at, with_fact, workspace};

/// What a reader of the log holds: the living records by their places.
pub(super) type Followed = BTreeMap<Seq, String>;

/// What a reader of the log knows of sources: the newest hash of each for each audience, unless it is gone, and where
/// that was seen; and what was confirmed.
pub(super) type Known = BTreeMap<(String, Audience), (Option<String>, Seq, Option<(String, Seq)>)>;

/// Applies a piece of the log as an index would.
pub(super) fn apply(followed: &mut Followed, tail: &Tail) {
    for change in &tail.changes {
        match change {
            Change::Present(present) => drop(followed.insert(present.seq, present.fact.content.clone())),
            Change::Absent(seq) => drop(followed.remove(seq)),
        }
    }
}

/// Follows the log to its end, page by page.
pub(super) async fn follow(
    store: &Arc<dyn Store>,
    project: ProjectId,
    no: WorkspaceNo,
    from: Seq,
    rows_max: usize,
    followed: &mut Followed,
) -> Seq {
    follow_all(store, project, no, from, rows_max, followed, &mut Known::new()).await
}

/// As [`follow`], and keeps what is known of sources too.
pub(super) async fn follow_all(
    store: &Arc<dyn Store>,
    project: ProjectId,
    no: WorkspaceNo,
    from: Seq,
    rows_max: usize,
    followed: &mut Followed,
    known: &mut Known,
) -> Seq {
    let mut after = from;
    loop {
        let tail = store.tail(project, no, after, rows_max).await.expect("storage works");
        assert!(tail.upto >= after, "the log never goes back");
        assert!(tail.is_end || tail.upto > after, "every page goes on");
        assert!(tail.changes.len() <= rows_max.max(1) * 2, "a page is about as long as asked");
        let mut seqs: Vec<Seq> = tail.changes.iter().map(place).collect();
        seqs.sort_unstable();
        assert!(seqs.windows(2).all(|pair| pair[0] < pair[1]), "each record occurs once");
        apply(followed, &tail);
        for sighting in tail.sightings {
            let Sighting { source_id, audience, hash, seq, confirmed } = sighting;
            known.insert((source_id, audience), (hash, seq, confirmed));
        }
        after = tail.upto;
        if tail.is_end {
            return after;
        }
    }
}

fn place(change: &Change) -> Seq {
    match change {
        Change::Present(present) => present.seq,
        Change::Absent(seq) => *seq,
    }
}

/// Pages of any size lead to exactly the living records.
pub async fn following_the_log_leads_to_the_living_records(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let mut expected = Followed::new();
    let mut ids = Vec::new();
    let mut no = None;
    for n in 0..60_usize {
        let record = house.record(&format!("fact {n}"));
        ids.push(record.id);
        let (seq, workspace_no) = house.save_numbered(record).await;
        no = Some(workspace_no);
        expected.insert(seq, format!("fact {n}"));
        house.save(NewRecord { workspace: workspace("other"), ..house.record(&format!("other {n}")) }).await;
        if n % 3 == 0 {
            house.forget(&[seq], 20).await;
            expected.remove(&seq);
        }
        if n % 6 == 0 {
            let back = house.restore(ids[n / 2], 0, 30).await;
            expected.extend(back.map(|record| (record.seq, record.fact.content)));
        }
    }
    let no = no.expect("something was saved");
    for rows_max in [1, 2, 7, 1000] {
        let mut followed = Followed::new();
        let end = follow(&engine.store, house.project, no, Seq(0), rows_max, &mut followed).await;
        assert_eq!(end, house.last_seq().await);
        assert_eq!(followed, expected, "pages of {rows_max}");
    }
}

/// A reader that follows while others write misses nothing and keeps nothing that was forgotten.
pub async fn following_while_others_write_converges(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let (_, no) = house.save_numbered(house.record("the first")).await;
    let is_over = Arc::new(AtomicBool::new(false));
    let mut writers = Vec::new();
    for caller in 0..4 {
        let house = house.clone();
        writers.push(tokio::spawn(async move {
            for n in 0..40 {
                let record = house.record(&format!("fact {n} of {caller}"));
                let id = record.id;
                let seq = house.save(record).await;
                if n % 2 == 0 {
                    assert_eq!(house.forget(&[seq], 20).await, [id]);
                }
                if n % 4 == 0 {
                    assert!(house.restore(id, 0, 30).await.is_some());
                }
            }
        }));
    }
    let mut readers = Vec::new();
    for rows_max in [1, 2, 7, 1000] {
        let (house, is_over) = (house.clone(), Arc::clone(&is_over));
        readers.push(tokio::spawn(async move {
            let (mut followed, mut after) = (Followed::new(), Seq(0));
            loop {
                let is_last = is_over.load(Ordering::SeqCst);
                after = follow(&house.store, house.project, no, after, rows_max, &mut followed).await;
                if is_last {
                    return followed;
                }
                tokio::task::yield_now().await;
            }
        }));
    }
    for writer in writers {
        writer.await.expect("a writer");
    }
    is_over.store(true, Ordering::SeqCst);
    let all: Vec<Seq> = (1..=house.last_seq().await.0).map(Seq).collect();
    let living = house.store.load(house.project, &all).await.expect("storage works");
    let expected: Followed = living.into_iter().map(|record| (record.seq, record.fact.content)).collect();
    assert_eq!(expected.len(), 1 + 4 * (40 - 20 + 10));
    for reader in readers {
        assert_eq!(reader.await.expect("a reader"), expected);
    }
}

/// A change to a record that a reader knows reaches it from any place.
pub async fn a_tail_tells_what_became_of_known_records(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let given = NewRecord { embedding: vec![1, 2, 3], ..house.record("a fact") };
    let (seq, no) = house.save_numbered(given.clone()).await;
    let tail = async |after: Seq| house.store.tail(house.project, no, after, 100).await.expect("storage works");
    let first = tail(Seq(0)).await;
    assert_eq!((first.upto, first.is_end, first.is_active), (seq, true, true));
    let Change::Present(present) = &first.changes[0] else { panic!("{first:?}") };
    assert_eq!((present.seq, &present.embedding, present.audience), (seq, &vec![1, 2, 3], Audience::Shared));
    assert_eq!(tail(seq).await.changes, []);
    house.forget(&[seq], 20).await;
    let second = tail(seq).await;
    assert_eq!((second.upto, &second.changes[..]), (Seq(2), &[Change::Absent(seq)][..]));
    house.restore(given.id, 0, 30).await;
    assert_eq!(tail(Seq(2)).await.changes, first.changes);
    assert_eq!(tail(Seq(1)).await.changes, first.changes, "as it is now, and once");
    assert_eq!(tail(Seq(3)).await.changes, []);
    assert_eq!(tail(Seq(99)).await.changes, [], "a place beyond the end is no error");
    house.save(NewRecord { workspace: workspace("other"), ..house.record("elsewhere") }).await;
    let other = tail(Seq(3)).await;
    assert_eq!(
        (other.upto, other.changes.len(), other.is_end),
        (Seq(4), 0, true),
        "other workspaces move the end along"
    );
}

/// A duplicate that brings its record up to date is told of, with the values that it has now; one that says nothing new
/// takes no place.
pub async fn a_tail_tells_that_a_record_was_brought_up_to_date(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let key = FactKey { text: "port".to_owned(), is_given: true };
    let given = NewRecord {
        fact_key: key,
        ..with_fact(house.sourced("a fact", "page", "h1"), |fact| {
            fact.source = Some("a page".to_owned());
            fact.valid_until = Some(at(900));
        })
    };
    let (seq, no) = house.save_numbered(given.clone()).await;
    let tail = async |after: Seq| house.store.tail(house.project, no, after, 100).await.expect("storage works");
    let only = |tail: &Tail| match &tail.changes[..] {
        [Change::Present(present)] => present.clone(),
        other => panic!("{other:?}"),
    };
    let before = only(&tail(Seq(0)).await);
    assert_eq!((before.id, before.updated_at), (given.id, at(10)));
    assert_eq!((&before.fact_key, &before.fact), (&given.fact_key, &given.fact));
    assert!(matches!(house.insert(given.clone()).await, Inserted::Duplicate { .. }));
    assert_eq!(house.last_seq().await, seq, "nothing new, no place");
    let later = with_fact(given.clone(), |fact| (fact.valid_until, fact.source_hash) = (Some(at(950)), None));
    let later = NewRecord { created_at: at(20), ..later };
    assert!(matches!(house.insert(later.clone()).await, Inserted::Duplicate { .. }));
    let after = only(&tail(seq).await);
    assert_eq!((after.seq, after.fact.valid_until, after.updated_at), (seq, Some(at(950)), at(20)));
    assert_eq!(after.fact.source_hash.as_deref(), Some("h1"));
    assert_eq!(house.last_seq().await, Seq(2));
    let seen = NewRecord { created_at: at(30), ..with_fact(later, |fact| fact.source_hash = Some("h2".to_owned())) };
    assert!(matches!(house.insert(seen).await, Inserted::Duplicate { .. }));
    assert_eq!(house.last_seq().await, Seq(3), "the update and the sighting share a place");
    let third = tail(Seq(2)).await;
    assert_eq!(only(&third).fact.source_hash.as_deref(), Some("h2"));
    let (source_id, hash) = ("page".to_owned(), Some("h2".to_owned()));
    let confirmed = None;
    assert_eq!(third.sightings, [Sighting { source_id, audience: Audience::Shared, hash, seq: Seq(3), confirmed }]);
    let made = house.save(house.record("with a made key")).await;
    assert_eq!(only(&tail(Seq(3)).await).seq, made);
    assert_eq!(only(&tail(Seq(3)).await).fact_key.chosen(), None);
}

/// What is known of several sources may be handed over at one position. A short piece takes all of it along, because
/// the next one starts after it.
pub async fn a_short_tail_leaves_no_sighting_behind(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let over = |record: NewRecord| NewRecord { workspace: workspace("over"), ..record };
    let shared = over(house.sourced("shared", "page", "h1"));
    let draft = over(house.sourced("draft", "page", "h1"));
    house.save(shared.clone()).await;
    house.save(NewRecord { audience: Audience::Author(house.ana), ..draft }).await;
    house.delete_workspace("over", 20).await;
    let (_, no) = house.save_numbered(over(house.record("newly"))).await;
    let back = house.restore(shared.id, 0, 30).await.expect("it comes back");
    house.forget(&[back.seq], 40).await;
    for rows_max in [1, 2, 100] {
        let (mut followed, mut known) = (Followed::new(), Known::new());
        follow_all(&house.store, house.project, no, Seq(0), rows_max, &mut followed, &mut known).await;
        assert_eq!(known.len(), 2, "{rows_max}: {known:?}");
    }
}

/// A reader that follows one workspace learns what is known there of the sources that its records name, and nothing of
/// other sources or from other workspaces; also when it starts late, in pages of any size.
pub async fn a_tail_hands_out_what_is_known_of_sources(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let draft = Audience::Author(house.ana);
    let (_, no) = house.save_numbered(house.sourced("one", "page", "h1")).await;
    let other = |text: &str, source: &str, hash: &str| NewRecord {
        workspace: workspace("other"),
        ..house.sourced(text, source, hash)
    };
    let bare = |text: &str, source: &str| with_fact(house.sourced(text, source, ""), |fact| fact.source_hash = None);
    let tail = async |after: Seq| house.store.tail(house.project, no, after, 100).await.expect("storage works");
    let told = |tail: Tail| {
        let told = tail.sightings.into_iter().map(|seen| (seen.source_id, seen.audience, seen.hash, seen.seq));
        told.collect::<Vec<_>>()
    };
    let seen = |source: &str, audience, hash: &str, seq| (source.to_owned(), audience, Some(hash.to_owned()), Seq(seq));
    assert_eq!(told(tail(Seq(0)).await), [seen("page", Audience::Shared, "h1", 1)]);
    assert_eq!(told(tail(Seq(1)).await), []);
    house.save(other("two", "page", "h2")).await;
    assert_eq!(told(tail(Seq(1)).await), [], "seen in another workspace");
    house.save(other("three", "foreign", "x")).await;
    assert_eq!(house.observe_hash("stranger", "x", 20).await, Some(Seq(4)));
    let stranger = seen("stranger", Audience::Shared, "x", 4);
    let before = "what is known of a source counts for whatever is saved from it later";
    assert_eq!(told(tail(Seq(2)).await), std::slice::from_ref(&stranger), "{before}");
    assert_eq!(house.observe_hash("page", "h3", 20).await, Some(Seq(5)));
    assert_eq!(told(tail(Seq(4)).await), [seen("page", Audience::Shared, "h3", 5)], "observed");
    assert_eq!(house.observe(Some("other"), "page", Seen::Hash("h4".to_owned()), 20).await, Some(Seq(6)));
    house.save(NewRecord { audience: draft, ..other("four", "page", "h5") }).await;
    assert_eq!(told(tail(Seq(5)).await), [], "observed and saved in another workspace");
    house.save(NewRecord { audience: draft, ..house.sourced("five", "page", "h6") }).await;
    let own = tail(Seq(7)).await.sightings.into_iter().find(|seen| seen.seq == Seq(8)).expect("it is news");
    assert_eq!((own.audience, own.hash.as_deref()), (draft, Some("h6")), "known to its author alone");
    house.save(bare("six", "foreign")).await;
    assert_eq!(told(tail(Seq(8)).await), [], "what another workspace knows of it stays there");
    let late = bare("seven", "stranger");
    let id = late.id;
    let (place, _) = house.save_numbered(late).await;
    assert_eq!(told(tail(Seq(9)).await), std::slice::from_ref(&stranger), "a new reader of the record");
    house.forget(&[place], 30).await;
    assert_eq!(house.observe_hash("stranger", "y", 40).await, Some(Seq(12)));
    assert_eq!(told(tail(Seq(11)).await), [seen("stranger", Audience::Shared, "y", 12)], "observed");
    house.restore(id, 0, 50).await;
    assert_eq!(told(tail(Seq(12)).await), [seen("stranger", Audience::Shared, "y", 12)], "one is back");
    assert_eq!(house.observe(None, "page", Seen::Gone { moved_to: None }, 60).await, Some(Seq(14)));
    let gone = ("page".to_owned(), Audience::Shared, None, Seq(14));
    assert_eq!(told(tail(Seq(13)).await), std::slice::from_ref(&gone), "without a hash");
    for rows_max in [1, 2, 3, 100] {
        let (mut followed, mut known) = (Followed::new(), Known::new());
        follow_all(&engine.store, house.project, no, Seq(0), rows_max, &mut followed, &mut known).await;
        let known: Vec<_> =
            known.into_iter().map(|((id, audience), (hash, seq, _))| (id, audience, hash, seq)).collect();
        let expected = [gone.clone(), seen("page", draft, "h6", 8), seen("stranger", Audience::Shared, "y", 12)];
        assert_eq!(known, expected, "pages of {rows_max}");
    }
}

/// The end of a workspace's life shows, and its rebirth is apart.
pub async fn a_tail_tells_that_its_workspace_is_gone(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let (_, no) = house.save_numbered(house.record("a fact")).await;
    house.delete_workspace("default", 20).await;
    let gone = Tail {
        upto: Seq(2),
        is_end: true,
        is_active: false,
        audiences: Vec::new(),
        changes: Vec::new(),
        sightings: Vec::new(),
    };
    assert_eq!(house.store.tail(house.project, no, Seq(0), 10).await, Ok(gone));
    let (seq, reborn) = house.save_numbered(house.record("a new fact")).await;
    let old = house.store.tail(house.project, no, Seq(0), 10).await.expect("storage works");
    assert!(!old.is_active && old.changes.is_empty());
    let mut followed = Followed::new();
    follow(&engine.store, house.project, reborn, Seq(0), 10, &mut followed).await;
    assert_eq!(followed, Followed::from([(seq, "a new fact".to_owned())]));
    let never = house.store.tail(house.project, WorkspaceNo(77), Seq(0), 10).await.expect("storage works");
    assert!(!never.is_active);
}

/// A workspace knows every audience that something was ever saved for.
pub async fn a_workspace_knows_its_audiences(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let works = house.add_department("Works", None).await;
    let ben = house.add_member("Ben", Role::Member, Some(works)).await;
    let audiences = [Audience::Author(ben), Audience::Department(works), Audience::Shared];
    let mut no = None;
    for (n, audience) in audiences.into_iter().enumerate() {
        for text in ["a fact", "a second"] {
            let (seq, workspace_no) = house.save_numbered(NewRecord { audience, ..house.record(text) }).await;
            house.forget(&[seq], 20).await;
            no = Some(workspace_no);
        }
        let found = house.store.find_workspace(house.project, &WorkspaceName::default()).await.expect("storage works");
        let mut known = found.expect("it is active").audiences;
        known.sort_unstable();
        let mut expected = audiences[..=n].to_vec();
        expected.sort_unstable();
        assert_eq!(known, expected, "also of forgotten records");
        let tail = house.store.tail(house.project, no.expect("saved"), Seq(0), 100).await.expect("storage works");
        let mut told = tail.audiences;
        told.sort_unstable();
        assert_eq!(told, expected);
    }
    house.delete_workspace("default", 30).await;
    house.save_text("newly").await;
    let found = house.store.find_workspace(house.project, &WorkspaceName::default()).await.expect("storage works");
    assert_eq!(found.expect("reborn").audiences, [Audience::Shared], "a new life has new audiences");
}
