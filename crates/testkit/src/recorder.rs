//! A recorder between a caller and the service that writes down every byte of both.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::response::Response;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::caller::plain_client;

/// More than any request or answer has.
const BODY_BYTES_MAX: usize = 64 << 20;

/// A request and its answer.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// When the request was complete.
    pub at: Instant,
    pub method: String,
    /// Path and query.
    pub path: String,
    pub headers: http::HeaderMap,
    pub request: Vec<u8>,
    /// The status of the answer; 0 while there is none.
    pub status: u16,
    pub response: Vec<u8>,
}

/// A recorder in front of a service. It stops on drop.
pub struct Recorder {
    pub url: String,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

struct Shared {
    target: String,
    client: reqwest::Client,
    exchanges: Mutex<Vec<Exchange>>,
    delay: Mutex<Duration>,
}

impl Recorder {
    /// Starts on a free port.
    pub async fn start(target: &str) -> Self {
        Self::start_at("127.0.0.1:0".parse().expect("an address"), target).await
    }

    pub async fn start_at(address: SocketAddr, target: &str) -> Self {
        let listener = TcpListener::bind(address).await.expect("the address is free");
        let url = format!("http://{}", listener.local_addr().expect("a bound listener has an address"));
        let shared = Arc::new(Shared {
            target: target.to_owned(),
            client: plain_client(),
            exchanges: Mutex::default(),
            delay: Mutex::default(),
        });
        let routes = Router::new().fallback(pass_on).with_state(Arc::clone(&shared));
        let task = tokio::spawn(async move {
            axum::serve(listener, routes).await.expect("the recorder runs until it is dropped");
        });
        Self { url, shared, task }
    }

    /// Delays every answer.
    pub fn delay(&self, by: Duration) {
        *self.shared.delay.lock().expect("no panic holds it") = by;
    }

    pub fn exchanges(&self) -> Vec<Exchange> {
        self.shared.exchanges.lock().expect("no panic holds it").clone()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn pass_on(State(shared): State<Arc<Shared>>, request: http::Request<Body>) -> Response {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, BODY_BYTES_MAX).await.unwrap_or_default();
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
    // Read before the exchange becomes visible: a test that sees it may set another delay for the next one.
    let delay = *shared.delay.lock().expect("no panic holds it");
    let at = {
        let mut exchanges = shared.exchanges.lock().expect("no panic holds it");
        exchanges.push(Exchange {
            at: Instant::now(),
            method: head.method.to_string(),
            path: path.clone(),
            headers: head.headers.clone(),
            request: body.to_vec(),
            status: 0,
            response: Vec::new(),
        });
        exchanges.len() - 1
    };
    tokio::time::sleep(delay).await;
    let mut headers = head.headers;
    // The forwarding connection has its own.
    for own in ["host", "content-length", "connection", "transfer-encoding"] {
        headers.remove(own);
    }
    let forwarded = shared.client.request(head.method, format!("{}{path}", shared.target)).headers(headers).body(body);
    let (status, headers, body) = match forwarded.send().await {
        Ok(answer) => {
            let (status, headers) = (answer.status(), answer.headers().clone());
            (status, headers, answer.bytes().await.unwrap_or_default())
        }
        Err(_) => (http::StatusCode::BAD_GATEWAY, http::HeaderMap::new(), bytes::Bytes::new()),
    };
    {
        let mut exchanges = shared.exchanges.lock().expect("no panic holds it");
        exchanges[at].status = status.as_u16();
        exchanges[at].response = body.to_vec();
    }
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response.headers_mut().remove("transfer-encoding");
    response
}
