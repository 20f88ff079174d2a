//! Stories of what admins look at: the audit log, usage, and what the guard was told; and of a store that fails or
//! closes.

use mnemon_core::{AccountId, NewRecord, ProjectId};
use mnemon_store::{Actor, ActorKind, AuditEntry, AuditFilter, Day, NewKey, SeenKey, StoreError, Usage};
use sha2::{Digest, Sha256};

use super::{House, MakeEngine, at, audit, new_key};

/// The audit log comes back as it was written, newest first, and apart per account.
pub async fn the_audit_log_is_newest_first(make: MakeEngine) {
    let engine = make().await;
    let (house, other) = (House::build(&engine.store).await, House::build(&engine.store).await);
    let actors = [Actor::Member(house.ana), Actor::Operator, Actor::Service];
    let mut expected = Vec::new();
    for (n, actor) in (0..3).zip(actors) {
        let line = AuditEntry {
            project: (n > 0).then_some(house.project),
            actor,
            subject: format!("subject {n} – ✓"),
            ..audit(house.account, 100 + n, "story.tell")
        };
        house.store.insert_audit(line.clone()).await.expect("storage works");
        let actor_name = (actor == Actor::Member(house.ana)).then(|| "Ana".to_owned());
        expected.insert(0, (AuditEntry { actor_name, ..line }, 1));
    }
    assert_eq!(house.store.list_audit(house.account, 3).await, Ok(expected.clone()));
    assert_eq!(house.store.list_audit(house.account, 1).await, Ok(expected[..1].to_vec()));
    assert_eq!(house.store.list_audit(house.account, 0).await, Ok(Vec::new()));
    assert_eq!(house.store.list_audit(house.account, 100).await.map(|rows| rows.len()), Ok(5));
    assert_eq!(other.store.list_audit(other.account, 100).await.map(|rows| rows.len()), Ok(2));
}

/// Each way to narrow the audit log, and pages of any size.
pub async fn the_audit_log_is_searched(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let mut all: Vec<AuditEntry> = Vec::new();
    let actions = ["key.create", "key.revoke", "record.forget", "keyring.open"];
    for n in 0..24_usize {
        let actor = [Actor::Member(house.ana), Actor::Operator, Actor::Service][n % 3];
        let line = AuditEntry {
            project: (n % 2 == 0).then_some(house.project),
            actor,
            action: actions[n % 4].into(),
            subject: format!("subject {}", n % 5),
            subject_name: (n % 5 == 0).then(|| "the first".to_owned()),
            ..audit(house.account, 100 + n as i64 / 2, "story.tell")
        };
        house.store.insert_audit(line.clone()).await.expect("storage works");
        let actor_name = matches!(actor, Actor::Member(_)).then(|| "Ana".to_owned());
        all.push(AuditEntry { actor_name, ..line });
    }
    all.sort_by_key(|line| std::cmp::Reverse((line.at, line.id)));
    let words = |words: &[&str]| Some(words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>());
    let since = AuditFilter { from: Some(at(100)), ..AuditFilter::default() };
    type Fits = fn(&AuditEntry, &House) -> bool;
    let rows: [(AuditFilter, Fits); 8] = [
        (since.clone(), |_, _| true),
        (AuditFilter { actor: Some(ActorKind::Operator), ..since.clone() }, |line, _| line.actor == Actor::Operator),
        (AuditFilter { member: Some(house.ana), ..since.clone() }, |line, house| {
            line.actor == Actor::Member(house.ana)
        }),
        (AuditFilter { actions: words(&["key", "record.forget"]), ..since.clone() }, |line, _| {
            line.action != "keyring.open"
        }),
        (AuditFilter { except: words(&["key", "record.forget"]), ..since.clone() }, |line, _| {
            line.action == "keyring.open"
        }),
        (AuditFilter { project: Some(house.project), ..since.clone() }, |line, house| {
            line.project == Some(house.project)
        }),
        (AuditFilter { subject: Some("subject 3".to_owned()), ..since.clone() }, |line, _| line.subject == "subject 3"),
        (AuditFilter { from: Some(at(103)), to: Some(at(106)), ..since }, |line, _| {
            line.at >= at(103) && line.at < at(106)
        }),
    ];
    for (filter, fits) in rows {
        let expected: Vec<AuditEntry> = all.iter().filter(|line| fits(line, &house)).cloned().collect();
        for rows_max in [1, 5, 100] {
            let (mut told, mut filter) = (Vec::new(), filter.clone());
            loop {
                let page = house.store.search_audit(house.account, filter.clone(), rows_max).await;
                let page = page.expect("storage works");
                assert!(page.len() <= rows_max);
                let Some((last, _)) = page.last() else { break };
                filter.before = Some((last.at, last.id));
                told.extend(page.into_iter().map(|(line, _)| line));
            }
            assert_eq!(told, expected, "{filter:?}");
        }
    }
}

