//! Secrets out of the texts that calls bring in, before anything is stored, looked up or shown. Names are cleaned where
//! they are looked up too: what was saved under a cleaned name is found by the name that the caller knows.

use mnemon_core::WorkspaceName;
use mnemon_guard::redact;

use crate::CallError;

/// Replaces secrets, and counts them.
#[derive(Debug, Default)]
pub(crate) struct Cleaner {
    /// How many were replaced so far.
    pub(crate) count: usize,
}

impl Cleaner {
    /// Cleans one text.
    pub(crate) fn text(&mut self, text: &mut String) {
        let redacted = redact(text);
        self.count += redacted.count;
        if redacted.count > 0 {
            *text = redacted.text.into_owned();
        }
    }

    /// Cleans the name of a workspace. A mark can be longer than what it replaces, so the name is checked again.
    pub(crate) fn workspace(&mut self, name: &mut WorkspaceName) -> Result<(), CallError> {
        let redacted = redact(name.as_str());
        self.count += redacted.count;
        if redacted.count > 0 {
            let clean = WorkspaceName::parse(&redacted.text)?;
            *name = clean;
        }
        Ok(())
    }
}

/// A name that is looked up, as it would have been saved.
pub(crate) fn cleaned(mut text: String) -> String {
    Cleaner::default().text(&mut text);
    text
}

/// The name of a workspace that is looked up, as it would have been saved.
pub(crate) fn cleaned_workspace(mut name: WorkspaceName) -> Result<WorkspaceName, CallError> {
    Cleaner::default().workspace(&mut name)?;
    Ok(name)
}
