//! What came of one name.

use fsops::Op;

use crate::model::reason::Reason;

/// What came of a name for now.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Settled {
    /// The destination has it, with this inode; 0 if nobody needs to know.
    Is(u64),
    /// Its content was asked for, or is read later.
    Asked,
}

/// A failure that was not noted yet; nothing if there is nothing to note.
pub(crate) type Failure = Option<Reason>;

/// Returns how a call on the destination failed.
pub(crate) fn destination(op: Op) -> impl Fn(std::io::Error) -> Failure {
    move |source| Some(Reason::Destination { op, source })
}
