//! Stories of what is known of sources.

use mnemon_core::{Audience, NewRecord, Seq, SourceState, WorkspaceNo};
use mnemon_store::{AdoptedSource, Inserted, RestoredWorkspace, Seen, Sighting, SourcePart};

use super::{House, MakeEngine, at, with_fact, workspace};

/// The workspace in which a story saves first.
const FIRST: WorkspaceNo = WorkspaceNo(1);

fn part(source_id: &str, audience: Audience, known: (&str, Seq), confirmed: Option<(&str, Seq)>) -> SourcePart {
    let state = SourceState {
        known_hash: Some(known.0.to_owned()),
        is_gone: false,
        moved_to: None,
        known_seq: known.1,
        confirmed_hash: confirmed.map(|(hash, _)| hash.to_owned()),
        confirmed_seq: confirmed.map_or(Seq(0), |(_, seq)| seq),
    };
    let source_id = source_id.to_owned();
    let (known_at, confirmed_at, confirmed_by) = (None, None, None);
    SourcePart { source_id, workspace_no: FIRST, audience, state, known_at, confirmed_at, confirmed_by }
}

/// The same, of a source that is gone since a place.
fn without(part: SourcePart, moved_to: Option<&str>, known_seq: Seq) -> SourcePart {
    let moved_to = moved_to.map(str::to_owned);
    let state = SourceState { known_hash: None, is_gone: true, moved_to, known_seq, ..part.state };
    SourcePart { state, ..part }
}

/// The same in another workspace.
fn within(workspace_no: WorkspaceNo, part: SourcePart) -> SourcePart {
    SourcePart { workspace_no, ..part }
}

fn gone(moved_to: Option<&str>) -> Seen {
    Seen::Gone { moved_to: moved_to.map(str::to_owned) }
}

async fn list(house: &House, ids: &[&str]) -> Vec<SourcePart> {
    let mut parts = house.store.list_sources(house.project, ids).await.expect("storage works");
    parts.sort_by_key(|part| (part.source_id.clone(), part.workspace_no, part.audience));
    parts
        .into_iter()
        .map(|part| SourcePart { known_at: None, confirmed_at: None, confirmed_by: None, ..part })
        .collect()
}

/// A source knows when its newest hash was seen, and when it was last confirmed.
pub async fn a_source_keeps_its_moments(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let moments = async || {
        let parts = house.store.list_sources(house.project, &["page"]).await.expect("storage works");
        parts.iter().map(|part| (part.known_at, part.confirmed_at)).collect::<Vec<_>>()
    };
    house.save(house.sourced("one", "page", "h1")).await;
    assert_eq!(moments().await, [(Some(at(10)), None)]);
    house.observe_hash("page", "h1", 20).await;
    assert_eq!(moments().await, [(Some(at(10)), Some(at(20)))]);
    house.observe_hash("page", "h2", 30).await;
    assert_eq!(moments().await, [(Some(at(30)), Some(at(30)))]);
    house.save(NewRecord { created_at: at(40), ..house.sourced("two", "page", "h3") }).await;
    assert_eq!(moments().await, [(Some(at(40)), Some(at(30)))]);
    for second in [50, 60] {
        house.observe(None, "page", gone(None), second).await;
        assert_eq!(moments().await, [(Some(at(50)), Some(at(30)))], "since when it is gone");
    }
    let elsewhere = house.observe(Some("default"), "never there", gone(None), 70).await;
    assert_eq!(elsewhere, Some(house.last_seq().await), "it has a place though nothing was known");
}

