//! What systems do differently, under one name each. A file in `unix` and one in `windows` answer the same questions;
//! nothing outside this crate asks which system it runs on, except for what only Linux has.

#[cfg_attr(unix, path = "unix/files.rs")]
#[cfg_attr(windows, path = "windows/files.rs")]
pub mod files;
pub mod places;
#[cfg_attr(unix, path = "unix/process.rs")]
#[cfg_attr(windows, path = "windows/process.rs")]
pub mod process;
#[cfg_attr(unix, path = "unix/signals.rs")]
#[cfg_attr(windows, path = "windows/signals.rs")]
pub mod signals;
#[cfg_attr(unix, path = "unix/system.rs")]
#[cfg_attr(windows, path = "windows/system.rs")]
pub mod system;
#[cfg_attr(unix, path = "unix/terminal.rs")]
#[cfg_attr(windows, path = "windows/terminal.rs")]
pub mod terminal;
