//! Opens connections: TCP, TLS or a Unix socket.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use operations_core::mailbox::Mailbox;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::guard::{Guarded, Socket};
use crate::options::{Address, Options, Tls};
use crate::problem::Problem;

/// How long it may take until a server has let us in.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Opens a connection within bounds; `mailbox` is where its messages will wait.
pub(crate) async fn open(
    options: &Options,
    mailbox: Option<Arc<Mailbox>>,
) -> Result<Guarded, Problem> {
    let socket = open_socket(options).await?;
    Ok(Guarded::new(socket, options.max_message_bytes, mailbox))
}

async fn open_socket(options: &Options) -> Result<Box<dyn Socket>, Problem> {
    let unreachable = |error: io::Error| {
        Problem::passing(format!(
            "Redis at {} cannot be reached: {error}",
            options.server()
        ))
    };
    match &options.address {
        Address::Tcp { host, port } => {
            let socket = TcpStream::connect((host.as_str(), *port))
                .await
                .map_err(unreachable)?;
            // Calls are short messages whose replies are awaited.
            socket.set_nodelay(true).map_err(unreachable)?;
            match &options.tls {
                None => Ok(Box::new(socket)),
                Some(tls) => Ok(Box::new(encrypted(socket, host, tls, options).await?)),
            }
        }
        #[cfg(unix)]
        Address::Unix(path) => Ok(Box::new(
            tokio::net::UnixStream::connect(path)
                .await
                .map_err(unreachable)?,
        )),
    }
}

async fn encrypted(
    socket: TcpStream,
    host: &str,
    tls: &Tls,
    options: &Options,
) -> Result<impl Socket + use<>, Problem> {
    let config = tls_config(tls).map_err(Problem::lasting)?;
    let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned())
        .map_err(|_| Problem::lasting("the host of the URL is no name that TLS can verify"))?;
    TlsConnector::from(Arc::new(config))
        .connect(name, socket)
        .await
        .map_err(|error| {
            let reason = format!(
                "no TLS connection to Redis at {}: {error}",
                options.server()
            );
            // A certificate that is refused will be refused again; a cut connection will not.
            if error.kind() == io::ErrorKind::InvalidData {
                Problem::lasting(reason)
            } else {
                Problem::passing(reason)
            }
        })
}

/// With ring, named here, so that nothing depends on what else in the process has chosen a provider.
fn tls_config(tls: &Tls) -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    if let Some(authority) = &tls.authority {
        for certificate in CertificateDer::pem_slice_iter(authority.as_bytes()) {
            let certificate = certificate.map_err(|_| "tls.ca is not in PEM form")?;
            roots
                .add(certificate)
                .map_err(|_| "tls.ca holds a certificate that cannot be used")?;
        }
        if roots.is_empty() {
            return Err("tls.ca holds no certificate".to_owned());
        }
    } else {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            return Err(
                "the system has no CA certificates: install them, or set tls.ca".to_owned(),
            );
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots);
    let Some((certificates, key)) = &tls.identity else {
        return Ok(builder.with_no_client_auth());
    };
    let certificates = CertificateDer::pem_slice_iter(certificates.as_bytes())
        .collect::<Result<Vec<_>, _>>()
        .map_err(|_| "tls.cert is not in PEM form")?;
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes())
        .map_err(|_| "tls.key is no private key in PEM form")?;
    builder
        .with_client_auth_cert(certificates, key)
        .map_err(|_| "tls.cert and tls.key do not fit together".to_owned())
}
