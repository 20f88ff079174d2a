//! A real web site on loopback, with its own certificate: the target of outgoing calls.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// What a page does when it is requested.
#[derive(Debug, Clone)]
pub enum Page {
    /// Answers with JSON.
    Json(String),
    /// Answers with this status, type and body.
    Plain(u16, &'static str, String),
    /// Redirects.
    Redirect(String),
    /// Sends this many bytes, with or without declaring the length.
    Long { bytes: usize, is_told: bool },
    /// Sends a byte now and then, forever.
    Drip,
    /// Never answers.
    Silence,
}

/// A site. It stops on drop.
pub struct Web {
    pub address: SocketAddr,
    /// Its certificate to trust, in DER.
    pub certificate: Vec<u8>,
    pub certificate_pem: String,
    pages: Arc<Mutex<HashMap<String, Page>>>,
    connections: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Web {
    /// A site with a certificate for these names.
    pub async fn start(names: &[&str]) -> Self {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let made = rcgen::generate_simple_self_signed(names).expect("a certificate can be made");
        let certificate = made.cert.der().to_vec();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("the usual versions")
            .with_no_client_auth()
            .with_single_cert(vec![CertificateDer::from(certificate.clone())], key)
            .expect("the certificate and its key");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound listener has an address");
        let pages: Arc<Mutex<HashMap<String, Page>>> = Arc::default();
        let connections: Arc<AtomicUsize> = Arc::default();
        let task = tokio::spawn(accept(listener, config, Arc::clone(&pages), Arc::clone(&connections)));
        Self { address, certificate, certificate_pem: made.cert.pem(), pages, connections, task }
    }

    pub fn put(&self, path: &str, page: Page) {
        self.pages.lock().insert(path.to_owned(), page);
    }

    /// A URL at this site, under one of its names.
    pub fn url(&self, name: &str, path: &str) -> String {
        format!("https://{name}:{}{path}", self.address.port())
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(
    listener: TcpListener,
    config: ServerConfig,
    pages: Arc<Mutex<HashMap<String, Page>>>,
    connections: Arc<AtomicUsize>,
) {
    let acceptor = TlsAcceptor::from(Arc::new(config));
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        connections.fetch_add(1, Ordering::SeqCst);
        let (acceptor, pages) = (acceptor.clone(), Arc::clone(&pages));
        tokio::spawn(async move {
            if let Ok(mut stream) = acceptor.accept(stream).await {
                let _ = answer(&mut stream, &pages).await;
            }
        });
    }
}

/// One request, one answer, then the connection ends.
async fn answer<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    pages: &Mutex<HashMap<String, Page>>,
) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let page = pages.lock().get(&path).cloned();
    match page {
        None => write(stream, 404, "text/plain", "nothing here").await?,
        Some(Page::Json(body)) => write(stream, 200, "application/json", &body).await?,
        Some(Page::Plain(status, kind, body)) => write(stream, status, kind, &body).await?,
        Some(Page::Redirect(to)) => {
            let head =
                format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            stream.write_all(head.as_bytes()).await?;
        }
        Some(Page::Long { bytes, is_told }) => {
            let length = if is_told { format!("content-length: {bytes}\r\n") } else { String::new() };
            let head =
                format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n{length}connection: close\r\n\r\n");
            stream.write_all(head.as_bytes()).await?;
            let piece = vec![b' '; 16 << 10];
            let mut left = bytes;
            while left > 0 {
                let now = left.min(piece.len());
                stream.write_all(&piece[..now]).await?;
                left -= now;
            }
        }
        Some(Page::Drip) => {
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n";
            stream.write_all(head.as_bytes()).await?;
            loop {
                stream.write_all(b" ").await?;
                stream.flush().await?;
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
        Some(Page::Silence) => std::future::pending::<()>().await,
    }
    stream.shutdown().await
}

async fn write<S: AsyncWrite + Unpin>(stream: &mut S, status: u16, kind: &str, body: &str) -> io::Result<()> {
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await
}
