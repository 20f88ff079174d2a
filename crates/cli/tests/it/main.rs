//! Commands as a person types them, against the real binary: exit code, standard output, standard error.
//!
//! To add a story: a file here, a line below. `process.rs` starts the service and runs commands in a directory of their
//! own, without the settings of the person who runs the tests.

mod admin;
mod agent;
mod backup;
mod config;
mod doctor;
mod first_day;
mod guide;
mod links;
mod logs;
mod moving;
mod operations;
mod outages;
mod packaging;
mod postgres;
mod process;
mod proxies;
mod serve;
mod stopping;
mod systemd;
mod terminal;
mod traces;
mod upgrade;
mod validate;
mod verbs;
