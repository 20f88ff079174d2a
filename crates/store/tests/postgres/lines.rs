//! A line between a node and a server that a test may stretch or cut.

use mnemon_scratch_postgres::Database;
use tempfile::TempDir;
use tokio::net::{UnixListener, UnixStream};

pub(crate) struct Line {
    pub(crate) url: String,
    _folder: TempDir,
}

impl Line {
    /// Joins each connection of a node with one to the server.
    pub(crate) fn to(database: &Database, join: impl Fn(UnixStream, UnixStream) + Send + Sync + 'static) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let server: tokio_postgres::Config = database.url.parse().expect("an address");
        let [tokio_postgres::config::Host::Unix(real)] = server.get_hosts() else { panic!("{}", database.url) };
        let listener = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).expect("a socket");
        let socket = real.join(".s.PGSQL.5432");
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let far = UnixStream::connect(&socket).await.expect("the server listens");
                join(near, far);
            }
        });
        let encode = |path: &std::path::Path| path.display().to_string().replace('/', "%2F");
        Self { url: database.url.replace(&encode(real), &encode(folder.path())), _folder: folder }
    }
}
