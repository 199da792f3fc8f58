//! What a mirroring came to, in words.

use std::time::Duration;

use mirror::{LeftOut, Outcome, Spared};

use super::account::{Account, Left};
use super::problems;
use crate::args::MirrorArgs;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::quantity::{count, counted, duration, size};
use crate::settings::Settings;

/// Entries left out for one reason that are named.
const NAMED: usize = 3;

/// Says what came of it, and returns how the program ends.
pub(super) fn conclude(
    account: &Account,
    outcome: &Outcome,
    args: &MirrorArgs,
    ended: Result<(), CommandError>,
    settings: &Settings,
) -> Result<Exit, CommandError> {
    problems::print(outcome, args, settings);
    if let Some(text) = spared(account) {
        settings.complain(text.as_bytes());
    }
    let text = summary(account, ended.as_ref().err());
    settings.summarize(&text);
    settings.finish(ended, account.exit(), &text)
}

/// Returns the last line: what was done, or would be, and what is not as it is to be; `cut` says why the run did not
/// go to its end.
pub(super) fn summary(account: &Account, cut: Option<&CommandError>) -> Vec<u8> {
    let took = duration(Duration::from_secs_f64(account.seconds));
    let least = if account.is_least { "at least " } else { "" };
    let names = counted(account.entries, "name", "names");
    let before = match cut.map(|error| error.exit) {
        None => "",
        Some(Exit::Interrupted) => " before it was interrupted",
        Some(_) => " before it was cut off",
    };
    let would = if account.dry_run { "would be: " } else { "" };
    let mut text =
        format!("{least}{names} in {took}{before}; {would}{}", done(account)).into_bytes();
    if let Some(left) = left_out(account) {
        text.extend_from_slice(b"; left out: ");
        text.extend_from_slice(&left);
    }
    if !account.not_kept.is_empty() {
        let what = account.not_kept.join(" and no ");
        text.extend_from_slice(format!("; the destination keeps no {what}").as_bytes());
    }
    if cut.is_some() && !account.dry_run {
        text.extend_from_slice(b"; run it again to go on");
    }
    text
}

/// Returns what was done, and what failed.
fn done(account: &Account) -> String {
    let some =
        |number: u64, one: &str, many: &str| (number > 0).then(|| counted(number, one, many));
    let sized = |files: Option<String>, what, bytes| {
        files.map(|files| format!("{files} {what} ({})", size(bytes)))
    };
    let files = |number| some(number, "file", "files");
    let changes = [
        sized(files(account.files_copied), "copied", account.bytes_copied),
        sized(files(account.files_reused), "made of content that was there", account.bytes_reused),
        some(account.linked, "linked", "linked"),
        some(account.dirs_made, "directory made", "directories made"),
        some(account.symlinks_made, "symlink made", "symlinks made"),
        some(account.special_files_made, "special file made", "special files made"),
        (account.adjusted > 0).then(|| format!("metadata of {} updated", count(account.adjusted))),
        some(account.removed, "removed", "removed"),
    ];
    let below = "name below a directory that failed is missing";
    let below_many = "names below directories that failed are missing";
    let lacks = [
        some(account.split, "copied again, as no more names could be linked", {
            "copied again, as no more names could be linked"
        }),
        some(account.vanished, "gone before being copied", "gone before being copied"),
        some(account.failed, "failed", "failed"),
        some(account.missing, below, below_many),
        some(account.unread_dirs, "directory not read", "directories not read"),
    ];
    let is_complete = account.complete && account.failed == 0 && account.spared == 0;
    let nothing = if is_complete { "nothing to change" } else { "nothing changed" };
    let nothing = (account.changes == 0).then(|| nothing.to_string());
    let all = nothing.into_iter().chain(changes.into_iter().chain(lacks).flatten());
    all.collect::<Vec<_>>().join(", ")
}

