//! A headless Chromium for the tests of pages, controlled through chromedriver.
//!
//! Every page is watched from before its first script runs. [`Browser::finish`] fails the test if a
//! page logged an error, violated its content security policy, or blocked the main thread for long.
//! Tests therefore MUST end with `finish`. A test that lacks the browser skips itself.
//!
//! | module | for |
//! |---|---|
//! | [`browser`] | the actions of a user, and questions about the page |
//! | [`findings`] | the complaints of the browser about the pages |
//! | [`axe`] | violations of accessibility rules, found by axe-core |
//! | `driver`, `session`, `keys` | the chromedriver process, the protocol, and the names of keys |

#![expect(
    clippy::disallowed_methods,
    reason = "writes screenshots and the cached axe-core to the target directory"
)]

pub mod axe;
pub mod browser;
mod driver;
pub mod findings;
mod keys;
mod session;

use std::path::PathBuf;

pub use axe::Violation;
pub use browser::{Browser, Options};
pub use findings::Findings;

/// Returns the target directory of the build that made this test or program.
fn target_directory() -> PathBuf {
    let program = std::env::current_exe().expect("the path of this program");
    // Tests are in target/PROFILE/deps, and programs in target/PROFILE.
    let is_test = program.parent().is_some_and(|folder| folder.ends_with("deps"));
    let above = program.ancestors().nth(if is_test { 3 } else { 2 });
    above.expect("programs are below the target directory").to_owned()
}
