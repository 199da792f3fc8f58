//! Lists changes while a tree is mirrored, as lines of text or as one JSON document.

use runtime::Mutex;
use std::io::Write;

use mirror::{Change, Consent, OnChange, Outcome, Removal, User};

use super::change::{Line, line};
use super::totals::Totals;
use crate::error::CommandError;
use crate::output::formats::{JsonList, summary_document, to_json};
use crate::output::stdout::{self, Lines};
use crate::settings::Settings;

/// The outcome of a mirror, and the error that ended the mirror early, if any.
pub(super) type Ended = (Outcome, Result<(), CommandError>);

/// A mirror that reports its changes to a user and asks for consent.
pub(super) type Work<'w> = &'w mut dyn FnMut(User<'_>) -> Ended;

/// Flushes all output, then asks for consent to a removal.
pub(super) type Consents<'c> = &'c dyn Fn(&Removal, &Lines<'_>) -> bool;

/// Runs the mirror. If `lists` is set, prints each change on a separate line.
///
/// # Errors
///
/// Fails if standard output cannot be written. Even then, the mirror runs to completion before the error is returned.
pub(super) fn listed(
    lists: bool,
    consents: Option<Consents<'_>>,
    settings: &Settings,
    work: Work<'_>,
) -> Result<Ended, CommandError> {
    let mut ended = None;
    stdout::print(|out| {
        let lines = Lines::new(out);
        let tell = |change: &Change| {
            lines.write(&line(change, settings.stdout.names));
        };
        let consent = |removal: &Removal| consents.is_none_or(|ask| ask(removal, &lines));
        let consent: Consent<'_> = &consent;
        let on_change = lists.then_some(&tell as OnChange<'_>);
        ended = Some(work(User { on_change, consent: consents.map(|_| consent) }));
        lines.end()
    })?;
    done(ended)
}

/// Runs the mirror and prints one JSON document with the summary. If `lists` is set, the document also contains the
/// changes.
///
/// # Errors
///
/// Fails if standard output cannot be written. Even then, the mirror runs to completion before the error is returned.
pub(super) fn listed_as_json(
    lists: bool,
    consents: Option<Consents<'_>>,
    totals: &dyn Fn(&Outcome, bool) -> Totals,
    work: Work<'_>,
) -> Result<Ended, CommandError> {
    let mut ended = None;
    stdout::print(|out| {
        let lines = Lines::new(out);
        let list = Mutex::new(JsonList::new(&lines, "changes"));
        let tell = |change: &Change| {
            let mut list = list.lock();
            let _kept_by_lines = list.item(&Line::of(change));
        };
        let consent = |removal: &Removal| consents.is_none_or(|ask| ask(removal, &lines));
        let consent: Consent<'_> = &consent;
        let on_change = lists.then_some(&tell as OnChange<'_>);
        let (outcome, end) = work(User { on_change, consent: consents.map(|_| consent) });
        let totals = totals(&outcome, end.is_ok());
        let _kept_by_lines = if lists {
            list.into_inner().finish(&to_json(&totals))
        } else {
            writeln!(&lines, "{}", summary_document(&totals))
        };
        ended = Some((outcome, end));
        lines.end()
    })?;
    done(ended)
}

fn done(ended: Option<Ended>) -> Result<Ended, CommandError> {
    ended.ok_or_else(|| CommandError::failed("nothing was done"))
}
