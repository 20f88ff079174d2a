//! What the training tool needs of this crate, in one place. The service does not use it.

pub use crate::asset::{LANES, Row, Thresholds, Weights};
pub use crate::specimen::{SentenceGrams, Specimen, Unit, plain_spelling};
