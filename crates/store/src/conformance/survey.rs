//! Stories of how the records of a project stand.

use std::collections::BTreeMap;

use mnemon_core::{Audience, FactKey, NewRecord, Role, Seq, Timestamp, WorkspaceNo};

use super::{House, MakeEngine, at, audit, with_fact, workspace};
use crate::{Holdings, MemberDeleted, Seen, Since, SourcePart, Survey, Surveyed};

/// A project as it was surveyed, and followed since.
struct Known {
    seq: Seq,
    names: Vec<String>,
    records: BTreeMap<Seq, Surveyed>,
    parts: BTreeMap<(String, WorkspaceNo, Audience), SourcePart>,
}

impl Known {
    async fn all(house: &House) -> Self {
        let mut known = Self { seq: Seq(0), names: Vec::new(), records: BTreeMap::new(), parts: BTreeMap::new() };
        known.take(house.store.survey(house.project, None).await.expect("storage works"));
        known
    }

    fn take(&mut self, survey: Survey) {
        self.seq = survey.seq;
        self.names = survey.workspaces.iter().map(|row| row.name.to_string()).collect();
        for seq in survey.touched {
            self.records.remove(&seq);
        }
        self.records.extend(survey.records.into_iter().map(|record| (record.summary.seq, record)));
        for part in &survey.parts {
            self.parts.retain(|(source, _, _), _| *source != part.source_id);
        }
        let key = |part: &SourcePart| (part.source_id.clone(), part.workspace_no, part.audience);
        self.parts.extend(survey.parts.into_iter().map(|part| (key(&part), part)));
    }

    /// What lives now. Records of deleted workspaces need not be followed.
    fn living(&self, active: &[WorkspaceNo]) -> Vec<&Surveyed> {
        self.records.values().filter(|record| active.contains(&record.summary.workspace_no)).collect()
    }

    /// Asks what has changed, and compares what is known then with all there is.
    async fn follow(&mut self, house: &House, confirmed: Option<Timestamp>, what: &str) {
        let since = Since { seq: self.seq, confirmed };
        self.take(house.store.survey(house.project, Some(since)).await.expect("storage works"));
        let all = Self::all(house).await;
        let rows = house.store.list_workspaces(house.project).await.expect("storage works");
        let active: Vec<WorkspaceNo> = rows.iter().map(|row| row.no).collect();
        assert_eq!((self.seq, &self.names), (all.seq, &all.names), "{what}");
        assert_eq!(self.living(&active), all.living(&active), "{what}");
        assert_eq!(self.parts, all.parts, "{what}");
    }
}

/// Whatever happens to records and sources, a survey of what has changed tells it.
pub async fn a_survey_is_followed_through_every_change(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let mut known = Known::all(&house).await;
    assert_eq!((known.seq, known.records.len(), known.names.len()), (Seq(0), 0, 0));
    let ben = house.add_member("Ben", Role::Member, None).await;
    let drafted = |record| NewRecord { audience: Audience::Author(ben), author: ben, ..record };
    let keyed = NewRecord { fact_key: FactKey::given("k").expect("a key"), ..house.record("keyed") };
    let first = keyed.id;
    let first_seq = house.save(keyed).await;
    let second = house.save(house.sourced("of a page", "page", "h1")).await;
    house.save(drafted(house.sourced("a draft", "page", "h1"))).await;
    let ends = with_fact(house.sourced("ends", "page", "t1"), |fact| fact.valid_until = Some(at(1_000)));
    house.save(NewRecord { workspace: workspace("team"), created_at: at(40), ..ends }).await;
    known.follow(&house, None, "saves").await;
    assert_eq!(known.records.len(), 4);
    assert_eq!(known.records[&first_seq].summary.given_fact_key.as_deref(), Some("k"));
    assert_eq!(known.names, ["default", "team"]);
    house.insert(house.sourced("of a page", "page", "h2")).await;
    known.follow(&house, None, "a duplicate").await;
    house.observe_hash("page", "h3", 20).await;
    known.follow(&house, None, "a sighting").await;
    assert_eq!(house.observe_hash("page", "h3", 30).await, None, "what is known is no news");
    known.follow(&house, Some(at(30)), "a confirmation").await;
    house.observe(Some("team"), "page", Seen::Gone { moved_to: Some("page 2".to_owned()) }, 31).await;
    known.follow(&house, None, "a source that is gone").await;
    house.forget(&[first_seq, second], 41).await;
    known.follow(&house, None, "forgetting").await;
    house.restore(first, 0, 42).await.expect("restored");
    known.follow(&house, None, "restoring").await;
    house.store.purge(house.project, first, audit(house.account, 43, "record.purge")).await.expect("storage works");
    known.follow(&house, None, "purging").await;
    house.delete_workspace("team", 44).await;
    known.follow(&house, None, "deleting a workspace").await;
    house.save(NewRecord { workspace: workspace("team"), ..house.record("anew") }).await;
    known.follow(&house, None, "saving into its name").await;
    house.restore_workspace("team", 0, 45).await;
    known.follow(&house, None, "restoring a workspace").await;
    let line = audit(house.account, 46, "member.delete");
    house.store.delete_member(house.account, ben, Some(house.ana), line).await.expect("storage works");
    known.follow(&house, None, "handing over").await;
    assert!(known.records.len() >= 3, "{}", known.records.len());
}

/// What a member has is what its leaving would hand over.
pub async fn a_members_holdings_are_counted(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let ben = house.add_member("Ben", Role::Member, None).await;
    let count = async |member| house.store.count_holdings(house.project, member).await.expect("storage works");
    assert_eq!(count(ben).await, Holdings::default());
    let of = |text: &str, audience| NewRecord { author: ben, audience, ..house.record(text) };
    house.save(of("shared", Audience::Shared)).await;
    let forgotten = house.save(of("forgotten", Audience::Shared)).await;
    house.save(of("draft", Audience::Author(ben))).await;
    house.save_text("somebody else's").await;
    house.forget(&[forgotten], 20).await;
    assert_eq!(count(ben).await, Holdings { records: 3, drafts: 1, sessions: 0 });
    let left = house.store.delete_member(house.account, ben, None, audit(house.account, 30, "member.delete")).await;
    assert_eq!(left, Ok(MemberDeleted::NeedsHeir { records: 3 }));
}
