//! Finds and reads the configuration files.
//!
//! A configuration decides which files lop protects and leaves out. Like `ssh` (`ssh_config(5)`), lop therefore reads
//! it only if no users except root and the current user could have written it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use fsops::{TrustError, effective_user, read_trusted_file};

use crate::error::CommandError;
use crate::settings::environment;

/// The variable that names the only file to read. If the variable is empty, lop reads no file.
const VARIABLE: &str = "LOP_CONFIG";

/// The file of the system.
const OF_SYSTEM: &str = "/etc/lop/config.toml";

/// Maximum size of a file. The limit prevents lop from reading a large file that was named by mistake.
const MAX_BYTES: usize = 1 << 20;

/// The hint for a file that cannot be used.
const WITHOUT: &str = "to run lop without a configuration, set LOP_CONFIG to an empty string";

/// A configuration file, which need not exist.
#[derive(Debug)]
pub(crate) struct ConfigFile {
    pub(crate) path: PathBuf,
    /// The path for messages, in which `~` stands for the home directory.
    shown: String,
    /// True if `LOP_CONFIG` names the file. The file must then exist.
    is_named: bool,
}

impl fmt::Display for ConfigFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

/// Returns the files that may exist, the one with precedence first.
///
/// # Errors
///
/// Fails if `LOP_CONFIG` is a relative path, because processes that lop starts may have another working directory.
pub(super) fn candidates() -> Result<Vec<ConfigFile>, CommandError> {
    if let Some(named) = std::env::var_os(VARIABLE) {
        let path = PathBuf::from(named);
        if path.as_os_str().is_empty() {
            return Ok(Vec::new());
        }
        if path.is_relative() {
            let text = format!("{VARIABLE}: {} is not an absolute path", path.display());
            return Err(CommandError::usage(text).hint(WITHOUT));
        }
        return Ok(vec![ConfigFile::new(path, true)]);
    }
    let folder = environment::absolute_path("XDG_CONFIG_HOME")
        .or_else(|| Some(environment::absolute_path("HOME")?.join(".config")));
    let of_user = folder.map(|folder| folder.join("lop/config.toml"));
    let paths = of_user.into_iter().chain([PathBuf::from(OF_SYSTEM)]);
    Ok(paths.map(|path| ConfigFile::new(path, false)).collect())
}

impl ConfigFile {
    fn new(path: PathBuf, is_named: bool) -> ConfigFile {
        let home = environment::absolute_path("HOME").filter(|home| home.parent().is_some());
        let below_home = home.and_then(|home| path.strip_prefix(home).ok().map(Path::to_path_buf));
        let shown = match below_home {
            Some(rest) => format!("~/{}", rest.display()),
            None => path.display().to_string(),
        };
        ConfigFile { path, shown, is_named }
    }

    /// Returns a file for tests, which is never read.
    #[cfg(test)]
    pub(super) fn of_test(path: &str) -> ConfigFile {
        ConfigFile { path: path.into(), shown: path.into(), is_named: false }
    }

    /// Reads the file. Returns `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read, or if another user could have written it.
    pub(super) fn read(&self) -> Result<Option<Vec<u8>>, CommandError> {
        let unreadable = |source| {
            CommandError::usage(format!("cannot read the configuration {self}"))
                .because(source)
                .hint(WITHOUT)
        };
        // A configuration may be a link, for example into a folder under version control. The owner and permissions of
        // the target decide whether lop trusts it.
        let path = match self.path.canonicalize() {
            Ok(path) => path,
            Err(error) if self.is_missing(&error) => return Ok(None),
            Err(error) => return Err(unreadable(error)),
        };
        let objection = match read_trusted_file(&path, MAX_BYTES) {
            Ok(bytes) => return Ok(Some(bytes)),
            Err(TrustError::Failed(source)) => return Err(unreadable(source)),
            Err(objection) => objection,
        };
        let why = match objection {
            TrustError::TooLarge => "is larger than 1 MiB".to_string(),
            _ => objection.to_string(),
        };
        let mut error = CommandError::usage(format!("the configuration {self} {why}"));
        if matches!(objection, TrustError::Owner { .. }) && effective_user() == 0 {
            // `sudo` may keep the HOME of the user.
            error = error
                .hint("sudo -H runs lop with the home directory and the configuration of root");
        }
        Err(error.hint(WITHOUT))
    }

    /// Returns whether an error means that the file does not exist and need not exist. A file that `LOP_CONFIG` names
    /// must exist, and so must the target of a link, because otherwise the configuration of the user would silently
    /// have no effect.
    fn is_missing(&self, error: &io::Error) -> bool {
        let is_absent =
            matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
        is_absent && !self.is_named && !self.path.is_symlink()
    }
}
