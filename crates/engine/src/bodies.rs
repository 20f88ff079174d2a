//! Whole records that answers showed, with their JSON: true because the index of their workspace, which follows the
//! log, takes out what the log says something about before it counts as current. What a record shows besides itself
//! (its author's name, say) has a version, which comes with every credential. So a call never gets less than what was
//! true when it began, and a search that finds all of its records here reads no text from storage.
//!
//! Records of a dropped index are never found again and are evicted with the oldest.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use lru::LruCache;
use mnemon_core::{Record, Seq};
use mnemon_protocol::tool_result::RecordText;
use parking_lot::Mutex;

/// What a record takes besides its texts: its struct, its place in the list, its allocations.
const RECORD_BYTES: usize = size_of::<Body>() + 192;

/// A record, and its JSON once somebody has shown it.
#[derive(Debug)]
pub struct Body {
    pub record: Record,
    /// See [`mnemon_store::Credential::account_version`].
    account_version: u64,
    text: OnceLock<RecordText>,
    /// The bytes of all bodies, from which this one takes its own away when it goes.
    all_bytes: Arc<AtomicUsize>,
    bytes: AtomicUsize,
}

impl Body {
    /// Its JSON, which the first one to show it makes.
    pub fn text(&self, write: impl FnOnce(&Record) -> RecordText) -> &RecordText {
        self.text.get_or_init(|| {
            let text = write(&self.record);
            self.count(text.size_bytes());
            text
        })
    }

    fn count(&self, bytes: usize) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.all_bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        self.all_bytes.fetch_sub(*self.bytes.get_mut(), Ordering::Relaxed);
    }
}

/// The bodies of all indexes of this node, least recently used out first.
pub(crate) struct Bodies {
    bytes_max: usize,
    bytes: Arc<AtomicUsize>,
    shelves: AtomicU64,
    kept: Mutex<LruCache<(u64, Seq), Arc<Body>>>,
}

/// Where the bodies of one index are kept.
pub(crate) struct Shelf {
    no: u64,
    /// Counts what the log said about kept records. A result that was read from storage before must not be put here
    /// after.
    changes: AtomicU64,
}

/// When a search began to read bodies.
#[derive(Clone, Copy)]
pub(crate) struct Moment(u64);

impl Bodies {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { bytes_max, bytes: Arc::default(), shelves: AtomicU64::new(0), kept: Mutex::new(LruCache::unbounded()) }
    }

    /// How many bytes they take, and how many they may.
    pub(crate) fn size(&self) -> (usize, usize) {
        (self.bytes.load(Ordering::Relaxed), self.bytes_max)
    }

    pub(crate) fn new_shelf(&self) -> Shelf {
        Shelf { no: self.shelves.fetch_add(1, Ordering::Relaxed), changes: AtomicU64::new(0) }
    }

    /// A body of a record that was just read. It counts from now on, kept or not.
    pub(crate) fn body(&self, record: Record, account_version: u64) -> Body {
        let bytes = RECORD_BYTES + text_bytes(&record);
        let (text, all_bytes) = (OnceLock::new(), Arc::clone(&self.bytes));
        let body = Body { record, account_version, text, all_bytes, bytes: AtomicUsize::new(0) };
        body.count(bytes);
        body
    }

    /// The kept ones of these records, each at its position, if they show at least that account_version; and the moment
    /// to pass to [`Self::keep`].
    pub(crate) fn find(
        &self,
        shelf: &Shelf,
        account_version: u64,
        seqs: impl Iterator<Item = Seq>,
    ) -> (Vec<Option<Arc<Body>>>, Moment) {
        let moment = Moment(shelf.changes.load(Ordering::SeqCst));
        let mut kept = self.kept.lock();
        let found =
            seqs.map(|seq| kept.get(&(shelf.no, seq)).filter(|body| body.account_version >= account_version).cloned());
        (found.collect(), moment)
    }

    /// Keeps bodies that were read since that moment, unless the log has said something since: they may be older.
    pub(crate) fn keep(&self, shelf: &Shelf, moment: Moment, bodies: &[Arc<Body>]) {
        let mut gone = Vec::new();
        let mut kept = self.kept.lock();
        if shelf.changes.load(Ordering::SeqCst) != moment.0 {
            return;
        }
        for body in bodies {
            gone.extend(kept.push((shelf.no, body.record.seq), Arc::clone(body)).map(|(_, old)| old));
            // Whatever holds too much goes at once, so that a search with many large records can't push the limit.
            while self.bytes.load(Ordering::Relaxed) > self.bytes_max {
                let Some((_, oldest)) = kept.pop_lru() else { break };
                drop(oldest);
            }
        }
        drop(kept);
        // Old bodies are dropped without the lock.
        drop(gone);
    }

    /// Drops what the log says something about.
    pub(crate) fn forget(&self, shelf: &Shelf, seqs: impl Iterator<Item = Seq>) {
        // Bump the counter before removing: a reader that still sees the old counter inserts before the removal below.
        shelf.changes.fetch_add(1, Ordering::SeqCst);
        let mut kept = self.kept.lock();
        for seq in seqs {
            kept.pop(&(shelf.no, seq));
        }
    }

    #[cfg(test)]
    fn size_bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }
}