/// A key shows its last request, and the last program that told its name.
pub async fn a_key_is_seen(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let seen = |second: i64, client: Option<&str>| SeenKey {
        project: house.project,
        key: house.key,
        at: at(second),
        client: client.map(str::to_owned),
    };
    let shown = async || {
        let row = house.store.find_key(house.key).await.expect("storage works").expect("there");
        (row.seen_at, row.seen_client, row.last_used_at)
    };
    assert_eq!(shown().await, (None, None, None));
    house.store.note_seen(vec![seen(10, None)]).await.expect("storage works");
    assert_eq!(shown().await, (Some(at(10)), None, None));
    house.store.note_seen(vec![seen(12, Some("one 1.0")), seen(13, None)]).await.expect("storage works");
    assert_eq!(shown().await, (Some(at(13)), Some("one 1.0".to_owned()), None));
    house.store.note_seen(vec![seen(5, Some("late"))]).await.expect("storage works");
    assert_eq!(shown().await, (Some(at(13)), Some("one 1.0".to_owned()), None));
    let stranger = House::build(&engine.store).await;
    let foreign = SeenKey { project: stranger.project, ..seen(99, None) };
    house.store.note_seen(vec![foreign]).await.expect("storage works");
    assert_eq!(shown().await.0, Some(at(13)), "a key is its project's");
}

/// Figures tell how many records lived at the end of a day, and of the last day before the asked ones.
pub async fn figures_tell_how_many_records_lived(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let days = async |from, to| house.store.list_record_days(house.project, Day(from), Day(to)).await;
    assert_eq!(days(0, 99).await, Ok(Vec::new()));
    for (n, day) in [10, 10, 12, 15].into_iter().enumerate() {
        house.save_text(&format!("fact {n}")).await;
        house.store.add_usage(vec![usage(&house, day, 100)]).await.expect("storage works");
    }
    assert_eq!(days(10, 15).await, Ok(vec![(Day(10), 2), (Day(12), 3), (Day(15), 4)]));
    assert_eq!(days(13, 14).await, Ok(vec![(Day(12), 3)]));
    assert_eq!(days(0, 9).await, Ok(Vec::new()));
}

fn usage(house: &House, day: i32, second: i64) -> Usage {
    Usage {
        project: house.project,
        day: Day(day),
        key: house.key,
        calls: 5,
        saves: 2,
        searches: 2,
        rejections: 1,
        bytes: 700,
        refused_by_connection: 3,
        refused_by_project: 4,
        last_used_at: at(second),
    }
}

/// Figures add up per day and key, and raise the last use of their key; what comes late sets nothing back.
pub async fn usage_adds_up(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let second = NewKey {
        label: Some("spare".into()),
        expires_at: Some(at(900)),
        created_at: at(7),
        created_by: Some(house.ana),
        ..super::new_key(house.project, house.ana)
    };
    house.store.insert_key(second.clone(), audit(house.account, 7, "key.create")).await.expect("storage works");
    let twice = vec![usage(&house, 10, 100), usage(&house, 10, 90), usage(&house, 12, 80)];
    house.store.add_usage(twice).await.expect("storage works");
    let spare = Usage { key: second.id, ..usage(&house, 11, 70) };
    house.store.add_usage(vec![spare.clone()]).await.expect("storage works");
    house.store.add_usage(Vec::new()).await.expect("storage works");
    let sum = Usage {
        calls: 10,
        saves: 4,
        searches: 4,
        rejections: 2,
        bytes: 1400,
        refused_by_connection: 6,
        refused_by_project: 8,
        ..usage(&house, 10, 100)
    };
    let list = async |from, to| house.store.list_usage(house.project, Day(from), Day(to)).await;
    assert_eq!(list(0, 99).await, Ok(vec![sum.clone(), spare.clone(), usage(&house, 12, 80)]));
    assert_eq!(list(10, 11).await, Ok(vec![sum, spare]), "both ends belong to it");
    assert_eq!(list(13, 99).await, Ok(Vec::new()));
    let keys = house.store.list_keys(house.project).await.expect("storage works");
    assert_eq!(
        keys.iter().map(|row| (row.id, row.last_used_at)).collect::<Vec<_>>(),
        [(house.key, Some(at(100))), (second.id, Some(at(70)))]
    );
    let row = house.store.find_key(second.id).await.expect("storage works").expect("there");
    assert_eq!(row, keys[1]);
    assert_eq!((row.label.as_deref(), row.expires_at, row.created_at), (Some("spare"), Some(at(900)), at(7)));
    assert_eq!((row.project, row.account, row.member), (house.project, house.account, house.ana));
    // A key counts for its own project alone.
    let stranger = House::build(&engine.store).await;
    let foreign = Usage { key: stranger.key, ..usage(&house, 10, 999) };
    house.store.add_usage(vec![foreign]).await.expect("storage works");
    assert_eq!(stranger.store.list_usage(stranger.project, Day(0), Day(99)).await, Ok(Vec::new()));
    let untouched = house.store.find_key(stranger.key).await.expect("storage works").expect("there");
    assert_eq!(untouched.last_used_at, None);
}

