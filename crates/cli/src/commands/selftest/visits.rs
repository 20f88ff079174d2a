//! The console over HTTP, as a browser visits it.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::Context;
use mnemon_engine::Engine;
use mnemon_server::config::{ServerConfig, machine_memory_bytes};
use mnemon_server::{App, ConnectionLimit, bind, router, serve};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

const CONNECTIONS_MAX: usize = 16;

/// The service on a port of this machine, and who is signed in.
pub struct Console {
    url: String,
    client: reqwest::Client,
    /// The cookie of each key.
    cookies: HashMap<String, String>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Console {
    pub fn open(engine: &Arc<Engine>) -> anyhow::Result<Self> {
        let listener = bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        let listen = listener.local_addr()?;
        let url = format!("http://{listen}");
        let config = ServerConfig {
            service_name: "Mnemon".to_owned(),
            listen,
            base_url: None,
            allowed_origins: Vec::new(),
            trusted_proxies: Vec::new(),
            memory_bytes: machine_memory_bytes(),
            connections_max: Some(CONNECTIONS_MAX),
        };
        let routes = router(App::new(Arc::clone(engine), &config, &url));
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(async move {
            let stopped = async { stopped.await.unwrap_or(()) };
            // A server that ends early is noticed by the next request.
            let _ = serve(listener, routes, ConnectionLimit::new(CONNECTIONS_MAX), stopped).await;
        });
        // An error means that one is installed already, and it is the same.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy().build()?;
        Ok(Self { url, client, cookies: HashMap::new(), stop, task })
    }

    pub async fn close(self) {
        drop(self.client);
        let _ = self.stop.send(());
        let _ = self.task.await;
    }

    /// Signs everybody out.
    pub fn forget_cookies(&mut self) {
        self.cookies.clear();
    }

    pub async fn sign_in(&mut self, key: &str) -> anyhow::Result<String> {
        if let Some(cookie) = self.cookies.get(key) {
            return Ok(cookie.clone());
        }
        let request = self.client.post(format!("{}/console/sign-in", self.url));
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let request = request.header("sec-fetch-site", "same-origin").body(format!("key={key}"));
        let answer = request.send().await?;
        let cookie = answer.headers().get("set-cookie").and_then(|cookie| cookie.to_str().ok());
        let cookie = cookie.and_then(|cookie| cookie.split(';').next()).context("the console gives no cookie")?;
        self.cookies.insert(key.to_owned(), cookie.to_owned());
        Ok(cookie.to_owned())
    }

    pub async fn get(&self, cookie: &str, path: &str) -> anyhow::Result<(u16, String)> {
        let request = self.client.get(format!("{}/console{path}", self.url)).header("cookie", cookie);
        let answer = request.header("sec-fetch-site", "same-origin").send().await?;
        Ok((answer.status().as_u16(), answer.text().await?))
    }
}
