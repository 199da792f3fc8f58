//! Errors that keep the server from starting.

use std::io;
use std::path::PathBuf;

use httpd::server::Address;

/// The reason why the server cannot start or had to end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A directory cannot be shared.
    #[error("cannot share {}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// Two directories would have the same address.
    #[error("{} and {} have the same name", first.display(), second.display())]
    SameName {
        /// The directory that has the name.
        first: PathBuf,
        /// The one that cannot have it as well.
        second: PathBuf,
    },
    /// A directory without a name, which is `/`, cannot be one of several.
    #[error("{} has no name under which it could be shared with others", .0.display())]
    NoName(PathBuf),
    /// The address cannot be used.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: Address,
        /// The system's error.
        source: io::Error,
    },
    /// The system has no random numbers for the token.
    #[error("cannot make a token: {0}")]
    Token(#[from] getrandom::Error),
    /// The file with the certificate cannot be used.
    #[error("cannot use the certificate in {}", file.display())]
    Certificate {
        /// The file.
        file: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The file with the token cannot be used.
    #[error("cannot use the token in {}", file.display())]
    TokenFile {
        /// The file.
        file: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The threads of the server cannot be started.
    #[error("cannot start the server")]
    Start(#[source] io::Error),
}