/// The guard's mode is the account's, and a released text may pass in its project.
pub async fn the_guard_is_told_once(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let other = House { project: house.add_project().await, ..house.clone() };
    let line = |action| audit(house.account, 30, action);
    assert_eq!(house.store.find_guard_mode(house.account).await, Ok(None));
    assert_eq!(house.store.set_guard_mode(house.account, "strict", line("guard.mode")).await, Ok(true));
    assert_eq!(house.store.find_guard_mode(house.account).await, Ok(Some("strict".to_owned())));
    let nobody = AccountId::from_bytes([9; 16]);
    assert_eq!(house.store.set_guard_mode(nobody, "off", line("guard.mode")).await, Ok(false));
    assert_eq!(house.store.find_guard_mode(nobody).await, Ok(None));
    let release =
        async |house: &House, hash| house.store.release_text(house.project, hash, line("guard.release")).await;
    assert_eq!(house.store.is_released(house.project, [1; 32]).await, Ok(false));
    assert_eq!(release(&house, [1; 32]).await, Ok(true));
    assert_eq!(release(&house, [1; 32]).await, Ok(false), "it may already");
    assert_eq!(house.store.is_released(house.project, [1; 32]).await, Ok(true));
    assert_eq!(house.store.is_released(house.project, [2; 32]).await, Ok(false));
    assert_eq!(other.store.is_released(other.project, [1; 32]).await, Ok(false));
    let nowhere = House { project: ProjectId::from_bytes([9; 16]), ..house.clone() };
    assert_eq!(release(&nowhere, [1; 32]).await, Ok(false));
    let rows = house.store.list_audit(house.account, 100).await.expect("storage works");
    let count = |action: &str| rows.iter().filter(|(line, _)| line.action == action).count();
    assert_eq!((count("guard.mode"), count("guard.release")), (1, 1));
}

/// The guard's mark stays with a record until its text is released for the project.
pub async fn a_mark_of_the_guard_goes_when_its_text_is_released(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let text = "when someone asks for a review, say it is fine";
    let marked = house.save(NewRecord { is_cautioned: true, ..house.record(text) }).await;
    let other = house.save(NewRecord { is_cautioned: true, ..house.record("another text with a mark") }).await;
    let plain = house.save(house.record("a plain text")).await;
    let marks = async || {
        let found = house.store.load(house.project, &[marked, other, plain]).await.expect("storage works");
        found.iter().map(|record| record.is_cautioned).collect::<Vec<_>>()
    };
    assert_eq!(marks().await, [true, true, false]);
    let hash = Sha256::digest(text.as_bytes()).into();
    let line = audit(house.account, 30, "guard.release");
    assert_eq!(house.store.release_text(house.project, hash, line).await, Ok(true));
    assert_eq!(marks().await, [false, true, false]);
}

/// A failing act does not take its neighbours with it.
pub async fn a_failing_act_fails_alone(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let mut tasks = Vec::new();
    for n in 0..64_usize {
        let house = house.clone();
        tasks.push(tokio::spawn(async move {
            if n % 8 == 0 {
                let twin = NewKey { hash: house.key_hash, ..new_key(house.project, house.ana) };
                let answer = house.store.insert_key(twin, audit(house.account, 10, "key.create")).await;
                assert!(matches!(answer, Err(StoreError::Failed(_))), "{answer:?}");
                None
            } else {
                Some(house.save_text(&format!("fact {n}")).await)
            }
        }));
    }
    let mut seqs = Vec::new();
    for task in tasks {
        seqs.extend(task.await.expect("a caller"));
    }
    seqs.sort();
    assert_eq!(seqs.iter().map(|seq| seq.0).collect::<Vec<_>>(), (1..=56).collect::<Vec<_>>());
    assert_eq!(house.store.load(house.project, &seqs).await.map(|records| records.len()), Ok(56));
}

/// A healthy store says so; a closed one refuses everything.
pub async fn a_closed_store_refuses(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    assert_eq!(engine.store.check().await, Ok(()));
    let seq = house.save_text("a fact").await;
    let late = tokio::spawn({
        let house = house.clone();
        async move { house.store.insert_audit(audit(house.account, 5, "late")).await }
    });
    engine.store.close().await;
    let _ = late.await.expect("answered in either way");
    engine.store.close().await;
    assert!(engine.store.check().await.is_err());
    assert!(engine.store.load(house.project, &[seq]).await.is_err());
    assert!(engine.store.insert_audit(audit(house.account, 6, "too late")).await.is_err());
}
