//! Encryption with a certificate that lop makes itself.
//!
//! The certificate and its key are stored in one private file, so the certificate stays the same after
//! a restart, and the user has to compare its fingerprint only once.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use sha2::{Digest, Sha256};

use crate::private_file;

/// The certificate of the server.
pub struct Certificate {
    /// The settings of encrypted connections.
    pub config: Arc<ServerConfig>,
    /// SHA-256 of the certificate, as browsers show it.
    pub fingerprint: String,
}

impl std::fmt::Debug for Certificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Certificate")
            .field("fingerprint", &self.fingerprint)
            .finish_non_exhaustive()
    }
}

impl Certificate {
    /// Reads the certificate from `file`. If the file does not exist, makes a certificate for the address
    /// and the names of the server, and stores it.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read or created, is not private, or contains no usable certificate.
    pub fn open(file: &Path, address: SocketAddr, names: &[String]) -> io::Result<Certificate> {
        let pem = match private_file::read(file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => make(file, address, names)?,
            read => read?,
        };
        Certificate::from_pem(&pem)
    }

    fn from_pem(pem: &[u8]) -> io::Result<Certificate> {
        let invalid = |error: &dyn std::fmt::Display| {
            io::Error::new(io::ErrorKind::InvalidData, error.to_string())
        };
        let certificate = CertificateDer::from_pem_slice(pem).map_err(|e| invalid(&e))?;
        let key = PrivateKeyDer::from_pem_slice(pem).map_err(|e| invalid(&e))?;
        let digest = Sha256::digest(&certificate);
        let pairs: Vec<String> = digest.iter().map(|byte| format!("{byte:02X}")).collect();
        let config =
            ServerConfig::builder_with_provider(rustls::crypto::ring::default_provider().into())
                .with_safe_default_protocol_versions()
                .map_err(|e| invalid(&e))?
                .with_no_client_auth()
                .with_single_cert(vec![certificate], key)
                .map_err(|e| invalid(&e))?;
        Ok(Certificate { config: Arc::new(config), fingerprint: pairs.join(":") })
    }
}

fn make(file: &Path, address: SocketAddr, names: &[String]) -> io::Result<Vec<u8>> {
    let mut subjects = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    if !address.ip().is_unspecified() && !address.ip().is_loopback() {
        subjects.push(address.ip().to_string());
    }
    subjects.extend(names.iter().cloned());
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(subjects).map_err(io::Error::other)?;
    let pem = format!("{}{}", cert.pem(), signing_key.serialize_pem()).into_bytes();
    private_file::create(file, &pem)?;
    Ok(pem)
}

#[cfg(test)]
mod tests {
    use super::Certificate;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_certificate_stays_the_same_and_private() {
        let tree = testkit::TempTree::new();
        let file = tree.path().join("catalog.db.tls");
        let open = || Certificate::open(&file, ([127, 0, 0, 1], 1).into(), &["nas".into()]);
        let first = open().expect("made").fingerprint;
        assert_eq!(first.len(), 32 * 3 - 1);
        assert_eq!(open().expect("read").fingerprint, first);
        let mode = std::fs::metadata(&file).expect("file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
