//! Finds out which files several hosts may have, while each host reads only what another one may have.
//!
//! A survey has two rounds. In each, a host writes a **list** of numbers, and gets an **answer**: a bit for
//! each number that tells whether another host has listed it, too.
//!
//! 1. A host lists the sizes of its files. It then reads the heads of those files whose size another host has.
//! 2. It lists a **key** for each head: 48 bits of a hash of the size and the head. It then reads the files
//!    whose key another host has, and computes their digests.
//!
//! Exports with these digests tell which files are equal. A survey alone tells only which files certainly
//! differ. If two files have the same key by coincidence, both are read in vain. If a list is missing or
//! old, files stay unread that others may have. Neither makes an answer of an export wrong.
//!
//! Lists and answers are files in the folder `HOST/_survey`, beside the exports of the host, so that
//! whatever carries exports also carries them. A host writes its lists with [`HostSurvey`], and
//! [`answer()`] writes the answers for all hosts. `docs/fleet.md` describes the files for users.
//!
//! | Module   | What it does                                                                  |
//! |----------|-------------------------------------------------------------------------------|
//! | `sorted` | compresses ascending numbers                                                  |
//! | `key`    | the key of a size and a head                                                  |
//! | `files`  | writes lists and answers, and opens them again                                |
//! | `host`   | the lists of one host, and the answers to them                                |
//! | `answers`| the answers for one host, and what follows from them for its files            |
//! | `merge`  | compares the lists of all hosts                                               |

mod answers;
mod files;
mod host;
mod key;
mod merge;
mod sorted;

pub use answers::Answers;
pub use files::Kind;
pub use host::{HostSurvey, Published, Shared};
pub use key::key_of;
pub use merge::{Answered, HostCounts, answer};
