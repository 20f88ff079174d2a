//! The stories that every engine has to pass, unchanged. An engine's test file names its constructor once:
//!
//! ```ignore
//! mnemon_store::conformance!(|| Box::pin(make_engine()));
//! ```
//!
//! To add a story: write it in the file of its trait and put its name into the list below.

mod fixtures;
mod stories;

pub use fixtures::*;
pub use stories::*;

/// Declares one test per story, each with an engine of its own.
#[macro_export]
macro_rules! conformance {
    ($make:expr) => {
        $crate::conformance!(@each $make;
            a_saved_record_comes_back
        );
    };
    (@each $make:expr; $($story:ident)*) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $story() {
            let make: $crate::conformance::MakeEngine = $make;
            $crate::conformance::$story(make).await;
        }
    )*};
}
