//! What is known of records beside their words: source, hash, key and times. From it follows which of them still hold
//! for a caller, and which ones a filter admits (`judge.rs`). `search/ranking.rs` decides what that does to the order.

mod column;
mod holders;
mod judge;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

use crate::bits::Bits;
use crate::bytes::{Reader, SnapshotError, Writer};
use crate::interner::Interner;
use crate::mapped_vec::MappedVec;
use crate::memory::{push_tight, vec_bytes};
use crate::records::AudienceNo;

use column::Column;
pub(crate) use column::NONE;
use holders::Holders;
pub(crate) use judge::{Judge, Narrowing};

/// What a record says of itself.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Claim<'a> {
    pub(crate) source_id: Option<&'a str>,
    pub(crate) source_hash: Option<&'a str>,
    /// Only one that a caller chose: the others are never equal.
    pub(crate) fact_key: Option<&'a str>,
    /// A hash of what it says, where a caller chose its key.
    pub(crate) content_hash: u64,
    /// When it was last saved, in seconds since 1970.
    pub(crate) updated_at: u32,
    /// When what it says happened, else when it was last saved; in seconds since 1970.
    pub(crate) time: i64,
    /// In microseconds since 1970.
    pub(crate) valid_until: Option<i64>,
    /// One a line.
    pub(crate) tags: Option<&'a str>,
}

/// Claims by slot, and what is known of sources.
#[derive(Default)]
pub(crate) struct Truth {
    sources: Interner,
    hashes: Interner,
    keys: Interner,
    /// Tags that stand together on a record, one a line: few sets serve many records.
    tag_sets: Interner,
    source_of: Column,
    hash_of: Column,
    key_of: Column,
    /// By key.
    holders: Holders,
    tags_of: Column,
    /// By slot: when a record was last saved, in seconds since 1970.
    updated_at: MappedVec<u32>,
    content_hashes: MappedVec<u64>,
    /// By slot: when what a record says happened, else when it was last saved; in seconds since 1970.
    times: MappedVec<i64>,
    /// Few records have an end.
    valid_until: HashMap<u32, i64, FxBuildHasher>,
    /// By number of source.
    known: Vec<SmallVec<[Sighting; 1]>>,
    /// The sources of which some audience knows something of its own.
    private: Vec<u32>,
    /// Which slots have another hash than everybody knows of their source, or a source that everybody knows to be gone.
    outdated: Bits,
}

/// In the place of a hash: the source is gone, and nothing from it holds.
const GONE: u32 = NONE - 1;

/// The newest hash of a source that an audience has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sighting {
    /// `None` for everybody.
    audience: Option<AudienceNo>,
    /// Or [`GONE`].
    hash: u32,
    /// Its place in the log; the latest counts.
    seq: u64,
    /// The hash that somebody confirmed, or [`NONE`].
    confirmed: u32,
    /// Its place among the confirmed ones; the latest counts.
    confirmed_seq: u64,
}

impl Sighting {
    const fn of(audience: Option<AudienceNo>, hash: u32, seq: u64) -> Self {
        Self { audience, hash, seq, confirmed: NONE, confirmed_seq: 0 }
    }
}

impl Truth {
    /// Notes the claim of a slot.
    pub(crate) fn set(&mut self, slot: u32, claim: &Claim<'_>) {
        let source = claim.source_id.map_or(NONE, |id| self.source_number(id));
        let number = |texts: &mut Interner, text: Option<&str>| text.map_or(NONE, |text| texts.intern(text).0);
        let hash = number(&mut self.hashes, claim.source_hash);
        let key = number(&mut self.keys, claim.fact_key);
        let tags = number(&mut self.tag_sets, claim.tags);
        self.source_of.set(slot, source);
        self.hash_of.set(slot, hash);
        self.holders.remove(self.key_of.get(slot), slot);
        self.holders.add(key, slot);
        self.key_of.set(slot, key);
        self.tags_of.set(slot, tags);
        let at = slot as usize;
        if at == self.times.len() {
            self.updated_at.push(claim.updated_at);
            self.content_hashes.push(claim.content_hash);
            self.times.push(claim.time);
        } else {
            self.updated_at[at] = claim.updated_at;
            self.content_hashes[at] = claim.content_hash;
            self.times[at] = claim.time;
        }
        match claim.valid_until {
            Some(end) => self.valid_until.insert(slot, end),
            None => self.valid_until.remove(&slot),
        };
        self.outdated.set(slot, self.is_outdated(slot, self.known_to_all(source)));
    }

