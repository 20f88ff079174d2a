//! PostgreSQL runs the conformance tests.

use std::sync::Arc;

use mnemon_store_conformance::Engine;

use crate::{database, node};

async fn make() -> Engine {
    let database = database();
    let store = node(&database.url).await;
    Engine { store: Arc::new(store), ground: Box::new(database) }
}

mnemon_store_conformance::conformance!(|| Box::pin(make()));
