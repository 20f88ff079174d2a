//! SQLite runs the conformance tests.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use mnemon_store::conformance::Engine;
use mnemon_store::sqlite::SqliteStore;

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

mnemon_store::conformance!(|| Box::pin(make()));
