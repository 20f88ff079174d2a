//! What is wrong with the head of a request before anybody looks at what it asks for: no Host or several, or more bytes
//! than a head may have.

use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::{CONNECTION, HOST};
use http::{HeaderValue, Request, StatusCode, Version};

use super::Reply;

/// The largest head, from its first byte to the empty line. An unfinished head occupies at most this much memory.
pub(super) const HEAD_BYTES_MAX: usize = 64 << 10;

/// Answers a request whose head is no good, and passes the others on.
pub(crate) async fn check(request: axum::extract::Request, next: Next) -> Response {
    match refusal(&request) {
        Some(refusal) => refusal,
        None => next.run(request).await,
    }
}

/// The answer to a head that is no good. The connection ends with it: what follows such a head may be meant for
/// somebody else.
pub(crate) fn refusal<B>(request: &Request<B>) -> Option<Response> {
    let (status, code, message) = if bytes(request) > HEAD_BYTES_MAX {
        let message = "the head of the request is larger than 65536 bytes";
        (StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "head_too_large", message)
    } else if !has_right_hosts(request) {
        (StatusCode::BAD_REQUEST, "bad_host", "an HTTP/1.1 request has exactly one Host header")
    } else {
        return None;
    };
    let mut response = Reply::error(status, code, message).into_response();
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    Some(response)
}

/// Two readers that disagree on the host disagree on whose request it is.
fn has_right_hosts<B>(request: &Request<B>) -> bool {
    match request.headers().get_all(HOST).iter().count() {
        0 => request.version() < Version::HTTP_11,
        count => count == 1,
    }
}

/// The head as it is written without needless spaces: request line, headers, empty line.
fn bytes<B>(request: &Request<B>) -> usize {
    let uri = request.uri();
    let authority = uri.authority().map_or(0, |authority| authority.as_str().len());
    let path = uri.path_and_query().map_or(0, |path| path.as_str().len());
    let line = request.method().as_str().len() + 1 + authority + path + " HTTP/1.1\r\n".len();
    let header = |(name, value): (&http::HeaderName, &HeaderValue)| name.as_str().len() + value.len() + ": \r\n".len();
    line + request.headers().iter().map(header).sum::<usize>() + "\r\n".len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(version: Version, hosts: &[&str], filler: usize) -> Option<u16> {
        let mut request = Request::builder().version(version).uri("/mcp").header("x-filler", "x".repeat(filler));
        for host in hosts {
            request = request.header(HOST, *host);
        }
        refusal(&request.body(()).unwrap()).map(|response| response.status().as_u16())
    }

    #[test]
    fn a_request_has_one_host() {
        assert_eq!(status(Version::HTTP_11, &["a.example"], 0), None);
        assert_eq!(status(Version::HTTP_11, &[""], 0), None);
        assert_eq!(status(Version::HTTP_11, &[], 0), Some(400));
        assert_eq!(status(Version::HTTP_11, &["a.example", "a.example"], 0), Some(400));
        assert_eq!(status(Version::HTTP_10, &[], 0), None, "HTTP/1.0 did not know it");
        assert_eq!(status(Version::HTTP_10, &["a.example", "b.example"], 0), Some(400));
    }

    #[test]
    fn a_head_has_at_most_65536_bytes() {
        let frame = "GET /mcp HTTP/1.1\r\nx-filler: \r\nhost: a\r\n\r\n".len();
        assert_eq!(status(Version::HTTP_11, &["a"], HEAD_BYTES_MAX - frame), None);
        assert_eq!(status(Version::HTTP_11, &["a"], HEAD_BYTES_MAX - frame + 1), Some(431));
    }
}
