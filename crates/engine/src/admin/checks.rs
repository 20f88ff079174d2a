//! What names and labels may look like. Search results show names of people and departments, so agents read them; the
//! guard judges them like any other stored text. A secret in a name is an error and not replaced: people would look for
//! the name that they gave.

use mnemon_guard::{Field, redact};

use super::{AdminContext, AdminError};
use crate::Engine;

const NAME_CHARS_MAX: usize = 128;

impl Engine {
    /// A trimmed, visible name that gives no orders.
    pub(super) async fn check_name(&self, ctx: &AdminContext, field: &str, text: &str) -> Result<String, AdminError> {
        let text = text.trim();
        let is_valid =
            !text.is_empty() && text.chars().count() <= NAME_CHARS_MAX && !text.chars().any(char::is_control);
        if !is_valid {
            let message = format!("{field} must be 1 to {NAME_CHARS_MAX} characters long, without control characters");
            return Err(AdminError::Invalid(message));
        }
        if let Some((kind, _)) = redact(text).kinds.first() {
            return Err(AdminError::Invalid(format!("{field} holds a secret ({kind}); leave it out")));
        }
        if self.is_refused_label(ctx.call(), &[Field::Name], text).await? {
            return Err(AdminError::Invalid(format!("{field} was rejected by Mnemon Guard")));
        }
        Ok(text.to_owned())
    }
}
