//! Room for what is large: how many bytes of answers and request bodies the node holds at once, and how many of them
//! may be one account's. An answer takes room before it is made and gives it back when the socket has taken its last
//! byte, or is gone. Whatever has less than [`SMALL_BYTES`] is reckoned with the connection's seat and needs none.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use mnemon_core::AccountId;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// What is smaller needs no room.
pub(crate) const SMALL_BYTES: usize = 64 << 10;
/// Large answers and bodies may take this share of the memory.
const MEMORY_SHARE: usize = 8;
const BY_MEMORY_MIN: usize = 16 << 20;
/// One account may take this share of the room, so that its readers never keep other accounts waiting.
const ACCOUNT_SHARE: u32 = 4;
/// How long somebody waits for room before being refused.
const PATIENCE: Duration = Duration::from_secs(2);
/// When it is worth asking again.
const RETRY_AFTER_SECONDS: u64 = 5;

/// Whose room it is; the operator belongs to no account.
pub(crate) type Whose = Option<AccountId>;

/// The room of one service.
#[derive(Debug, Clone)]
pub struct Room(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    kib_max: u32,
    node: Arc<Semaphore>,
    shares: Mutex<HashMap<Whose, Share>>,
    refused_by_account: AtomicU64,
    refused_by_node: AtomicU64,
}

/// The room of one account, known for as long as somebody uses it or waits for it.
#[derive(Debug)]
struct Share {
    room: Arc<Semaphore>,
    users: usize,
}

/// Why there is no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoRoom {
    #[error(
        "too many large answers and requests of this account are on their way; try again in {RETRY_AFTER_SECONDS} s"
    )]
    Account,
    #[error("the service is busy with large answers and requests; try again in {RETRY_AFTER_SECONDS} s")]
    Node,
}

impl NoRoom {
    /// The error code.
    pub(crate) const CODE: &str = "busy";
    pub(crate) const RETRY_AFTER_SECONDS: u64 = RETRY_AFTER_SECONDS;

