//! Random acts against a plain model in memory: after any sequence of them, engine and model tell the same.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mnemon_core::{
    Audience, DepartmentTree, Fact, FactKey, MemberId, NewRecord, RecordId, Role, Seq, SourceState, Viewer, WorkspaceNo,
};
use mnemon_store::{
    Confirmation, Idempotency, Insert, Inserted, Observation, RestoredWorkspace, Seen, SourcePart, Store, Supersede,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

use super::log::{Followed, Known, follow_all};
use super::{House, MakeEngine, at, workspace};

const CASES: u32 = 300;
const WORKSPACES: [&str; 3] = ["default", "team", "Ключи"];
const LIMIT: u64 = 12;
const SUPERSEDED_AT: i64 = 25;
const DELETED_AT: i64 = 50;
/// All that was forgotten was so before this, and no workspace was deleted before it.
const BETWEEN: i64 = 40;

/// One random act. Numbers are taken modulo what there is.
#[derive(Debug, Clone)]
enum Act {
    Save {
        workspace: usize,
        content: u8,
        is_draft: bool,
        source: Option<u8>,
        hash: Option<u8>,
        is_limited: bool,
        key: Option<(u8, u8)>,
        /// Its own key, and whether it replaces what stands under it.
        fact: Option<(u8, bool)>,
        /// What it supersedes.
        old: Option<usize>,
        /// Whether somebody replaces who sees no drafts.
        is_stranger: bool,
    },
    Forget {
        places: Vec<u64>,
        second: i64,
    },
    Restore {
        nth: usize,
        since: i64,
        is_limited: bool,
    },
    DeleteWorkspace {
        workspace: usize,
    },
    RestoreWorkspace {
        workspace: usize,
        is_limited: bool,
    },
    Observe {
        workspace: Option<usize>,
        observation: Observation,
    },
    PurgeForgotten {
        /// With the workspaces that ended.
        is_all: bool,
    },
}

fn act() -> impl Strategy<Value = Act> {
    let few = || prop::option::of(0..3_u8);
    let save = (0..3_usize, 0..6_u8, any::<bool>(), few(), few(), any::<bool>(), prop::option::of((0..3_u8, 0..2_u8)));
    let rare = |of| prop::option::weighted(0.2, of);
    let supersede = (prop::option::of((0..2_u8, prop::bool::weighted(0.3))), rare(0..1_000_usize), any::<bool>());
    prop_oneof![
        8 => (save, supersede).prop_map(|(save, (fact, old, is_stranger))| {
            let (workspace, content, is_draft, source, hash, is_limited, key) = save;
            Act::Save { workspace, content, is_draft, source, hash, is_limited, key, fact, old, is_stranger }
        }),
        3 => (prop::collection::vec(0..20_u64, 0..4), 20..30_i64).prop_map(|(places, second)| Act::Forget { places, second }),
        2 => (any::<usize>(), 20..30_i64, any::<bool>()).prop_map(|(nth, since, is_limited)| Act::Restore { nth, since, is_limited }),
        1 => (0..3_usize).prop_map(|workspace| Act::DeleteWorkspace { workspace }),
        1 => (0..3_usize, any::<bool>()).prop_map(|(workspace, is_limited)| Act::RestoreWorkspace { workspace, is_limited }),
        2 => (prop::option::of(0..3_usize), observation()).prop_map(|(workspace, observation)| Act::Observe { workspace, observation }),
        1 => any::<bool>().prop_map(|is_all| Act::PurgeForgotten { is_all }),
    ]
}

fn observation() -> impl Strategy<Value = Observation> {
    let seen = prop_oneof![
        2 => (0..3_u8).prop_map(|n| Seen::Hash(format!("hash-{n}"))),
        1 => prop::option::of(0..2_u8).prop_map(|n| Seen::Gone { moved_to: n.map(|n| format!("place {n}")) }),
    ];
    (0..3_u8, seen).prop_map(|(n, seen)| Observation { source_id: format!("source {n}"), seen })
}

/// A record in the model.
#[derive(Debug, Clone)]
struct Kept {
    given: NewRecord,
    no: WorkspaceNo,
    hash: Option<String>,
    forgotten: Option<i64>,
}

/// What an audience knows of a source in one life of a workspace.
type SourceKey = (String, WorkspaceNo, Audience);

#[derive(Default)]
struct Model {
    seq: u64,
    records: BTreeMap<Seq, Kept>,
    workspaces: BTreeMap<usize, (WorkspaceNo, BTreeSet<Audience>)>,
    /// Former lives, with the nth name and the audiences that they had.
    ended: BTreeMap<WorkspaceNo, (usize, BTreeSet<Audience>)>,
    sources: BTreeMap<SourceKey, SourceState>,
    keys: BTreeMap<u8, (u8, Seq, bool)>,
}

impl Model {
    fn next(&mut self) -> Seq {
        self.seq += 1;
        Seq(self.seq)
    }

    fn is_alive(&self, kept: &Kept) -> bool {
        kept.forgotten.is_none() && self.workspaces.values().any(|(no, _)| *no == kept.no)
    }

    fn living(&self) -> impl Iterator<Item = (&Seq, &Kept)> {
        self.records.iter().filter(|(_, kept)| self.is_alive(kept))
    }

    /// Whether a reader would learn from this sighting: one who belongs to both audiences believes the later.
    fn is_news(&self, key: &SourceKey, seen: &Seen) -> bool {
        let Some(own) = self.sources.get(key) else { return true };
        let is_later = |(id, no, _): &SourceKey, state: &SourceState| {
            *id == key.0 && *no == key.1 && state.known_seq >= own.known_seq
        };
        let tells = |state: &SourceState| {
            state.known_hash.as_deref() == seen.hash() && state.moved_to.as_deref() == seen.moved_to()
        };
        self.sources.iter().any(|(key, state)| is_later(key, state) && !tells(state))
    }

    fn note_seen(&mut self, key: SourceKey, seen: &Seen, seq: Seq) {
        let state = self.sources.entry(key).or_default();
        state.known_hash = seen.hash().map(str::to_owned);
        state.moved_to = seen.moved_to().map(str::to_owned);
        state.is_gone = state.known_hash.is_none();
        state.known_seq = seq;
    }

    fn note_hash(&mut self, given: &NewRecord, no: WorkspaceNo, seq: impl FnOnce(&mut Self) -> Seq) {
        let Some((source, hash)) = given.sighting() else { return };
        let (key, seen) = ((source.to_owned(), no, given.audience), Seen::Hash(hash.to_owned()));
        if self.is_news(&key, &seen) {
            let seq = seq(self);
            self.note_seen(key, &seen, seq);
        }
    }

    fn observe(&mut self, nth: Option<usize>, observation: &Observation) -> Option<Seq> {
        let Observation { source_id, seen } = observation;
        let key = |no| (source_id.clone(), no, Audience::Shared);
        let concerned = match nth {
            Some(nth) => self.workspaces.get(&nth).map(|(no, _)| *no).into_iter().collect(),
            None => self.concerned(source_id),
        };
        let news: Vec<_> = concerned.iter().filter(|no| self.is_news(&key(**no), seen)).copied().collect();
        let is_confirmed = |no: &WorkspaceNo| {
            let own = self.sources.get(&key(*no));
            own.is_some_and(|own| (&own.confirmed_hash, own.confirmed_seq) == (&own.known_hash, own.known_seq))
        };
        let confirms = seen.hash().is_some() && !concerned.iter().all(is_confirmed);
        let seq = (confirms || !news.is_empty()).then(|| self.next());
        for no in news {
            self.note_seen(key(no), seen, seq.expect("there is news"));
        }
        for no in concerned.into_iter().filter(|_| seen.hash().is_some()) {
            let state = self.sources.get_mut(&key(no)).expect("it is known now");
            state.confirmed_hash.clone_from(&state.known_hash);
            state.confirmed_seq = state.known_seq;
        }
        seq
    }

    /// The workspaces that know a source or have records from it, ended ones too, and the default one.
    fn concerned(&self, source_id: &str) -> BTreeSet<WorkspaceNo> {
        let is_from =
            |kept: &&Kept| kept.forgotten.is_none() && kept.given.fact.source_id.as_deref() == Some(source_id);
        let known = self.sources.keys().filter(|(id, ..)| id == source_id).map(|(_, no, _)| *no);
        let saved = self.records.values().filter(is_from).map(|kept| kept.no);
        known.chain(saved).chain(self.workspaces.get(&0).map(|(no, _)| *no)).collect()
    }

    /// Takes what is known of a source along into another life of its workspace. The later sighting counts.
    fn carry(&mut self, source_id: &str, from: WorkspaceNo, to: WorkspaceNo) {
        let known = self.sources.iter().filter(|((id, no, _), _)| id == source_id && *no == from);
        let known: Vec<_> = known.map(|((_, _, audience), state)| (*audience, state.clone())).collect();
        for (audience, state) in known {
            let joined = self.sources.entry((source_id.to_owned(), to, audience)).or_default();
            let mut newer = if state.known_seq > joined.known_seq { state.clone() } else { joined.clone() };
            let confirmed = if state.confirmed_seq > joined.confirmed_seq { state } else { joined.clone() };
            (newer.confirmed_hash, newer.confirmed_seq) = (confirmed.confirmed_hash, confirmed.confirmed_seq);
            *joined = newer;
        }
    }

    /// Removes what was forgotten, and with `is_all` the lives that ended. A living workspace notes that in the log.
    fn purge(&mut self, is_all: bool) {
        let is_doomed = |kept: &Kept| kept.forgotten.is_some() || (is_all && self.ended.contains_key(&kept.no));
        let doomed: Vec<_> = self.records.iter().filter(|(_, kept)| is_doomed(kept)).map(|(seq, _)| *seq).collect();
        let touched: BTreeSet<_> =
            doomed.iter().filter_map(|seq| self.records.remove(seq)).map(|kept| kept.no).collect();
        self.seq += touched.iter().filter(|no| !self.ended.contains_key(no)).count() as u64;
        self.keys.retain(|_, (_, seq, _)| self.records.contains_key(seq));
        let is_left = |(id, no, audience): &SourceKey| {
            self.records.values().any(|kept| {
                kept.no == *no && kept.given.audience == *audience && kept.given.fact.source_id.as_ref() == Some(id)
            })
        };
        self.sources.retain(|key, _| touched.is_empty() || key.2 == Audience::Shared || is_left(key));
        if is_all {
            self.sources.retain(|(_, no, _), _| !self.ended.contains_key(no));
            self.ended.clear();
        }
    }

    /// What a save leads to: `None` where it is refused or repeated, otherwise the place and whether it is a duplicate.
    fn save(
        &mut self,
        nth: usize,
        given: &NewRecord,
        limit: Option<u64>,
        key: Option<(u8, u8)>,
        supersede: Option<&Supersede>,
    ) -> Saved {
        if let Some((name, arguments)) = key
            && let Some((first, seq, was_duplicate)) = self.keys.get(&name)
        {
            return if *first == arguments { Saved::Replayed(*seq, *was_duplicate) } else { Saved::KeyReused };
        }
        let no = self.workspaces.get(&nth).map(|(no, _)| *no);
        let Some(superseded) = self.superseded(no, given, supersede) else { return Saved::NotFound };
        let is_equal = |kept: &Kept| {
            Some(kept.no) == no
                && kept.given.fact.content == given.fact.content
                && kept.given.audience == given.audience
                && kept.given.fact.source_id == given.fact.source_id
        };
        let duplicate = self.living().find(|(_, kept)| is_equal(kept)).map(|(seq, _)| *seq);
        if let Some(seq) = duplicate {
            let is_update = given.fact.source_hash.is_some() && self.records[&seq].hash != given.fact.source_hash;
            let updated = is_update.then(|| self.next());
            let no = self.records[&seq].no;
            self.note_hash(given, no, |model| updated.unwrap_or_else(|| model.next()));
            if let (Some(kept), Some(hash)) = (self.records.get_mut(&seq), &given.fact.source_hash) {
                kept.hash = Some(hash.clone());
            }
            let superseded = self.supersede(superseded.into_iter().filter(|old| *old != seq));
            self.keys.extend(key.map(|(name, arguments)| (name, (arguments, seq, true))));
            return Saved::Duplicate(seq, superseded);
        }
        if limit.is_some_and(|max| (self.living().count() - superseded.len()) as u64 >= max) {
            return Saved::LimitReached;
        }
        let seq = self.next();
        let (no, audiences) = self.workspaces.entry(nth).or_insert((WorkspaceNo(seq.0), BTreeSet::new()));
        let no = *no;
        audiences.insert(given.audience);
        let kept = Kept { given: given.clone(), no, hash: given.fact.source_hash.clone(), forgotten: None };
        self.records.insert(seq, kept);
        self.note_hash(given, no, |_| seq);
        let superseded = self.supersede(superseded.into_iter());
        self.keys.extend(key.map(|(name, arguments)| (name, (arguments, seq, false))));
        Saved::New(seq, superseded)
    }

    /// What a save takes the place of. `None` where something that it names does not exist for who replaces.
    fn superseded(
        &self,
        no: Option<WorkspaceNo>,
        given: &NewRecord,
        wanted: Option<&Supersede>,
    ) -> Option<BTreeSet<Seq>> {
        let Some(wanted) = wanted else { return Some(BTreeSet::new()) };
        let seen: Vec<_> = self.living().filter(|(_, kept)| wanted.viewer.sees(&kept.given.audience)).collect();
        let is_named = |kept: &Kept| Some(kept.no) == no && kept.given.fact_key == given.fact_key;
        let same_key = seen.iter().filter(|(_, kept)| wanted.same_key && is_named(kept)).map(|(seq, _)| **seq);
        let find = |id| seen.iter().find(|(_, kept)| kept.given.id == id).map(|(seq, _)| **seq);
        let mut superseded = wanted.ids.iter().map(|id| find(*id)).collect::<Option<BTreeSet<Seq>>>()?;
        superseded.extend(same_key);
        Some(superseded)
    }

    /// One whose workspace ended joins the workspace that has the name now, or begins a new life of it. What was known
    /// of its source comes along.
    fn bring_back(&mut self, seq: Seq) {
        let place = self.next();
        let kept = self.records.get_mut(&seq).expect("it is there");
        kept.forgotten = None;
        if let Some((nth, _)) = self.ended.get(&kept.no) {
            let life = self.workspaces.entry(*nth).or_insert((WorkspaceNo(place.0), BTreeSet::new()));
            life.1.insert(kept.given.audience);
            let from = std::mem::replace(&mut kept.no, life.0);
            let (source_id, to) = (kept.given.fact.source_id.clone(), kept.no);
            source_id.inspect(|source_id| self.carry(source_id, from, to));
        }
    }

    /// The former lives of a name in which records are left, the latest first, with those records.
    fn left(&self, nth: usize) -> Vec<(WorkspaceNo, Vec<Seq>)> {
        let of = |no: WorkspaceNo| {
            let left = self.records.iter().filter(|(_, kept)| kept.no == no && kept.forgotten.is_none());
            (no, left.map(|(seq, _)| *seq).collect::<Vec<_>>())
        };
        let lives = self.ended.iter().rev().filter(|(_, (of, _))| *of == nth).map(|(no, _)| of(*no));
        lives.filter(|(_, seqs)| !seqs.is_empty()).collect()
    }

    fn supersede(&mut self, seqs: impl Iterator<Item = Seq>) -> Vec<RecordId> {
        let mut ids = Vec::new();
        for seq in seqs {
            self.next();
            let kept = self.records.get_mut(&seq).expect("it is there");
            kept.forgotten = Some(SUPERSEDED_AT);
            ids.push(kept.given.id);
        }
        ids
    }
}

#[derive(Debug, PartialEq)]
enum Saved {
    New(Seq, Vec<RecordId>),
    Duplicate(Seq, Vec<RecordId>),
    NotFound,
    Replayed(Seq, bool),
    KeyReused,
    LimitReached,
}

/// Engine and model tell the same after any sequence of acts.
pub async fn random_acts_agree_with_a_model(make: MakeEngine) {
    let engine = make().await;
    let store = Arc::clone(&engine.store);
    let runtime = tokio::runtime::Handle::current();
    let run = move || {
        let mut runner = TestRunner::new(Config { cases: CASES, failure_persistence: None, ..Config::default() });
        runner.run(&prop::collection::vec(act(), 1..40), |acts| runtime.block_on(play(&store, &acts)))
    };
    let outcome = tokio::task::spawn_blocking(run).await.expect("the runner ends");
    outcome.unwrap_or_else(|error| panic!("{error}"));
    drop(engine);
}

async fn play(store: &Arc<dyn Store>, acts: &[Act]) -> Result<(), TestCaseError> {
    let house = House::build(store).await;
    let mut model = Model::default();
    let mut readers = Readers::new();
    for (nth, act) in acts.iter().enumerate() {
        step(&house, &mut model, act).await?;
        prop_assert_eq!(house.last_seq().await, Seq(model.seq));
        if nth % 2 == 0 {
            read_on(&house, &model, &mut readers).await;
        }
    }
    read_on(&house, &model, &mut readers).await;
    compare_readers(&model, &readers)?;
    compare_records(&house, &model).await?;
    compare_logs(&house, &model).await?;
    compare_sources(&house, &model).await
}

async fn step(house: &House, model: &mut Model, act: &Act) -> Result<(), TestCaseError> {
    match act {
        Act::Save { workspace: nth, content, is_draft, source, hash, is_limited, key, fact, old, is_stranger } => {
            let given = NewRecord {
                workspace: workspace(WORKSPACES[*nth]),
                audience: if *is_draft { Audience::Author(house.ana) } else { Audience::Shared },
                fact: Fact {
                    source_id: source.map(|n| format!("source {n}")),
                    source_hash: hash.map(|n| format!("hash-{n}")),
                    ..Fact::new(format!("fact {content}"))
                },
                ..house.record(&format!("fact {content}"))
            };
            let own_key = fact.map(|(n, _)| FactKey { text: format!("key {n}"), is_given: true });
            let given = NewRecord { fact_key: own_key.unwrap_or_else(|| given.fact_key.clone()), ..given };
            let old = old.and_then(|nth| model.records.values().nth(nth % model.records.len().max(1)));
            let member = if *is_stranger { MemberId::from_bytes([9; 16]) } else { house.ana };
            let supersede = Supersede {
                ids: old.map(|kept| kept.given.id).into_iter().collect(),
                same_key: fact.is_some_and(|(_, replaces)| replaces),
                viewer: Viewer::new(member, Role::Member, None, &DepartmentTree::default()),
                audit: super::audit(house.account, SUPERSEDED_AT, "record.supersede"),
            };
            let supersede = (supersede.same_key || !supersede.ids.is_empty()).then_some(supersede);
            let limit = is_limited.then_some(LIMIT);
            let expected = model.save(*nth, &given, limit, *key, supersede.as_ref());
            prop_assert_eq!(save(house, given, limit, *key, supersede).await, expected);
        }
        Act::Forget { places, second } => {
            let seqs: Vec<Seq> = places.iter().map(|place| Seq(*place)).collect();
            let mut expected = Vec::new();
            let targets: BTreeSet<Seq> = seqs.iter().copied().collect();
            for seq in targets {
                if model.records.get(&seq).is_some_and(|kept| model.is_alive(kept)) {
                    model.next();
                    let kept = model.records.get_mut(&seq).expect("just seen");
                    kept.forgotten = Some(*second);
                    expected.push(kept.given.id);
                }
            }
            prop_assert_eq!(house.forget(&seqs, *second).await, expected);
        }
        Act::Restore { nth, since, is_limited } => restore(house, model, *nth, *since, *is_limited).await?,
        Act::DeleteWorkspace { workspace: nth } => {
            let count =
                model.workspaces.get(nth).map(|(no, _)| model.living().filter(|(_, kept)| kept.no == *no).count());
            if let Some((no, audiences)) = model.workspaces.remove(nth) {
                model.ended.insert(no, (*nth, audiences));
                model.next();
            }
            let expected = count.map(|count| count as u64);
            prop_assert_eq!(house.delete_workspace(WORKSPACES[*nth], DELETED_AT).await, expected);
        }
        Act::RestoreWorkspace { workspace: nth, is_limited } => {
            restore_workspace(house, model, *nth, *is_limited).await?;
        }
        Act::Observe { workspace: nth, observation } => {
            let Observation { source_id, seen } = observation.clone();
            let name = nth.map(|nth| WORKSPACES[nth]);
            let expected = model.observe(*nth, observation);
            prop_assert_eq!(house.observe(name, &source_id, seen, 60).await, expected);
        }
        Act::PurgeForgotten { is_all } => {
            model.purge(*is_all);
            let before = at(if *is_all { DELETED_AT + 1 } else { BETWEEN });
            house.store.purge_forgotten(before, 10_000).await.expect("storage works");
        }
    }
    Ok(())
}

async fn save(
    house: &House,
    record: NewRecord,
    records_max: Option<u64>,
    key: Option<(u8, u8)>,
    supersede: Option<Supersede>,
) -> Saved {
    let idempotency = key.map(|(name, arguments)| Idempotency {
        member: house.ana,
        key: format!("key {name}"),
        arguments_hash: [arguments; 32],
        valid_since: at(0),
    });
    match house
        .store
        .insert(Insert { record, records_max, workspaces_max: None, idempotency, supersede })
        .await
        .expect("storage works")
    {
        Inserted::New { seq, superseded, .. } => Saved::New(seq, superseded),
        Inserted::Duplicate { record, superseded } => Saved::Duplicate(record.seq, superseded),
        Inserted::NotFound(_) => Saved::NotFound,
        Inserted::Replayed(replay) => {
            Saved::Replayed(replay.record.map_or(Seq(0), |record| record.seq), replay.was_duplicate)
        }
        Inserted::KeyReused => Saved::KeyReused,
        Inserted::LimitReached | Inserted::TooManyWorkspaces => Saved::LimitReached,
    }
}

async fn restore(
    house: &House,
    model: &mut Model,
    nth: usize,
    since: i64,
    is_limited: bool,
) -> Result<(), TestCaseError> {
    let Some((seq, kept)) = model.records.iter().nth(nth % model.records.len().max(1)) else { return Ok(()) };
    let (seq, id) = (*seq, kept.given.id);
    let has_room = !is_limited || (model.living().count() as u64) < LIMIT;
    let gone_at = kept.forgotten.or_else(|| model.ended.contains_key(&kept.no).then_some(DELETED_AT));
    let can_return = gone_at.is_some_and(|second| second >= since) && has_room;
    if can_return {
        model.bring_back(seq);
    }
    let line = super::audit(house.account, 40, "record.restore");
    let limit = is_limited.then_some(LIMIT);
    let restored = house.store.restore(house.project, id, at(since), limit, line).await.expect("storage works");
    prop_assert_eq!(restored.map(|record| record.seq), can_return.then_some(seq));
    Ok(())
}

async fn restore_workspace(
    house: &House,
    model: &mut Model,
    nth: usize,
    is_limited: bool,
) -> Result<(), TestCaseError> {
    let rows = house.store.list_deleted_workspaces(house.project, at(DELETED_AT)).await.expect("storage works");
    let listed: Vec<_> = rows
        .iter()
        .map(|row| &row.workspace)
        .filter(|row| row.name.as_str() == WORKSPACES[nth])
        .map(|row| row.no)
        .collect();
    let left = model.left(nth);
    prop_assert_eq!(listed, left.iter().map(|(no, _)| *no).collect::<Vec<_>>());
    let Some((no, seqs)) = left.into_iter().next() else { return Ok(()) };
    let count = seqs.len() as u64;
    let expected = if is_limited && model.living().count() as u64 + count > LIMIT {
        RestoredWorkspace::Full
    } else if model.workspaces.contains_key(&nth) {
        seqs.into_iter().for_each(|seq| model.bring_back(seq));
        RestoredWorkspace::Done(count)
    } else {
        model.next();
        let (_, audiences) = model.ended.remove(&no).expect("just seen");
        model.workspaces.insert(nth, (no, audiences));
        RestoredWorkspace::Done(count)
    };
    let line = super::audit(house.account, 60, "workspace.restore");
    let limit = is_limited.then_some(LIMIT);
    let restored = house.store.restore_workspace(house.project, no, at(DELETED_AT), limit, line).await;
    prop_assert_eq!(restored, Ok(expected));
    Ok(())
}

async fn compare_records(house: &House, model: &Model) -> Result<(), TestCaseError> {
    let all: Vec<Seq> = (0..=model.seq + 1).map(Seq).collect();
    let stored = house.store.load(house.project, &all).await.expect("storage works");
    let tell = |seq: Seq, no: WorkspaceNo, audience: Audience, content: &str, hash: &Option<String>| {
        (seq, no, audience, content.to_owned(), hash.clone())
    };
    let told: Vec<_> =
        stored.iter().map(|r| tell(r.seq, r.workspace_no, r.audience, &r.fact.content, &r.fact.source_hash)).collect();
    let expected: Vec<_> =
        model.living().map(|(seq, k)| tell(*seq, k.no, k.given.audience, &k.given.fact.content, &k.hash)).collect();
    prop_assert_eq!(told, expected);
    for kept in model.records.values() {
        let found = house.store.find(house.project, kept.given.id).await.expect("storage works");
        prop_assert_eq!(found.is_some(), model.is_alive(kept));
    }
    for n in 0..3 {
        let source = format!("source {n}");
        let listed = house.store.list_by_source(house.project, &source, None).await.expect("storage works");
        let expected: Vec<Seq> = model
            .living()
            .filter(|(_, kept)| kept.given.fact.source_id.as_ref() == Some(&source))
            .map(|(seq, _)| *seq)
            .collect();
        prop_assert_eq!(listed.iter().map(|summary| summary.seq).collect::<Vec<_>>(), expected);
    }
    Ok(())
}

async fn compare_logs(house: &House, model: &Model) -> Result<(), TestCaseError> {
    for (nth, name) in WORKSPACES.into_iter().enumerate() {
        let found = house.store.find_workspace(house.project, &workspace(name)).await.expect("storage works");
        let expected = model.workspaces.get(&nth);
        prop_assert_eq!(found.as_ref().map(|found| found.no), expected.map(|(no, _)| *no));
        let (Some(found), Some((no, audiences))) = (found, expected) else { continue };
        prop_assert_eq!(&found.audiences.into_iter().collect::<BTreeSet<_>>(), audiences);
        let living = model.living().filter(|(_, kept)| kept.no == *no);
        let expected: Followed = living.map(|(seq, kept)| (*seq, kept.given.fact.content.clone())).collect();
        let told = model.sources.iter().filter(|((_, of, _), _)| of == no);
        let expected_known: Known =
            told.map(|((id, _, audience), state)| ((id.clone(), *audience), to_known(state))).collect();
        for rows_max in [1, 3, 100] {
            let (mut followed, mut known) = (Followed::new(), Known::new());
            follow_all(&house.store, house.project, *no, Seq(0), rows_max, &mut followed, &mut known).await;
            prop_assert_eq!(&followed, &expected);
            prop_assert_eq!(&known, &expected_known);
        }
    }
    Ok(())
}

/// Readers that follow the living workspaces from act to act, and how far they are.
type Readers = BTreeMap<WorkspaceNo, (Seq, Followed, Known)>;

async fn read_on(house: &House, model: &Model, readers: &mut Readers) {
    for (no, _) in model.workspaces.values() {
        let (at, followed, known) = readers.entry(*no).or_default();
        *at = follow_all(&house.store, house.project, *no, *at, 2, followed, known).await;
    }
}

/// Each knows all that there is to know. It may remember a source that was purged since.
fn compare_readers(model: &Model, readers: &Readers) -> Result<(), TestCaseError> {
    for ((id, no, audience), state) in &model.sources {
        let is_living = model.workspaces.values().any(|(living, _)| living == no);
        let Some((_, _, known)) = readers.get(no).filter(|_| is_living) else { continue };
        prop_assert_eq!(known.get(&(id.clone(), *audience)), Some(&to_known(state)));
    }
    Ok(())
}

fn to_known(state: &SourceState) -> (Option<String>, Seq, Option<(String, Seq)>) {
    let confirmed = state.confirmed_hash.clone().map(|hash| (hash, state.confirmed_seq));
    (state.known_hash.clone(), state.known_seq, confirmed)
}

async fn compare_sources(house: &House, model: &Model) -> Result<(), TestCaseError> {
    let ids = ["source 0", "source 1", "source 2"];
    let parts = house.store.list_sources(house.project, &ids).await.expect("storage works");
    let mut confirmed = house.store.list_confirmations(house.project).await.expect("storage works");
    let expected = parts.iter().filter_map(|part| {
        let SourcePart { source_id, workspace_no, audience, state, confirmed_at: at, .. } = part.clone();
        Some(Confirmation {
            source_id,
            workspace_no,
            audience,
            seq: state.confirmed_seq,
            hash: state.confirmed_hash?,
            at,
        })
    });
    let mut expected: Vec<Confirmation> = expected.collect();
    let place = |own: &Confirmation| (own.source_id.clone(), own.workspace_no, own.audience);
    confirmed.sort_by_key(place);
    expected.sort_by_key(place);
    prop_assert_eq!(confirmed, expected);
    let told: BTreeMap<SourceKey, _> =
        parts.into_iter().map(|part| ((part.source_id, part.workspace_no, part.audience), part.state)).collect();
    prop_assert_eq!(&told, &model.sources);
    Ok(())
}
