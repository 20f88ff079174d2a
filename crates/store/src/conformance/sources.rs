//! Stories of what is known of sources.

use mnemon_core::{Audience, NewRecord, Seq, SourceState};

use super::{House, MakeEngine, at, with_fact};
use crate::{AdoptedSource, Inserted, SourcePart};

fn part(source_id: &str, audience: Audience, known: (&str, Seq), confirmed: Option<(&str, Seq)>) -> SourcePart {
    let state = SourceState {
        known_hash: Some(known.0.to_owned()),
        known_seq: known.1,
        confirmed_hash: confirmed.map(|(hash, _)| hash.to_owned()),
        confirmed_seq: confirmed.map_or(Seq(0), |(_, seq)| seq),
    };
    SourcePart { source_id: source_id.to_owned(), audience, state, known_at: None, confirmed_at: None }
}

async fn list(house: &House, ids: &[&str]) -> Vec<SourcePart> {
    let mut parts = house.store.list_sources(house.project, ids).await.expect("storage works");
    parts.sort_by(|a, b| (&a.source_id, a.audience).cmp(&(&b.source_id, b.audience)));
    parts.into_iter().map(|part| SourcePart { known_at: None, confirmed_at: None, ..part }).collect()
}

/// A source knows when its newest hash was seen, and when it was last confirmed.
pub async fn a_source_keeps_its_moments(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let moments = async || {
        let parts = house.store.list_sources(house.project, &["page"]).await.expect("storage works");
        parts.iter().map(|part| (part.known_at, part.confirmed_at)).collect::<Vec<_>>()
    };
    let observe = async |hash: &str, second| {
        house.store.observe_source(house.project, "page", hash, at(second)).await.expect("storage works")
    };
    house.save(house.sourced("one", "page", "h1")).await;
    assert_eq!(moments().await, [(Some(at(10)), None)]);
    observe("h1", 20).await;
    assert_eq!(moments().await, [(Some(at(10)), Some(at(20)))]);
    observe("h2", 30).await;
    assert_eq!(moments().await, [(Some(at(30)), Some(at(30)))]);
    house.save(NewRecord { created_at: at(40), ..house.sourced("two", "page", "h3") }).await;
    assert_eq!(moments().await, [(Some(at(40)), Some(at(30)))]);
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

/// A sighting takes a place in the log where it changes what somebody knows, and only there.
pub async fn a_sighting_that_confirms_takes_no_place(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let draft = Audience::Author(house.ana);
    let observe = async |hash: &str| {
        house.store.observe_source(house.project, "page", hash, at(20)).await.expect("storage works")
    };
    let first = house.save(house.sourced("one", "page", "h1")).await;
    assert_eq!(observe("h1").await, None, "known already");
    let confirmed = part("page", Audience::Shared, ("h1", first), Some(("h1", first)));
    assert_eq!(list(&house, &["page"]).await, std::slice::from_ref(&confirmed));
    house.save(house.sourced("two", "page", "h1")).await;
    assert_eq!(list(&house, &["page"]).await, [confirmed], "a save that confirms leaves the sighting where it was");
    assert!(matches!(house.insert(house.sourced("two", "page", "h1")).await, Inserted::Duplicate { .. }));
    assert_eq!(house.last_seq().await, Seq(2));
    let hidden = house.save(NewRecord { audience: draft, ..house.sourced("three", "page", "h2") }).await;
    assert_eq!(observe("h1").await, Some(Seq(4)), "the author believed the draft's");
    let shared = part("page", Audience::Shared, ("h1", Seq(4)), Some(("h1", Seq(4))));
    assert_eq!(list(&house, &["page"]).await, [shared.clone(), part("page", draft, ("h2", hidden), None)]);
    assert_eq!(observe("h1").await, None);
    house.save(NewRecord { audience: draft, ..house.sourced("four", "page", "h1") }).await;
    assert_eq!(list(&house, &["page"]).await, [shared, part("page", draft, ("h1", Seq(5)), None)]);
    assert_eq!(observe("h1").await, None, "all agree");
    assert_eq!(house.last_seq().await, Seq(5));
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
    let seen = house.store.observe_source(house.project, "page", "h2", at(20)).await.expect("storage works");
    assert_eq!((seen, house.last_seq().await), (Some(Seq(2)), Seq(2)));
    let seen = Seq(2);
    let shared = part("page", Audience::Shared, ("h2", seen), Some(("h2", seen)));
    assert_eq!(list(&house, &["page"]).await, [shared, part("page", draft, ("h1", hidden), None)]);
    let saved = house.save(house.sourced("two", "page", "h3")).await;
    let shared = part("page", Audience::Shared, ("h3", saved), Some(("h2", seen)));
    assert_eq!(list(&house, &["page"]).await[0], shared);
    let again = house.store.observe_source(house.project, "page", "h3", at(30)).await.expect("storage works");
    assert_eq!(again, None, "the save has told it already");
    let shared = part("page", Audience::Shared, ("h3", saved), Some(("h3", saved)));
    assert_eq!(list(&house, &["page"]).await[0], shared);
    let fresh = house.store.observe_source(house.project, "never saved", "h", at(40)).await.expect("storage works");
    let fresh = fresh.expect("never seen before");
    let part = part("never saved", Audience::Shared, ("h", fresh), Some(("h", fresh)));
    assert_eq!(list(&house, &["never saved"]).await, [part]);
}

/// A save with one of several known hashes leaves all of them known, whether or not it is news to somebody.
pub async fn several_hashes_of_one_content_stay_together(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let draft = Audience::Author(house.ana);
    house.save(house.sourced("one", "page", "h1")).await;
    let observe = async |hash: &str| {
        house.store.observe_source(house.project, "page", hash, at(20)).await.expect("storage works")
    };
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

/// What was known elsewhere is taken over once, for its audience, and never over what is known here.
pub async fn knowledge_from_elsewhere_is_taken_over_where_there_is_none(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let draft = Audience::Author(house.ana);
    let adopt = async |audience, known: &str, confirmed: Option<&str>| {
        let source = AdoptedSource {
            source_id: "page".to_owned(),
            audience,
            known_hash: known.to_owned(),
            confirmed_hash: confirmed.map(str::to_owned),
        };
        house.store.adopt_source(house.project, source, at(30)).await.expect("storage works")
    };
    assert!(adopt(Audience::Shared, "h2", Some("h1")).await);
    let first = house.store.last_seq(house.project).await.expect("storage works").expect("a log");
    assert!(!adopt(Audience::Shared, "h9", None).await, "it is known already");
    assert!(adopt(draft, "h3", None).await);
    let second = house.store.last_seq(house.project).await.expect("storage works").expect("a log");
    assert!(second > first, "an index that follows the log learns of it");
    let both =
        [part("page", Audience::Shared, ("h2", first), Some(("h1", first))), part("page", draft, ("h3", second), None)];
    assert_eq!(list(&house, &["page"]).await, both);
}