/// Returns what was left out though no pattern says so.
fn left_out(account: &Account) -> Option<Vec<u8>> {
    let reasons = [
        (LeftOut::Destination, "the destination itself"),
        (LeftOut::Quarantine, "files in quarantine"),
        (LeftOut::Temporary, "temporary files of another run"),
        (LeftOut::Pseudo, "file systems that the kernel makes up"),
        (LeftOut::Catalog, "lop's catalog"),
    ];
    let of = |reason| account.left_out.iter().filter(move |left| left.reason == reason);
    let named = reasons.into_iter().filter_map(|(reason, what)| {
        let paths: Vec<&[u8]> = of(reason).map(Left::shown).take(NAMED).collect();
        let more = of(reason).count() > NAMED;
        let dots = if more { ", …".as_bytes() } else { b"" };
        let names = [&paths.join(&b", "[..]), dots].concat();
        (!paths.is_empty()).then(|| [what.as_bytes(), b" (", &names, b")"].concat())
    });
    let mut all: Vec<Vec<u8>> = named.collect();
    let unnamed = account.left_out_count.saturating_sub(account.left_out.len() as u64);
    if unnamed > 0 {
        all.push(format!("{} more", count(unnamed)).into_bytes());
    }
    (!all.is_empty()).then(|| all.join(&b", "[..]))
}

impl Left {
    fn shown(&self) -> &[u8] {
        if self.bytes.is_empty() { b"." } else { &self.bytes }
    }
}

/// Returns why something of the destination was not removed.
pub(super) fn spared(account: &Account) -> Option<String> {
    let spared = (account.spared > 0).then(|| counted(account.spared, "name", "names"))?;
    let why = match account.spared_why {
        Spared::TooMany => {
            let most = account.max_delete.map_or_else(String::new, count);
            let entries = counted(account.spared_entries, "entry", "entries");
            return Some(format!("--max-delete {most}: {entries} would be removed; none was"));
        }
        Spared::SourceFailed => "not all of the source could be read",
        Spared::SourceEmpty => {
            "the source has nothing to mirror, or only directories; \
             use --allow-empty-source to remove them"
        }
        Spared::Declined => "the answer was no",
        Spared::NotCopied => {
            "not all of the source could be copied, and the destination may contain the source under another path; \
             run again when everything else can be copied"
        }
    };
    let was = if account.spared == 1 { "was" } else { "were" };
    Some(format!("{spared} that the source does not have {was} not removed: {why}"))
}

#[cfg(test)]
mod tests {
    use super::{spared, summary};
    use crate::commands::mirror::account::Account;
    use crate::error::CommandError;
    use mirror::Spared;

    fn said(account: &Account) -> String {
        String::from_utf8(summary(account, None)).expect("it is text")
    }

    fn complete() -> Account {
        Account { entries: 2_004, seconds: 0.3, complete: true, ..Account::default() }
    }

    #[test]
    fn what_failed_is_no_reason_to_say_that_nothing_was_to_change() {
        assert_eq!(said(&complete()), "2,004 names in 0.30 s; nothing to change");
        let failed = Account { failed: 495, missing: 1_696, ..complete() };
        assert_eq!(
            said(&failed),
            "2,004 names in 0.30 s; nothing changed, 495 failed, \
             1,696 names below directories that failed are missing"
        );
        let spared = Account { spared: 1, ..complete() };
        assert_eq!(said(&spared), "2,004 names in 0.30 s; nothing changed");
    }

    #[test]
    fn each_kind_of_change_has_its_words() {
        let account = Account {
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
            said(&account),
            "2,004 names in 0.30 s; 1 file copied (1.0 KiB), 2 linked, 81 symlinks made, \
             1 special file made, metadata of 49 updated, 2 failed, 2 directories not read"
        );
    }

    #[test]
    fn what_was_cut_off_says_how_to_go_on() {
        let account = Account { is_least: true, complete: false, ..complete() };
        let cut = CommandError::failed("the connection to nas was lost");
        let text = String::from_utf8(summary(&account, Some(&cut))).expect("it is text");
        assert_eq!(
            text,
            "at least 2,004 names in 0.30 s before it was cut off; nothing changed; \
             run it again to go on"
        );
    }

    #[test]
    fn too_much_to_remove_is_said_in_entries() {
        let account = Account {
            spared: 2,
            spared_entries: 4,
            spared_why: Spared::TooMany,
            max_delete: Some(2),
            ..complete()
        };
        let text = spared(&account).expect("something stays");
        assert_eq!(text, "--max-delete 2: 4 entries would be removed; none was");
    }
}
