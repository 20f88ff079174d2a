//! For tests: a real server on port 0 over a real store in its own directory, callers that act through the public
//! interface, a clock that moves only when told, and ids that count. Only the builders here touch the store directly.

mod admin;
mod caller;
mod chance;
mod console;
pub mod faults;
pub mod oauth;
mod people;
pub mod postgres;
pub mod process;
mod recorder;
mod server;
pub mod transcripts;
mod upstream;
mod waiting;
mod web;
pub mod wire;

pub use caller::{Answer, Caller, ToolAnswer};
pub use chance::{CountedIds, TestClock};
pub use console::{ConsoleVisitor, hidden};
pub use people::{MemberSpec, Organization};
pub use recorder::{Exchange, Recorder};
pub use server::{TestServer, TestServerOptions, TestStore};
pub use upstream::{Recorded, Speaks, TestUpstream, Trick, read_tool, write_tool};
pub use waiting::eventually;
pub use web::{Page, Web};
