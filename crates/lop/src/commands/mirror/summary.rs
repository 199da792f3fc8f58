//! The summary of a mirror, including the reason why extraneous entries were kept.

use std::time::Duration;

use mirror::{KeptReason, LeftOut, Outcome};

use super::problems;
use super::totals::{SkippedEntry, Totals};
use crate::args::MirrorArgs;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::quantity::{count, counted, duration, size};
use crate::settings::Settings;

/// Maximum number of skipped entries to list for each reason.
const MAX_NAMED: usize = 3;

/// Prints the problems and the summary, and returns the exit code.
///
/// # Errors
///
/// Fails if `ended` contains an error, it ended the mirror early and is returned after everything was printed.
pub(super) fn conclude(
    totals: &Totals,
    outcome: &Outcome,
    args: &MirrorArgs,
    ended: Result<(), CommandError>,
    settings: &Settings,
) -> Result<Exit, CommandError> {
    problems::print(outcome, args, settings);
    if let Some(text) = kept_text(totals) {
        settings.complain(text.as_bytes());
    }
    let text = summary(totals, ended.as_ref().err());
    settings.summarize(&text);
    settings.finish(ended, totals.exit(), &text)
}

/// Returns the summary line, with the changes that were or would be made and the entries that are missing. `cut` is the
/// error that ended the run early, if any.
pub(super) fn summary(totals: &Totals, cut: Option<&CommandError>) -> Vec<u8> {
    let took = duration(Duration::from_secs_f64(totals.seconds));
    let least = if totals.is_least { "at least " } else { "" };
    let names = counted(totals.entries, "name", "names");
    let before = match cut.map(|error| error.exit) {
        None => "",
        Some(Exit::Interrupted) => " before it was interrupted",
        Some(_) => " before the run ended early",
    };
    let would = if totals.dry_run { "would be: " } else { "" };
    let mut text =
        format!("{least}{names} in {took}{before}; {would}{}", done(totals)).into_bytes();
    if let Some(skipped) = skipped_text(totals) {
        text.extend_from_slice(b"; skipped: ");
        text.extend_from_slice(&skipped);
    }
    if !totals.not_kept.is_empty() {
        let what = totals.not_kept.join(" or ");
        text.extend_from_slice(format!("; the destination does not support {what}").as_bytes());
    }
    if cut.is_some() && !totals.dry_run {
        text.extend_from_slice(b"; run the command again to continue");
    }
    text
}

/// Returns the changes and the failures as text.
fn done(totals: &Totals) -> String {
    let some =
        |number: u64, one: &str, many: &str| (number > 0).then(|| counted(number, one, many));
    let sized = |files: Option<String>, what, bytes| {
        files.map(|files| format!("{files} {what} ({})", size(bytes)))
    };
    let files = |number| some(number, "file", "files");
    let changes = [
        sized(files(totals.files_copied), "copied", totals.bytes_copied),
        sized(
            files(totals.files_reused),
            "made from content that was already there",
            totals.bytes_reused,
        ),
        some(totals.linked, "linked", "linked"),
        some(totals.dirs_made, "directory made", "directories made"),
        some(totals.symlinks_made, "symlink made", "symlinks made"),
        some(totals.special_files_made, "special file made", "special files made"),
        (totals.adjusted > 0).then(|| {
            format!("metadata of {} updated", counted(totals.adjusted, "entry", "entries"))
        }),
        some(totals.removed, "removed", "removed"),
    ];
    let below = "name missing below a directory that failed";
    let below_many = "names missing below directories that failed";
    let lacks = [
        some(totals.link_limit_copies, "copied because the link limit was reached", {
            "copied because the link limit was reached"
        }),
        some(totals.vanished, "vanished before being copied", "vanished before being copied"),
        some(totals.failed, "failed", "failed"),
        some(totals.missing, below, below_many),
        some(totals.unread_dirs, "directory not read", "directories not read"),
    ];
    let is_complete = totals.complete && totals.failed == 0 && totals.kept == 0;
    let nothing = if is_complete { "nothing to change" } else { "nothing changed" };
    let nothing = (totals.changes == 0).then(|| nothing.to_string());
    let all = nothing.into_iter().chain(changes.into_iter().chain(lacks).flatten());
    all.collect::<Vec<_>>().join(", ")
}

