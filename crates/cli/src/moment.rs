//! Times on the command line: as the service reads them, or in words such as `tomorrow` and `3 days ago`.

use anyhow::bail;
use mnemon_core::{Clock, moments};
use mnemon_engine::{SystemClock, days_of};

/// What a time in words begins or ends: the first or the last day that it means.
#[derive(Clone, Copy)]
pub enum Side {
    First,
    Last,
}

/// A time for the service: words become a date, everything else stays as it is.
pub fn date(text: Option<&String>, side: Side) -> Option<String> {
    let text = text?;
    let Some((first, last)) = days_of(text, SystemClock.now()) else { return Some(text.clone()) };
    let day = match side {
        Side::First => first,
        Side::Last => last,
    };
    Some(day.map_or_else(|| text.clone(), |day| day.to_string()))
}

/// The moment at which a day begins, or the moment that is given.
pub fn moment(text: Option<&String>) -> Option<String> {
    let text = date(text, Side::First)?;
    Some(moments(text.trim()).map_or(text, |(first, _)| first.to_string()))
}

/// A range for the service: words become the days that they mean.
pub fn range(text: Option<&String>) -> anyhow::Result<Option<String>> {
    let Some(text) = text else { return Ok(None) };
    match days_of(text, SystemClock.now()) {
        None => Ok(Some(text.clone())),
        Some((Some(first), Some(last))) if first == last => Ok(Some(first.to_string())),
        Some((Some(first), Some(last))) => Ok(Some(format!("{first}/{last}"))),
        Some(_) => bail!("\"{text}\" has no begin or no end; give a date, or a range such as 2027-01-01/2027-01-31"),
    }
}