    pub(crate) const fn status(self) -> StatusCode {
        match self {
            Self::Account => StatusCode::TOO_MANY_REQUESTS,
            Self::Node => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

impl Room {
    /// Room for `bytes_max` bytes.
    pub fn new(bytes_max: usize) -> Self {
        let kib_max = to_kib(bytes_max).max(ACCOUNT_SHARE);
        let (node, shares) = (Arc::new(Semaphore::new(kib_max as usize)), Mutex::default());
        let (refused_by_account, refused_by_node) = (AtomicU64::new(0), AtomicU64::new(0));
        Self(Arc::new(Shared { kib_max, node, shares, refused_by_account, refused_by_node }))
    }

    /// The room that a node with this much memory has.
    pub fn by_memory(memory_bytes: usize) -> Self {
        Self::new((memory_bytes / MEMORY_SHARE).max(BY_MEMORY_MIN))
    }

    /// How many bytes there are, and how many of them are taken.
    pub(crate) fn bytes(&self) -> (u64, u64) {
        let max = u64::from(self.0.kib_max);
        let free = self.0.node.available_permits() as u64;
        (max << 10, max.saturating_sub(free) << 10)
    }

    /// How many requests were refused because their account, or the node, had no room.
    pub(crate) fn refused(&self) -> (u64, u64) {
        (self.0.refused_by_account.load(Ordering::Relaxed), self.0.refused_by_node.load(Ordering::Relaxed))
    }

    /// Waits for room, for a little while. What needs more than an account may have gets all of that.
    pub(crate) async fn reserve(&self, whose: Whose, bytes: usize) -> Result<Held, NoRoom> {
        let mut held = self.unreserved(whose);
        if bytes < SMALL_BYTES {
            return Ok(held);
        }
        let (kib, lease) = (to_kib(bytes).min(self.share_kib()), Lease::new(self, whose));
        // Apart, because waiting is large and rare.
        held.taken = Some(match lease.take(kib) {
            Ok((of_node, of_account)) => Taken { of_node, of_account, lease },
            Err(_) => Box::pin(self.wait(lease, kib)).await?,
        });
        Ok(held)
    }

    async fn wait(&self, lease: Lease, kib: u32) -> Result<Taken, NoRoom> {
        let until = tokio::time::Instant::now() + PATIENCE;
        let of_account = tokio::time::timeout_at(until, Arc::clone(&lease.room).acquire_many_owned(kib)).await;
        let Ok(Ok(of_account)) = of_account else { return Err(self.refuse(NoRoom::Account)) };
        let of_node = tokio::time::timeout_at(until, Arc::clone(&self.0.node).acquire_many_owned(kib)).await;
        let Ok(Ok(of_node)) = of_node else { return Err(self.refuse(NoRoom::Node)) };
        Ok(Taken { of_node, of_account, lease })
    }

    /// No room yet: for an answer whose size is not known beforehand.
    pub(crate) fn unreserved(&self, whose: Whose) -> Held {
        Held { room: self.clone(), whose, taken: None }
    }

    fn share_kib(&self) -> u32 {
        self.0.kib_max / ACCOUNT_SHARE
    }

    fn refuse(&self, why: NoRoom) -> NoRoom {
        let Shared { refused_by_account, refused_by_node, .. } = &*self.0;
        let counter = if why == NoRoom::Account { refused_by_account } else { refused_by_node };
        counter.fetch_add(1, Ordering::Relaxed);
        why
    }
}

/// Room that was taken, given back when this is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    room: Room,
    whose: Whose,
    taken: Option<Taken>,
}

/// The order matters: an account's share is forgotten only after what was taken of it came back.
#[derive(Debug)]
struct Taken {
    of_node: OwnedSemaphorePermit,
    of_account: OwnedSemaphorePermit,
    lease: Lease,
}

impl Held {
    /// Adjusts the room to the answer's size once that is known: takes what is missing if it is free, and returns the
    /// rest.
    pub(crate) fn settle(&mut self, bytes: usize) -> Result<(), NoRoom> {
        if bytes < SMALL_BYTES {
            self.taken = None;
            return Ok(());
        }
        let kib = to_kib(bytes).min(self.room.share_kib()) as usize;
        let has = self.taken.as_ref().map_or(0, |taken| taken.of_node.num_permits());
        let more = u32::try_from(kib.saturating_sub(has)).unwrap_or(u32::MAX);
        let lease = self.taken.is_none().then(|| Lease::new(&self.room, self.whose));
        let share = lease.as_ref().or(self.taken.as_ref().map(|taken| &taken.lease)).expect("one of them is there");
        let (of_node, of_account) = share.take(more).map_err(|why| self.room.refuse(why))?;
        match (&mut self.taken, lease) {
            (Some(taken), _) => {
                taken.of_node.merge(of_node);
                taken.of_account.merge(of_account);
                // What is over goes back.
                drop(taken.of_node.split(has.saturating_sub(kib)));
                drop(taken.of_account.split(has.saturating_sub(kib)));
            }
            (None, Some(lease)) => self.taken = Some(Taken { of_node, of_account, lease }),
            (None, None) => {}
        }
        Ok(())
    }

    /// A body that keeps its room until its last byte is written or dropped. The HTTP library drops a body as soon as
    /// it has its bytes, and the bytes when the socket has taken them: so they carry the room, and not the body.
    pub(crate) fn carry(mut self, body: Bytes) -> Bytes {
        // Past here nothing is refused any more: the body is there, and soon on its way.
        let _ = self.settle(body.len());
        if self.taken.is_none() { body } else { Bytes::from_owner(Carried { body, _held: self }) }
    }
}

struct Carried {
    body: Bytes,
    _held: Held,
}

impl AsRef<[u8]> for Carried {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

/// A use of an account's share. The last one to end makes the service forget it.
#[derive(Debug)]
struct Lease {
    shared: Arc<Shared>,
    whose: Whose,
    room: Arc<Semaphore>,
}

impl Lease {
    fn new(room: &Room, whose: Whose) -> Self {
        let mut shares = room.0.shares.lock();
        let new = || Share { room: Arc::new(Semaphore::new(room.share_kib() as usize)), users: 0 };
        let share = shares.entry(whose).or_insert_with(new);
        share.users += 1;
        Self { shared: Arc::clone(&room.0), whose, room: Arc::clone(&share.room) }
    }

    /// Takes what is there at once, of the node and of the account.
    fn take(&self, kib: u32) -> Result<(OwnedSemaphorePermit, OwnedSemaphorePermit), NoRoom> {
        let of_account = Arc::clone(&self.room).try_acquire_many_owned(kib).map_err(|_| NoRoom::Account)?;
        let of_node = Arc::clone(&self.shared.node).try_acquire_many_owned(kib).map_err(|_| NoRoom::Node)?;
        Ok((of_node, of_account))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut shares = self.shared.shares.lock();
        if let Some(share) = shares.get_mut(&self.whose) {
            share.users -= 1;
            if share.users == 0 {
                shares.remove(&self.whose);
            }
        }
    }
}

fn to_kib(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(1 << 10)).unwrap_or(u32::MAX >> 1)
}

#[cfg(test)]
mod tests {
    use mnemon_core::AccountId;

    use super::*;

    const MB: usize = 1 << 20;

    fn account(n: u8) -> Whose {
        Some(AccountId::from_bytes([n; 16]))
    }

    fn taken(room: &Room) -> u64 {
        room.bytes().1
    }

    #[tokio::test]
    async fn an_account_takes_its_share_and_not_a_byte_more() {
        let room = Room::new(8 * MB);
        let held = room.reserve(account(1), 2 * MB).await.expect("a quarter is its own");
        assert_eq!(room.reserve(account(1), SMALL_BYTES).await.err(), Some(NoRoom::Account));
        assert!(room.reserve(account(1), SMALL_BYTES - 1).await.is_ok(), "what is small needs none");
        let others = [2, 3, 4].map(account);
        for whose in others {
            std::mem::forget(room.reserve(whose, 2 * MB).await.expect("others have theirs"));
        }
        assert_eq!(room.reserve(account(5), SMALL_BYTES).await.err(), Some(NoRoom::Node));
        assert_eq!((room.refused(), taken(&room)), ((1, 1), 8 * MB as u64));
        drop(held);
        assert!(room.reserve(account(5), 2 * MB).await.is_ok());
    }

    #[tokio::test]
    async fn who_waits_gets_what_comes_back_in_time() {
        let room = Room::new(4 * MB);
        let held = room.reserve(account(1), MB).await.expect("there is room");
        let waiting = tokio::spawn({
            let room = room.clone();
            async move { room.reserve(account(1), MB).await.map(drop) }
        });
        tokio::time::sleep(PATIENCE / 2).await;
        drop(held);
        assert_eq!(waiting.await.unwrap(), Ok(()));
        assert_eq!(taken(&room), 0);
    }

    #[tokio::test]
    async fn a_body_keeps_its_own_size_until_its_last_byte_is_gone() {
        let room = Room::new(64 * MB);
        let held = room.reserve(account(1), 4 * MB).await.expect("there is room");
        let body = held.carry(vec![b'x'; MB].into());
        assert_eq!((body.len(), taken(&room)), (MB, MB as u64));
        let rest = body.slice(MB - 1..);
        drop(body);
        assert_eq!(taken(&room), MB as u64, "a byte of it is not sent yet");
        drop(rest);
        assert_eq!(taken(&room), 0);
        assert!(room.0.shares.lock().is_empty(), "nothing is remembered of an account that holds nothing");
    }

    #[tokio::test]
    async fn what_turns_out_larger_takes_the_rest_or_is_refused() {
        let room = Room::new(16 * MB);
        let mut held = room.reserve(account(1), 0).await.expect("it needs none");
        assert_eq!((held.settle(MB), taken(&room)), (Ok(()), MB as u64));
        assert_eq!((held.settle(3 * MB), taken(&room)), (Ok(()), 3 * MB as u64));
        let other = room.reserve(account(1), MB).await.expect("the last quarter of its share");
        assert_eq!((held.settle(4 * MB), taken(&room)), (Err(NoRoom::Account), 4 * MB as u64));
        drop(other);
        assert_eq!((held.settle(1), taken(&room)), (Ok(()), 0), "what is small gives all of it back");
    }

    #[tokio::test]
    async fn one_answer_larger_than_a_share_still_gets_through_alone() {
        let room = Room::new(4 * MB);
        let held = room.reserve(account(1), 9 * MB).await.expect("it gets the whole share");
        assert_eq!(taken(&room), MB as u64);
        assert_eq!(held.carry(vec![b'x'; 9 * MB].into()).len(), 9 * MB);
    }
}
