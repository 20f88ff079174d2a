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
    text: &'static str,
}

/// The files of every page.
pub(super) struct Assets {
    pub(super) style: Asset,
    pub(super) script: Asset,
    pub(super) icon: Asset,
}

pub(super) static ASSETS: LazyLock<Assets> = LazyLock::new(|| Assets {
    style: asset("console", "css", "text/css; charset=utf-8", include_str!("../../templates/console/console.css")),
    script: asset(
        "console",
        "js",
        "text/javascript; charset=utf-8",
        include_str!("../../templates/console/console.js"),
    ),
    icon: asset("icon", "svg", "image/svg+xml", include_str!("../../templates/console/icon.svg")),
});

/// Every icon that a page may refer to, one on each line.
pub(super) const ICONS: &str = include_str!("../../templates/console/icons.svg");

fn asset(name: &str, ending: &str, kind: &'static str, text: &'static str) -> Asset {
    let hash = to_hex(&Sha256::digest(text.as_bytes())[..8]);
    Asset { path: format!("/console/assets/{name}.{hash}.{ending}"), kind, text }
}

/// `GET /console/assets/{file}`
pub(super) async fn serve(Path(file): Path<String>) -> Response {
    let Assets { style, script, icon } = &*ASSETS;
    let asked = format!("/console/assets/{file}");
    let Some(found) = [style, script, icon].into_iter().find(|asset| asset.path == asked) else {
        return Reply::error(StatusCode::NOT_FOUND, "not_found", "no such file").into_response();
    };
    let mut response = Response::new(Body::from(found.text));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(found.kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
