//! Files whose bytes turn out, while they are compared, not to be what they were said to be.

use crate::error::Reason;
use crate::opening::{Going, Opened};
use crate::target::Version;

/// A file that a comparison has shown to be damaged or changed without a trace, or that could not be read.
#[derive(Clone, Debug)]
pub struct Suspect {
    /// Its absolute path.
    pub path: Vec<u8>,
    /// The version of the file that lop compared.
    pub version: Version,
    /// What was found.
    pub fault: Fault,
}

/// What a comparison found wrong with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Its bytes differ from those of files that are still equal.
    Differs,
    /// Its bytes differ from those of the only file that it was compared with: one of the two has changed.
    Unclear,
    /// It could not be read.
    Unreadable,
}

/// Returns the suspects among a kept file and those that were compared with it, given why each is not equal, for the
/// kept one first.
pub(crate) fn suspects(
    kept: &Opened<'_>,
    going: &[Going<'_>],
    verdicts: &[Option<Reason>],
) -> Vec<Suspect> {
    let differs = |verdict: &Option<Reason>| matches!(verdict, Some(Reason::Differs));
    let is_agreed = verdicts.first().is_some_and(Option::is_none)
        && verdicts.iter().skip(1).any(Option::is_none);
    let is_unclear = !is_agreed && verdicts.iter().any(differs);
    let fault = |at: usize, verdict: &Option<Reason>| match verdict {
        Some(Reason::Failed { .. }) => Some(Fault::Unreadable),
        Some(Reason::Differs) if is_agreed => Some(Fault::Differs),
        Some(Reason::Differs) => Some(Fault::Unclear),
        None if at == 0 && is_unclear => Some(Fault::Unclear),
        _ => None,
    };
    let all = std::iter::once(kept).chain(going.iter().map(|one| &one.opened));
    let found = all.zip(verdicts).enumerate().filter_map(|(at, (opened, verdict))| {
        let (path, version) = (opened.target.path.clone(), Version::from(&opened.stat));
        fault(at, verdict).map(|fault| Suspect { path, version, fault })
    });
    found.collect()
}