/// Seeing again what was known is no news to a reader, whatever somebody else saw in between: its moment stays. Who
/// looked is kept with what they confirmed.
pub async fn a_sighting_that_others_hide_moves_no_moment(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let shared = async || {
        let parts = house.store.list_sources(house.project, &["page"]).await.expect("storage works");
        let part = parts.into_iter().find(|part| part.audience == Audience::Shared).expect("it is known");
        (part.known_at, part.confirmed_at, part.confirmed_by)
    };
    let draft = |content: &str, hash: &str, second: i64| NewRecord {
        audience: Audience::Author(house.ana),
        created_at: at(second),
        ..house.sourced(content, "page", hash)
    };
    house.save(house.sourced("one", "page", "h1")).await;
    house.save(draft("mine", "h2", 20)).await;
    let seq = house.save(NewRecord { created_at: at(30), ..house.sourced("two", "page", "h1") }).await;
    assert_eq!(shared().await, (Some(at(10)), None, None), "saved again");
    let parts = house.store.list_sources(house.project, &["page"]).await.expect("storage works");
    assert!(parts.iter().any(|part| part.audience == Audience::Shared && part.state.known_seq == seq), "{parts:?}");
    house.save(draft("mine too", "h3", 40)).await;
    house.observe_hash("page", "h1", 50).await;
    assert_eq!(shared().await, (Some(at(10)), Some(at(50)), Some(house.ana)), "looked at");
    house.observe_hash("page", "h1", 60).await;
    assert_eq!(shared().await, (Some(at(10)), Some(at(60)), Some(house.ana)), "and again");
}

/// A hash that comes with a save is known to those who may see the save, and the later one counts.
pub async fn a_saved_hash_is_known_to_its_audience(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let first = house.save(house.sourced("one", "page", "h1")).await;
    assert_eq!(list(&house, &["page"]).await, [part("page", Audience::Shared, ("h1", first), None)]);
    let draft = Audience::Author(house.ana);
    let hidden = house.save(NewRecord { audience: draft, ..house.sourced("two", "page", "h2") }).await;
    let both = [part("page", Audience::Shared, ("h1", first), None), part("page", draft, ("h2", hidden), None)];
    assert_eq!(list(&house, &["page"]).await, both);
    let later = house.save(house.sourced("three", "page", "h3")).await;
    let both = [part("page", Audience::Shared, ("h3", later), None), part("page", draft, ("h2", hidden), None)];
    assert_eq!(list(&house, &["page"]).await, both);
    house.save(with_fact(house.record("four"), |fact| fact.source_id = Some("bare".to_owned()))).await;
    house.save(with_fact(house.record("five"), |fact| fact.source_hash = Some("h".to_owned()))).await;
    assert_eq!(list(&house, &["page", "bare", "page", "absent"]).await, both, "no hash or no id, nothing known");
    assert_eq!(list(&house, &[]).await, []);
    house.forget(&[later], 20).await;
    assert_eq!(list(&house, &["page"]).await, both, "a sighting outlives its record");
}

/// A sighting takes a place in the log where it changes what somebody knows, or confirms it for the first time, and
/// only there.
pub async fn a_sighting_that_says_nothing_new_takes_no_place(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let draft = Audience::Author(house.ana);
    let observe = async |hash: &str| house.observe_hash("page", hash, 20).await;
    let first = house.save(house.sourced("one", "page", "h1")).await;
    let no = house.store.find_workspace(house.project, &workspace("default")).await.expect("storage works");
    let no = no.expect("it is there").no;
    let tail = async |after| house.store.tail(house.project, no, after, 10).await.expect("storage works").sightings;
    assert_eq!(observe("h1").await, Some(Seq(2)), "known, and not confirmed");
    let confirmed = part("page", Audience::Shared, ("h1", first), Some(("h1", first)));
    assert_eq!(list(&house, &["page"]).await, std::slice::from_ref(&confirmed));
    let told = tail(Seq(1)).await;
    assert_eq!(told.iter().map(|seen| seen.confirmed.clone()).collect::<Vec<_>>(), [Some(("h1".to_owned(), first))]);
    assert_eq!((observe("h1").await, house.last_seq().await), (None, Seq(2)), "confirmed already");
    house.save(house.sourced("two", "page", "h1")).await;
    assert_eq!(list(&house, &["page"]).await, [confirmed], "a save that confirms leaves the sighting where it was");
    assert!(matches!(house.insert(house.sourced("two", "page", "h1")).await, Inserted::Duplicate { .. }));
    assert_eq!(house.last_seq().await, Seq(3));
    let hidden = house.save(NewRecord { audience: draft, ..house.sourced("three", "page", "h2") }).await;
    assert_eq!(observe("h1").await, Some(Seq(5)), "the author believed the draft's");
    let shared = part("page", Audience::Shared, ("h1", Seq(5)), Some(("h1", Seq(5))));
    assert_eq!(list(&house, &["page"]).await, [shared.clone(), part("page", draft, ("h2", hidden), None)]);
    assert_eq!(observe("h1").await, None);
    house.save(NewRecord { audience: draft, ..house.sourced("four", "page", "h1") }).await;
    assert_eq!(list(&house, &["page"]).await, [shared, part("page", draft, ("h1", Seq(6)), None)]);
    assert_eq!(observe("h1").await, None, "all agree");
    assert_eq!(house.last_seq().await, Seq(6));
}

