//! Stories of members who leave, and of what becomes of their keys and records.

use std::collections::BTreeMap;

use mnemon_core::{Audience, DepartmentId, MemberId, NewRecord, RecordId, Role, Seq, SourceState};
use mnemon_store::{Actor, AuditEntry, Change, Idempotency, Inserted, MemberDeleted, NewKey, Sighting, StoreError};

use super::{House, MakeEngine, at, audit, workspace};

async fn leave(house: &House, id: MemberId, heir: Option<MemberId>) -> MemberDeleted {
    let line = audit(house.account, 50, "member.delete");
    house.store.delete_member(house.account, id, heir, line).await.expect("storage works")
}

/// Ben with one record of every kind, in two workspaces and two projects, and Cleo who may inherit.
struct Scene {
    house: House,
    second: House,
    works: DepartmentId,
    ben: MemberId,
    cleo: MemberId,
    key: NewKey,
    saved: BTreeMap<&'static str, (RecordId, Seq)>,
}

impl Scene {
    async fn build(make: MakeEngine) -> (super::Engine, Self) {
        let engine = make().await;
        let house = House::build(&engine.store).await;
        let second = House { project: house.add_project().await, ..house.clone() };
        let works = house.add_department("Works", None).await;
        let ben = house.add_member("Ben", Role::Member, Some(works)).await;
        let cleo = house.add_member("Cleo", Role::Member, None).await;
        let key = house.add_key(ben).await;
        let mut scene = Self { house, second, works, ben, cleo, key, saved: BTreeMap::new() };
        let draft = Audience::Author(ben);
        scene.save("shared", "default", Audience::Shared, false).await;
        scene.save("department", "default", Audience::Department(works), false).await;
        scene.save("draft", "default", draft, false).await;
        scene.save("draft in team", "team", draft, false).await;
        scene.save("draft elsewhere", "default", draft, true).await;
        scene.save("forgotten draft", "default", draft, false).await;
        scene.save("dead draft", "over", draft, false).await;
        scene.house.save_text("Ana's own").await;
        scene.house.forget(&[scene.seq("forgotten draft")], 20).await;
        scene.house.delete_workspace("over", 21).await;
        (engine, scene)
    }

    async fn save(&mut self, text: &'static str, name: &str, audience: Audience, is_second: bool) {
        let house = if is_second { &self.second } else { &self.house };
        let record = NewRecord {
            workspace: workspace(name),
            audience,
            author: self.ben,
            department: Some(self.works),
            embedding: vec![1, 2, 3],
            ..house.record(text)
        };
        let id = record.id;
        let seq = house.save(record).await;
        self.saved.insert(text, (id, seq));
    }

    fn seq(&self, text: &str) -> Seq {
        self.saved[text].1
    }

    async fn is_accepted(&self) -> bool {
        let presented = self.house.store.find_credential(&self.key.hash).await.expect("storage works");
        presented.is_some_and(|presented| !presented.credential.is_revoked)
    }
}

/// Who owns records does not leave without an heir, and only a colleague can inherit. Nothing is changed until then.
pub async fn a_member_with_records_needs_an_heir(make: MakeEngine) {
    let (engine, scene) = Scene::build(make).await;
    let (house, stranger) = (&scene.house, House::build(&engine.store).await);
    let before = (house.last_seq().await, scene.second.last_seq().await);
    assert_eq!(leave(house, scene.ben, None).await, MemberDeleted::NeedsHeir { records: 7 });
    for heir in [scene.ben, stranger.ana, MemberId::from_bytes([9; 16])] {
        assert_eq!(leave(house, scene.ben, Some(heir)).await, MemberDeleted::Absent, "{heir}");
    }
    assert_eq!(leave(&stranger, scene.ben, Some(stranger.ana)).await, MemberDeleted::Absent);
    assert_eq!(leave(house, MemberId::from_bytes([9; 16]), Some(scene.cleo)).await, MemberDeleted::Absent);
    assert_eq!((house.last_seq().await, scene.second.last_seq().await), before);
    assert!(scene.is_accepted().await);
    assert_eq!(house.load(scene.seq("draft")).await.expect("alive").audience, Audience::Author(scene.ben));
    let rows = house.store.list_audit(house.account, 100).await.expect("storage works");
    assert!(rows.iter().all(|(line, _)| line.action != "member.delete"), "what did not happen leaves no row");
}

