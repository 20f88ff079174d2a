//! Makes the guard's weights: reads the data, fits, calibrates, and can do so again to the bit.
//!
//! The binary `mnemon-guard-train` writes the asset; the bench uses the same functions for cross-validation, so what
//! is published is what was measured. Texts are read from a directory outside the repository, except for `own/`,
//! which was written for this purpose.

pub mod calibrate;
pub mod chance;
pub mod data;
pub mod disguise;
pub mod examples;
pub mod fit;
pub mod own;
pub mod pages;
