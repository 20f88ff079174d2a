//! TLS to the server.

use std::error::Error;
use std::io;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_postgres::Socket;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres_rustls::MakeRustlsConnect;

/// Makes TLS connections. A socket on this machine has no host name, and never uses it.
#[derive(Clone)]
pub(super) struct Connector(MakeRustlsConnect);

impl Connector {
    pub(super) fn new(config: ClientConfig) -> Self {
        Self(MakeRustlsConnect::new(config))
    }
}

impl MakeTlsConnect<Socket> for Connector {
    type Stream = <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream;
    type TlsConnect = <MakeRustlsConnect as MakeTlsConnect<Socket>>::TlsConnect;
    type Error = <MakeRustlsConnect as MakeTlsConnect<Socket>>::Error;

    fn make_tls_connect(&mut self, host: &str) -> Result<Self::TlsConnect, Self::Error> {
        let host = if host.is_empty() { "localhost" } else { host };
        MakeTlsConnect::<Socket>::make_tls_connect(&mut self.0, host)
    }
}

/// The TLS configuration, with or without checking the certificate.
pub(super) fn client_config(check: bool, roots: Option<&str>) -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("can't set up TLS: {error}"))?;
    let config = if check {
        builder.with_root_certificates(authorities(roots)?).with_no_client_auth()
    } else {
        let anybody = Arc::new(Anybody(provider));
        builder.dangerous().with_custom_certificate_verifier(anybody).with_no_client_auth()
    };
    Ok(config)
}

fn authorities(file: Option<&str>) -> Result<RootCertStore, String> {
    let mut store = RootCertStore::empty();
    let Some(file) = file else {
        store.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        return Ok(store);
    };
    let read = |error: &dyn std::fmt::Display| format!("can't read {file}: {error}");
    for certificate in CertificateDer::pem_file_iter(file).map_err(|error| read(&error))? {
        store.add(certificate.map_err(|error| read(&error))?).map_err(|error| read(&error))?;
    }
    if store.is_empty() { Err(format!("can't read {file}: it contains no certificate")) } else { Ok(store) }
}

/// What to do about a failed handshake; `None` if something else failed.
pub(super) fn explain(error: &tokio_postgres::Error) -> Option<String> {
    let cause = error.source()?;
    // The library below has no other way to report this than this text.
    if cause.to_string() == "server does not support TLS" {
        return Some("the server offers no TLS, which sslmode requires; set ssl = on there".to_owned());
    }
    let inner = cause.downcast_ref::<io::Error>()?.get_ref()?;
    let rustls::Error::InvalidCertificate(refusal) = inner.downcast_ref()? else { return None };
    Some(explain_certificate(refusal))
}

fn explain_certificate(refusal: &CertificateError) -> String {
    match refusal {
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "the server's certificate is not valid for the host in the database URL; connect with a name from the certificate, \
             or give the server a certificate for this name"
        }
        // An authority that was recreated under its old name signs differently.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "the server's certificate is signed by an untrusted authority; set sslrootcert in the database URL to the file with \
             that authority's certificate"
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "the server's certificate has expired; give the server a new one"
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "the server's certificate is not valid yet; check the clocks of both machines"
        }
        other => return format!("the server's certificate was rejected: {other}; give the server another one"),
    }
    .to_owned()
}

/// Accepts any certificate, as `sslmode=prefer` and `require` say: an eavesdropper learns nothing, but it is not
/// certain who is at the other end.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
