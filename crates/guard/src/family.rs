//! What a found text does, as a person is told who has to decide about it. Callers are never told.

use crate::lexicon::{ClassSet, Lexicon};
use crate::markup::Frame;
use crate::normalise::Disguises;

/// The kind of thing that the guard found, the gravest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// The guard itself failed.
    Unjudged,
    Hidden,
    Framed,
    Cancels,
    Conceals,
    Sends,
    Role,
    Approves,
    Standing,
    Orders,
    Wording,
}

/// Families by word classes: one of the first and one of the second. The first row that fits is told.
const BY_CLASSES: &[(Family, &[&str], &[&str])] = &[
    (Family::Cancels, &["cancel"], &["orders", "prior", "safety"]),
    (Family::Conceals, &["hide", "never"], &["tell"]),
    (Family::Sends, &["send"], &["secret", "link"]),
    (Family::Role, &["persona", "unbound", "speaker-claim"], &["you", "reader", "reader-name", "orders", "persona"]),
    (
        Family::Approves,
        &["allow", "deceive", "verdict", "sabotage"],
        &["reader", "reader-name", "you", "duty", "output"],
    ),
    (Family::Standing, &["future", "occasion", "condition"], &["reader", "reader-name", "you", "duty", "output"]),
    (
        Family::Orders,
        &["reader", "reader-name", "you", "task", "reading"],
        &["duty", "act", "orders", "output", "task"],
    ),
];

impl Family {
    pub(crate) fn of(disguises: &Disguises, frame: Frame, classes: ClassSet, lexicon: &Lexicon) -> Self {
        if disguises.is_hiding() || disguises.base64_texts > 0 || disguises.ciphered_sentences > 0 {
            return Self::Hidden;
        }
        if matches!(frame, Frame::Call | Frame::Open(_) | Frame::Turns) {
            return Self::Framed;
        }
        let has = |names: &[&str]| names.iter().any(|name| lexicon.has(classes, name));
        let found = BY_CLASSES.iter().find(|(_, first, second)| has(first) && has(second));
        found.map_or(Self::Wording, |(family, ..)| *family)
    }

    /// A clause about the text.
    pub const fn as_words(self) -> &'static str {
        match self {
            Self::Unjudged => "could not be judged",
            Self::Hidden => "hides words by encoding or by invisible characters",
            Self::Framed => "imitates a tool call or a turn of a conversation",
            Self::Cancels => "tells assistants to ignore instructions or checks",
            Self::Conceals => "tells assistants to keep something from people",
            Self::Sends => "tells assistants to send data elsewhere",
            Self::Role => "gives assistants another role",
            Self::Approves => "asks assistants for an approval or a false answer",
            Self::Standing => "gives assistants an order for later",
            Self::Orders => "gives assistants an order",
            Self::Wording => "is worded like orders to assistants",
        }
    }
}
