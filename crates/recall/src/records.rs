//! The records of a workspace by slot: who they are, how long, who may see them, and their words in reading order.
//! A slot is a place in these arrays. Slots follow the order of saving, but for records that came late; the slot of a
//! forgotten record stays empty, unless it comes back, until the index is rebuilt because many are empty.

mod audiences;
mod order;

use std::borrow::Cow;

use crate::bits::Bits;
use crate::bytes::{Reader, SnapshotError, Writer};
use crate::lexicon::FormNo;
use crate::mapped_vec::MappedVec;
use crate::search::bm25::class_of;
use crate::time::Days;
use crate::varint;
use audiences::Audiences;
use order::Order;

pub(crate) use order::NOBODY;

/// Who may see a record, as a number that only the caller understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AudienceNo(pub u32);

/// The words of one record, in the order of the text.
#[derive(Default)]
pub(crate) struct Words {
    /// The running text.
    pub(crate) running: Vec<FormNo>,
    /// Identifiers as written and single characters: found, but without a place in the running text.
    pub(crate) extra: Vec<FormNo>,
    /// What is beside the text: source and key. Found, and worth less.
    pub(crate) beside: Vec<FormNo>,
    /// Not words, but stored with them: the days that it is about.
    pub(crate) dates: Vec<Days>,
}

/// What the arrays hold of a record beside its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) seq: u64,
    pub(crate) audience: AudienceNo,
    pub(crate) counted: bool,
    /// Words of the running text.
    pub(crate) length: u16,
    /// When it was saved, in seconds since 1970.
    pub(crate) saved_at: u32,
}

/// All records of a workspace.
#[derive(Default)]
pub(crate) struct Records {
    seqs: MappedVec<u64>,
    lengths: MappedVec<u16>,
    /// By slot: the class of its length.
    classes: MappedVec<u8>,
    saved_at: MappedVec<u32>,
    order: Order,
    /// A place in `audiences`, shifted left by one, and whether the record is counted; `VACANT` for an empty slot.
    standings: MappedVec<u32>,
    audiences: Audiences,
    /// Per slot: start of its words in `words` (40 bits) and their length in bytes (24 bits).
    spans: MappedVec<u64>,
    words: MappedVec<u8>,
    words_dead_bytes: usize,
    /// Which slots have a record.
    live: Bits,
    /// How many slots have none.
    vacant: usize,
    /// Whether one has gone, or has come back with other words, since the index was made or read.
    has_lost: bool,
}

const VACANT: u32 = u32::MAX;
/// Dates are stored as days from the first of January 2024: most records are of these years, and small numbers are
/// short.
const EPOCH: i32 = 19_723;

impl Records {
    pub(crate) fn len(&self) -> usize {
        self.seqs.len() - self.vacant
    }

    /// One past the highest slot in use.
    pub(crate) fn slots(&self) -> usize {
        self.seqs.len()
    }

    pub(crate) fn find(&self, seq: u64) -> Option<u32> {
        self.order.find(seq, &self.seqs)
    }

    /// Takes a slot for a new record.
    pub(crate) fn insert(&mut self, facts: Facts, words: &Words) -> u32 {
        let standing = self.audiences.enter(facts.audience) << 1 | u32::from(facts.counted);
        let span = self.store_words(words);
        let slot = if let Some(slot) = self.slot_left_by(facts.seq) {
            let at = slot as usize;
            self.vacant -= 1;
            (self.seqs[at], self.lengths[at], self.standings[at], self.spans[at]) =
                (facts.seq, facts.length, standing, span);
            self.saved_at[at] = facts.saved_at;
            self.classes[at] = class_of(facts.length);
            slot
        } else {
            self.seqs.push(facts.seq);
            self.lengths.push(facts.length);
            self.classes.push(class_of(facts.length));
            self.standings.push(standing);
            self.spans.push(span);
            self.saved_at.push(facts.saved_at);
            u32::try_from(self.seqs.len() - 1).expect("a workspace has fewer than 2^32 records")
        };
        self.order.insert(slot, &self.seqs);
        self.live.set(slot, true);
        slot
    }

    /// Frees the slot.
    pub(crate) fn remove(&mut self, slot: u32) {
        let at = slot as usize;
        self.order.remove(slot);
        self.audiences.leave(self.standings[at] >> 1);
        self.standings[at] = VACANT;
        self.live.set(slot, false);
        self.words_dead_bytes += span_len(self.spans[at]);
        self.spans[at] = 0;
        self.vacant += 1;
        self.has_lost = true;
        self.drop_dead_words();
    }

