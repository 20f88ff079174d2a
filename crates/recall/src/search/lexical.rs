//! How well the words fit: BM25 over the postings, a window of slots at a time so that the sums stay in the cache.

use smallvec::SmallVec;

use crate::bits::Bits;
use crate::index::WorkspaceIndex;
use crate::lexicon::TermNo;
use crate::postings;
use crate::records::Seen;
use crate::search::bm25::{Bm25, CLASSES, contribution, factor};

/// Slots per window: sums for this many stay in the nearest cache.
pub(crate) const WINDOW: usize = if cfg!(test) { 8 } else { 4_096 };

/// A term to be scored.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Weighted {
    pub(crate) term: TermNo,
    /// How much it counts.
    pub(crate) weight: f32,
    /// Added to `Matched::seen` of the records that have it.
    pub(crate) mark: u32,
}

/// A record that has at least one of the terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Matched {
    pub(crate) slot: u32,
    /// In units of 1 / `ONE`.
    pub(crate) score: u32,
    /// The sum of the marks of the terms it has.
    pub(crate) seen: u32,
}

/// Shows `look` every window in which a record has one of the terms: its first slot, and by slot the score and, in the
/// upper half, the marks. The sums of records that are not seen are 0. Returns how many visible records have each term.
pub(crate) fn score(
    index: &WorkspaceIndex,
    bm25: &Bm25,
    terms: &[Weighted],
    seen: &Seen<'_>,
    mut look: impl FnMut(usize, &[u64]),
) -> SmallVec<[u32; 32]> {
    let mut cursors: SmallVec<[Cursor<'_>; 32]> = terms.iter().map(|term| Cursor::new(index, bm25, *term)).collect();
    let mut worths: Vec<[u32; CLASSES]> = vec![[0; CLASSES]; terms.len()];
    for (cursor, worths) in cursors.iter().zip(&mut worths) {
        bm25.worths_of_one(cursor.factor, worths);
    }
    let classes = index.records.classes();
    let mut window = vec![0_u64; WINDOW.min(classes.len())];
    for (number, classes) in classes.chunks(WINDOW).enumerate() {
        let start = number * WINDOW;
        let sums = &mut window[..classes.len()];
        let mut window = Window { sums, classes, start, members: seen.members(), bm25 };
        let cursors = cursors.iter_mut().zip(&worths);
        let is_touched = cursors.fold(false, |any, (cursor, worths)| cursor.add_to(&mut window, worths) | any);
        if is_touched {
            look(start, sums);
            sums.fill(0);
        }
    }
    cursors.iter().map(|cursor| if seen.is_everyone() { cursor.records } else { cursor.seen }).collect()
}

/// Slots whose sums are being made.
struct Window<'a> {
    sums: &'a mut [u64],
    /// Of the lengths of records.
    classes: &'a [u8],
    start: usize,
    /// Who is seen; `None` for everybody.
    members: Option<&'a Bits>,
    bm25: &'a Bm25,
}

/// A term on its way through the windows.
struct Cursor<'a> {
    postings: postings::Iter<'a>,
    /// The first posting behind the last window.
    next: Option<postings::Posting>,
    factor: f64,
    /// In the upper half.
    mark: u64,
    /// How many records have the term.
    records: u32,
    /// How many of those that were passed are seen, where not everybody is.
    seen: u32,
}

impl<'a> Cursor<'a> {
    fn new(index: &'a WorkspaceIndex, bm25: &Bm25, weighted: Weighted) -> Self {
        let list = index.lexicon.postings(weighted.term);
        let mut postings = list.iter();
        let next = postings.next();
        let factor = factor(weighted.weight, bm25.idf(index.lexicon.counted(weighted.term)));
        let mark = u64::from(weighted.mark) << 32;
        Self { postings, next, factor, mark, records: list.len(), seen: 0 }
    }

    /// Adds the postings of a window: score and mark in one addition. Returns whether there were any.
    fn add_to(&mut self, window: &mut Window<'_>, worths: &[u32; CLASSES]) -> bool {
        match window.members {
            None => self.add_each(window, worths, |_| 1).is_some(),
            Some(members) => {
                let seen = self.add_each(window, worths, |slot| members.bit(slot));
                self.seen += seen.unwrap_or(0);
                seen.is_some()
            }
        }
    }

    /// Adds what is worth something: `is_seen` is 1 or 0. Returns how many were, or `None` where the window has no
    /// posting. `worths` are those of a single occurrence, by class of length. Not inlined: what surrounds it would
    /// take the registers away.
    #[inline(never)]
    fn add_each(
        &mut self,
        window: &mut Window<'_>,
        worths: &[u32; CLASSES],
        is_seen: impl Fn(u32) -> u64,
    ) -> Option<u32> {
        let (start, classes, bm25) = (window.start, window.classes, window.bm25);
        let sums = &mut window.sums[..classes.len()];
        let end = (start + classes.len()) as u32;
        self.next.filter(|posting| posting.slot < end)?;
        let (factor, mark, mut seen) = (self.factor, self.mark, 0);
        let next = self.next.take();
        self.next = self.postings.each_before(end, next, |slot, count| {
            let at = slot as usize - start;
            let class = classes[at];
            let worth = match count {
                1 => worths[usize::from(class)],
                _ => contribution(factor, bm25.saturation(count, class)),
            };
            let counts = is_seen(slot);
            sums[at] += (mark | u64::from(worth)) * counts;
            seen += counts as u32;
        });
        Some(seen)
    }
}
