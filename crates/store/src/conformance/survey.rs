//! Stories of how the records of a project stand.

use mnemon_core::{Audience, FactKey, NewRecord, Role, Seq};

use super::{House, MakeEngine, at, audit, with_fact, workspace};
use crate::{Holdings, MemberDeleted};

/// Totals are told by workspace and audience; whatever may be stale or disputed is listed, and nothing else.
pub async fn a_survey_tells_totals_and_suspects(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let survey = async || house.store.survey(house.project).await.expect("storage works");
    let empty = survey().await;
    assert_eq!((empty.seq, empty.places.len(), empty.workspaces.len(), empty.suspects.len()), (Seq(0), 0, 0, 0));
    let ben = house.add_member("Ben", Role::Member, None).await;
    let draft = Audience::Author(ben);
    let keyed =
        |text: &str, key: &str| NewRecord { fact_key: FactKey::given(key).expect("a key"), ..house.record(text) };
    house.save_text("plain").await;
    house.save(house.sourced("holds", "page", "h2")).await;
    let old = house.save(house.sourced("changed", "page", "h1")).await;
    let hidden = house.save(NewRecord { audience: draft, ..house.sourced("a draft", "other", "h1") }).await;
    let ends = with_fact(house.record("ends"), |fact| fact.valid_until = Some(at(1_000)));
    let ends = house.save(NewRecord { created_at: at(40), ..ends }).await;
    let one = house.save(keyed("one", "k")).await;
    let two = house.save(NewRecord { audience: draft, ..keyed("two", "k") }).await;
    house.save(keyed("alone", "l")).await;
    house.save(NewRecord { workspace: workspace("team"), ..keyed("elsewhere", "k") }).await;
    let gone = house.save(keyed("gone", "l")).await;
    house.save(NewRecord { workspace: workspace("over"), ..keyed("over", "m") }).await;
    house.save(NewRecord { workspace: workspace("over"), ..keyed("over too", "m") }).await;
    house.store.observe_source(house.project, "page", "h2", at(20)).await.expect("storage works");
    house.store.observe_source(house.project, "other", "h9", at(20)).await.expect("storage works");
    house.forget(&[gone], 21).await;
    house.delete_workspace("over", 22).await;
    let told = survey().await;
    assert_eq!(told.seq, house.last_seq().await);
    let places: Vec<_> = told
        .places
        .iter()
        .map(|place| (place.workspace.as_str(), place.audience, place.records, place.confirmed, place.sourceless))
        .collect();
    let expected =
        [("default", Audience::Shared, 6, 1, 4), ("default", draft, 2, 0, 1), ("team", Audience::Shared, 1, 0, 1)];
    assert_eq!(places, expected);
    assert_eq!(told.places.iter().map(|place| place.last_saved_at).collect::<Vec<_>>(), [at(40), at(10), at(10)]);
    let names: Vec<&str> = told.workspaces.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["default", "team"]);
    assert_eq!(told.workspaces[0].living, [(Audience::Shared, 6), (draft, 2)]);
    let suspects: Vec<Seq> = told.suspects.iter().map(|brief| brief.seq).collect();
    assert_eq!(suspects, [old, hidden, ends, one, two]);
    let mut sources: Vec<&str> = told.parts.iter().map(|part| part.source_id.as_str()).collect();
    sources.dedup();
    assert_eq!(sources, ["other", "page"]);
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
