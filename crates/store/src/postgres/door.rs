//! Where saves arrive, from all threads, and wait to be fetched by the one that sends the flights. It is woken only when so
//! many wait that a flight could leave: waking it for each of them cost a twentieth of all saves.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use super::error::closed;
use crate::StoreError;

pub(super) struct Door<W> {
    places: Arc<Semaphore>,
    inside: Mutex<Inside<W>>,
    bell: Notify,
}

struct Inside<W> {
    waiting: Vec<W>,
    /// With how many the bell rings.
    ring_at: usize,
    is_open: bool,
}

impl<W> Door<W> {
    /// So many have a place, here or on their way.
    pub(super) fn new(places: usize) -> Self {
        let inside = Mutex::new(Inside { waiting: Vec::new(), ring_at: 1, is_open: true });
        Self { places: Arc::new(Semaphore::new(places)), inside, bell: Notify::new() }
    }

    /// Waits for a place. It is free again when it is dropped.
    pub(super) async fn place(&self) -> Result<OwnedSemaphorePermit, StoreError> {
        Arc::clone(&self.places).acquire_owned().await.map_err(|_| closed())
    }

    pub(super) fn enter(&self, one: W) -> Result<(), StoreError> {
        let mut inside = self.inside.lock();
        if !inside.is_open {
            return Err(closed());
        }
        inside.waiting.push(one);
        let rings = inside.waiting.len() == inside.ring_at;
        drop(inside);
        if rings {
            self.bell.notify_one();
        }
        Ok(())
    }

    pub(super) fn is_open(&self) -> bool {
        self.inside.lock().is_open
    }

    /// How many wait here.
    pub(super) fn len(&self) -> usize {
        self.inside.lock().waiting.len()
    }

    /// All that wait, in the order they came, and whether more may come.
    pub(super) fn fetch(&self) -> (Vec<W>, bool) {
        let mut inside = self.inside.lock();
        (std::mem::take(&mut inside.waiting), inside.is_open)
    }

    /// Returns when so many wait, or the door was closed.
    pub(super) async fn rings_at(&self, count: usize) {
        {
            let mut inside = self.inside.lock();
            inside.ring_at = count;
            if inside.waiting.len() >= count || !inside.is_open {
                return;
            }
        }
        // Whoever came since has left a note.
        self.bell.notified().await;
    }

    /// Lets nobody in any more. Those who wait here can still be fetched.
    pub(super) fn close(&self) {
        self.places.close();
        self.inside.lock().is_open = false;
        self.bell.notify_one();
    }

    /// Closes, and forgets those who wait: nobody will fetch them.
    pub(super) fn abandon(&self) {
        self.close();
        drop(self.fetch());
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    const SOON: Duration = Duration::from_millis(20);
    const MINUTE: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn the_bell_rings_when_so_many_wait_and_not_before() {
        let door = Door::new(8);
        door.enter(1).unwrap();
        door.enter(2).unwrap();
        timeout(MINUTE, door.rings_at(2)).await.expect("so many are there already");
        assert_eq!(door.fetch(), (vec![1, 2], true));
        // The bell rang for the first of them, before anybody said how many are wanted.
        timeout(MINUTE, door.rings_at(2)).await.expect("it remembers one ring");
        timeout(SOON, door.rings_at(2)).await.expect_err("nobody is there");
        door.enter(3).unwrap();
        timeout(SOON, door.rings_at(2)).await.expect_err("one is not enough");
        let second = async {
            tokio::task::yield_now().await;
            door.enter(4).unwrap();
        };
        let (rung, ()) = tokio::join!(timeout(MINUTE, door.rings_at(2)), second);
        rung.expect("two are enough");
        assert_eq!(door.fetch(), (vec![3, 4], true));
    }

    #[tokio::test]
    async fn whoever_has_no_place_waits_for_one() {
        let door = Door::<()>::new(2);
        let (first, _second) = (door.place().await.unwrap(), door.place().await.unwrap());
        timeout(SOON, door.place()).await.expect_err("all places are taken");
        drop(first);
        assert!(timeout(MINUTE, door.place()).await.expect("a place is free").is_ok());
    }

    #[tokio::test]
    async fn a_closed_door_lets_nobody_in_and_those_inside_out() {
        let door = Door::new(1);
        let place = door.place().await.unwrap();
        door.enter(7).unwrap();
        let (refused, ()) = tokio::join!(door.place(), async { door.close() });
        assert!(refused.is_err(), "nobody waits for a place in vain");
        assert!(door.enter(8).is_err());
        timeout(MINUTE, door.rings_at(5)).await.expect("nobody else will come");
        assert_eq!(door.fetch(), (vec![7], false));
        drop(place);
        assert!(door.place().await.is_err());
    }

    #[test]
    fn those_who_wait_at_an_abandoned_door_are_forgotten() {
        let (door, one) = (Door::new(1), Arc::new(()));
        door.enter(Arc::clone(&one)).unwrap();
        door.abandon();
        assert_eq!((Arc::strong_count(&one), door.len()), (1, 0));
        assert!(door.enter(one).is_err());
    }
}
