//! Stories of records that are read more than once: whatever an engine keeps in memory, the next read is right.

use mnemon_core::{Department, NewRecord, Record, Role, Seq};
use mnemon_store::Inserted;

use super::{House, MakeEngine, audit, new_member, with_fact, workspace};

/// A record that was just read shows every change to it and to what is shown with it, on the next read.
pub async fn a_record_read_before_shows_every_change(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let works = house.add_department("Works", None).await;
    let ben = house.add_member("Ben", Role::Member, Some(works)).await;
    let record = NewRecord { author: ben, department: Some(works), ..house.sourced("the code is 4711", "f", "h1") };
    let (id, again) = (record.id, record.clone());
    let seq = house.save(record).await;
    let line = |action| audit(house.account, 30, action);
    let names = |record: Record| (record.author_name.expect("a name"), record.department_name.expect("a name"));
    assert_eq!(names(house.load(seq).await.expect("alive")), ("Ben".to_owned(), "Works".to_owned()));

    let mut renamed = new_member(house.account, "Benno", Role::Member, Some(works));
    renamed.id = ben;
    assert_eq!(house.store.update_member(renamed, line("member.update")).await, Ok(true));
    let moved = Department { id: works, account: house.account, parent: None, name: "Plant".to_owned() };
    assert_eq!(house.store.update_department(moved, line("department.update")).await, Ok(true));
    assert_eq!(names(house.load(seq).await.expect("alive")), ("Benno".to_owned(), "Plant".to_owned()));

    let newer =
        NewRecord { id: house.record("").id, ..with_fact(again, |fact| fact.source_hash = Some("h2".to_owned())) };
    assert!(matches!(house.insert(newer).await, Inserted::Duplicate { .. }));
    assert_eq!(house.load(seq).await.expect("alive").fact.source_hash.as_deref(), Some("h2"));
    house.forget(&[seq], 31).await;
    assert_eq!(house.load(seq).await, None);
    house.restore(id, 0, 32).await.expect("restored");
    assert_eq!(house.load(seq).await.expect("alive").id, id);
    let cleo = house.add_member("Cleo", Role::Member, None).await;
    house.store.delete_member(house.account, ben, Some(cleo), line("member.delete")).await.expect("storage works");
    assert_eq!(house.load(seq).await.expect("alive").author_name.as_deref(), Some("Cleo"));
    assert_eq!(house.store.purge(house.project, id, line("record.purge")).await, Ok(true));
    assert_eq!(house.load(seq).await, None);

    let (kept, other) = (
        house.save_text("kept").await,
        house.save(NewRecord { workspace: workspace("w"), ..house.record("in w") }).await,
    );
    assert!(house.load(kept).await.is_some() && house.load(other).await.is_some());
    house.delete_workspace("w", 40).await;
    assert!(house.load(kept).await.is_some() && house.load(other).await.is_none());
    assert_eq!(house.store.delete_project(house.account, house.project, line("project.delete")).await, Ok(true));
    assert_eq!(house.load(kept).await, None);
}

/// Records that were read are asked for together with others, in any order and more than once.
pub async fn known_and_unknown_records_come_in_the_order_asked_for(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let mut seqs = Vec::new();
    for n in 0..12 {
        seqs.push(house.save_text(&format!("text {n}")).await);
    }
    house.forget(&[seqs[4]], 20).await;
    house.store.load(house.project, &[seqs[1], seqs[7]]).await.expect("storage works");
    let asked = [seqs[9], seqs[7], seqs[4], seqs[0], Seq(999), seqs[1], seqs[7], seqs[0]];
    let expected = [seqs[9], seqs[7], seqs[0], seqs[1], seqs[7], seqs[0]];
    for _ in 0..2 {
        let loaded = house.store.load(house.project, &asked).await.expect("storage works");
        assert_eq!(loaded.iter().map(|record| record.seq).collect::<Vec<_>>(), expected);
    }
    let stranger = House::build(&engine.store).await;
    assert_eq!(stranger.store.load(stranger.project, &asked).await, Ok(Vec::new()), "another project knows none");
}
