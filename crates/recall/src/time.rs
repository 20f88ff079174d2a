//! When: phrases of time in a query, dates in texts. Whole days of UTC; weeks begin on Monday. What a window does to
//! the order stands in `search/ranking/time.rs`.

mod calendar;
mod dates;
mod phrase;
mod reader;
mod tokens;
mod vocabulary;

pub use calendar::{Day, Days, civil, day_of};
pub(crate) use dates::dates_in;
pub use phrase::{TimePhrase, time_phrase};
