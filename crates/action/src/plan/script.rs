//! Writes a plan as a POSIX shell script, for users who want to see what happens to their files.
//!
//! Each step of the script compares two files byte by byte again. It leaves a file alone if the
//! file differs, is gone, or is the kept file itself under another path. To replace a file, the
//! script makes a link beside it and renames the link over it. The script has no journal, so files
//! that it deletes cannot be restored.

use std::io::{self, Write};

use walk::split_path;

use crate::plan::decide::Plan;
use crate::plan::relative_path::relative;

const HEAD: &str = r#"#!/bin/sh
# Acts on duplicate files. Each file is compared with the one that is kept for it, byte by byte, right
# before anything is done; what differs or is gone is left alone.
#
# usage: sh THIS [show|delete|hardlink|symlink]

action=${1-show}
done=0
left=0

leave() {
    printf '%s: %s\n' "$1" "$2" >&2
    left=$((left + 1))
}

# file KEPT FILE LINK: LINK is the relative path from the directory of FILE to KEPT.
file() {
    if [ -L "$1" ] || [ ! -f "$1" ]; then
        leave "$2" 'the kept file is gone'
    elif [ -L "$2" ] || [ ! -f "$2" ]; then
        leave "$2" 'is gone'
    elif [ "$1" -ef "$2" ]; then
        leave "$2" 'is the kept file itself'
    elif ! cmp -s "$1" "$2"; then
        leave "$2" 'is not equal to the kept file'
    elif act "$1" "$2" "$3"; then
        done=$((done + 1))
    else
        leave "$2" "cannot $action"
    fi
}

act() {
    case $action in
    show) printf '%s\n' "$2" ;;
    delete) rm -f "$2" ;;
    hardlink) new=${2%/*}/.lop$$ && ln "$1" "$new" && replace "$new" "$2" ;;
    symlink) new=${2%/*}/.lop$$ && ln -s "$3" "$new" && replace "$new" "$2" ;;
    esac
}

# replace NEW FILE: NEW, in the same directory, becomes FILE. Its name is short, however long that of FILE is.
replace() {
    mv -f "$1" "$2" || { rm -f "$1"; false; }
}

case $action in
show | delete | hardlink | symlink) ;;
*)
    echo "usage: sh $0 [show|delete|hardlink|symlink]" >&2
    exit 2
    ;;
esac

"#;

const TAIL: &str = r#"
printf '%s: %s files, %s left alone\n' "$action" "$done" "$left" >&2
[ "$left" -eq 0 ] || exit 3
"#;

/// Writes a script that carries out plans.
///
/// # Errors
///
/// Fails if writing fails. Part of the script may have been written.
pub fn write_script(out: &mut impl Write, plans: impl Iterator<Item = Plan>) -> io::Result<()> {
    write_script_head(out)?;
    for plan in plans {
        for other in &plan.others {
            write_script_step(out, &plan.keep.target.path, &other.target.path)?;
        }
    }
    write_script_tail(out)
}

/// Writes the beginning of a script.
///
/// # Errors
///
/// Fails if writing fails.
pub fn write_script_head(out: &mut impl Write) -> io::Result<()> {
    out.write_all(HEAD.as_bytes())
}

/// Writes the step of a script that acts on the file `path`, for which `kept` stays. Both are absolute
/// paths without NUL.
///
/// # Errors
///
/// Fails if writing fails.
pub fn write_script_step(out: &mut impl Write, kept: &[u8], path: &[u8]) -> io::Result<()> {
    out.write_all(b"file")?;
    for word in [kept, path, &relative(split_path(path).0, kept)] {
        out.write_all(b" ")?;
        out.write_all(&quoted(word))?;
    }
    out.write_all(b"\n")
}

/// Writes the end of a script.
///
/// # Errors
///
/// Fails if writing fails.
pub fn write_script_tail(out: &mut impl Write) -> io::Result<()> {
    out.write_all(TAIL.as_bytes())
}

/// Quotes bytes as one word of a shell. NUL is not allowed.
fn quoted(word: &[u8]) -> Vec<u8> {
    let mut quoted = vec![b'\''];
    for &byte in word {
        match byte {
            b'\'' => quoted.extend_from_slice(b"'\\''"),
            other => quoted.push(other),
        }
    }
    quoted.push(b'\'');
    quoted
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn any_word_is_quoted() {
        assert_eq!(quoted(b"a b$c`d`\n\\"), b"'a b$c`d`\n\\'");
        assert_eq!(quoted(b"it's"), b"'it'\\''s'");
        assert_eq!(quoted(b""), b"''");
    }
}