    pub(crate) fn facts(&self, slot: u32) -> Facts {
        let at = slot as usize;
        let standing = self.standings[at];
        Facts {
            seq: self.seqs[at],
            audience: self.audience(slot),
            counted: standing & 1 == 1,
            length: self.lengths[at],
            saved_at: self.saved_at[at],
        }
    }

    #[inline]
    pub(crate) fn seq(&self, slot: u32) -> u64 {
        self.seqs[slot as usize]
    }

    #[inline]
    pub(crate) fn audience(&self, slot: u32) -> AudienceNo {
        self.audiences.number(self.standings[slot as usize] >> 1)
    }

    /// By slot; an empty slot keeps the number of the record that was there.
    pub(crate) fn seqs(&self) -> &[u64] {
        &self.seqs
    }

    pub(crate) fn lengths(&self) -> &[u16] {
        &self.lengths
    }

    /// By slot: the class of its length.
    pub(crate) fn classes(&self) -> &[u8] {
        &self.classes
    }

    /// By slot, in seconds since 1970.
    pub(crate) fn saved_at(&self) -> &[u32] {
        &self.saved_at
    }

    /// The order in which they were saved.
    pub(crate) fn order(&self) -> &Order {
        &self.order
    }

    /// Whether there is a counted record in the slot.
    pub(crate) fn is_counted(&self, slot: u32) -> bool {
        let standing = self.standings[slot as usize];
        standing != VACANT && standing & 1 == 1
    }

