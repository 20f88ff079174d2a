//! What an index holds, and how records come into it.

use std::collections::{BTreeMap, HashMap};

use mnemon_core::{
    Audience, ContentHash, Fact, FactKey, NewRecord, Occurred, RecordId, Scope, Seq, Timestamp, Viewer,
    known_after_save,
};
use mnemon_recall::{AudienceNo, Days, Embedding, Model, NewDoc, WorkspaceIndex};
use mnemon_store::{Present, Sighting};

use crate::when::day;

pub(super) struct State {
    pub(super) index: WorkspaceIndex,
    pub(super) audiences: Audiences,
    /// Every audience that something was ever saved for, including forgotten records.
    pub(super) ever: Vec<Audience>,
    /// Saved records that come after something the index does not have yet, by log position.
    pub(super) parked: BTreeMap<u64, Parked>,
}

/// A saved record whose turn has not come.
pub(super) struct Parked {
    pub(super) record: NewRecord,
    pub(super) embedding: Embedding,
}

/// What an index takes of a record.
struct Entry<'a> {
    seq: Seq,
    id: RecordId,
    audience: Audience,
    fact_key: &'a FactKey,
    fact: &'a Fact,
    embedding: Option<&'a Embedding>,
    updated_at: Timestamp,
}

impl<'a> Entry<'a> {
    fn of_new(seq: Seq, new: &'a NewRecord, embedding: &'a Embedding) -> Self {
        let NewRecord { id, audience, fact_key, fact, .. } = new;
        let (id, audience, embedding) = (*id, *audience, Some(embedding));
        Self { seq, id, audience, fact_key, fact, embedding, updated_at: new.updated_at() }
    }

    fn of_present(present: &'a Present, embedding: Option<&'a Embedding>) -> Self {
        let Present { seq, id, audience, fact_key, fact, embedding: _, updated_at } = present;
        Self { seq: *seq, id: *id, audience: *audience, fact_key, fact, embedding, updated_at: *updated_at }
    }

    /// When the record was saved: its id contains the time, whatever happened to it since.
    fn saved_at(&self) -> i64 {
        let seconds = self.id.uuid().get_timestamp().map(|time| time.to_unix().0);
        seconds.and_then(|seconds| i64::try_from(seconds).ok()).unwrap_or(0)
    }
}

/// Numbers for audiences: the ranking filters by number and never learns who people are.
#[derive(Default)]
pub(super) struct Audiences {
    pub(super) by_number: Vec<Audience>,
    pub(super) numbers: HashMap<Audience, AudienceNo>,
}

impl Audiences {
    pub(super) fn number(&mut self, audience: Audience) -> AudienceNo {
        *self.numbers.entry(audience).or_insert_with(|| {
            let number = u32::try_from(self.by_number.len()).expect("there are fewer than 2^32 audiences");
            self.by_number.push(audience);
            AudienceNo(number)
        })
    }
}

impl State {
    /// Which audience numbers a reader may see.
    pub(super) fn visible_to(&self, viewer: &Viewer, scope: Option<Scope>) -> Vec<bool> {
        let is_visible = |audience: &Audience| viewer.sees(audience) && scope.is_none_or(|s| audience.scope() == s);
        self.audiences.by_number.iter().map(is_visible).collect()
    }

    /// Adds the waiting records that come right after `applied`, one by one, and returns how far the index is. Those it
    /// already has from the log are dropped: the log knows their later fate.
    pub(super) fn add_parked(&mut self, mut applied: u64) -> u64 {
        while let Some(first) = self.parked.first_entry().filter(|first| *first.key() <= applied + 1) {
            let (seq, parked) = first.remove_entry();
            if seq == applied + 1 {
                self.add_saved(Seq(seq), &parked.record, &parked.embedding);
                applied = seq;
            }
        }
        applied
    }

    pub(super) fn add_present(&mut self, present: &Present) {
        // A vector that does not read back, or that another model made, is computed again: it is derived from the text.
        let embedding = from_stored(self.index.model(), &present.embedding);
        self.add(&Entry::of_present(present, embedding.as_ref()));
    }

    /// A save is a sighting of its source too.
    pub(super) fn add_saved(&mut self, seq: Seq, record: &NewRecord, embedding: &Embedding) {
        self.add(&Entry::of_new(seq, record, embedding));
        if let Some((source_id, hash)) = record.sighting() {
            let audience = self.number_of(record.audience);
            let known = known_after_save(self.index.known_hash(source_id, audience), hash);
            self.index.sight(source_id, audience, Some(&known), seq.0);
        }
    }

    pub(super) fn sight(&mut self, seen: &Sighting) {
        let audience = self.number_of(seen.audience);
        self.index.sight(&seen.source_id, audience, seen.hash.as_deref(), seen.seq.0);
        if let Some((hash, seq)) = &seen.confirmed {
            self.index.confirm(&seen.source_id, audience, hash, seq.0);
        }
    }

    /// None for everybody.
    fn number_of(&mut self, audience: Audience) -> Option<AudienceNo> {
        (audience != Audience::Shared).then(|| self.audiences.number(audience))
    }

    fn add(&mut self, entry: &Entry<'_>) {
        let (audience, fact) = (entry.audience, entry.fact);
        // A known audience need not be in the list: it may come from a sighting alone.
        if !self.ever.contains(&audience) {
            self.ever.push(audience);
        }
        let tags = fact.tags.folded();
        let time = fact.occurred_at.as_ref().map_or(entry.updated_at, Occurred::first);
        self.index.add(NewDoc {
            audience: self.audiences.number(audience),
            counted: audience == Audience::Shared,
            embedding: entry.embedding,
            saved_at: entry.saved_at(),
            updated_at: entry.updated_at.as_second(),
            time: time.as_second(),
            occurred: fact.occurred_at.as_ref().map(|at| Days { first: day(at.first()), last: day(at.last()) }),
            valid_until: fact.valid_until.map(Timestamp::as_microsecond),
            source: fact.source.as_deref(),
            source_id: fact.source_id.as_deref(),
            source_hash: fact.source_hash.as_deref(),
            fact_key: entry.fact_key.chosen(),
            // Only records with a key that a caller chose are compared.
            content_hash: entry.fact_key.chosen().map_or(0, |_| ContentHash::of(&fact.content).number()),
            tags: &tags,
            ..NewDoc::new(entry.seq.0, &fact.content)
        });
    }
}

/// A vector as stored with its record: it names the model that made it.
pub(crate) fn to_stored(model: &Model, embedding: &Embedding) -> Vec<u8> {
    [embedding.to_bytes().as_slice(), &model.fingerprint().to_le_bytes()].concat()
}

/// What [`to_stored`] wrote, if it was by this model. Vectors of different models can't be compared.
fn from_stored(model: &Model, bytes: &[u8]) -> Option<Embedding> {
    let (vector, fingerprint) = bytes.split_last_chunk()?;
    (u32::from_le_bytes(*fingerprint) == model.fingerprint()).then(|| Embedding::from_bytes(vector).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_of_another_model_is_not_taken() {
        let model = Model::shipped();
        let embedding = model.encode("the boiler code is 4711");
        let mut stored = to_stored(model, &embedding);
        assert_eq!(from_stored(model, &stored), Some(embedding.clone()));
        // As it was stored before vectors named their model.
        assert_eq!(from_stored(model, &embedding.to_bytes()), None);
        *stored.last_mut().unwrap() ^= 1;
        assert_eq!(from_stored(model, &stored), None);
        assert_eq!(from_stored(model, &[]), None);
    }
}
