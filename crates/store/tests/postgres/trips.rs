//! How many round trips a call makes before it starts, measured over a slow line.

use std::sync::Arc;
use std::time::Duration;

use mnemon_core::CredentialHash;
use mnemon_scratch_postgres::Database;
use mnemon_store::conformance::{House, connect};
use mnemon_store::{Credentials, Store};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::time::Instant;

use crate::{database, node};

/// How long bytes travel in one direction. A call with two round trips would need four of it.
const ONE_WAY: Duration = Duration::from_millis(50);

/// A long line to a database.
struct LongLine {
    url: String,
    _folder: TempDir,
}

impl LongLine {
    fn to(database: &Database) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let server: tokio_postgres::Config = database.url.parse().expect("an address");
        let [tokio_postgres::config::Host::Unix(real)] = server.get_hosts() else { panic!("{}", database.url) };
        let listener = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).expect("a socket");
        let socket = real.join(".s.PGSQL.5432");
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let (near_in, near_out) = near.into_split();
                let (far_in, far_out) = UnixStream::connect(&socket).await.expect("the server listens").into_split();
                tokio::spawn(carry(near_in, far_out));
                tokio::spawn(carry(far_in, near_out));
            }
        });
        let encode = |path: &std::path::Path| path.display().to_string().replace('/', "%2F");
        Self { url: database.url.replace(&encode(real), &encode(folder.path())), _folder: folder }
    }
}

/// Carries bytes from one end to the other, delayed, without making later ones wait.
async fn carry(mut from: impl AsyncReadExt + Unpin, mut to: impl AsyncWriteExt + Send + Unpin + 'static) {
    let (sent, mut arriving) = tokio::sync::mpsc::unbounded_channel::<(Instant, Vec<u8>)>();
    tokio::spawn(async move {
        while let Some((due, bytes)) = arriving.recv().await {
            tokio::time::sleep_until(due).await;
            if to.write_all(&bytes).await.is_err() {
                return;
            }
        }
    });
    let mut bytes = vec![0; 64 << 10];
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        let _ = sent.send((Instant::now() + ONE_WAY, bytes[..count].to_vec()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_begins_with_one_way_there_and_back_by_key_and_by_token() {
    let database = database();
    let line = LongLine::to(&database);
    let near: Arc<dyn Store> = Arc::new(node(&database.url).await);
    let house = House::build(&near).await;
    connect(&house, "token").await;
    let far = node(&line.url).await;
    let token = CredentialHash::of("token");
    let (mut by_key, mut by_token) = (Duration::MAX, Duration::MAX);
    // The first of each prepares its statements; of the others the fastest counts, whatever else the machine does.
    for _ in 0..8 {
        let begun = Instant::now();
        assert!(far.find_credential(&house.key_hash).await.unwrap().is_some());
        by_key = by_key.min(begun.elapsed());
        let begun = Instant::now();
        assert!(far.find_credential_by_token(&token).await.unwrap().is_some());
        by_token = by_token.min(begun.elapsed());
    }
    for (what, took) in [("key", by_key), ("token", by_token)] {
        assert!((2 * ONE_WAY..4 * ONE_WAY).contains(&took), "by {what}: {took:?}");
    }
}
