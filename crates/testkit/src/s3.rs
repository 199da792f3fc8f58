//! An object store on this machine: the S3 server of `moto`, and `boto3` as an independent client.
//!
//! The server keeps its objects in memory. `moto` and `boto3` are Python packages, which `cargo xtask test` installs.

use std::env;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use crate::TEST_TIMEOUT;
use crate::forks::spawn;
use crate::output::Output;
use crate::process::{find_tool, poll, run_tool};
use crate::python::{VARIABLE, python};
use crate::temp::TempTree;

/// A script that starts a server on a free port, prints the port, and ends when standard input is closed. If a
/// test is killed, its server ends too. For TLS, the arguments are the paths of a certificate and its key.
const SERVER: &str = "
import sys, threading
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server
store = DomainDispatcherApplication(create_backend_app)
server = make_server('127.0.0.1', 0, store, threaded=True, ssl_context=tuple(sys.argv[1:]) or None)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.port, flush=True)
sys.stdin.read()
";

/// The beginning of each client script.
const CLIENT: &str = "
import boto3, os, sys
s3 = boto3.client('s3')
";

/// The name of the file with the certificate of a server.
const CERTIFICATE: &str = "certificate.pem";

/// A server on a port of the loopback device. Dropping it stops it.
#[derive(Debug)]
#[must_use = "dropping it ends the server"]
pub struct S3 {
    server: Child,
    port: u16,
    home: TempTree,
    uses_tls: bool,
}

impl S3 {
    /// Starts a server and creates the bucket `bucket`. On failure, prints the reason and returns `None`.
    pub fn start() -> Option<S3> {
        S3::start_with(TempTree::new(), &[])
    }

    /// Like [`S3::start`], but the server accepts only TLS connections. Its [certificate](S3::certificate) is
    /// self-signed.
    pub fn start_with_tls() -> Option<S3> {
        let home = TempTree::new();
        let files = make_certificate(home.as_ref()).map_err(crate::skipped).ok()?;
        S3::start_with(home, &files)
    }

    fn start_with(home: TempTree, certificate: &[PathBuf]) -> Option<S3> {
        // Prints the reason if no interpreter is named.
        python()?;
        let server = S3::try_start(home, certificate).map_err(crate::skipped).ok()?;
        server.script("s3.create_bucket(Bucket='bucket')", &[]).success();
        Some(server)
    }

    /// Starts a server and waits until it accepts connections.
    ///
    /// # Errors
    ///
    /// Returns the reason as text, for example that the packages are not installed.
    fn try_start(home: TempTree, certificate: &[PathBuf]) -> Result<S3, String> {
        let interpreter = PathBuf::from(env::var_os(VARIABLE).unwrap_or_default());
        let log = File::create(home.join("log")).map_err(|e| format!("no log: {e}"))?;
        let mut command = Command::new(&interpreter);
        command.args(["-B", "-c", SERVER]).args(certificate);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        let server = spawn(&mut command).map_err(|e| format!("no object store: {e}"))?;
        let mut server = S3 { server, port: 0, home, uses_tls: !certificate.is_empty() };
        let mut line = String::new();
        let stdout = server.server.stdout.take().expect("a pipe");
        let read = BufReader::new(stdout).read_line(&mut line);
        server.port = match read.map(|_| line.trim().parse()) {
            Ok(Ok(port)) => port,
            _ => return Err(format!("no object store: {}", server.last_words())),
        };
        let at = (Ipv4Addr::LOCALHOST, server.port);
        match poll(Instant::now() + TEST_TIMEOUT, || TcpStream::connect(at).ok()) {
            Some(_connection) => Ok(server),
            None => Err("the object store accepts no connections".into()),
        }
    }

    /// Returns the last line that the server printed.
    fn last_words(&self) -> String {
        let text = fs::read_to_string(self.home.join("log")).unwrap_or_default();
        text.lines().last().unwrap_or_default().to_owned()
    }

    /// Returns the path of the certificate, if the server uses TLS.
    pub fn certificate(&self) -> PathBuf {
        self.home.join(CERTIFICATE)
    }

    /// Returns the environment variables with which a client finds the server.
    pub fn variables(&self) -> [(&'static str, String); 4] {
        let scheme = if self.uses_tls { "https" } else { "http" };
        [
            ("AWS_ENDPOINT_URL", format!("{scheme}://127.0.0.1:{}", self.port)),
            ("AWS_ACCESS_KEY_ID", "test-id".into()),
            ("AWS_SECRET_ACCESS_KEY", "test-secret".into()),
            ("AWS_DEFAULT_REGION", "us-east-1".into()),
        ]
    }

    /// Runs a Python script in which `s3` is a client of the server, and `sys.argv[1:]` are `args`.
    ///
    /// # Panics
    ///
    /// Panics if no interpreter is named.
    pub fn script(&self, script: &str, args: &[&str]) -> Output {
        let sandbox = python().expect("named before the server was started");
        let command = sandbox.command().args(["-B", "-c", &format!("{CLIENT}{script}")]).args(args);
        let command = command.env("AWS_CA_BUNDLE", self.certificate());
        self.variables()
            .into_iter()
            .fold(command, |command, (name, value)| command.env(name, value))
            .run()
    }
}

/// Creates a self-signed certificate for 127.0.0.1 in `dir`. Returns the paths of the certificate and its key.
///
/// # Errors
///
/// Returns the reason as text if `openssl` is not installed or fails.
fn make_certificate(dir: &Path) -> Result<[PathBuf; 2], String> {
    let openssl = find_tool("openssl").ok_or("openssl is not installed")?;
    let [certificate, key] = [CERTIFICATE, "key.pem"].map(|name| dir.join(name));
    let mut command = Command::new(openssl);
    command.args([
        "req",
        "-x509",
        "-noenc",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
    ]);
    command.args(["-subj", "/CN=store", "-addext", "subjectAltName=IP:127.0.0.1"]);
    command.args(["-addext", "basicConstraints=critical,CA:FALSE"]);
    command.arg("-keyout").arg(&key).arg("-out").arg(&certificate);
    let made = run_tool(&mut command, TEST_TIMEOUT);
    if made.status.success() { Ok([certificate, key]) } else { Err(made.account()) }
}

impl Drop for S3 {
    fn drop(&mut self) {
        let _gone = self.server.kill();
        let _status = self.server.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpStream};

    use super::S3;

    #[test]
    fn a_server_keeps_objects_until_it_is_dropped() {
        let Some(server) = S3::start() else { return };
        server
            .script("s3.put_object(Bucket='bucket', Key=sys.argv[1], Body=b'x')", &["a/b"])
            .success();
        let script = "print(s3.get_object(Bucket='bucket', Key='a/b')['Body'].read())";
        assert_eq!(server.script(script, &[]).stdout_str(), "b'x'\n");
        let port = server.port;
        drop(server);
        assert!(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err());
    }
}
