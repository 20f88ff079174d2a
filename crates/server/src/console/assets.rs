//! Style sheet, script and icon. Their names carry their hash, so browsers keep them for good and never see an old one.

use std::sync::LazyLock;

use axum::body::Body;
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderValue, StatusCode};
use mnemon_core::to_hex;
use sha2::{Digest, Sha256};

use crate::http::Reply;

/// One file.
pub(super) struct Asset {
    /// Its path.
    pub(super) path: String,
    kind: &'static str,
    text: String,
}

/// The files of every page.
pub(super) struct Assets {
    pub(super) style: Asset,
    pub(super) script: Asset,
    pub(super) icon: Asset,
    /// The script of the page that imports.
    pub(super) moving: Asset,
}

pub(super) static ASSETS: LazyLock<Assets> = LazyLock::new(|| Assets {
    style: asset(
        "console",
        "css",
        "text/css; charset=utf-8",
        lean_style(include_str!("../../templates/console/console.css")),
    ),
    script: asset(
        "console",
        "js",
        "text/javascript; charset=utf-8",
        lean_script(include_str!("../../templates/console/console.js")),
    ),
    moving: asset(
        "moving",
        "js",
        "text/javascript; charset=utf-8",
        include_str!("../../templates/console/moving.js").to_owned(),
    ),
    icon: asset("icon", "svg", "image/svg+xml", include_str!("../../templates/console/icon.svg").to_owned()),
});

/// Every icon that a page may refer to, one on each line.
pub(super) const ICONS: &str = include_str!("../../templates/console/icons.svg");

/// A style sheet without what only its writers need: comments, and spaces beside punctuation.
fn lean_style(text: &str) -> String {
    let mut lean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, comment)) = rest.split_once("/*") {
        lean.push_str(before);
        rest = comment.split_once("*/").map_or("", |(_, after)| after);
    }
    lean.push_str(rest);
    let lines: Vec<&str> = lean.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let spaced = [(" { ", "{"), (" }", "}"), ("; ", ";"), (": ", ":"), (", ", ",")];
    spaced.into_iter().fold(lines.join(" "), |text, (long, short)| text.replace(long, short))
}

/// A script without lines of comments, and without the spaces that lines begin with.
fn lean_script(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

fn asset(name: &str, ending: &str, kind: &'static str, text: String) -> Asset {
    let hash = to_hex(&Sha256::digest(text.as_bytes())[..8]);
    Asset { path: format!("/console/assets/{name}.{hash}.{ending}"), kind, text }
}

/// `GET /console/assets/{file}`
pub(super) async fn serve(Path(file): Path<String>) -> Response {
    let Assets { style, script, icon, moving } = &*ASSETS;
    let asked = format!("/console/assets/{file}");
    let Some(found) = [style, script, icon, moving].into_iter().find(|asset| asset.path == asked) else {
        return Reply::error(StatusCode::NOT_FOUND, "not_found", "no such file").into_response();
    };
    let mut response = Response::new(Body::from(found.text.as_str()));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(found.kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