    /// The running words of a record.
    #[inline]
    pub(crate) fn running(&self, slot: u32) -> FormIter<'_> {
        let mut forms = self.all_forms(slot);
        forms.left = forms.running;
        forms
    }

    /// Every form of a record: the running words, what is beside the text, identifiers as written, single
    /// characters.
    #[inline]
    pub(crate) fn all_forms(&self, slot: u32) -> FormIter<'_> {
        let span = self.spans[slot as usize];
        let start = span_start(span);
        let bytes = &self.words[start..start + span_len(span)];
        let mut at = 0;
        let running = varint::read(bytes, &mut at).unwrap_or(0);
        let beside = varint::read(bytes, &mut at).unwrap_or(0);
        let dates_bytes = varint::read(bytes, &mut at).unwrap_or(0);
        at += dates_bytes as usize;
        FormIter { bytes, at, running, beside, left: u32::MAX }
    }

    /// The words of a record by kind.
    pub(crate) fn words(&self, slot: u32) -> Words {
        let mut forms = self.all_forms(slot);
        let (running, beside) = (forms.running as usize, forms.beside as usize);
        let running: Vec<FormNo> = forms.by_ref().take(running).collect();
        let beside: Vec<FormNo> = forms.by_ref().take(beside).collect();
        Words { running, beside, extra: forms.collect(), dates: self.dates(slot).collect() }
    }

    /// The days that a record is about: when it happened, if a caller said so, and the dates in its text.
    pub(crate) fn dates(&self, slot: u32) -> impl Iterator<Item = Days> + '_ {
        let span = self.spans[slot as usize];
        let start = span_start(span);
        let bytes = &self.words[start..start + span_len(span)];
        let mut at = 0;
        let [_, _, dates_bytes] = [(); 3].map(|()| varint::read(bytes, &mut at).unwrap_or(0) as usize);
        let end = at + dates_bytes;
        std::iter::from_fn(move || {
            let first = (at < end).then(|| varint::read(bytes, &mut at)).flatten()?;
            let more = varint::read(bytes, &mut at)?;
            let first = EPOCH + (first >> 1).cast_signed() * if first & 1 == 1 { -1 } else { 1 };
            Some(Days { first, last: first.saturating_add_unsigned(more) })
        })
    }

    /// The slot that this record had, if that is still known: a record that comes back takes its old place.
    fn slot_left_by(&self, seq: u64) -> Option<u32> {
        if self.vacant == 0 || !self.order.is_straight() {
            return None;
        }
        let at = self.seqs.binary_search(&seq).ok()?;
        (self.standings[at] == VACANT).then_some(at as u32)
    }

    /// Whether most slots are empty.
    pub(crate) fn is_mostly_vacant(&self) -> bool {
        const WORTH_A_REBUILD: usize = 256;
        self.vacant > WORTH_A_REBUILD && self.vacant > self.len()
    }

    pub(crate) fn live_slots(&self) -> impl Iterator<Item = u32> + '_ {
        self.live.iter()
    }

    /// Asks once per audience who may be seen.
    pub(crate) fn seen_by(&self, visible: &dyn Fn(AudienceNo) -> bool) -> Seen<'_> {
        let (by_audience, records) = self.audiences.seen(visible);
        let members = match records as usize {
            all if all == self.slots() => None,
            living if living == self.len() => Some(Cow::Borrowed(&self.live)),
            _ => Some(Cow::Owned(self.of_audiences(&by_audience))),
        };
        Seen { members, records, slots: self.slots() }
    }

    /// The same where few slots are asked about: no other record is looked at.
    pub(crate) fn sight(&self, visible: &dyn Fn(AudienceNo) -> bool) -> impl Fn(u32) -> bool + '_ {
        let (by_audience, records) = self.audiences.seen(visible);
        let is_everyone = records as usize == self.len();
        move |slot| is_everyone || by_audience[(self.standings[slot as usize] >> 1) as usize]
    }

    fn of_audiences(&self, is_seen: &[bool]) -> Bits {
        Bits::of(&self.standings, |&standing| standing != VACANT && is_seen[(standing >> 1) as usize])
    }

    pub(crate) fn size_bytes(&self) -> usize {
        self.seqs.size_bytes()
            + self.lengths.size_bytes()
            + self.classes.size_bytes()
            + self.standings.size_bytes()
            + self.saved_at.size_bytes()
            + self.order.size_bytes()
            + self.audiences.size_bytes()
            + self.spans.size_bytes()
            + self.words.size_bytes()
            + self.live.size_bytes()
    }

    /// The forms that some record has; `None` where no record has gone, so that every form is in use.
    pub(crate) fn used_forms(&self) -> Option<Bits> {
        let mut used = self.has_lost.then(Bits::default)?;
        for slot in self.live_slots() {
            self.all_forms(slot).for_each(|form| used.set(form.0, true));
        }
        Some(used)
    }

    /// Leaves out the words of those that have gone.
    pub(crate) fn save(&self, out: &mut Writer) {
        let (spans, words) = self.living_words();
        out.row(&self.seqs);
        out.row(&self.lengths);
        out.row(&self.classes);
        out.row(&self.saved_at);
        out.row(&self.standings);
        out.numbers(self.audiences.numbers().map(|number| number.0));
        out.row(&spans);
        out.row(&words);
    }

    fn living_words(&self) -> (Cow<'_, [u64]>, Cow<'_, [u8]>) {
        if self.words_dead_bytes == 0 {
            return (Cow::Borrowed(&self.spans), Cow::Borrowed(&self.words));
        }
        let (spans, words) = self.packed_words();
        (Cow::Owned(spans), Cow::Owned(words))
    }

    /// Spans and words without gaps.
    fn packed_words(&self) -> (Vec<u64>, Vec<u8>) {
        let mut kept = Vec::with_capacity(self.words.len() - self.words_dead_bytes);
        let pack = |&span: &u64| {
            let (start, len) = (span_start(span), span_len(span));
            kept.extend_from_slice(&self.words[start..start + len]);
            pack_span(kept.len() - len, len)
        };
        (self.spans.iter().map(pack).collect(), kept)
    }

    /// What can be derived from the rest is: empty slots, sizes of audiences, the order of saving.
    pub(crate) fn load(input: &mut Reader<'_>) -> Result<Self, SnapshotError> {
        let (seqs, lengths, classes) = (input.row()?, input.row()?, input.row()?);
        let (saved_at, standings) = (input.row()?, input.row::<u32>()?);
        let numbers: Vec<AudienceNo> = input.numbers()?.into_iter().map(AudienceNo).collect();
        let (spans, words) = (input.row()?, input.row()?);
        let taken = standings.iter().filter(|&&standing| standing != VACANT).map(|standing| standing >> 1);
        let audiences = Audiences::restore(&numbers, taken).ok_or(SnapshotError::NotASnapshot)?;
        let records = Self { seqs, lengths, classes, saved_at, standings, audiences, spans, words, ..Self::default() };
        records.derived().ok_or(SnapshotError::NotASnapshot)
    }

    fn derived(mut self) -> Option<Self> {
        let slots = self.seqs.len();
        let others = [self.lengths.len(), self.classes.len(), self.saved_at.len(), self.standings.len()];
        if others != [slots; 4] || self.spans.len() != slots {
            return None;
        }
        self.live = self.all_live();
        self.vacant = slots - self.live.len() as usize;
        let mut words_live_bytes = 0;
        for &span in &*self.spans {
            // An empty slot has an empty span.
            if span_start(span) + span_len(span) > self.words.len() {
                return None;
            }
            words_live_bytes += span_len(span);
        }
        self.words_dead_bytes = self.words.len().checked_sub(words_live_bytes)?;
        self.order = Order::of(&self.live, &self.seqs);
        Some(self)
    }

    fn all_live(&self) -> Bits {
        Bits::of(&self.standings, |&standing| standing != VACANT)
    }

    fn store_words(&mut self, words: &Words) -> u64 {
        let mut bytes = Vec::with_capacity(2 * (words.running.len() + words.beside.len() + words.extra.len()) + 4);
        let mut dates: Vec<u8> = Vec::new();
        for days in &words.dates {
            let first = days.first.saturating_sub(EPOCH);
            varint::write(&mut dates, (first.unsigned_abs() << 1) | u32::from(first < 0));
            varint::write(&mut dates, days.last.abs_diff(days.first));
        }
        varint::write(&mut bytes, u32::try_from(words.running.len()).unwrap_or(u32::MAX));
        varint::write(&mut bytes, u32::try_from(words.beside.len()).unwrap_or(u32::MAX));
        varint::write(&mut bytes, dates.len() as u32);
        bytes.extend(dates);
        for form in words.running.iter().chain(&words.beside).chain(&words.extra) {
            varint::write(&mut bytes, form.0);
        }
        let start = self.words.len();
        self.words.extend(&bytes);
        pack_span(start, bytes.len())
    }

    fn drop_dead_words(&mut self) {
        const WORTH_A_COPY: usize = 4096;
        if self.words_dead_bytes < WORTH_A_COPY || self.words_dead_bytes * 3 < self.words.len() {
            return;
        }
        let (spans, words) = self.packed_words();
        (self.spans, self.words) = (spans.into(), words.into());
        self.words_dead_bytes = 0;
    }
}