fn text_bytes(record: &Record) -> usize {
    let names = [&record.author_name, &record.department_name];
    record.text_bytes() + names.into_iter().flatten().map(String::len).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mnemon_core::{Audience, Fact, FactKey, MemberId, RecordId, Timestamp, WorkspaceName, WorkspaceNo};
    use mnemon_protocol::memory::{RecordHead, RecordRest};

    fn record(seq: u64, content: &str) -> Record {
        Record {
            id: RecordId::from_bytes([1; 16]),
            seq: Seq(seq),
            workspace_no: WorkspaceNo(1),
            workspace: WorkspaceName::default(),
            audience: Audience::Shared,
            author: MemberId::from_bytes([2; 16]),
            author_name: None,
            department_name: None,
            fact_key: FactKey::given("key").unwrap(),
            fact: Fact::new(content),
            is_cautioned: false,
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
        }
    }

    fn text(record: &Record) -> RecordText {
        let head = RecordHead {
            id: String::new(),
            workspace: "".into(),
            scope: "".into(),
            content: record.fact.content.as_str().into(),
            fact_key: "key".into(),
        };
        let rest = RecordRest {
            source: None,
            source_id: None,
            source_hash: None,
            source_revision: None,
            confidence: None,
            author: None,
            department: None,
            tags: Vec::new(),
            occurred_at: None,
            valid_until: None,
            created_at: String::new(),
            updated_at: None,
            caution: None,
        };
        RecordText::new(&head, &rest)
    }

    /// Keeps a record as a search does.
    fn keep(bodies: &Bodies, shelf: &Shelf, seq: u64, content: &str) {
        let (_, moment) = bodies.find(shelf, 0, std::iter::empty());
        bodies.keep(shelf, moment, &[Arc::new(bodies.body(record(seq, content), 0))]);
    }

    fn find(bodies: &Bodies, shelf: &Shelf, account_version: u64, seq: u64) -> Option<String> {
        let (mut found, _) = bodies.find(shelf, account_version, std::iter::once(Seq(seq)));
        found.pop().flatten().map(|body| body.record.fact.content.clone())
    }

    #[test]
    fn a_body_is_found_on_its_shelf_until_the_log_says_something_about_it() {
        let bodies = Bodies::new(1 << 20);
        let (shelf, other) = (bodies.new_shelf(), bodies.new_shelf());
        keep(&bodies, &shelf, 1, "one");
        keep(&bodies, &shelf, 2, "two");
        assert_eq!(find(&bodies, &shelf, 0, 1).as_deref(), Some("one"));
        assert_eq!(find(&bodies, &other, 0, 1), None);
        bodies.forget(&shelf, std::iter::once(Seq(1)));
        assert_eq!(find(&bodies, &shelf, 0, 1), None);
        assert_eq!(find(&bodies, &shelf, 0, 2).as_deref(), Some("two"));
    }

    #[test]
    fn a_body_with_old_names_is_not_found() {
        let bodies = Bodies::new(1 << 20);
        let shelf = bodies.new_shelf();
        keep(&bodies, &shelf, 1, "one");
        assert_eq!(find(&bodies, &shelf, 1, 1), None);
        assert_eq!(find(&bodies, &shelf, 0, 1).as_deref(), Some("one"), "a call that began before still takes it");
    }

    #[test]
    fn a_body_read_before_a_change_is_not_kept_after_it() {
        let bodies = Bodies::new(1 << 20);
        let shelf = bodies.new_shelf();
        let (_, moment) = bodies.find(&shelf, 0, std::iter::once(Seq(1)));
        let read = Arc::new(bodies.body(record(1, "old"), 0));
        bodies.forget(&shelf, std::iter::once(Seq(1)));
        bodies.keep(&shelf, moment, &[read]);
        assert_eq!(find(&bodies, &shelf, 0, 1), None);
    }

    #[test]
    fn the_limit_holds_exactly_and_the_oldest_goes_first() {
        let one = Bodies::new(usize::MAX).body(record(1, "0123456789"), 0).bytes.load(Ordering::Relaxed);
        let bodies = Bodies::new(3 * one);
        let shelf = bodies.new_shelf();
        for seq in 1..=3 {
            keep(&bodies, &shelf, seq, "0123456789");
        }
        assert_eq!(bodies.size_bytes(), 3 * one);
        assert!(find(&bodies, &shelf, 0, 1).is_some(), "at the limit all are there; this one is now the newest");
        keep(&bodies, &shelf, 4, "0123456789");
        assert_eq!(bodies.size_bytes(), 3 * one);
        let there: Vec<bool> = (1..=4).map(|seq| find(&bodies, &shelf, 0, seq).is_some()).collect();
        assert_eq!(there, [true, false, true, true]);
        keep(&bodies, &shelf, 5, &"x".repeat(3 * one));
        assert_eq!(bodies.size_bytes(), 0, "what is larger than the limit is not kept");
    }

    #[test]
    fn json_counts_once_and_is_made_once() {
        let bodies = Bodies::new(1 << 20);
        let body = bodies.body(record(1, "text"), 0);
        let before = bodies.size_bytes();
        let made = body.text(text).size_bytes();
        assert_eq!(body.text(|_| unreachable!("it was made")).size_bytes(), made);
        assert_eq!(bodies.size_bytes(), before + made);
        drop(body);
        assert_eq!(bodies.size_bytes(), 0);
    }
}
