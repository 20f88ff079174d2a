//! Which records say nearly the same as one that was just saved, so that the caller may replace them: the same
//! fact in other words, with a detail more or with another value. Not what merely speaks of the same thing.
//!
//! It runs on every save, so it looks at little: at the records that share its rarest words, and word by word only at
//! the few that share most of them. `page.rs` reads and compares, `likeness.rs` judges.

mod likeness;
mod page;

use std::cmp::Reverse;

use crate::index::WorkspaceIndex;
use crate::records::AudienceNo;
use crate::words::Language;
pub use likeness::Likeness;
use page::{Page, Rarity, Term};

/// The number of posting lists that are searched for candidates. Searching more of them found no further candidates.
const LISTS: usize = 6;
/// The same for words that no other counted record has: records of the caller's own circle may have them.
const NOVEL_LISTS: usize = 8;
/// The maximum number of postings taken. A list that does not fit is left out as a whole.
const POSTINGS: usize = 512;
/// The maximum number of candidates that are read. With eight, and twice as many postings, 16,653 saves of real texts
/// named 476 records instead of 475, and took longer.
const READ: usize = 6;
/// A candidate shares at least one part in this many of the weight that was looked for. With it, 3,000 saves of real
/// texts named as many records and read half as many words.
const SHARE_MIN: u32 = 4;
/// A record with more than this many times the words is a different one: a line of a page is not the page.
const TIMES_AS_LONG: u32 = 3;

/// A record that says nearly the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Similar {
    /// Which record.
    pub seq: u64,
    /// How likely it is about the same fact, in (0, 1] and in two decimals.
    pub score: f64,
}

impl WorkspaceIndex {
    /// The visible records that say nearly the same as this one, best first; of equal ones the newest first. `visible`
    /// is asked once per audience. What is not visible changes nothing in the answer.
    pub fn similar(&self, seq: u64, limit: usize, visible: &dyn Fn(AudienceNo) -> bool) -> Vec<Similar> {
        let Some(slot) = self.records.find(seq) else { return Vec::new() };
        let rarity = Rarity::new(self.totals.records);
        let own = Page::read(self, slot, &rarity);
        let mut similar = Vec::new();
        for other in self.candidates(&own, slot, visible) {
            let likeness = self.compare(&own, slot, other, &rarity, Likeness::DENSITY_MIN);
            if let Some(score) = likeness.and_then(|likeness| likeness.score()) {
                similar.push(Similar { seq: self.records.seq(other), score });
            }
        }
        similar.sort_unstable_by(|one, other| other.score.total_cmp(&one.score).then(other.seq.cmp(&one.seq)));
        similar.truncate(limit);
        similar
    }

    /// How alike two records are, for measuring. `None` where one is not there, or is much longer than the other.
    pub fn likeness(&self, seq: u64, other: u64) -> Option<Likeness> {
        let (slot, other) = (self.records.find(seq)?, self.records.find(other)?);
        let rarity = Rarity::new(self.totals.records);
        let own = Page::read(self, slot, &rarity);
        self.are_comparable(slot, other).then(|| self.compare(&own, slot, other, &rarity, 0.0))?
    }

    /// `None` where they share less than `density_min`: then the rest need not be read.
    fn compare(&self, own: &Page, slot: u32, other: u32, rarity: &Rarity, density_min: f64) -> Option<Likeness> {
        let overlap = own.overlap(self, other);
        if overlap.density() < density_min {
            return None;
        }
        let counts = |slot: u32| self.vectors.has(slot) && self.is_of_latin_letters(slot);
        let cosine = if counts(slot) && counts(other) { self.vectors.cosine(slot, other) } else { 0.0 };
        Some(Likeness::new(overlap.density(), cosine, &own.difference(self, other, &overlap, rarity)))
    }

    /// What a cosine is worth was fitted to texts of Latin letters; between others it does not count.
    fn is_of_latin_letters(&self, slot: u32) -> bool {
        let language = self.lexicon.language(self.records.running(slot));
        matches!(language, None | Some(Language::English | Language::OtherLatin))
    }

    fn are_comparable(&self, slot: u32, other: u32) -> bool {
        let [one, other] = [slot, other].map(|slot| u32::from(self.records.lengths()[slot as usize]));
        one.max(other) <= TIMES_AS_LONG * one.min(other)
    }

    /// The slots that share most of the rarest words.
    fn candidates(&self, own: &Page, slot: u32, visible: &dyn Fn(AudienceNo) -> bool) -> Vec<u32> {
        let mut found = Found::default();
        let is_seen = self.records.sight(visible);
        for term in self.rarest(own, slot) {
            found.take_list(self, &term, |other| other != slot && is_seen(other));
        }
        let mut shares = found.shares();
        shares.retain(|share| self.are_comparable(slot, share.slot));
        if shares.len() > READ {
            let rank = |share: &Share| Reverse((share.weight, self.records.seq(share.slot)));
            shares.select_nth_unstable_by_key(READ, rank);
            shares.truncate(READ);
        }
        shares.into_iter().map(|share| share.slot).collect()
    }