/// A duplicate is a sighting too, in a new place of the log.
pub async fn a_duplicate_makes_its_hash_the_newest(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    house.save(house.sourced("one", "page", "h1")).await;
    house.save(house.sourced("two", "page", "h2")).await;
    assert!(matches!(house.insert(house.sourced("one", "page", "h1")).await, Inserted::Duplicate { .. }));
    assert_eq!(list(&house, &["page"]).await, [part("page", Audience::Shared, ("h1", Seq(3)), None)]);
    assert_eq!(house.last_seq().await, Seq(3));
    let bare = with_fact(house.sourced("one", "page", ""), |fact| fact.source_hash = None);
    assert!(matches!(house.insert(bare).await, Inserted::Duplicate { .. }));
    assert_eq!(house.last_seq().await, Seq(3), "without a hash nothing was seen");
}

/// What was observed is known and confirmed for everybody, and later saves leave the confirmation alone.
pub async fn an_observed_hash_is_known_and_confirmed(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let draft = Audience::Author(house.ana);
    let hidden = house.save(NewRecord { audience: draft, ..house.sourced("one", "page", "h1") }).await;
    assert_eq!((house.observe_hash("page", "h2", 20).await, house.last_seq().await), (Some(Seq(2)), Seq(2)));
    let seen = Seq(2);
    let shared = part("page", Audience::Shared, ("h2", seen), Some(("h2", seen)));
    assert_eq!(list(&house, &["page"]).await, [shared, part("page", draft, ("h1", hidden), None)]);
    let saved = house.save(house.sourced("two", "page", "h3")).await;
    let shared = part("page", Audience::Shared, ("h3", saved), Some(("h2", seen)));
    assert_eq!(list(&house, &["page"]).await[0], shared);
    assert_eq!(house.observe_hash("page", "h3", 30).await, Some(Seq(4)), "the save has told it, and nobody has looked");
    let shared = part("page", Audience::Shared, ("h3", saved), Some(("h3", saved)));
    assert_eq!(list(&house, &["page"]).await[0], shared);
    let fresh = house.observe_hash("never saved", "h", 40).await.expect("never seen before");
    let part = part("never saved", Audience::Shared, ("h", fresh), Some(("h", fresh)));
    assert_eq!(list(&house, &["never saved"]).await, [part]);
}

