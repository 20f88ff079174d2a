//! Uploaded session histories.

use mnemon_core::{MemberId, ProjectId, Role, SessionId};
use mnemon_store::{MemberDeleted, Session, SessionAppend, SessionAppended, SessionPart, StoreError};

use super::{House, MakeEngine, at, audit};

/// A chain that stands for everything up to a byte.
fn chain(bytes: u64) -> [u8; 32] {
    let mut chain = [0; 32];
    chain[24..].copy_from_slice(&bytes.to_be_bytes());
    chain
}

impl House {
    fn part(&self, name: &str, start: u64, size: u64) -> SessionAppend {
        SessionAppend {
            project: self.project,
            member: self.ana,
            client: "codex".to_owned(),
            name: name.to_owned(),
            id: SessionId::new(super::fixtures::fresh_uuid()),
            start,
            chain: chain(start),
            size,
            chain_after: chain(start + size),
            redacted: 1,
            part: SessionPart { start, size, kept_bytes: size, body: vec![start as u8; 4] },
            modified_at: at(100),
            at: at(100),
            volume_bytes_max: None,
        }
    }

    async fn append(&self, append: SessionAppend) -> SessionAppended {
        self.store.append_session(append).await.expect("storage works")
    }

    async fn appended(&self, append: SessionAppend) -> Session {
        match self.append(append).await {
            SessionAppended::Done(session) => session,
            other => panic!("expected a longer session and got {other:?}"),
        }
    }

    async fn session(&self, name: &str) -> Option<Session> {
        self.store.find_session(self.project, self.ana, "codex", name).await.expect("storage works")
    }

    async fn starts(&self, session: SessionId) -> Vec<u64> {
        let (mut starts, mut next) = (Vec::new(), 0);
        while let Some(part) = self.store.find_session_part(self.project, session, next).await.expect("storage works") {
            starts.push(part.start);
            next = part.start + part.size;
        }
        starts
    }
}

/// A session only grows at its end; a part at another position or after other bytes is answered with where it ends.
pub async fn a_session_grows_at_its_end(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    assert_eq!(house.session("a").await, None);
    let late = house.append(house.part("a", 10, 5)).await;
    assert_eq!(late, SessionAppended::Elsewhere(None), "nothing can be missing before the first part");
    let first = house.appended(house.part("a", 0, 10)).await;
    assert_eq!((first.bytes, first.kept_bytes, first.redacted, first.chain), (10, 10, 1, chain(10)));
    assert_eq!((first.last_start, first.last_chain), (0, [0; 32]));
    let again = house.append(house.part("a", 0, 10)).await;
    assert_eq!(again, SessionAppended::Elsewhere(Some(first.clone())));
    let other_past = SessionAppend { chain: [7; 32], ..house.part("a", 10, 5) };
    assert_eq!(house.append(other_past).await, SessionAppended::Elsewhere(Some(first.clone())));
    let second = house.appended(SessionAppend { at: at(200), ..house.part("a", 10, 5) }).await;
    let expected = Session {
        bytes: 15,
        kept_bytes: 15,
        redacted: 2,
        chain: chain(15),
        last_start: 10,
        last_chain: chain(10),
        updated_at: at(200),
        ..first
    };
    assert_eq!(second, expected, "id and first moment stay");
    assert_eq!(house.session("a").await, Some(second.clone()));
    let part = house.store.find_session_part(house.project, second.id, 12).await.expect("storage works");
    assert_eq!(part, Some(SessionPart { start: 10, size: 5, kept_bytes: 5, body: vec![10; 4] }));
    assert_eq!(house.starts(second.id).await, [0, 10]);
}

/// The next part absorbs a short last one, and nothing is counted twice.
pub async fn a_short_part_is_taken_up_by_the_next(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    house.appended(house.part("a", 0, 10)).await;
    house.appended(house.part("a", 10, 5)).await;
    let merged = SessionPart { start: 10, size: 12, kept_bytes: 11, body: vec![9; 9] };
    let session = house.appended(SessionAppend { part: merged.clone(), ..house.part("a", 15, 7) }).await;
    assert_eq!((session.bytes, session.kept_bytes, session.last_start), (22, 21, 15));
    assert_eq!(house.starts(session.id).await, [0, 10]);
    let part = house.store.find_session_part(house.project, session.id, 21).await.expect("storage works");
    assert_eq!(part, Some(merged));
    assert_eq!(house.store.find_session_part(house.project, session.id, 22).await, Ok(None));
}

/// Many append at the same position: one succeeds, the others are told.
pub async fn one_of_many_appends_at_a_place(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    house.appended(house.part("a", 0, 10)).await;
    let mut tries = Vec::new();
    for size in 1..=8 {
        let house = house.clone();
        tries.push(tokio::spawn(async move { house.append(house.part("a", 10, size)).await }));
    }
    let mut done = 0;
    for tried in tries {
        done += usize::from(matches!(tried.await.expect("no panic"), SessionAppended::Done(_)));
    }
    assert_eq!(done, 1);
    assert_eq!(house.starts(house.session("a").await.expect("there").id).await, [0, 10]);
}