    /// The terms to look for: those that the fewest records have, and of equally rare ones those that are read first.
    /// Only counted records decide, so that records that a caller can't see have no influence.
    fn rarest(&self, own: &Page, slot: u32) -> Vec<Term> {
        let own_count = u32::from(self.records.is_counted(slot));
        let (mut novel, mut known): (Vec<Term>, Vec<Term>) =
            own.terms().iter().partition(|term| term.counted == own_count);
        // Where every record is counted, no record has a word that no other counted record has.
        let has_uncounted = self.totals.records as usize != self.records.len();
        keep_rarest(&mut novel, if has_uncounted { NOVEL_LISTS } else { 0 });
        keep_rarest(&mut known, LISTS);
        novel.append(&mut known);
        novel
    }
}

fn keep_rarest(terms: &mut Vec<Term>, count: usize) {
    terms.sort_unstable_by_key(|term| (term.counted, term.first_at));
    terms.truncate(count);
}

/// What a candidate shares with the record.
struct Share {
    slot: u32,
    weight: u32,
}

/// Postings of visible records.
#[derive(Default)]
struct Found {
    /// The slot in the high half, the weight of the word in the low one: as one number they are sorted faster.
    postings: Vec<u64>,
    /// What the words weigh whose lists were taken.
    weight: u32,
}

impl Found {
    /// Half a list would not do: which half it is depends on the order in which a node learnt of the records. Hidden
    /// records are passed over and take no room.
    fn take_list(&mut self, index: &WorkspaceIndex, term: &Term, is_seen: impl Fn(u32) -> bool) {
        let before = self.postings.len();
        if term.counted as usize > POSTINGS - before {
            return;
        }
        for posting in index.lexicon.postings(term.number).iter() {
            // A count of 0: it is only beside the text.
            if posting.count == 0 || !is_seen(posting.slot) {
                continue;
            }
            if self.postings.len() == POSTINGS {
                self.postings.truncate(before);
                return;
            }
            self.postings.push(u64::from(posting.slot) << 32 | u64::from(term.weight));
        }
        if self.postings.len() > before {
            self.weight += term.weight;
        }
    }

    /// Each slot with the sum of its weights, if it shares enough: most have one of the words by chance.
    fn shares(mut self) -> Vec<Share> {
        // Stable, because it merges what is in order already: each list is.
        self.postings.sort();
        let of_slot = self.postings.chunk_by(|one, other| one >> 32 == other >> 32);
        let share = |postings: &[u64]| Share {
            slot: (postings[0] >> 32) as u32,
            weight: postings.iter().map(|&posting| posting as u32).sum(),
        };
        of_slot.map(share).filter(|share| share.weight * SHARE_MIN >= self.weight).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::page::WORDS;
    use super::*;
    use crate::{Model, NewDoc};

    /// Work is counted here, not timed: pages of 16 KiB that all share their rarest words.
    #[test]
    fn pages_of_the_largest_size_are_read_in_part_and_few_of_them() {
        let mut index = WorkspaceIndex::new(Model::shipped());
        for seq in 0..60_u64 {
            let words = (0..2_600_u64).map(|nth| format!("w{} ", (nth * 7 + seq) % 3_000));
            let page: String = words.collect();
            assert!(page.len() > 12_000, "{}", page.len());
            index.add(NewDoc::new(seq, &page[..page.len().min(16 * 1024)]));
        }
        let slot = index.records.find(59).unwrap();
        let own = Page::read(&index, slot, &Rarity::new(index.totals.records));
        assert!(own.terms().len() <= WORDS);
        assert_eq!(index.rarest(&own, slot).len(), LISTS);
        assert_eq!(index.candidates(&own, slot, &|_| true).len(), READ);
    }

    /// A common word has a long list. It is not read, and the rare ones still find the twin.
    #[test]
    fn lists_that_are_too_long_are_left_out() {
        let mut index = WorkspaceIndex::new(Model::shipped());
        for seq in 0..3_000_u64 {
            index.add(NewDoc::new(seq, &format!("server release number{seq} done")));
        }
        index.add(NewDoc::new(5_000, "the quokka of the server release burrows under the wooden fence at dusk"));
        index.add(NewDoc::new(5_001, "the quokka of the server release burrows under the wooden fence at dawn"));
        let slot = index.records.find(5_001).unwrap();
        let own = Page::read(&index, slot, &Rarity::new(index.totals.records));
        let mut found = Found::default();
        for term in own.terms() {
            found.take_list(&index, term, |other| other != slot);
        }
        assert_eq!(found.postings.len(), 4, "quokka, burrows, wooden and fence of the twin");
        assert_eq!(index.similar(5_001, 3, &|_| true)[0].seq, 5_000);
    }

    #[test]
    fn an_audience_is_asked_for_once() {
        let mut index = WorkspaceIndex::new(Model::shipped());
        for seq in 0..50 {
            let audience = AudienceNo(seq as u32 % 3);
            index.add(NewDoc { audience, counted: audience.0 == 0, ..NewDoc::new(seq, "the boiler code is 4711") });
        }
        let asked = std::cell::RefCell::new(Vec::new());
        index.similar(49, 3, &|audience| {
            asked.borrow_mut().push(audience.0);
            true
        });
        asked.borrow_mut().sort_unstable();
        assert_eq!(*asked.borrow(), [0, 1, 2]);
    }
}
