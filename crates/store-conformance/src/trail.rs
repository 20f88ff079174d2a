//! Stories of what histories tell, of the list of what was forgotten, and of tags.

use mnemon_core::{Audience, KeyId, NewRecord, Seq, Tags, WorkspaceNo};
use mnemon_store::{AuditEntry, DeedKind, Seen};

use super::{House, MakeEngine, at, audit, with_fact, workspace};

const FIRST: WorkspaceNo = WorkspaceNo(1);
/// How many looks at a source are kept.
const LOOKS_MAX: i64 = 20;

fn tags(names: &[&str]) -> Tags {
    Tags::parse(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).expect("tags")
}

pub async fn a_record_tells_with_which_keys_it_was_saved_and_what_happened_to_it(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let keys = [1, 2].map(|n| KeyId::from_bytes([n; 16]));
    let record = NewRecord { key: Some(keys[0]), ..house.sourced("the boiler code is 4711", "manual", "h1") };
    let seq = house.save(record.clone()).await;
    let again = with_fact(record.clone(), |fact| fact.source_hash = Some("h2".to_owned()));
    house.insert(NewRecord { key: Some(keys[1]), id: house.record("").id, created_at: at(20), ..again }).await;
    let line = |second, action| AuditEntry { project: Some(house.project), ..audit(house.account, second, action) };
    house.store.forget(house.project, &[seq], line(30, "record.forget")).await.expect("storage works");
    let restored = house.store.restore(house.project, record.id, at(0), None, line(40, "record.restore")).await;
    assert!(restored.expect("storage works").is_some());
    house.save_text("something else").await;
    let deeds = house.store.list_deeds(house.project, FIRST, seq).await.expect("storage works");
    let told: Vec<_> = deeds.iter().map(|deed| (deed.at, deed.kind, deed.key)).collect();
    let expected = [
        (at(10), DeedKind::Saved, Some(keys[0])),
        (at(20), DeedKind::SavedAgain, Some(keys[1])),
        (at(30), DeedKind::Forgotten, None),
        (at(40), DeedKind::Restored, None),
    ];
    assert_eq!(told, expected);
    let before: Vec<_> = deeds.iter().map(|deed| deed.hash_before.as_deref()).collect();
    assert_eq!(before, [None, Some("h1"), None, None]);
    let moments = [at(30), at(40)];
    let acts = house.store.list_acts(house.account, house.project, "", &moments).await.expect("storage works");
    let acts: Vec<_> = acts.iter().map(|act| (act.at, act.action.as_ref())).collect();
    assert_eq!(acts, [(at(40), "record.restore"), (at(30), "record.forget")]);
}

pub async fn a_look_is_kept_if_it_saw_something_else_and_the_latest_twenty_stay(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    house.save(house.sourced("a fact", "file", "h0")).await;
    let looks = async || {
        let looks = house.store.list_looks(house.project, FIRST, "file").await.expect("storage works");
        looks.into_iter().map(|look| (look.at, look.hash)).collect::<Vec<_>>()
    };
    house.observe_hash("file", "h0", 20).await;
    house.observe_hash("file", "h0", 21).await;
    house.observe(None, "file", Seen::Gone { moved_to: None }, 22).await;
    house.observe_hash("file", "h0", 23).await;
    let hash = |hash: &str| Some(hash.to_owned());
    assert_eq!(looks().await, [(at(20), hash("h0")), (at(22), None), (at(23), hash("h0"))]);
    for n in 1..=LOOKS_MAX + 5 {
        house.observe_hash("file", &format!("h{n}"), 30 + n).await;
    }
    let seen = looks().await;
    let (first, last) = (seen.first().cloned(), seen.last().cloned());
    assert!((20..=21).contains(&seen.len()), "{} looks", seen.len());
    assert_eq!(last, Some((at(30 + LOOKS_MAX + 5), hash(&format!("h{}", LOOKS_MAX + 5)))));
    assert!(first > Some((at(30), None)), "{first:?} is one of the first");
}

pub async fn what_was_forgotten_is_listed_by_when_it_was(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let [first, second, third] = ["one", "two", "three"].map(|text| house.record(text));
    let hidden = NewRecord { audience: Audience::Author(house.ana), ..house.record("a draft") };
    let mut seqs = Vec::new();
    for record in [first, second, third, hidden] {
        seqs.push(house.save(record).await);
    }
    house.save(NewRecord { workspace: workspace("team"), ..house.record("of a team") }).await;
    house.forget(&[seqs[1]], 20).await;
    house.forget(&[seqs[0], seqs[3]], 30).await;
    house.delete_workspace("team", 40).await;
    let list = async |before, rows_max| {
        let audiences = [Audience::Shared];
        house.store.list_gone(house.project, &audiences, before, rows_max).await.expect("storage works")
    };
    let all = [(at(40), Seq(5)), (at(30), seqs[0]), (at(20), seqs[1])];
    assert_eq!(list(None, 10).await, all);
    assert_eq!(list(None, 2).await, all[..2]);
    assert_eq!(list(Some(all[1]), 10).await, all[2..]);
}

pub async fn tags_are_changed_without_another_text(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let seq = house.save(with_fact(house.record("a fact"), |fact| fact.tags = tags(&["old"]))).await;
    let gone = house.save_text("forgotten").await;
    house.forget(&[gone], 20).await;
    let wanted = vec![(seq, tags(&["new", "newer"])), (gone, tags(&["new"])), (Seq(999), tags(&["new"]))];
    let retag = async |second, wanted| {
        let line = audit(house.account, second, "record.tag");
        house.store.retag(house.project, wanted, line).await.expect("storage works")
    };
    assert_eq!(retag(30, wanted.clone()).await, [seq]);
    let record = house.load(seq).await.expect("it lives");
    assert_eq!((record.fact.tags.as_slice(), record.updated_at), (tags(&["new", "newer"]).as_slice(), at(30)));
    assert_eq!(retag(31, wanted).await, [], "nothing changes twice");
    assert_eq!(retag(32, vec![(seq, Tags::default())]).await, [seq], "and none may be left");
    assert!(house.load(seq).await.expect("it lives").fact.tags.is_empty());
}