    /// Forgets the claim of a slot.
    pub(crate) fn clear(&mut self, slot: u32) {
        self.holders.remove(self.key_of.get(slot), slot);
        for column in [&mut self.source_of, &mut self.hash_of, &mut self.key_of, &mut self.tags_of] {
            column.set(slot, NONE);
        }
        self.valid_until.remove(&slot);
        self.outdated.set(slot, false);
    }

    /// The claim of a slot.
    pub(crate) fn claim(&self, slot: u32) -> Claim<'_> {
        fn text(texts: &Interner, number: u32) -> Option<&str> {
            (number != NONE).then(|| texts.text(number))
        }
        Claim {
            source_id: text(&self.sources, self.source_of.get(slot)),
            source_hash: text(&self.hashes, self.hash_of.get(slot)),
            fact_key: text(&self.keys, self.key_of.get(slot)),
            content_hash: self.content_hashes[slot as usize],
            updated_at: self.updated_at[slot as usize],
            time: self.times[slot as usize],
            valid_until: self.valid_until.get(&slot).copied(),
            tags: text(&self.tag_sets, self.tags_of.get(slot)),
        }
    }

    /// Notes that an audience has seen a hash of a source, or that it is gone (`None`), at a place of the log. Older
    /// news changes nothing.
    pub(crate) fn sight(&mut self, source_id: &str, audience: Option<AudienceNo>, hash: Option<&str>, seq: u64) {
        let source = self.source_number(source_id);
        let hash = hash.map_or(GONE, |hash| self.hashes.intern(hash).0);
        let own = self.known[source as usize].iter().find(|known| known.audience == audience).map(|known| known.hash);
        // One of several known hashes of a content says nothing new about the others.
        let hash = own.filter(|own| self.admits(*own, hash)).unwrap_or(hash);
        let known = &mut self.known[source as usize];
        match known.iter_mut().find(|known| known.audience == audience) {
            Some(known) if known.seq > seq => return,
            Some(known) => (known.hash, known.seq) = (hash, seq),
            None => known.push(Sighting::of(audience, hash, seq)),
        }
        // Most saves from a file find it as it was, and nothing that was saved from it before becomes outdated.
        if own == Some(hash) {
            return;
        }
        if audience.is_some() {
            if !self.private.contains(&source) {
                self.private.push(source);
            }
            return;
        }
        let mut of_source = Vec::new();
        self.source_of.each(source, |slot| of_source.push(slot));
        for slot in of_source {
            self.outdated.set(slot, self.is_outdated(slot, hash));
        }
    }

    /// Notes that somebody confirmed this hash of a source that the audience has seen. Older news changes nothing.
    pub(crate) fn confirm(&mut self, source_id: &str, audience: Option<AudienceNo>, hash: &str, seq: u64) {
        let source = self.source_number(source_id);
        let hash = self.hashes.intern(hash).0;
        let known = self.known[source as usize].iter_mut().find(|known| known.audience == audience);
        if let Some(known) = known.filter(|known| known.confirmed_seq <= seq) {
            (known.confirmed, known.confirmed_seq) = (hash, seq);
        }
    }

    /// The newest hash of a source that an audience has seen.
    pub(crate) fn known_hash(&self, source_id: &str, audience: Option<AudienceNo>) -> Option<&str> {
        let source = self.sources.find(source_id)?;
        let known = self.known[source as usize].iter().find(|known| known.audience == audience)?;
        (known.hash != GONE).then(|| self.hashes.text(known.hash))
    }

    /// Whether anything was noted of a source, or some record names it.
    pub(crate) fn knows_source(&self, source_id: &str) -> bool {
        self.find_source(source_id).is_some()
    }

    /// The number of a source.
    pub(crate) fn find_source(&self, source_id: &str) -> Option<u32> {
        self.sources.find(source_id)
    }

    /// Every source that is named here.
    pub(crate) fn sources(&self) -> impl Iterator<Item = &str> {
        (0..self.sources.len() as u32).map(|number| self.sources.text(number))
    }

    /// Takes over what another index knows of sources that are named here.
    pub(crate) fn learn_sightings(&mut self, other: &Self) {
        for (source, known) in (0..).zip(&other.known) {
            let id = other.sources.text(source);
            if self.knows_source(id) {
                for known in known {
                    let hash = (known.hash != GONE).then(|| other.hashes.text(known.hash));
                    self.sight(id, known.audience, hash, known.seq);
                    if known.confirmed != NONE {
                        let confirmed = other.hashes.text(known.confirmed);
                        self.confirm(id, known.audience, confirmed, known.confirmed_seq);
                    }
                }
            }
        }
    }

    /// Whether the record's hash is the one that was confirmed last of its source, as far as the caller knows.
    pub(crate) fn is_confirmed(&self, slot: u32, knows: impl Fn(AudienceNo) -> bool) -> bool {
        let (source, own) = (self.source_of.get(slot), self.hash_of.get(slot));
        let Some(known) = self.known.get(source as usize).filter(|_| own != NONE) else { return false };
        let confirmed = known.iter().filter(|known| known.confirmed != NONE);
        let visible = confirmed.filter(|known| known.audience.is_none_or(&knows));
        let latest = visible.max_by_key(|known| known.confirmed_seq);
        latest.is_some_and(|known| known.confirmed == own || self.confirms(known.confirmed, own))
    }

    /// What decides the status of records for one caller: the sources that it knows, and the time.
    pub(crate) fn judge(&self, knows: &dyn Fn(AudienceNo) -> bool, now: i64) -> Judge<'_> {
        let newest = |&source: &u32| {
            let known = self.known[source as usize].iter();
            let visible = known.filter(|known| known.audience.is_none_or(knows));
            visible.max_by_key(|known| known.seq).map(|known| (source, known.hash))
        };
        let differs = |&(source, hash): &(u32, u32)| hash != self.known_to_all(source);
        let otherwise = self.private.iter().filter_map(newest).filter(differs).collect();
        Judge { truth: self, now, otherwise }
    }

    /// By key: whether the records of these slots say different things under it.
    pub(crate) fn disputed_keys(&self, slots: &Bits) -> Bits {
        let mut said: Vec<Option<u64>> = vec![None; self.keys.len()];
        let mut disputed = Bits::empty(self.keys.len());
        for slot in slots.iter() {
            let Some(key) = self.key_of(slot) else { continue };
            let own = self.content_hashes[slot as usize];
            if *said[key as usize].get_or_insert(own) != own {
                disputed.set(key, true);
            }
        }
        disputed
    }

    /// The number of a source that is named here.
    pub(crate) fn source_number_of(&self, slot: u32) -> Option<u32> {
        Some(self.source_of.get(slot)).filter(|&source| source != NONE)
    }

    /// The number of the state of its source, if it names one.
    pub(crate) fn hash_number_of(&self, slot: u32) -> Option<u32> {
        Some(self.hash_of.get(slot)).filter(|&hash| hash != NONE)
    }

    pub(crate) fn source_text(&self, number: u32) -> &str {
        self.sources.text(number)
    }

    pub(crate) fn hash_text(&self, number: u32) -> &str {
        self.hashes.text(number)
    }

    pub(crate) fn key_text(&self, number: u32) -> &str {
        self.keys.text(number)
    }

    /// When it was last saved, in seconds since 1970.
    pub(crate) fn updated_at(&self, slot: u32) -> u32 {
        self.updated_at[slot as usize]
    }

    /// When what a record says happened, else when it was last saved; in seconds since 1970.
    pub(crate) fn time_of(&self, slot: u32) -> i64 {
        self.times[slot as usize]
    }

    /// The number of a key, if some record has it.
    pub(crate) fn key_of(&self, slot: u32) -> Option<u32> {
        Some(self.key_of.get(slot)).filter(|&key| key != NONE)
    }

    pub(crate) fn size_bytes(&self) -> usize {
        let texts = [&self.sources, &self.hashes, &self.keys, &self.tag_sets].map(Interner::size_bytes);
        let columns = [&self.source_of, &self.hash_of, &self.key_of, &self.tags_of].map(Column::size_bytes);
        let (texts, columns): (usize, usize) = (texts.iter().sum(), columns.iter().sum());
        let known = vec_bytes(&self.known) + vec_bytes(&self.private) + self.valid_until.allocation_size();
        let known = known + self.holders.size_bytes();
        let rows = self.updated_at.size_bytes() + self.content_hashes.size_bytes() + self.times.size_bytes();
        texts + columns + rows + known + self.outdated.size_bytes()
    }

    /// After records were removed, leaves out what is no longer used: keys, and sources of which only some knew.
    pub(crate) fn save(&self, out: &mut Writer, has_lost: bool) {
        let used = |column: &Column| has_lost.then(|| column.numbers());
        let (mut sources, mut hashes) = (used(&self.source_of), used(&self.hash_of));
        let (keys, tag_sets) = (used(&self.key_of), used(&self.tags_of));
        let known = (0_u32..).zip(&self.known).flat_map(|(source, known)| known.iter().map(move |one| (source, one)));
        let stays = |sources: &Bits, source, one: &Sighting| sources.contains(source) || one.audience.is_none();
        let sightings: Vec<(u32, &Sighting)> =
            known.filter(|&(source, one)| sources.as_ref().is_none_or(|sources| stays(sources, source, one))).collect();
        for &(source, one) in &sightings {
            sources.as_mut().into_iter().for_each(|sources| sources.set(source, true));
            for hash in [one.hash, one.confirmed].into_iter().filter(|&hash| hash < GONE) {
                hashes.as_mut().into_iter().for_each(|hashes| hashes.set(hash, true));
            }
        }
        self.sources.save(out, sources.as_ref());
        self.hashes.save(out, hashes.as_ref());
        self.keys.save(out, keys.as_ref());
        self.tag_sets.save(out, tag_sets.as_ref());
        [&self.source_of, &self.hash_of, &self.key_of, &self.tags_of].iter().for_each(|column| column.save(out));
        out.row(&self.updated_at);
        out.row(&self.content_hashes);
        out.row(&self.times);
        let mut ends: Vec<(u32, i64)> = self.valid_until.iter().map(|(&slot, &end)| (slot, end)).collect();
        ends.sort_unstable();
        out.numbers(ends.iter().map(|(slot, _)| *slot));
        out.numbers(ends.iter().map(|(_, end)| *end));
        out.numbers(sightings.iter().map(|(source, _)| *source));
        out.numbers(sightings.iter().map(|(_, one)| one.audience.map_or(NONE, |audience| audience.0)));
        out.numbers(sightings.iter().map(|(_, one)| one.hash));
        out.numbers(sightings.iter().map(|(_, one)| one.seq));
        out.numbers(sightings.iter().map(|(_, one)| one.confirmed));
        out.numbers(sightings.iter().map(|(_, one)| one.confirmed_seq));
    }

    /// What can be derived from the rest is: who is outdated, and of which sources some know more than others.
    pub(crate) fn load(input: &mut Reader<'_>) -> Result<Self, SnapshotError> {
        let [sources, hashes, keys, tag_sets] = [(); 4].map(|()| Interner::load(input));
        let (sources, hashes, keys, tag_sets) = (sources?, hashes?, keys?, tag_sets?);
        let source_of = Column::load(input, sources.len())?;
        let hash_of = Column::load(input, hashes.len())?;
        let key_of = Column::load(input, keys.len())?;
        let tags_of = Column::load(input, tag_sets.len())?;
        let updated_at = input.row::<u32>()?;
        let content_hashes = input.row::<u64>()?;
        let times = input.row::<i64>()?;
        if content_hashes.len() != times.len() || updated_at.len() != times.len() {
            return Err(SnapshotError::NotASnapshot);
        }
        let valid_until = input.numbers::<u32>()?.into_iter().zip(input.numbers::<i64>()?).collect();
        let known = vec![SmallVec::new(); sources.len()];
        let mut truth = Self {
            sources,
            hashes,
            keys,
            tag_sets,
            source_of,
            hash_of,
            key_of,
            tags_of,
            updated_at,
            content_hashes,
            times,
            valid_until,
            known,
            ..Self::default()
        };
        truth.load_sightings(input)?;
        for slot in 0..truth.times.len() as u32 {
            let known = truth.known_to_all(truth.source_of.get(slot));
            truth.outdated.set(slot, truth.is_outdated(slot, known));
            truth.holders.add(truth.key_of.get(slot), slot);
        }
        Ok(truth)
    }

    fn load_sightings(&mut self, input: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let (sources, audiences) = (input.numbers::<u32>()?, input.numbers::<u32>()?);
        let (hashes, seqs) = (input.numbers::<u32>()?, input.numbers::<u64>()?);
        let mut confirmed = input.numbers::<u32>()?.into_iter().zip(input.numbers::<u64>()?);
        for (((source, audience), hash), seq) in sources.into_iter().zip(audiences).zip(hashes).zip(seqs) {
            let audience = (audience != NONE).then_some(AudienceNo(audience));
            let (confirmed, confirmed_seq) = confirmed.next().ok_or(SnapshotError::NotASnapshot)?;
            let is_text = |hash: u32| (hash as usize) < self.hashes.len();
            let is_right = (hash == GONE || is_text(hash)) && (confirmed == NONE || is_text(confirmed));
            let known = self.known.get_mut(source as usize).filter(|_| is_right);
            let sighting = Sighting { confirmed, confirmed_seq, ..Sighting::of(audience, hash, seq) };
            known.ok_or(SnapshotError::NotASnapshot)?.push(sighting);
            // They come in order of sources.
            if audience.is_some() && self.private.last() != Some(&source) {
                self.private.push(source);
            }
        }
        Ok(())
    }

    pub(crate) fn slots(&self) -> usize {
        self.times.len()
    }

    fn source_number(&mut self, id: &str) -> u32 {
        let (number, is_new) = self.sources.intern(id);
        if is_new {
            push_tight(&mut self.known, SmallVec::new());
        }
        number
    }

    /// The hash that everybody knows of a source.
    fn known_to_all(&self, source: u32) -> u32 {
        let known = self.known.get(source as usize);
        let to_all = known.and_then(|known| known.iter().find(|known| known.audience.is_none()));
        to_all.map_or(NONE, |known| known.hash)
    }

    /// Whether a record was taken from another state of its source than the known one.
    fn is_outdated(&self, slot: u32, known: u32) -> bool {
        let own = self.hash_of.get(slot);
        let differs = known == GONE || (own != NONE && known != NONE && !self.admits(known, own));
        differs && self.source_of.get(slot) != NONE
    }

    /// Whether a hash is the known one, or one of several: the caller joins hashes of one content by spaces, and marks
    /// those that could not be compared by a question mark.
    fn admits(&self, known: u32, own: u32) -> bool {
        if known == own || known == GONE || own == GONE {
            return known == own;
        }
        let (known, own) = (self.hashes.text(known), self.hashes.text(own));
        known.contains(' ') && known.split(' ').any(|part| part.strip_prefix('?').unwrap_or(part) == own)
    }

    /// Whether all of a record's hashes are among the confirmed ones.
    fn confirms(&self, confirmed: u32, own: u32) -> bool {
        let (confirmed, own) = (self.hashes.text(confirmed), self.hashes.text(own));
        own.split(' ').all(|wanted| confirmed.split(' ').any(|part| part == wanted))
    }
}
