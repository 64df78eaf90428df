//! TLS in front of the service: a certificate and its key, from files.

use std::path::Path;
use std::sync::Arc;

use operations_core::error::CallError;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde::Deserialize;
use serde_json::json;
use tokio_rustls::TlsAcceptor;

/// The protocol of HTTP/2 in a handshake.
pub(crate) const HTTP2: &[u8] = b"h2";

/// Where the certificate and its key are, in PEM.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tls {
    /// The certificate, and those that vouch for it.
    pub cert_file: String,
    /// Its key.
    pub key_file: String,
}

impl Tls {
    /// Reads the files.
    ///
    /// # Errors
    ///
    /// When they cannot be read, or do not belong together.
    pub(crate) async fn acceptor(&self) -> Result<TlsAcceptor, CallError> {
        let Self {
            cert_file,
            key_file,
        } = self.clone();
        let read = tokio::task::spawn_blocking(move || config(&cert_file, &key_file));
        let config = read
            .await
            .map_err(|error| CallError::unknown(error.to_string()))??;
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

fn config(cert_file: &str, key_file: &str) -> Result<ServerConfig, CallError> {
    let certificates = CertificateDer::pem_file_iter(Path::new(cert_file))
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unusable("tls.certFile", cert_file, &error))?;
    if certificates.is_empty() {
        let error = "it has no certificate in PEM";
        return Err(unusable("tls.certFile", cert_file, &error));
    }
    let key = PrivateKeyDer::from_pem_file(Path::new(key_file))
        .map_err(|error| unusable("tls.keyFile", key_file, &error))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable("tls", cert_file, &error))?
        .with_no_client_auth()
        .with_single_cert(certificates, key)
        .map_err(|error| unusable("tls.certFile and tls.keyFile", cert_file, &error))?;
    config.alpn_protocols = vec![HTTP2.to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// The path is the operator's own; what is in the file is a secret.
fn unusable(option: &str, path: &str, error: &impl ToString) -> CallError {
    let error = error.to_string();
    CallError::failed(format!("serve: {option} cannot be used ({path}): {error}"))
        .with_details(json!({ "reason": "tls", "path": path, "cause": error }))
}