/// A save with one of several known hashes leaves all of them known, whether or not it is news to somebody.
pub async fn several_hashes_of_one_content_stay_together(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let draft = Audience::Author(house.ana);
    house.save(house.sourced("one", "page", "h1")).await;
    let observe = async |hash: &str| house.observe_hash("page", hash, 20).await;
    let seen = observe("h1 g1 ?v1").await.expect("it is news");
    let together = part("page", Audience::Shared, ("h1 g1 ?v1", seen), Some(("h1 g1 ?v1", seen)));
    for (text, hash) in [("two", "g1"), ("three", "h1"), ("four", "v1")] {
        house.save(house.sourced(text, "page", hash)).await;
        assert_eq!(list(&house, &["page"]).await, std::slice::from_ref(&together), "{hash}");
    }
    assert_eq!(observe("g1").await, None, "one of them is the source's own, as was known");
    let hidden = house.save(NewRecord { audience: draft, ..house.sourced("five", "page", "h2") }).await;
    let later = house.save(house.sourced("six", "page", "g1")).await;
    let after = part("page", Audience::Shared, ("h1 g1 ?v1", later), Some(("h1 g1 ?v1", seen)));
    assert_eq!(list(&house, &["page"]).await, [after, part("page", draft, ("h2", hidden), None)], "news to the author");
    let other = house.save(house.sourced("seven", "page", "h3")).await;
    assert_eq!(list(&house, &["page"]).await[0].state.known_hash.as_deref(), Some("h3"), "the content has changed");
    assert!(other > later);
}

/// With the name of its algorithm or without, a digest is the same; and those of several algorithms are never compared.
pub async fn digests_of_one_content_stay_together(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let (old, new, git) = ("a".repeat(64), "c".repeat(64), "b".repeat(40));
    let named = |digits: &str| format!("sha256:{digits}");
    let known = async || list(&house, &["page"]).await[0].state.clone();
    house.save(house.sourced("one", "page", &named(&old))).await;
    let first = known().await;
    assert_eq!(first.known_hash, Some(format!("sha256:{old} {old}")));
    house.save(house.sourced("two", "page", &old)).await;
    assert_eq!(known().await, first, "nothing new");
    house.save(house.sourced("three", "page", &git)).await;
    let after = format!("{git} sha1:{git} ?sha256:{old} ?{old}");
    assert_eq!(known().await.known_hash.as_ref(), Some(&after), "nobody knows whether the other still holds");
    house.save(house.sourced("four", "page", &old)).await;
    assert_eq!(known().await.known_hash, Some(after), "nothing is learned about the rest");
    house.save(house.sourced("five", "page", &new)).await;
    assert_eq!(known().await.known_hash, Some(format!("{new} sha256:{new} ?{git} ?sha1:{git}")), "it has changed");
    house.save(house.sourced("six", "page", "v7")).await;
    assert_eq!(known().await.known_hash.as_deref(), Some("v7"), "any other text is taken for a change");
}