/// What a leaving member saved becomes the heir's: shared things by name, drafts by sight, forgotten ones too.
pub async fn a_leaving_member_hands_everything_over(make: MakeEngine) {
    let (_engine, scene) = Scene::build(make).await;
    let (house, ben, cleo) = (&scene.house, scene.ben, scene.cleo);
    let line = AuditEntry { actor: Actor::Member(ben), ..audit(house.account, 40, "story.tell") };
    house.store.insert_audit(line.clone()).await.expect("storage works");
    assert!(scene.is_accepted().await);
    let before = house.load(scene.seq("draft")).await.expect("alive");
    assert_eq!(leave(house, ben, Some(cleo)).await, MemberDeleted::Done { keys: 1, records: 7 });

    let after = house.load(scene.seq("draft")).await.expect("alive");
    let expected = mnemon_core::Record {
        author: cleo,
        author_name: Some("Cleo".to_owned()),
        audience: Audience::Author(cleo),
        ..before
    };
    assert_eq!(after, expected, "nothing else changed");
    for (text, audience) in [("shared", Audience::Shared), ("department", Audience::Department(scene.works))] {
        let record = house.load(scene.seq(text)).await.expect("alive");
        assert_eq!((record.author, record.audience), (cleo, audience), "{text}");
    }
    let elsewhere = scene.second.load(scene.seq("draft elsewhere")).await.expect("alive");
    assert_eq!((elsewhere.author, elsewhere.audience), (cleo, Audience::Author(cleo)));
    let back = house.restore(scene.saved["forgotten draft"].0, 0, 60).await.expect("it can still come back");
    assert_eq!((back.author, back.audience), (cleo, Audience::Author(cleo)));
    let back = house.restore(scene.saved["dead draft"].0, 0, 61).await.expect("so can what ended with its workspace");
    assert_eq!((back.author, back.audience), (cleo, Audience::Author(cleo)));

    assert!(!scene.is_accepted().await);
    let keys = house.store.list_keys(house.project).await.expect("storage works");
    let row = keys.iter().find(|row| row.id == scene.key.id).expect("a revoked key is listed");
    assert_eq!((row.member, row.revoked_at), (ben, Some(at(50))));
    let members = house.store.list_members(house.account).await.expect("storage works");
    assert_eq!(members.iter().map(|member| member.name.as_str()).collect::<Vec<_>>(), ["Ana", "Cleo"]);
    assert_eq!(leave(house, ben, Some(cleo)).await, MemberDeleted::Absent, "once");
    let rows = house.store.list_audit(house.account, 100).await.expect("storage works");
    let named = AuditEntry { actor_name: Some("Ben".to_owned()), ..line };
    assert!(rows.contains(&(named, 1)), "the audit log keeps who it was");
    assert_eq!(
        rows.iter().filter(|(line, _)| line.action == "member.delete").map(|row| row.1).collect::<Vec<_>>(),
        [7]
    );
}

/// A reader that follows the log sees each draft again, for its new audience, and everything else stays as it is known.
pub async fn an_index_follows_a_hand_over(make: MakeEngine) {
    let (_engine, scene) = Scene::build(make).await;
    let (house, cleo) = (&scene.house, scene.cleo);
    let record = house.load(scene.seq("draft")).await.expect("alive");
    let (no, before) = (record.workspace_no, house.last_seq().await);
    leave(house, scene.ben, Some(cleo)).await;
    assert_eq!(house.last_seq().await.0, before.0 + 4, "each record with a new audience takes a place");
    let tail = house.store.tail(house.project, no, before, 100).await.expect("storage works");
    assert!(tail.is_active && tail.is_end);
    let present = tail.changes.iter().filter_map(|change| match change {
        Change::Present(present) => {
            Some((present.seq, present.audience, present.fact.content.as_str(), &present.embedding[..]))
        }
        Change::Absent(_) => None,
    });
    let told: Vec<_> = present.collect();
    assert_eq!(told, [(scene.seq("draft"), Audience::Author(cleo), "draft", &[1, 2, 3][..])]);
    assert!(tail.changes.contains(&Change::Absent(scene.seq("forgotten draft"))));
    let knows = |audiences: &[Audience]| {
        audiences.contains(&Audience::Author(cleo)) && !audiences.contains(&Audience::Author(scene.ben))
    };
    assert!(knows(&tail.audiences));
    for name in ["default", "team"] {
        let found = house.store.find_workspace(house.project, &workspace(name)).await.expect("storage works");
        assert!(knows(&found.expect("active").audiences), "{name}");
    }
    let again = house.store.tail(house.project, no, Seq(0), 100).await.expect("storage works");
    let audience = again.changes.iter().find_map(|change| match change {
        Change::Present(present) if present.seq == scene.seq("draft") => Some(present.audience),
        _ => None,
    });
    assert_eq!(audience, Some(Audience::Author(cleo)), "also for a reader that starts from nothing");
}

