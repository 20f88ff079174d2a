//! Who may see records, each under a small number of its own; the number of an audience without records is given again.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::AudienceNo;
use crate::memory::vec_bytes;

/// The audiences of a workspace's records.
#[derive(Default)]
pub(super) struct Audiences {
    list: Vec<Audience>,
    /// Where in the list those are that have records.
    places: HashMap<AudienceNo, u32, FxBuildHasher>,
    free: Vec<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Audience {
    number: AudienceNo,
    records: u32,
}

impl Audiences {
    /// Counts one more record, and returns the place of its audience.
    pub(super) fn enter(&mut self, number: AudienceNo) -> u32 {
        let (list, free) = (&mut self.list, &mut self.free);
        let place = *self.places.entry(number).or_insert_with(|| {
            let vacant = Audience { number, records: 0 };
            if let Some(place) = free.pop() {
                list[place as usize] = vacant;
                return place;
            }
            list.push(vacant);
            u32::try_from(list.len() - 1).expect("there are no more audiences than records")
        });
        self.list[place as usize].records += 1;
        place
    }

    /// Counts a record less.
    pub(super) fn leave(&mut self, place: u32) {
        let audience = &mut self.list[place as usize];
        audience.records -= 1;
        if audience.records == 0 {
            self.places.remove(&audience.number);
            self.free.push(place);
        }
    }

    pub(super) fn number(&self, place: u32) -> AudienceNo {
        self.list[place as usize].number
    }

    /// By place: whether the audience has records that are visible; and how many these are together.
    pub(super) fn seen(&self, visible: &dyn Fn(AudienceNo) -> bool) -> (Vec<bool>, u32) {
        let is_seen = |audience: &Audience| audience.records > 0 && visible(audience.number);
        let seen: Vec<bool> = self.list.iter().map(is_seen).collect();
        let records =
            self.list.iter().zip(&seen).filter(|(_, seen)| **seen).map(|(audience, _)| audience.records).sum();
        (seen, records)
    }

    /// The numbers by place, as a snapshot keeps them.
    pub(super) fn numbers(&self) -> impl ExactSizeIterator<Item = AudienceNo> {
        self.list.iter().map(|audience| audience.number)
    }

    /// From numbers by place and the places of all records. `None` where one has a place that there is not.
    pub(super) fn restore(numbers: &[AudienceNo], records: impl Iterator<Item = u32>) -> Option<Self> {
        let mut list: Vec<Audience> = numbers.iter().map(|&number| Audience { number, records: 0 }).collect();
        for place in records {
            list.get_mut(place as usize)?.records += 1;
        }
        let mut audiences = Self { list, ..Self::default() };
        for (place, audience) in (0..).zip(&audiences.list) {
            if audience.records == 0 {
                audiences.free.push(place);
            } else if audiences.places.insert(audience.number, place).is_some() {
                return None;
            }
        }
        Some(audiences)
    }

    pub(super) fn size_bytes(&self) -> usize {
        vec_bytes(&self.list) + self.places.allocation_size() + vec_bytes(&self.free)
    }
}