/// Workspaces that name the same source tell each other nothing: not by saves, and by an observation only if it names
/// none.
pub async fn workspaces_know_their_sources_apart(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let of_team = |record| NewRecord { workspace: workspace("team"), ..record };
    let known = |hash: &str, seq| part("page", Audience::Shared, (hash, Seq(seq)), None);
    let confirmed = |hash: &str, seq| part("page", Audience::Shared, (hash, Seq(seq)), Some((hash, Seq(seq))));
    let observe =
        async |name: &str, hash: &str| house.observe(Some(name), "page", Seen::Hash(hash.to_owned()), 20).await;
    house.save(house.sourced("one", "page", "h1")).await;
    let (_, team) = house.save_numbered(of_team(house.sourced("two", "page", "h2"))).await;
    assert_eq!(list(&house, &["page"]).await, [known("h1", 1), within(team, known("h2", 2))]);
    house.save(of_team(house.sourced("three", "page", "h1"))).await;
    assert_eq!(list(&house, &["page"]).await, [known("h1", 1), within(team, known("h1", 3))], "news here alone");
    assert_eq!(observe("team", "h3").await, Some(Seq(4)));
    assert_eq!(observe("default", "h1").await, Some(Seq(5)), "nobody has looked here");
    assert_eq!(observe("default", "h1").await, None, "what another workspace saw is no reason to tell it again");
    assert_eq!(list(&house, &["page"]).await, [confirmed("h1", 1), within(team, confirmed("h3", 4))]);
    assert_eq!(observe("absent", "h4").await, None);
    assert_eq!(
        (list(&house, &["page"]).await.len(), house.last_seq().await),
        (2, Seq(5)),
        "there is nobody to know it"
    );
    assert_eq!(house.observe_hash("page", "h3", 20).await, Some(Seq(6)));
    let both = [confirmed("h3", 6), within(team, confirmed("h3", 4))];
    assert_eq!(list(&house, &["page"]).await, both, "news to one of them, and known to the other");
    assert_eq!(house.observe_hash("page", "h3", 20).await, None);
    let bare = with_fact(house.sourced("four", "page", ""), |fact| fact.source_hash = None);
    let (_, third) = house.save_numbered(NewRecord { workspace: workspace("third"), ..bare }).await;
    house.delete_workspace("team", 30).await;
    assert_eq!(observe("team", "h4").await, None, "its life is over");
    assert_eq!(house.observe_hash("page", "h4", 40).await, Some(Seq(9)));
    let all = [FIRST, team, third].map(|no| within(no, confirmed("h4", 9)));
    assert_eq!(list(&house, &["page"]).await, all, "also where it may come back, and where records are from it");
}

/// That a source is gone is told once, leaves the confirmation alone, and is over with the next hash.
pub async fn a_source_that_is_gone_comes_back_with_any_hash(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let draft = Audience::Author(house.ana);
    let observe = async |moved_to| house.observe(Some("default"), "page", gone(moved_to), 30).await;
    let told = async |after| {
        let tail = house.store.tail(house.project, FIRST, Seq(after), 10).await.expect("storage works");
        tail.sightings.into_iter().map(|seen| (seen.hash, seen.seq)).collect::<Vec<_>>()
    };
    let first = house.save(house.sourced("one", "page", "h1")).await;
    assert_eq!(house.observe_hash("page", "h1", 20).await, Some(Seq(2)));
    let there = part("page", Audience::Shared, ("h1", first), Some(("h1", first)));
    for (moved_to, place) in [(None, Seq(3)), (Some("page 2"), Seq(4)), (Some("page 3"), Seq(5)), (None, Seq(6))] {
        assert_eq!(observe(moved_to).await, Some(place));
        let lost = without(there.clone(), moved_to, place);
        assert_eq!(list(&house, &["page"]).await, std::slice::from_ref(&lost));
        assert_eq!(told(place.0 - 1).await, [(None, place)]);
        assert_eq!(observe(moved_to).await, None, "known already");
        assert_eq!(list(&house, &["page"]).await, [lost]);
    }
    assert_eq!(told(0).await, [(None, Seq(6))], "also for a reader that starts from nothing");
    let saved = house.save(house.sourced("two", "page", "h1")).await;
    let there = part("page", Audience::Shared, ("h1", saved), Some(("h1", first)));
    assert_eq!(list(&house, &["page"]).await, [there], "a save brings it back");
    assert_eq!(observe(Some("page 2")).await, Some(Seq(8)));
    assert!(matches!(house.insert(house.sourced("two", "page", "h1")).await, Inserted::Duplicate { .. }));
    let there = part("page", Audience::Shared, ("h1", Seq(9)), Some(("h1", first)));
    assert_eq!(list(&house, &["page"]).await, [there], "and so does a duplicate");
    assert_eq!(observe(Some("page 2")).await, Some(Seq(10)));
    assert_eq!(house.observe_hash("page", "h1", 40).await, Some(Seq(11)));
    let there = part("page", Audience::Shared, ("h1", Seq(11)), Some(("h1", Seq(11))));
    assert_eq!(list(&house, &["page"]).await, std::slice::from_ref(&there), "and who sees it");
    assert_eq!(observe(None).await, Some(Seq(12)));
    let hidden = house.save(NewRecord { audience: draft, ..house.sourced("three", "page", "h2") }).await;
    let own = part("page", draft, ("h2", hidden), None);
    assert_eq!(list(&house, &["page"]).await, [without(there.clone(), None, Seq(12)), own.clone()]);
    assert_eq!(observe(None).await, Some(Seq(14)), "the author believed the draft's");
    assert_eq!(list(&house, &["page"]).await, [without(there, None, Seq(14)), own]);
}

