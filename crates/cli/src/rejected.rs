//! A text that the guard refused.

use std::error::Error;
use std::fmt::{self, Display, Formatter};

/// What the service said, and the reference by which an admin finds the text and can release it.
#[derive(Debug)]
pub struct Rejected {
    pub cause: String,
    pub reference: String,
}

impl Display for Rejected {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { cause, reference } = self;
        write!(f, "{cause} (reference {reference}; an admin can release the text with it)")
    }
}

impl Error for Rejected {}
