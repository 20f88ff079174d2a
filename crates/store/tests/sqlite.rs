//! SQLite runs the conformance tests, and leaves out what somebody else has damaged.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use mnemon_core::Seq;
use mnemon_store::Store;
use mnemon_store::sqlite::SqliteStore;
use mnemon_store_conformance::{Engine, House, check_that_a_damaged_record_is_left_out};
use rusqlite::Connection;

/// A directory that goes when its test does.
struct Ground(PathBuf);

impl Ground {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("mnemon-store-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

async fn make() -> Engine {
    let ground = Ground::new();
    let store = SqliteStore::open(&ground.0).expect("an empty directory opens");
    Engine { store: Arc::new(store), ground: Box::new(ground) }
}

#[tokio::test]
async fn a_damaged_record_takes_no_other_with_it() {
    let ground = Ground::new();
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&ground.0).expect("an empty directory opens"));
    let house = House::build(&store).await;
    let damage = async |seq: Seq| {
        let file = Connection::open(ground.0.join("mnemon.db")).unwrap();
        file.execute("UPDATE record SET content = 'another' WHERE seq = ?1", [seq.0.cast_signed()]).unwrap();
    };
    check_that_a_damaged_record_is_left_out(&house, damage).await;
}

mnemon_store_conformance::conformance!(|| Box::pin(make()));
