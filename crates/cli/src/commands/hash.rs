//! `mnemon hash`: what to pass as `source_hash` for a file.

use std::path::Path;
use std::process::ExitCode;

use serde_json::json;

use super::validate::git::Repository;
use super::validate::kinds::{self, Kind};
use crate::arguments::Hash;
use crate::printer::Printer;

pub fn run(hash: &Hash, printer: &Printer) -> anyhow::Result<ExitCode> {
    for file in &hash.files {
        let kind = if hash.git { git_kind(file) } else { Kind::PrefixedSha256 };
        let digest = kinds::hash_file(file, kind)?;
        if printer.is_json() {
            printer.value(&json!({"file": file.display().to_string(), "source_hash": digest}));
        } else if hash.files.len() == 1 {
            printer.text(&digest);
        } else {
            printer.text(&format!("{digest}  {}", file.display()));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// As the repository around the file names its contents.
fn git_kind(file: &Path) -> Kind {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let is_sha256 = Repository::around(folder).is_some_and(|repository| repository.is_sha256());
    if is_sha256 { Kind::GitBlobSha256 } else { Kind::GitBlobSha1 }
}