/// What one caller may see.
pub(crate) struct Seen<'a> {
    /// `None` where there is nothing else: no unseen record and no empty slot.
    members: Option<Cow<'a, Bits>>,
    /// How many records that is.
    pub(crate) records: u32,
    slots: usize,
}

impl Seen<'_> {
    /// Leaves out what a filter does not admit: it is then as if it did not exist.
    pub(crate) fn narrow(self, mut admitted: Bits) -> Self {
        if let Some(members) = &self.members {
            admitted.keep_only(members);
        }
        let records = admitted.len();
        let is_everyone = records as usize == self.slots;
        Self { members: (!is_everyone).then_some(Cow::Owned(admitted)), records, slots: self.slots }
    }

    pub(crate) fn into_members(self) -> Bits {
        self.members.map_or_else(|| Bits::full(self.slots), Cow::into_owned)
    }

    /// Who is seen, where that is not everybody.
    pub(crate) fn members(&self) -> Option<&Bits> {
        self.members.as_deref()
    }

    pub(crate) fn is_everyone(&self) -> bool {
        self.members.is_none()
    }

    /// Whether there is a record in the slot, and it is seen.
    #[inline]
    pub(crate) fn contains(&self, slot: u32) -> bool {
        self.members().is_none_or(|members| members.contains(slot))
    }
}

/// Reads the forms of one record.
pub(crate) struct FormIter<'a> {
    bytes: &'a [u8],
    at: usize,
    running: u32,
    beside: u32,
    left: u32,
}

impl Iterator for FormIter<'_> {
    type Item = FormNo;

    #[inline]
    fn next(&mut self) -> Option<FormNo> {
        self.left = self.left.checked_sub(1)?;
        varint::read(self.bytes, &mut self.at).map(FormNo)
    }
}

fn pack_span(start: usize, len: usize) -> u64 {
    assert!(len < 1 << 24 && start < 1 << 40, "a record's words fit their span");
    (start as u64) << 24 | len as u64
}

fn span_start(span: u64) -> usize {
    usize::try_from(span >> 24).expect("spans point into memory")
}

fn span_len(span: u64) -> usize {
    (span & 0xFF_FFFF) as usize
}
