//! The local agent as an assistant starts it: the real program, its standard input and output, a real service behind
//! it.

mod away;
mod bytes;
mod consenting;
mod hooks;
mod installing;
mod process;
mod prompts;
mod proxying;
mod secrets;
mod syncing;
mod transcripts;