/// Over the volume, the oldest parts of the least recently used sessions are dropped; received bytes stay counted.
pub async fn over_the_volume_the_oldest_parts_go(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let elsewhere = House { project: house.add_project().await, ..house.clone() };
    elsewhere.appended(elsewhere.part("other", 0, 1_000)).await;
    let put = async |name: &str, start: u64, second: i64| {
        let limited =
            SessionAppend { volume_bytes_max: Some(30), modified_at: at(second), ..house.part(name, start, 10) };
        house.appended(limited).await
    };
    put("old", 0, 10).await;
    put("old", 10, 20).await;
    put("new", 0, 90).await;
    let full = house.session("old").await.expect("there");
    assert_eq!((full.bytes, full.kept_bytes), (20, 20), "at the volume everything stays");
    put("new", 10, 95).await;
    let old = house.session("old").await.expect("there");
    assert_eq!((old.bytes, old.kept_bytes), (20, 10), "one part past it the oldest goes");
    assert_eq!(house.starts(old.id).await, [10]);
    let older = put("older", 0, 5).await;
    assert_eq!((older.bytes, older.kept_bytes), (10, 0), "what is oldest of all does not drive out the rest");
    for start in [20, 30, 40] {
        put("new", start, 99).await;
    }
    let new = house.session("new").await.expect("there");
    assert_eq!((new.bytes, new.kept_bytes), (50, 30), "one session alone keeps its end");
    assert_eq!(house.starts(new.id).await, [20, 30, 40]);
    let gone = house.session("old").await.expect("the row stays");
    assert_eq!((gone.bytes, gone.kept_bytes, gone.chain), (20, 0, chain(20)), "so that nobody sends it again");
    assert_eq!(elsewhere.session("other").await.map(|session| session.kept_bytes), Some(1_000));
}

/// Sessions are separated by project, member, client and name, and listed by id.
pub async fn sessions_are_apart_and_listed(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let ben = house.add_member("Ben", Role::Member, None).await;
    let second = house.add_project().await;
    let base = house.part("a", 0, 10);
    house.appended(base.clone()).await;
    let others = [
        SessionAppend { project: second, ..house.part("a", 0, 10) },
        SessionAppend { member: ben, ..house.part("a", 0, 10) },
        SessionAppend { client: "claude-code".to_owned(), ..house.part("a", 0, 10) },
        house.part("b", 0, 10),
    ];
    for other in others.clone() {
        house.appended(other).await;
    }
    let list = async |project: ProjectId, member: Option<MemberId>, after: Option<SessionId>, rows_max: usize| {
        let rows = house.store.list_sessions(project, member, after, rows_max).await.expect("storage works");
        rows.into_iter().map(|session| session.id).collect::<Vec<_>>()
    };
    let all = [base.id, others[1].id, others[2].id, others[3].id];
    assert_eq!(list(house.project, None, None, 10).await, all);
    assert_eq!(list(house.project, None, None, 3).await, all[..3]);
    assert_eq!(list(house.project, None, Some(all[2]), 3).await, all[3..]);
    assert_eq!(list(house.project, Some(ben), None, 10).await, [others[1].id]);
    assert_eq!(list(second, None, None, 10).await, [others[0].id]);
    assert_eq!(house.store.find_session_part(second, base.id, 0).await, Ok(None), "a project's own parts alone");
}

/// A deleted session is gone, once, and can start again.
pub async fn a_deleted_session_is_gone(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let stranger = House::build(&engine.store).await;
    let session = house.appended(house.part("a", 0, 10)).await;
    house.appended(house.part("b", 0, 10)).await;
    let delete = async |project: ProjectId| {
        let line = audit(house.account, 300, "session.delete");
        house.store.delete_session(project, session.id, line).await.expect("storage works")
    };
    assert!(!delete(stranger.project).await);
    assert!(delete(house.project).await);
    assert!(!delete(house.project).await);
    assert_eq!(house.session("a").await, None);
    assert_eq!(house.starts(session.id).await, [0; 0]);
    assert!(house.session("b").await.is_some());
    let rows = house.store.list_audit(house.account, 100).await.expect("storage works");
    assert_eq!(rows.iter().filter(|(line, _)| line.action == "session.delete").count(), 1);
    let fresh = house.appended(house.part("a", 0, 4)).await;
    assert_ne!(fresh.id, session.id);
}

/// A member who leaves takes their sessions along, in every project; a late part saves nothing.
pub async fn sessions_leave_with_their_member(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let second = house.add_project().await;
    let ben = house.add_member("Ben", Role::Member, None).await;
    house.appended(house.part("a", 0, 10)).await;
    let mine = house.appended(SessionAppend { member: ben, ..house.part("a", 0, 10) }).await;
    house.appended(SessionAppend { member: ben, project: second, ..house.part("a", 0, 10) }).await;
    let line = audit(house.account, 50, "member.delete");
    let left = house.store.delete_member(house.account, ben, None, line).await;
    assert_eq!(left, Ok(MemberDeleted::Done { keys: 0, records: 0 }), "histories need no heir");
    for project in [house.project, second] {
        let left = house.store.list_sessions(project, Some(ben), None, 10).await.expect("storage works");
        assert_eq!(left, []);
    }
    assert_eq!(house.starts(mine.id).await, [0; 0]);
    assert!(house.session("a").await.is_some(), "others keep theirs");
    let late = house.store.append_session(SessionAppend { member: ben, ..house.part("c", 0, 10) }).await;
    assert!(matches!(late, Err(StoreError::Failed(_))), "{late:?}");
    let nowhere = ProjectId::from_bytes([9; 16]);
    let late = house.store.append_session(SessionAppend { project: nowhere, ..house.part("c", 0, 10) }).await;
    assert!(matches!(late, Err(StoreError::Failed(_))), "{late:?}");
}
