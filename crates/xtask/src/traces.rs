//! Finds traces that tests leave on a machine, by comparing two inspections. Traces are stray
//! files, mounts, loop devices, users and processes.
//!
//! Other programs run on the machine too, so only traces that the suite may have caused are
//! reported. The suite may have caused anything in its temporary directory, any process started
//! from there, and new names in places where other programs rarely create files.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A temporary directory of this process.
pub(crate) struct Temporary(PathBuf);

impl Temporary {
    /// Creates the directory below the system's temporary directory, writable by everyone.
    #[expect(clippy::disallowed_methods, reason = "makes a directory of its own")]
    pub(crate) fn new(name: &str) -> io::Result<Temporary> {
        // The path is short because socket names are limited to 108 bytes.
        let path = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
        fs::create_dir(&path)?;
        // The same mode as /tmp, because some tests use the directory as other users.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o1777))?;
        Ok(Temporary(path.canonicalize()?))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Removes the directory with everything in it.
    #[expect(clippy::disallowed_methods, reason = "removes a directory of its own")]
    pub(crate) fn remove(self) -> io::Result<()> {
        fs::remove_dir_all(&self.0)
    }
}

impl Drop for Temporary {
    #[expect(clippy::disallowed_methods, reason = "removes a directory of its own, if it is empty")]
    fn drop(&mut self) {
        // Files that remain were reported and should be inspected.
        let _not_empty = fs::remove_dir(&self.0);
    }
}

/// The findings of one inspection, one per line.
pub(crate) struct Traces(BTreeSet<String>);

impl Traces {
    /// Looks for traces of programs that run below `target`, and for traces in `temporary`.
    pub(crate) fn inspect(target: &Path, temporary: &Path) -> Traces {
        let mut all = BTreeSet::new();
        let home = std::env::var_os("HOME").map(PathBuf::from);
        for dir in [Path::new("/"), temporary].into_iter().chain(home.as_deref()) {
            all.extend(names(dir).map(|name| format!("file {}", dir.join(name).display())));
        }
        // A quarantine may have existed before the tests.
        for store in names(Path::new("/")).filter(|name| name.starts_with(".lop-quarantine-")) {
            let store = Path::new("/").join(store);
            all.extend(names(&store).map(|name| format!("file {}", store.join(name).display())));
        }
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let own = |text: &&str| text.contains(temporary.to_string_lossy().as_ref());
        all.extend(
            text("/proc/self/mountinfo")
                .lines()
                .filter(own)
                .map(|line| format!("mount {}", line.split(' ').nth(4).unwrap_or(line))),
        );
        all.extend(text("/etc/passwd").lines().map(|line| format!("user {line}")));
        for device in names(Path::new("/sys/block")).filter(|name| name.starts_with("loop")) {
            let file = text(&format!("/sys/block/{device}/loop/backing_file"));
            all.extend(
                Some(file.trim()).filter(own).map(|file| format!("device {device} of {file}")),
            );
        }
        all.extend(processes(&[target, temporary]));
        Traces(all)
    }

    /// Returns the findings that are new since another inspection.
    pub(crate) fn since(&self, before: &Traces) -> Vec<String> {
        self.0.difference(&before.0).map(|trace| format!("left behind: {trace}")).collect()
    }
}

/// Returns the names in a directory. An unreadable directory yields no names.
fn names(dir: &Path) -> impl Iterator<Item = String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned())
}

/// Returns the processes that run a program, or have their working directory, below one of the
/// directories. This process is left out.
fn processes(dirs: &[&Path]) -> Vec<String> {
    let own = std::process::id().to_string();
    let all = names(Path::new("/proc")).filter(|name| name.parse::<u32>().is_ok() && *name != own);
    let inside = |process: &String| {
        let links = ["exe", "cwd"].map(|link| fs::read_link(format!("/proc/{process}/{link}")));
        links.iter().flatten().any(|path| dirs.iter().any(|dir| path.starts_with(dir)))
    };
    let describe = |process: String| {
        let command = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&command).replace('\0', " ");
        format!("process {process}: {}", command.trim_end())
    };
    all.filter(inside).map(describe).collect()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::{Temporary, Traces};

    #[test]
    #[expect(clippy::disallowed_methods, reason = "writes to a directory of its own")]
    fn only_new_traces_are_reported() {
        let temporary = Temporary::new("lop-traces").expect("made");
        let inspect = || Traces::inspect(temporary.path(), temporary.path());
        let before = inspect();
        assert_eq!(inspect().since(&before), [""; 0]);
        let (file, mut sleep) = (temporary.path().join("file"), Command::new("sleep"));
        std::fs::write(&file, "").expect("written");
        let mut child = sleep.arg("60").current_dir(temporary.path()).spawn().expect("started");
        // The arguments of a process appear a moment after its start.
        let args = format!("/proc/{}/cmdline", child.id());
        while std::fs::read(&args).expect("a process").is_empty() {
            std::thread::yield_now();
        }
        let left = inspect().since(&before);
        child.kill().and_then(|()| child.wait()).expect("ended");
        std::fs::remove_file(&file).expect("removed");
        let expected = [
            format!("left behind: file {}", file.display()),
            format!("left behind: process {}: sleep 60", child.id()),
        ];
        assert_eq!(left, expected);
        let path = temporary.path().to_path_buf();
        drop(temporary);
        assert!(!path.exists());
    }
}
