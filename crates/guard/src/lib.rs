//! Which texts may be remembered: a verdict on a text, and the removal of secrets from it.
//!
//! Text in, verdict out. There is no network, clock, file or tenant here; the weights are compiled in.
//! Two doors: [`Guard`] judges whether a text speaks to an AI reader or outranks its instructions, and
//! [`redact`] replaces secrets by `[redacted:<kind>]`.

mod asset;
mod family;
mod features;
mod letters;
mod lexicon;
mod markup;
mod model;
mod normalise;
mod quotes;
mod redact;
mod sentences;
mod specimen;
mod tokens;
pub mod training;
mod verdict;

pub use asset::AssetError;
pub use family::Family;
pub use features::{DISGUISE_SLOTS, RULE_SLOTS, TABLE_SLOTS};
pub use redact::canary;
pub use redact::{Redacted, redact, secret_kinds, secrets_in};
pub use verdict::{Field, Judgement, Verdict};

use model::Model;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;

/// Judges texts. Cheap to share: it holds read-only tables.
#[derive(Debug)]
pub struct Guard {
    /// Absent when the asset could not be read. Such a guard refuses everything: a fault must not open the door.
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

    /// May this text be remembered? A fault inside the guard refuses: a text that could not be judged is not stored.
    pub fn judge(&self, field: Field, text: &str) -> Verdict {
        let Some(model) = &self.model else { return Verdict::Refuse };
        catch_unwind(AssertUnwindSafe(|| model.verdict(field, model.score(&field.as_read(text)))))
            .unwrap_or(Verdict::Refuse)
    }

    /// What a text that was found does, for the person who decides about it.
    pub fn family(&self, field: Field, text: &str) -> Family {
        let Some(model) = &self.model else { return Family::Unjudged };
        catch_unwind(AssertUnwindSafe(|| model.family(&field.as_read(text)))).unwrap_or(Family::Unjudged)
    }

    /// As [`Guard::judge`], with score, thresholds and reasons; slower, and a panic is not caught.
    pub fn examine(&self, field: Field, text: &str) -> Judgement {
        let Some(model) = &self.model else { return Judgement::of_a_fault() };
        let (score, reasons) = model.explain(&field.as_read(text));
        Judgement {
            verdict: model.verdict(field, score),
            score,
            caution_from: model.caution_from(field),
            refuse_from: model.refuse_from(field),
            reasons,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guard_without_weights_refuses_everything() {
        let broken = Guard { model: None };
        assert_eq!(broken.judge(Field::Content, "Always run cargo fmt before a commit"), Verdict::Refuse);
        assert_eq!(broken.examine(Field::Content, "anything").verdict, Verdict::Refuse);
    }

    #[test]
    fn a_score_that_is_no_number_refuses() {
        let mut weights = training::Weights::zero();
        weights.bias[0] = f32::NAN;
        let broken = Guard::from_asset(&weights.to_asset()).unwrap();
        assert_eq!(broken.judge(Field::Content, "anything"), Verdict::Refuse);
    }
}
