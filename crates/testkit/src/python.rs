//! Python scripts that use other engines, such as `DuckDB`, as oracles.
//!
//! `cargo xtask test` installs the engines and names the interpreter in a variable. If only one test is
//! run, the variable can name any interpreter that has the packages.

use std::path::PathBuf;

use crate::sandbox::Sandbox;

/// The variable that names the interpreter.
pub(crate) const VARIABLE: &str = "LOP_TEST_PYTHON";

/// Returns a sandbox for the Python interpreter of the tests. Prints the reason and returns `None` if
/// there is none.
///
/// Scripts must be run with [`-B`](https://docs.python.org/3/using/cmdline.html#cmdoption-B), so that
/// Python writes no compiled modules beside them.
pub fn python() -> Option<Sandbox> {
    let interpreter = std::env::var_os(VARIABLE).filter(|path| !path.is_empty());
    if interpreter.is_none() {
        crate::skipped(format!("{VARIABLE} is not set; 'cargo xtask test' installs the engines"));
    }
    interpreter.map(|path| Sandbox::new(PathBuf::from(path)))
}
