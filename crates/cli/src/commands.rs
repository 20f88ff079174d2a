//! One file per command.

pub mod admin;
pub mod agent;
pub mod apply;
pub mod backup;
pub mod completions;
pub mod config;
pub mod context;
pub mod doctor;
pub mod export;
pub mod forget;
pub mod hash;
pub mod health;
pub mod import;
pub mod login;
pub mod remember;
pub mod search;
pub mod selftest;
pub mod serve;
pub mod transfer;
pub mod validate;
mod welcome;
