//! The first line that each side says: that it is lop, and which protocol it speaks.

use std::io::{self, BufRead, Read, Write};
use std::os::fd::AsFd;

use crate::VERSION;
use crate::frame::{Broken, Incoming, Outgoing, is_passing};

/// How it begins. It is a line, so that a person who comes upon it knows what it is.
const GREETING: &str = "lop-mirror ";

/// Bytes before it that are passed over: what a remote shell says when it starts.
const NOISE: usize = 64 << 10;

impl<W: Write> Outgoing<W> {
    /// Says which protocol this lop speaks, and of which version it is.
    pub fn greet(&self, version: &str) -> Result<(), Broken> {
        self.say_line(&format!("{GREETING}{VERSION} {version}\n"))
    }
}

/// What was there instead of a greeting.
#[derive(Debug)]
pub struct Greeting {
    /// The protocol, and the version of lop.
    pub said: Option<(u32, String)>,
    /// The first line before it, if there was any.
    pub noise: Option<String>,
}

/// Reads a greeting, and passes over what a shell says before.
///
/// # Errors
///
/// As for [`Incoming::next`]. That nothing was a greeting is no error.
pub fn read_greeting<R: Read + AsFd>(
    from: &mut Incoming<R>,
    stopped: &dyn Fn() -> bool,
) -> Result<Greeting, Broken> {
    let (mut noise, mut seen) = (None, 0);
    while seen < NOISE {
        let mut line = Vec::new();
        let end = read_line(&mut from.from, &mut line, stopped)?;
        seen += line.len();
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end();
        // A prompt has no end of line before it.
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

/// Reads up to the end of a line; returns whether nothing comes after it.
fn read_line(
    from: &mut impl BufRead,
    line: &mut Vec<u8>,
    stopped: &dyn Fn() -> bool,
) -> Result<bool, Broken> {
    while line.len() < NOISE {
        let there = match from.fill_buf() {
            Ok(there) => there,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock && stopped() => {
                return Err(Broken::Stopped);
            }
            Err(e) if is_passing(&e) => continue,
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
    fn a_greeting_is_found_behind_what_a_shell_says() {
        for noise in ["", "Welcome!\n\n", "$ "] {
            let (from, mut to) = std::io::pipe().expect("there are pipes");
            to.write_all(noise.as_bytes()).expect("written");
            Outgoing::new(to).greet("1.2.3").expect("greeted");
            let greeting = read_greeting(&mut Incoming::new(from), &|| false).expect("read");
            assert_eq!(greeting.said, Some((crate::VERSION, "1.2.3".to_string())));
        }
        let (from, mut to) = std::io::pipe().expect("there are pipes");
        to.write_all(b"command not found\n").expect("written");
        drop(to);
        let greeting = read_greeting(&mut Incoming::new(from), &|| false).expect("read");
        assert_eq!((greeting.said, greeting.noise), (None, Some("command not found".into())));
    }
}