/// Returns the text about entries that were skipped even though no pattern excludes them.
fn skipped_text(totals: &Totals) -> Option<Vec<u8>> {
    let reasons = [
        (LeftOut::Destination, "the destination itself"),
        (LeftOut::Quarantine, "files in quarantine"),
        (LeftOut::Temporary, "temporary files of another run"),
        (LeftOut::Pseudo, "pseudo file systems"),
        (LeftOut::Catalog, "lop's catalog"),
    ];
    let of = |reason| totals.left_out.iter().filter(move |entry| entry.reason == reason);
    let named = reasons.into_iter().filter_map(|(reason, what)| {
        let paths: Vec<&[u8]> = of(reason).map(SkippedEntry::shown).take(MAX_NAMED).collect();
        let more = of(reason).count() > MAX_NAMED;
        let dots = if more { ", …".as_bytes() } else { b"" };
        let names = [&paths.join(&b", "[..]), dots].concat();
        (!paths.is_empty()).then(|| [what.as_bytes(), b" (", &names, b")"].concat())
    });
    let mut all: Vec<Vec<u8>> = named.collect();
    let unnamed = totals.left_out_count.saturating_sub(totals.left_out.len() as u64);
    if unnamed > 0 {
        all.push(format!("{} more", count(unnamed)).into_bytes());
    }
    (!all.is_empty()).then(|| all.join(&b", "[..]))
}

impl SkippedEntry {
    fn shown(&self) -> &[u8] {
        if self.bytes.is_empty() { b"." } else { &self.bytes }
    }
}

/// Returns the message about extraneous entries that were kept.
pub(super) fn kept_text(totals: &Totals) -> Option<String> {
    if totals.kept == 0 {
        return None;
    }
    let why = match totals.kept_reason {
        KeptReason::TooMany => {
            let most = totals.max_delete.map_or_else(String::new, count);
            let kept = extraneous(totals.kept_entries);
            return Some(format!("{kept}: deleting them would exceed --max-delete {most}"));
        }
        KeptReason::SourceFailed => "not all of the source could be read",
        KeptReason::SourceEmpty => {
            "the source has nothing to mirror, or only directories; \
             use --allow-empty-source to delete them"
        }
        KeptReason::Declined => "the answer was no",
        KeptReason::NotCopied => {
            "not all of the source could be copied, and the destination may contain the source under another path; \
             run the command again when everything can be copied"
        }
    };
    Some(format!("{}: {why}", extraneous(totals.kept)))
}

fn extraneous(entries: u64) -> String {
    format!("kept {}", counted(entries, "extraneous entry", "extraneous entries"))
}

#[cfg(test)]
mod tests {
    use super::{kept_text, summary};
    use crate::commands::mirror::totals::Totals;
    use crate::error::CommandError;
    use mirror::KeptReason;

    fn said(totals: &Totals) -> String {
        String::from_utf8(summary(totals, None)).expect("is UTF-8")
    }

    fn complete() -> Totals {
        Totals { entries: 2_004, seconds: 0.3, complete: true, ..Totals::default() }
    }

    #[test]
    fn a_run_with_failures_does_not_say_that_nothing_had_to_change() {
        assert_eq!(said(&complete()), "2,004 names in 0.30 s; nothing to change");
        let failed = Totals { failed: 495, missing: 1_696, ..complete() };
        assert_eq!(
            said(&failed),
            "2,004 names in 0.30 s; nothing changed, 495 failed, \
             1,696 names missing below directories that failed"
        );
        let kept = Totals { kept: 1, ..complete() };
        assert_eq!(said(&kept), "2,004 names in 0.30 s; nothing changed");
    }

    #[test]
    fn each_kind_of_change_is_named() {
        let totals = Totals {
            files_copied: 1,
            bytes_copied: 1024,
            linked: 2,
            symlinks_made: 81,
            special_files_made: 1,
            adjusted: 49,
            changes: 134,
            unread_dirs: 2,
            failed: 2,
            ..complete()
        };
        assert_eq!(
            said(&totals),
            "2,004 names in 0.30 s; 1 file copied (1.0 KiB), 2 linked, 81 symlinks made, \
             1 special file made, metadata of 49 entries updated, 2 failed, 2 directories not read"
        );
    }

    #[test]
    fn an_interrupted_run_says_how_to_continue() {
        let totals = Totals { is_least: true, complete: false, ..complete() };
        let cut = CommandError::failed("the connection to nas was lost");
        let text = String::from_utf8(summary(&totals, Some(&cut))).expect("is UTF-8");
        assert_eq!(
            text,
            "at least 2,004 names in 0.30 s before the run ended early; nothing changed; \
             run the command again to continue"
        );
    }

    #[test]
    fn max_delete_is_reported_in_entries() {
        let totals = Totals {
            kept: 2,
            kept_entries: 4,
            kept_reason: KeptReason::TooMany,
            max_delete: Some(2),
            ..complete()
        };
        let text = kept_text(&totals).expect("entries were kept");
        assert_eq!(text, "kept 4 extraneous entries: deleting them would exceed --max-delete 2");
    }
}
