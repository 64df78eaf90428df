//! Which hub is believed: certificates of authorities, and what is said about a certificate that is not accepted.

use std::io;
use std::sync::Arc;

use operations_core::error::CallError;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};

/// The authorities of the system, or the certificates in a text or a file.
pub(crate) async fn config(
    ca: Option<&str>,
    ca_file: Option<&str>,
) -> Result<ClientConfig, CallError> {
    // One provider for the process; another part of this library may have been first.
    let _ = ring::default_provider().install_default();
    let source = ca_file.map_or_else(
        || "tls.ca".to_owned(),
        |path| format!("tls.caFile ({path})"),
    );
    let text = match (ca, ca_file) {
        (_, Some(path)) => Some(in_file(path, &source).await?),
        (Some(text), None) => Some(text.as_bytes().to_vec()),
        (None, None) => None,
    };
    let given = match &text {
        Some(text) => CertificateDer::pem_slice_iter(text)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| unusable(&source, &error.to_string()))?,
        None => tokio::task::spawn_blocking(|| rustls_native_certs::load_native_certs().certs)
            .await
            .unwrap_or_default(),
    };
    let mut roots = RootCertStore::empty();
    for certificate in &given {
        // The system may have some that are of no use.
        let _ = roots.add(certificate.clone());
    }
    if roots.is_empty() {
        return Err(match text {
            Some(_) => {
                CallError::invalid(format!("connectHub: {source} holds no certificate (PEM)"))
            }
            None => CallError::failed(
                "connectHub: no certificate of an authority was found. Install the system's, or name a file (tls.caFile)",
            ),
        });
    }
    if text.is_none() {
        return Ok(ClientConfig::builder()
            .with_root_certificates(roots)
            .with_no_client_auth());
    }
    let authorities = WebPkiServerVerifier::builder(Arc::new(roots))
        .build()
        .map_err(|error| unusable(&source, &error.to_string()))?;
    let verifier = Named { authorities, given };
    Ok(ClientConfig::builder()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth())
}

async fn in_file(path: &str, source: &str) -> Result<Vec<u8>, CallError> {
    let file = path.to_owned();
    tokio::task::spawn_blocking(move || std::fs::read(file))
        .await
        .map_err(|error| unusable(source, &error.to_string()))?
        .map_err(|error| unusable(source, &error.to_string()))
}

fn unusable(source: &str, why: &str) -> CallError {
    CallError::invalid(format!("connectHub: {source} cannot be used: {why}"))
}

/// Believes authorities, and a server whose own certificate the user has named. What `openssl req -x509` makes is both: it is
/// marked as an authority's, which `WebPKI` does not take from a server.
#[derive(Debug)]
struct Named {
    authorities: Arc<WebPkiServerVerifier>,
    given: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for Named {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verdict = self.authorities.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        match verdict {
            // This is found out after the time of validity, and before the name.
            Err(error) if is_authority(&error) && self.given.contains(end_entity) => {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            verdict => verdict,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.authorities.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.authorities.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.authorities.supported_verify_schemes()
    }
}

/// Whether a certificate is refused because it is marked as an authority's. `rustls` has no name of its own for that; if the
/// name beneath ever changes, such certificates are refused again.
fn is_authority(error: &Error) -> bool {
    matches!(error, Error::InvalidCertificate(CertificateError::Other(other))
        if other.to_string() == "CaUsedAsEndEntity")
}

/// Why there is no TLS with a server, and what to do.
pub(crate) fn why_not(error: &io::Error) -> String {
    let inner = error.get_ref().and_then(|it| it.downcast_ref::<Error>());
    let Some(inner) = inner else {
        return format!("no TLS connection is possible ({})", cut_off_or(error));
    };
    let why = match inner {
        Error::InvalidCertificate(why) => why,
        Error::InvalidMessage(_) => {
            return "it does not speak TLS. If the hub has none, try ws://".to_owned();
        }
        other => return format!("no TLS connection is possible ({other})"),
    };
    let what = match why {
        CertificateError::UnknownIssuer => {
            "no known authority has signed it. To trust a certificate of your own, name it, or its authority's, with tls.caFile".to_owned()
        }
        _ if is_authority(inner) => {
            "it is the certificate of an authority. To trust it as that of this server, name it with tls.caFile".to_owned()
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "it has expired. Renew it, and name the new one with tls.caFile if it is your own".to_owned()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "it is not valid yet. Check the clocks".to_owned()
        }
        CertificateError::NotValidForNameContext { expected, presented } => {
            let names = if presented.is_empty() {
                "no name at all".to_owned()
            } else {
                presented.join(", ")
            };
            format!(
                "it is not for {}: its subjectAltName has {names}. Use a name that it has in the url, or name a certificate for this name with tls.caFile",
                expected.to_str()
            )
        }
        CertificateError::NotValidForName => {
            "it is for another name. Use a name that it has (subjectAltName) in the url, or name another certificate with tls.caFile".to_owned()
        }
        CertificateError::BadEncoding => "it cannot be read".to_owned(),
        CertificateError::BadSignature => {
            "its signature is wrong: tls.caFile may hold an older certificate of the same name".to_owned()
        }
        other => format!("{other}. To trust a certificate of your own, name it with tls.caFile"),
    };
    format!("its certificate is not accepted: {what}")
}

/// What an error of a connection says, without the manual of the library beneath.
pub(crate) fn cut_off_or(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        "it was cut off".to_owned()
    } else {
        error.to_string()
    }
}
