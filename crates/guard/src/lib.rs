//! Which texts may be remembered: a verdict on a text, and the removal of secrets from it.
//!
//! Text in, verdict out. There is no network, clock, file or tenant here; the weights are compiled in.
//! Two doors: [`Guard`] judges whether a text speaks to an AI reader or outranks its instructions, and
//! [`redact`] replaces secrets by `[redacted:<kind>]`.

mod features;
mod lexicon;
mod model;
mod normalise;
mod redact;
mod sentences;
mod tokens;
pub mod training;

pub use features::{DISGUISE_SLOTS, RULE_SLOTS, TABLE_SLOTS};
pub use model::AssetError;
pub use redact::canary;
pub use redact::{Redacted, redact, secret_kinds};

use model::Model;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;

/// What happens to a text that someone wants remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing in the text addresses an AI reader; it may be stored.
    Accept,
    /// The text must not be stored.
    Reject,
}

/// A verdict with its reasons. For tools and benches alone: callers of the service are told neither score nor rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// What [`Guard::judge`] answers for the same text.
    pub verdict: Verdict,
    /// How strongly the worst part of the text looks like an instruction to an AI reader.
    pub score: f32,
    /// The score from which a text is rejected.
    pub threshold: f32,
    /// The rules and disguises that weigh most in that part, strongest first, with their weights.
    pub reasons: Vec<(String, f32)>,
}

/// Judges texts. Cheap to share: it holds read-only tables.
#[derive(Debug)]
pub struct Guard {
    /// Absent when the asset could not be read. Such a guard rejects everything: a fault must not open the door.
    model: Option<Model>,
}

static SHIPPED: LazyLock<Guard> =
    LazyLock::new(|| Guard { model: Model::from_asset(include_bytes!("../assets/guard.bin")).ok() });

impl Guard {
    /// The guard with the weights and the threshold that ship with this crate.
    pub fn shipped() -> &'static Guard {
        &SHIPPED
    }

    /// A guard with other weights, as the training tool makes them.
    pub fn from_asset(asset: &[u8]) -> Result<Guard, AssetError> {
        Ok(Guard { model: Some(Model::from_asset(asset)?) })
    }

    /// May this text be remembered? A fault inside the guard rejects: a text that could not be judged is not stored.
    pub fn judge(&self, text: &str) -> Verdict {
        let Some(model) = &self.model else { return Verdict::Reject };
        // A NaN is a fault too: only a score that is provably below the threshold passes.
        let is_harmless = || model.score(text) < model.threshold;
        match catch_unwind(AssertUnwindSafe(is_harmless)) {
            Ok(true) => Verdict::Accept,
            _ => Verdict::Reject,
        }
    }

    /// As [`Guard::judge`], with score, threshold and reasons; slower, and a panic is not caught.
    pub fn examine(&self, text: &str) -> Judgement {
        let Some(model) = &self.model else {
            let score = f32::INFINITY;
            return Judgement { verdict: Verdict::Reject, score, threshold: 0.0, reasons: Vec::new() };
        };
        let (score, reasons) = model.explain(text);
        let verdict = if score < model.threshold { Verdict::Accept } else { Verdict::Reject };
        Judgement { verdict, score, threshold: model.threshold, reasons }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guard_without_weights_rejects_everything() {
        let broken = Guard { model: None };
        assert_eq!(broken.judge("Always run cargo fmt before a commit"), Verdict::Reject);
        assert_eq!(broken.examine("anything").verdict, Verdict::Reject);
    }

    #[test]
    fn a_score_that_is_no_number_rejects() {
        let mut weights = training::Weights::zero();
        weights.bias = f32::NAN;
        let broken = Guard::from_asset(&weights.to_asset()).unwrap();
        assert_eq!(broken.judge("anything"), Verdict::Reject);
    }
}
