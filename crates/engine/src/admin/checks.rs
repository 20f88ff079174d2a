//! What names and labels may look like. Names of people and departments stand in search results, so agents read them,
//! and the guard judges them like any other text that is stored.

use mnemon_guard::{Field, Guard, Verdict};

use super::AdminError;

const NAME_CHARS_MAX: usize = 128;

/// A trimmed, visible name that gives no orders.
pub(super) fn name(guard: &Guard, field: &str, text: &str) -> Result<String, AdminError> {
    let text = text.trim();
    let is_valid = !text.is_empty() && text.chars().count() <= NAME_CHARS_MAX && !text.chars().any(char::is_control);
    if !is_valid {
        let message = format!("{field} must be 1 to {NAME_CHARS_MAX} characters without control characters");
        return Err(AdminError::Invalid(message));
    }
    if guard.judge(Field::Name, text) == Verdict::Refuse {
        return Err(AdminError::Invalid(format!("{field} was rejected by Mnemon Guard")));
    }
    Ok(text.to_owned())
}