/// What the leaving member alone knew of sources joins what the heir alone knows, in each workspace; the later sighting
/// counts.
pub async fn knowledge_of_sources_is_joined_by_the_newest(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let ben = house.add_member("Ben", Role::Member, None).await;
    let cleo = house.add_member("Cleo", Role::Member, None).await;
    let save = async |author: MemberId, name: &str, source: &str, hash: &str| {
        let text = format!("{author} {source} {hash}");
        let record = NewRecord { author, audience: Audience::Author(author), ..house.sourced(&text, source, hash) };
        house.save_numbered(NewRecord { workspace: workspace(name), ..record }).await
    };
    let (cleos, no) = save(cleo, "default", "apart", "old").await;
    save(cleo, "default", "ben later", "old").await;
    let (only, _) = save(ben, "default", "ben alone", "b").await;
    let (later, _) = save(ben, "default", "ben later", "new").await;
    save(ben, "default", "cleo later", "old").await;
    let (latest, _) = save(cleo, "default", "cleo later", "new").await;
    let (apart, team) = save(ben, "team", "apart", "new").await;
    let handed = house.last_seq().await;
    assert_eq!(leave(&house, ben, Some(cleo)).await, MemberDeleted::Done { keys: 0, records: 4 });
    let ids = ["apart", "ben alone", "ben later", "cleo later"];
    let parts = house.store.list_sources(house.project, &ids).await.expect("storage works");
    assert!(parts.iter().all(|part| part.audience == Audience::Author(cleo)), "{parts:?}");
    let told: Vec<_> = parts.into_iter().map(|part| (part.source_id, part.workspace_no, part.state)).collect();
    let expected = |id: &str, no, hash: &str, seq| {
        (id.to_owned(), no, SourceState { known_hash: Some(hash.to_owned()), known_seq: seq, ..SourceState::default() })
    };
    assert_eq!(
        told,
        [
            expected("apart", no, "old", cleos),
            expected("apart", team, "new", apart),
            expected("ben alone", no, "b", only),
            expected("ben later", no, "new", later),
            expected("cleo later", no, "new", latest)
        ]
    );
    house.save(house.sourced("seen by all", "ben alone", "shared")).await;
    let tail = async |no| house.store.tail(house.project, no, handed, 100).await.expect("storage works").sightings;
    let of_cleo = |source: &str, hash: &str, seq| {
        let (source_id, hash) = (source.to_owned(), Some(hash.to_owned()));
        Sighting { source_id, audience: Audience::Author(cleo), hash, seq, confirmed: None }
    };
    let told = tail(no).await;
    assert!(told.contains(&of_cleo("ben alone", "b", only)), "an index learns who knows it now: {told:?}");
    assert!(told.contains(&of_cleo("ben later", "new", later)), "{told:?}");
    assert!(!told.iter().any(|seen| seen.source_id == "apart"), "nothing has changed here: {told:?}");
    assert_eq!(tail(team).await, [of_cleo("apart", "new", apart)]);
}

/// A member who owns nothing needs no heir and leaves nothing behind: no key, no draft's trace, no idempotency key.
pub async fn a_member_without_records_simply_leaves(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let ben = house.add_member("Ben", Role::Member, None).await;
    let (first, second) = (house.add_key(ben).await, house.add_key(ben).await);
    house.store.revoke_key(first.id, at(5), audit(house.account, 5, "key.revoke")).await.expect("storage works");
    let key = Idempotency { member: ben, key: "i".to_owned(), arguments_hash: [1; 32], valid_since: at(0) };
    house.insert_with_key(house.record("Ana's, by Ben's key"), key.clone()).await;
    assert_eq!(leave(&house, ben, None).await, MemberDeleted::Done { keys: 1, records: 0 });
    let keys = house.store.list_keys(house.project).await.expect("storage works");
    let revoked: BTreeMap<_, _> = keys.iter().map(|row| (row.id, row.revoked_at)).collect();
    assert_eq!((revoked[&first.id], revoked[&second.id]), (Some(at(5)), Some(at(50))), "a moment is not written over");
    assert_eq!(revoked[&house.key], None, "others keep theirs");
    let again = house.insert_with_key(house.record("something else"), key).await;
    assert!(matches!(again, Inserted::New { .. }), "{again:?}");
}

/// A call that was let in before its member left saves nothing after.
pub async fn who_left_saves_nothing(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let ben = house.add_member("Ben", Role::Member, None).await;
    house.save(NewRecord { author: ben, ..house.record("before") }).await;
    assert_eq!(leave(&house, ben, Some(house.ana)).await, MemberDeleted::Done { keys: 0, records: 1 });
    let record = NewRecord { author: ben, ..house.record("after") };
    let answer = house
        .store
        .insert(mnemon_store::Insert {
            record,
            records_max: None,
            workspaces_max: None,
            idempotency: None,
            supersede: None,
        })
        .await;
    assert!(matches!(answer, Err(StoreError::Failed(_))), "{answer:?}");
    let refused = house.store.insert_key(super::new_key(house.project, ben), audit(house.account, 60, "story")).await;
    assert!(matches!(refused, Err(StoreError::Failed(_))), "{refused:?}");
}
