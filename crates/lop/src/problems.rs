//! Entries that could not be examined, one line each on standard error.

use std::io;

use walk::{Problem, Reason};

use crate::error::io_text;
use crate::quantity::counted;
use crate::settings::Settings;

/// Prints problems as `lop: PATH: reason`.
pub(crate) fn print(problems: &[&Problem], settings: &Settings) {
    let lines = problems.iter().map(|problem| line(problem));
    settings.complain_of(lines, problems.len() as u64);
}

/// Returns what a partial result is announced with.
pub(crate) fn message(problems: u64) -> String {
    format!("{} could not be examined", counted(problems, "entry", "entries"))
}

fn line(problem: &Problem) -> Vec<u8> {
    let reason = match &problem.reason {
        // Where the path says it all, the operation adds nothing.
        Reason::Failed { source, .. } if source.kind() == io::ErrorKind::NotFound => {
            io_text(source)
        }
        Reason::Failed { op, source } => format!("cannot {}: {}", op.verb(), io_text(source)),
        other => other.to_string(),
    };
    [&problem.path, b": ".as_slice(), reason.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use fsops::Op;
    use walk::{Problem, Reason};

    use super::line;

    #[test]
    fn a_line_is_the_path_and_the_reason() {
        let failed = |errno| Reason::Failed {
            op: Op::List,
            source: std::io::Error::from_raw_os_error(errno),
        };
        for (reason, text) in [
            (failed(13), &b"d\xff: cannot list: Permission denied"[..]),
            (failed(2), b"d\xff: No such file or directory"),
            (Reason::Changed, b"d\xff: changed while it was read"),
        ] {
            assert_eq!(line(&Problem { path: b"d\xff".to_vec(), reason }), text);
        }
    }
}
