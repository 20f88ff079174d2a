//! What holds comes before what no longer holds.

use super::{Candidate, Ranking};

impl Ranking<'_> {
    /// What no longer holds comes after what holds and is about the same thing. Of those that dispute a key the
    /// newest is first: they trade places among themselves only.
    pub(super) fn put_truth_first(&self, candidates: &mut [Candidate], limit: usize) {
        let front = limit.max(self.recipe.bounds.read);
        let front = self.select_best(candidates, front);
        for candidate in front.iter_mut() {
            candidate.is_stale = self.judge.is_stale(candidate.slot);
        }
        let key_of = |candidate: &Candidate| self.index.truth.key_of(candidate.slot);
        if !front.iter().any(|candidate| candidate.is_stale || key_of(candidate).is_some()) {
            // No places are traded: only what is asked for needs an order.
            return self.sort_best(front, limit);
        }
        self.sort_best(front, usize::MAX);
        let read = self.recipe.bounds.read.min(front.len());
        self.put_newest_first(&mut front[..read]);
        let rivals = self.recipe.bounds.rivals.min(front.len());
        self.let_rivals_pass(&mut front[..rivals]);
    }

    /// Lets those that hold and dispute a key trade places.
    fn put_newest_first(&self, best: &mut [Candidate]) {
        let key_of = |candidate: &Candidate| self.index.truth.key_of(candidate.slot).filter(|_| !candidate.is_stale);
        let mut keyed: Vec<(u32, usize)> =
            best.iter().enumerate().filter_map(|(at, found)| Some((key_of(found)?, at))).collect();
        keyed.sort_unstable();
        for rivals in keyed.chunk_by(|a, b| a.0 == b.0).filter(|rivals| rivals.len() > 1) {
            // Places come best first; the newest record takes the best.
            let mut newest_first: Vec<Candidate> = rivals.iter().map(|&(_, at)| best[at]).collect();
            newest_first.sort_unstable_by_key(|rival| std::cmp::Reverse(self.index.records.seq(rival.slot)));
            for (&(_, at), rival) in rivals.iter().zip(newest_first) {
                let strength = best[at].strength;
                best[at] = Candidate { traded: strength - rival.strength, strength, ..rival };
            }
        }
    }

    /// Before each stale record steps one behind it that holds and speaks of the same thing. A penalty on what is stale
    /// was tried: where it was large enough for updates, other records passed what is stale and has no update.
    fn let_rivals_pass(&self, best: &mut [Candidate]) {
        let mut at = 0;
        while at < best.len() {
            if best[at].is_stale
                && let Some(behind) = self.rival_of(&best[at], &best[at + 1..])
            {
                let strength = best[at].strength;
                best[at..=at + 1 + behind].rotate_right(1);
                best[at].traded += strength - best[at].strength;
                best[at].strength = strength;
                at += 1;
            }
            at += 1;
        }
    }

    /// Of the records that hold and speak of the same thing as a stale one, the one that does so most: under the same
    /// key if there is such a one, otherwise in much the same words. A query for a teapot must not bring a kettle
    /// first: one that has no word of the query passes only under the same key, or one that has none either.
    fn rival_of(&self, stale: &Candidate, others: &[Candidate]) -> Option<usize> {
        let key = self.index.truth.key_of(stale.slot);
        let alike = |other: &Candidate| {
            let has_key = key.is_some() && key == self.index.truth.key_of(other.slot);
            match has_key {
                true => f64::INFINITY,
                false if other.marks == 0 && stale.marks != 0 => f64::NEG_INFINITY,
                false => self.index.vectors.cosine(stale.slot, other.slot),
            }
        };
        let mut most = None;
        for (at, other) in others.iter().enumerate().filter(|(_, other)| !other.is_stale) {
            let alike = alike(other);
            if alike >= self.recipe.alike && most.is_none_or(|(_, most)| alike > most) {
                most = Some((at, alike));
            }
        }
        most.map(|(at, _)| at)
    }
}
