//! For tests: a real server on port 0, callers that act through the public interface, and a clock that stands still.