/// A record that comes back into another life of its workspace brings along what was known of its source, for everybody
/// who knew it; what is known there since then counts.
pub async fn a_restored_record_keeps_what_was_known_of_its_source(make: MakeEngine) {
    let engine = make().await;
    for is_whole in [false, true] {
        let house = House::build(&engine.store).await;
        let draft = Audience::Author(house.ana);
        let old = house.sourced("one", "page", "h1");
        let lost = house.save(old.clone()).await;
        let other = house.sourced("two", "other", "o1");
        house.save(other.clone()).await;
        let hidden = house.save(NewRecord { audience: draft, ..house.sourced("three", "page", "h2") }).await;
        assert_eq!(house.observe_hash("page", "h1", 15).await, Some(Seq(4)));
        assert_eq!(house.observe(Some("default"), "page", gone(Some("page 2")), 16).await, Some(Seq(5)));
        let before = list(&house, &["page"]).await;
        let moved = without(part("page", Audience::Shared, ("", lost), Some(("h1", Seq(4)))), Some("page 2"), Seq(5));
        assert_eq!(before, [moved, part("page", draft, ("h2", hidden), None)]);
        house.delete_workspace("default", 20).await;
        let (newly, no) = house.save_numbered(house.sourced("newly", "other", "o2")).await;
        if is_whole {
            assert_eq!(house.restore_workspace("default", 0, 30).await, RestoredWorkspace::Done(3));
        } else {
            for id in [old.id, other.id] {
                assert_eq!(house.restore(id, 0, 30).await.map(|record| record.workspace_no), Some(no));
            }
        }
        let carried: Vec<_> = before.iter().map(|part| within(no, part.clone())).collect();
        assert_eq!(list(&house, &["page"]).await, [before, carried].concat());
        let newer = within(no, part("other", Audience::Shared, ("o2", newly), None));
        assert_eq!(list(&house, &["other"]).await[1], newer, "seen in the new life");
        let tail = house.store.tail(house.project, no, newly, 10).await.expect("storage works");
        let (source_id, confirmed) = ("page".to_owned(), Some(("h1".to_owned(), Seq(4))));
        let gone = Sighting { source_id, audience: Audience::Shared, hash: None, seq: Seq(5), confirmed };
        assert!(tail.sightings.contains(&gone), "an index of the new life learns it: {:?}", tail.sightings);
    }
}

/// Of what several former lives knew the latest counts, in whatever order their records come back.
pub async fn the_latest_life_knows_best(make: MakeEngine) {
    let engine = make().await;
    for order in [[0, 1], [1, 0]] {
        let house = House::build(&engine.store).await;
        let mut ids = Vec::new();
        for (text, hash) in [("one", "h1"), ("two", "h2")] {
            let record = house.sourced(text, "page", hash);
            ids.push(record.id);
            house.save(record).await;
            house.observe(Some("default"), "page", Seen::Hash(hash.to_owned()), 15).await;
            house.delete_workspace("default", 20).await;
        }
        let (_, no) = house.save_numbered(house.record("newly")).await;
        for nth in order {
            house.restore(ids[nth], 0, 30).await.expect("restored");
        }
        let latest = within(no, part("page", Audience::Shared, ("h2", Seq(4)), Some(("h2", Seq(4)))));
        assert_eq!(list(&house, &["page"]).await.last(), Some(&latest), "{order:?}");
    }
}

