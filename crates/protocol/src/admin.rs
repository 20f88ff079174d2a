//! The JSON of the admin API: requests and answers, by subject. The server and the command line share these types, so
//! each is both written and read.

mod accounts;
mod audit;
mod context;
mod explaining;
mod guard;
mod integrations;
mod keys;
mod overview;
mod people;
mod records;
mod sources;

use serde::{Deserialize, Deserializer};

pub use accounts::*;
pub use audit::*;
pub use context::*;
pub use explaining::*;
pub use guard::*;
pub use integrations::*;
pub use keys::*;
pub use overview::*;
pub use people::*;
pub use records::*;
pub use sources::*;

/// Distinguishes an absent member (keep) from `null` (remove).
fn changed<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(deserializer).map(Some)
}
