//! The greeting is the first line that each lop sends. It contains the protocol version.

use std::io::{self, BufRead, Read, Write};
use std::os::fd::AsFd;

use crate::VERSION;
use crate::frame::{ConnectionError, Incoming, Outgoing, is_transient};

/// Start of the greeting. It is plain text, so that a person who sees it can tell that lop sent it.
const GREETING: &str = "lop-mirror ";

/// Maximum number of bytes to skip before the greeting. The startup files of a remote shell may
/// print text.
const MAX_NOISE_BYTES: usize = 64 << 10;

impl<W: Write> Outgoing<W> {
    /// Sends a greeting. `version` is the version of lop.
    ///
    /// # Errors
    ///
    /// Fails if the connection is lost.
    pub fn greet(&self, version: &str) -> Result<(), ConnectionError> {
        self.say_line(&format!("{GREETING}{VERSION} {version}\n"))
    }
}

/// The first lines received from the peer.
#[derive(Debug)]
pub struct Greeting {
    /// Protocol version and version of lop, or `None` if there was no greeting.
    pub said: Option<(u32, String)>,
    /// First line of output from other programs, if any.
    pub noise: Option<String>,
}

/// Reads a greeting. Skips any output of the remote shell that precedes the greeting.
///
/// # Errors
///
/// The same as for [`Incoming::next`]. A missing greeting is not an error.
pub fn read_greeting<R: Read + AsFd>(
    from: &mut Incoming<R>,
    stopped: &dyn Fn() -> bool,
) -> Result<Greeting, ConnectionError> {
    let (mut noise, mut seen) = (None, 0);
    while seen < MAX_NOISE_BYTES {
        let mut line = Vec::new();
        let end = read_line(&mut from.from, &mut line, stopped)?;
        seen += line.len();
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end();
        // The line may begin with a shell prompt.
        if let Some(at) = line.find(GREETING)
            && let Some((protocol, version)) = line[at + GREETING.len()..].split_once(' ')
            && let Ok(protocol) = protocol.parse()
        {
            return Ok(Greeting { said: Some((protocol, version.into())), noise });
        }
        noise = noise.or_else(|| Some(line.to_string()).filter(|line| !line.is_empty()));
        if end {
            break;
        }
    }
    Ok(Greeting { said: None, noise })
}

/// Reads a line. Returns whether the stream ended.
fn read_line(
    from: &mut impl BufRead,
    line: &mut Vec<u8>,
    stopped: &dyn Fn() -> bool,
) -> Result<bool, ConnectionError> {
    while line.len() < MAX_NOISE_BYTES {
        let there = match from.fill_buf() {
            Ok(there) => there,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock && stopped() => {
                return Err(ConnectionError::Stopped);
            }
            Err(e) if is_transient(&e) => continue,
            Err(e) => return Err(e.into()),
        };
        if there.is_empty() {
            return Ok(true);
        }
        let end = there.iter().position(|&b| b == b'\n');
        let taken = end.map_or(there.len(), |end| end + 1);
        line.extend_from_slice(&there[..taken]);
        from.consume(taken);
        if end.is_some() {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::read_greeting;
    use crate::{Incoming, Outgoing};

    #[test]
    fn a_greeting_is_found_after_shell_output() {
        for noise in ["", "Welcome!\n\n", "$ "] {
            let (from, mut to) = std::io::pipe().expect("a pipe");
            to.write_all(noise.as_bytes()).expect("write");
            Outgoing::new(to).greet("1.2.3").expect("send");
            let greeting = read_greeting(&mut Incoming::new(from), &|| false).expect("read");
            assert_eq!(greeting.said, Some((crate::VERSION, "1.2.3".to_string())));
        }
        let (from, mut to) = std::io::pipe().expect("a pipe");
        to.write_all(b"command not found\n").expect("write");
        drop(to);
        let greeting = read_greeting(&mut Incoming::new(from), &|| false).expect("read");
        assert_eq!((greeting.said, greeting.noise), (None, Some("command not found".into())));
    }
}