/// What is known of sources goes with the workspace that ended, and no other workspace loses anything.
pub async fn what_is_known_of_sources_ends_with_its_workspace(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let of_team = |record| NewRecord { workspace: workspace("team"), ..record };
    let first = house.save(house.sourced("one", "page", "h1")).await;
    let (second, team) = house.save_numbered(of_team(house.sourced("two", "page", "h2"))).await;
    let here = part("page", Audience::Shared, ("h1", first), None);
    let there = within(team, part("page", Audience::Shared, ("h2", second), None));
    house.delete_workspace("team", 20).await;
    assert_eq!(list(&house, &["page"]).await, [here.clone(), there], "it may come back");
    let (third, reborn) = house.save_numbered(of_team(house.sourced("three", "page", "h3"))).await;
    assert_eq!(house.store.purge_forgotten(at(30), 10).await, Ok(1));
    let there = within(reborn, part("page", Audience::Shared, ("h3", third), None));
    assert_eq!(list(&house, &["page"]).await, [here, there]);
    assert_eq!(house.observe_hash("page", "h4", 40).await, Some(house.last_seq().await));
    assert_eq!(list(&house, &["page"]).await.len(), 2, "nothing is told to what is gone");
}

async fn adopt(house: &House, name: &str, audience: Audience, known: Seen, confirmed: Option<&str>) -> bool {
    let source = AdoptedSource {
        workspace: workspace(name),
        source_id: "page".to_owned(),
        audience,
        known,
        confirmed_hash: confirmed.map(str::to_owned),
    };
    house.store.adopt_source(house.project, source, at(30)).await.expect("storage works")
}

/// What was known elsewhere is taken over once, for its audience and workspace, and never over what is known here.
pub async fn knowledge_from_elsewhere_is_taken_over_where_there_is_none(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let draft = Audience::Author(house.ana);
    let hash = |hash: &str| Seen::Hash(hash.to_owned());
    house.save_text("there is a workspace").await;
    let team = house.save(NewRecord { workspace: workspace("team"), ..house.record("and another") }).await;
    assert!(adopt(&house, "default", Audience::Shared, hash("h2"), Some("h1")).await);
    let first = house.last_seq().await;
    assert!(!adopt(&house, "default", Audience::Shared, hash("h9"), None).await, "it is known already");
    assert!(!adopt(&house, "default", Audience::Shared, gone(None), None).await, "it is known already");
    assert_eq!(house.last_seq().await, first);
    assert!(adopt(&house, "default", draft, hash("h3"), None).await);
    let second = house.last_seq().await;
    assert!(second > first, "an index that follows the log learns of it");
    assert!(adopt(&house, "team", Audience::Shared, gone(Some("page 2")), Some("h4")).await);
    let third = house.last_seq().await;
    let lost = without(part("page", Audience::Shared, ("", third), Some(("h4", third))), Some("page 2"), third);
    let all = [
        part("page", Audience::Shared, ("h2", first), Some(("h1", first))),
        part("page", draft, ("h3", second), None),
        within(WorkspaceNo(team.0), lost),
    ];
    assert_eq!(list(&house, &["page"]).await, all);
}

/// A workspace that is not living takes nothing over: neither one that never was nor one that ended.
pub async fn nothing_is_taken_over_into_a_workspace_that_is_not_living(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    house.save(NewRecord { workspace: workspace("over"), ..house.record("a fact") }).await;
    house.delete_workspace("over", 20).await;
    let before = house.last_seq().await;
    for name in ["default", "absent", "over"] {
        for known in [Seen::Hash("h1".to_owned()), gone(None)] {
            assert!(!adopt(&house, name, Audience::Shared, known, Some("h1")).await, "{name}");
        }
    }
    assert_eq!((list(&house, &["page"]).await, house.last_seq().await), (Vec::new(), before));
}
