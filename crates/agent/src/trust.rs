//! Whose certificates count on the way to the service: the authorities of this machine (or of `SSL_CERT_FILE`), and
//! those of a file that a person named. Like the machine's own list, the file is one for the whole process.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

/// The variable that names the file.
pub const CA_FILE_VARIABLE: &str = "MNEMON_CA_FILE";

static OF_FILE: OnceLock<Vec<CertificateDer<'static>>> = OnceLock::new();

/// Trusts the authorities of a file too, in every connection that is made from now on.
pub fn add_file(path: &Path) -> Result<(), String> {
    let shown = path.display();
    let pem = std::fs::read(path).map_err(|error| format!("can't read the certificates in {shown}: {error}"))?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    let found = found.map_err(|error| format!("can't read the certificates in {shown}: {error}"))?;
    if found.is_empty() {
        return Err(format!("{shown} contains no certificate; it must be a file in PEM form"));
    }
    // Set once, at the start of the process.
    let _ = OF_FILE.set(found);
    Ok(())
}

/// How connections to the service are made.
pub fn client_config() -> ClientConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider has ciphers for these versions")
        .with_root_certificates(roots())
        .with_no_client_auth()
}

fn roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    let own = rustls_native_certs::load_native_certs().certs;
    roots.add_parsable_certificates(own.into_iter().chain(OF_FILE.get().into_iter().flatten().cloned()));
    if roots.is_empty() {
        // A small container has no list of its own.
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    roots
}

/// What to do if a connection failed because of the service's certificate.
pub fn advice(cause: &str) -> Option<String> {
    cause.contains("invalid peer certificate").then(|| {
        format!(
            "its certificate is not accepted ({cause}). If a private authority signed it, name that authority's file with \
             --ca-file or {CA_FILE_VARIABLE}, or add it to this machine's certificates"
        )
    })
}
