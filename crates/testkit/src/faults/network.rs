//! A network between nodes and their database that stops delivering: nothing is refused, and nothing arrives.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Result;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// How often a cut connection looks whether it is mended.
const LOOK_EVERY: Duration = Duration::from_millis(20);

pub struct Network {
    pub address: SocketAddr,
    is_cut: Arc<AtomicBool>,
    task: JoinHandle<()>,
}

impl Network {
    /// Forwards connections on a free port to a server.
    pub async fn start(server: SocketAddr) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let (address, is_cut) = (listener.local_addr()?, Arc::<AtomicBool>::default());
        let cut = Arc::clone(&is_cut);
        let task = tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                drop(tokio::spawn(connect(near, server, Arc::clone(&cut))));
            }
        });
        Ok(Self { address, is_cut, task })
    }

    /// Cuts all connections, those that are made from now on among them, or mends them.
    pub fn cut(&self, is_cut: bool) {
        self.is_cut.store(is_cut, Ordering::Release);
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn connect(near: TcpStream, server: SocketAddr, is_cut: Arc<AtomicBool>) {
    until_mended(&is_cut).await;
    let Ok(far) = TcpStream::connect(server).await else { return };
    let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
    tokio::select! {
        () = forward(near_in, far_out, &is_cut) => {}
        () = forward(far_in, near_out, &is_cut) => {}
    }
}

async fn forward(mut from: impl AsyncReadExt + Unpin, mut to: impl AsyncWriteExt + Unpin, is_cut: &AtomicBool) {
    let mut bytes = vec![0; 64 << 10];
    loop {
        let Ok(count @ 1..) = from.read(&mut bytes).await else { return };
        until_mended(is_cut).await;
        if to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}

async fn until_mended(is_cut: &AtomicBool) {
    while is_cut.load(Ordering::Acquire) {
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
