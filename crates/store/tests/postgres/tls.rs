//! TLS with real handshakes and a real server: whom `verify-full` accepts, whom it refuses with which message, and that
//! `require` encrypts without asking who answers.

use mnemon_scratch_postgres::{Cluster, ClusterOptions, ServerCertificate};
use mnemon_store::postgres::{PostgresConfig, PostgresStore};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd};

/// The server's name.
const HOST: &str = "db.example";

/// A certificate authority, with the file that contains its own certificate.
struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    file: tempfile::NamedTempFile,
}

impl Authority {
    fn found(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, new_key()).expect("it can sign");
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), issuer.pem()).expect("a file");
        Self { issuer, file }
    }

    /// Certifies a server's name until the end of a year.
    fn certify(&self, name: &str, year: i32) -> ServerCertificate {
        let mut params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(year, 12, 31));
        let key = new_key();
        let certificate = params.signed_by(&key, &self.issuer).expect("it can sign");
        ServerCertificate { chain: certificate.pem(), key: key.serialize_pem() }
    }

    fn full(&self) -> String {
        format!("verify-full&sslrootcert={}", self.file.path().display())
    }
}

fn new_key() -> KeyPair {
    KeyPair::generate().expect("keys can be made")
}

/// A server that shows this certificate.
fn server(certificate: Option<ServerCertificate>) -> Cluster {
    let options = ClusterOptions { is_on_loopback: true, certificate, ..ClusterOptions::default() };
    Cluster::start(options).expect("PostgreSQL is installed")
}

async fn open(cluster: &Cluster, host: &str, mode: &str) -> Result<PostgresStore, String> {
    let address = cluster.address();
    let (ip, port) = (address.ip(), address.port());
    let url = format!("postgres://postgres@{host}:{port}/postgres?hostaddr={ip}&sslmode={mode}");
    PostgresStore::open(PostgresConfig::new(&url)).await.map_err(|error| error.to_string())
}

async fn refusal(cluster: &Cluster, mode: &str) -> String {
    open(cluster, HOST, mode).await.err().expect(mode)
}

/// How the service's connections are encrypted, as the server sees them.
fn encryption(cluster: &Cluster) -> Vec<String> {
    let select = "SELECT DISTINCT s.ssl || ' ' || coalesce(s.version, '-')
        FROM pg_stat_ssl s JOIN pg_stat_activity a ON a.pid = s.pid WHERE a.application_name = 'mnemon'";
    cluster.sql("postgres", select).expect("it answers").lines().map(str::to_owned).collect()
}

const FAILED: &str = "storage failed: can't connect to PostgreSQL: the server";

#[tokio::test(flavor = "multi_thread")]
async fn verify_full_accepts_the_certificate_of_a_trusted_authority_and_no_other() {
    let ours = Authority::found("ours");
    let cluster = server(Some(ours.certify(HOST, 2_999)));
    let store = open(&cluster, HOST, &ours.full()).await.expect("name, authority and time are right");
    assert_eq!(encryption(&cluster), ["true TLSv1.3"]);
    drop(store);
    let unknown = format!(
        "{FAILED}'s certificate is signed by an untrusted authority; set sslrootcert in the database URL to the file \
         with that authority's certificate"
    );
    for name in ["theirs", "ours"] {
        assert_eq!(refusal(&cluster, &Authority::found(name).full()).await, unknown, "another that is called {name}");
    }
    assert_eq!(refusal(&cluster, "verify-full").await, unknown, "nor is it one of the public authorities");
}

#[tokio::test(flavor = "multi_thread")]
async fn verify_full_refuses_a_certificate_for_another_name_and_require_encrypts_all_the_same() {
    let authority = Authority::found("ours");
    let cluster = server(Some(authority.certify("elsewhere.example", 2_999)));
    let other_name = format!(
        "{FAILED}'s certificate is not valid for the host in the database URL; connect with a name from the \
         certificate, or give the server a certificate for this name"
    );
    assert_eq!(refusal(&cluster, &authority.full()).await, other_name);
    assert_eq!(encryption(&cluster), Vec::<String>::new(), "nobody is connected");
    for mode in ["require", "prefer"] {
        let _store = open(&cluster, HOST, mode).await.expect("it is not looked at");
        assert_eq!(encryption(&cluster), ["true TLSv1.3"], "{mode}");
    }
    open(&cluster, "elsewhere.example", &authority.full()).await.expect("under its own name it is accepted");
}

#[tokio::test(flavor = "multi_thread")]
async fn verify_full_refuses_an_expired_certificate() {
    let authority = Authority::found("ours");
    let cluster = server(Some(authority.certify(HOST, 2_021)));
    let expired = format!("{FAILED}'s certificate has expired; give the server a new one");
    assert_eq!(refusal(&cluster, &authority.full()).await, expired);
    open(&cluster, HOST, "require").await.expect("it is not looked at");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_tls_is_refused_where_tls_is_asked_for() {
    let authority = Authority::found("ours");
    let cluster = server(None);
    let no_tls = format!("{FAILED} offers no TLS, which sslmode requires; set ssl = on there");
    for mode in [authority.full().as_str(), "verify-full", "require"] {
        assert_eq!(refusal(&cluster, mode).await, no_tls, "{mode}");
    }
    let _store = open(&cluster, HOST, "prefer").await.expect("the network is the operator's own");
    assert_eq!(encryption(&cluster), ["false -"]);
}
