//! Smoke.

use super::{House, MakeEngine};

/// A saved record comes back.
pub async fn a_saved_record_comes_back(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let seq = house.save_text("the boiler code is 4711").await;
    assert_eq!(house.load(seq).await.expect("it is there").content, "the boiler code is 4711");
    assert_eq!(house.last_seq().await, seq);
    engine.store.check().await.expect("all is well");
    engine.store.close().await;
}
