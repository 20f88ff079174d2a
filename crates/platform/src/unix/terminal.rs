//! The terminal of a person.

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

/// How wide the terminal is, if there is one.
pub fn columns() -> Option<usize> {
    let size = tcgetwinsize(std::io::stdout()).ok()?;
    Some(usize::from(size.ws_col))
}

/// Nothing has to be asked for: terminals show colours.
pub fn prepare() {}

/// A terminal that does not show what is typed, until this is dropped.
pub struct Quiet(Option<Termios>);

impl Quiet {
    pub fn begin() -> Self {
        let before = tcgetattr(std::io::stdin()).ok();
        if let Some(mut quiet) = before.clone() {
            quiet.local_modes.remove(LocalModes::ECHO);
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &quiet);
        }
        Self(before)
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, before);
        }
    }
}
