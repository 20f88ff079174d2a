//! Where the time of a request goes. The parts of the service open spans with [`span!`]; unless traces are configured,
//! there is no listener and a span costs a comparison. [`TraceLayer`] gathers those that ended, and [`otlp`] writes
//! them as OpenTelemetry wants them. Who sends them where is not decided here.
//!
//! A span has a name and fields with words from fixed lists, numbers and our own ids: no text, no name that a tenant
//! chose and no credential.

mod layer;
pub mod otlp;
mod parent;

pub use layer::{TraceLayer, current_traceparent};
pub use parent::TraceParent;
// For the macro.
pub use tracing;

/// The target of our spans. No module has a name that begins with it: a filter of the log would take that for it
/// too.
pub const TARGET: &str = "mnemon_spans";

/// The span that a trace begins with on this node. Spans outside of one are left out.
pub const ROOT: &str = "request";

/// Opens a span: `span!("rank")`, or with fields, `span!("tool", mnemon.tool = "search")`.
#[macro_export]
macro_rules! span {
    ($name:expr) => {
        $crate::tracing::trace_span!(target: $crate::TARGET, $name)
    };
    ($name:expr, $($fields:tt)*) => {
        $crate::tracing::trace_span!(target: $crate::TARGET, $name, $($fields)*)
    };
}

/// A span that has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    pub trace: [u8; 16],
    pub id: [u8; 8],
    pub parent: Option<[u8; 8]>,
    pub name: String,
    pub kind: Kind,
    /// Nanoseconds since 1970.
    pub began: u64,
    pub ended: u64,
    pub fields: Vec<(&'static str, Value)>,
    /// Whether the step failed, by a fault of ours or of the other side.
    pub is_failed: bool,
}

/// Which side of a call a span is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Internal,
    Server,
    Client,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Text(String),
    Number(i64),
    Flag(bool),
}
