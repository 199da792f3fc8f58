//! `lop sweep`: finds junk by rules, and moves it to quarantine or removes it.
//!
//! A preview changes nothing. With `--apply` and `--delete`, exactly the matches of the preview are taken.

mod act;
mod conclusion;
mod delete;
mod document;
mod engine;
mod explain;
mod places;
mod plan;
mod plan_file;
mod quarantine;
mod report;
mod rule_book;
mod summary;
mod taking;
mod target;

use std::borrow::Cow;
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use self::conclusion::Report;
use self::document::{Document, Figures, Listed};
use self::engine::{Engine, Found};
use self::rule_book::{RuleBook, unknown_rule};
use self::summary::Summary;
use self::taking::Batch;
use self::target::Target;
use crate::args::SweepArgs;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::monitor::monitored;
use crate::output::formats::document;
use crate::output::problems::{self, PathProblem, failed_to, unexamined};
use crate::output::stdout;
use crate::prompt::confirm::can_ask;
use crate::protected::Protected;
use crate::quantity::counted;
use crate::settings::{Resources, Settings, Verbosity};

/// Runs the command.
pub(crate) fn run(args: &SweepArgs, settings: &Settings) -> Result<Exit, CommandError> {
    let acts = args.apply || args.delete;
    if let Some(file) = args.plan.as_deref().filter(|_| acts) {
        return plan::carry_out(file, args, settings);
    }
    let start = Instant::now();
    let book = RuleBook::load(args)?;
    let (listed, targets) = listed(args, &book)?;
    let targets = Target::open_all(&targets)?;
    let resources = Resources::of(&args.storage);
    let protected = Protected::configured(settings)?;
    let engine = Engine::new(&book, &resources, &protected, args.delete, settings);
    report::list_dropped(&book, settings);
    if let Some(path) = &args.explain {
        return explain::explain(path, &engine, &targets, settings);
    }
    tell_protected(&targets, &protected, settings)?;
    let found = monitored(settings, |progress| {
        let examine = |target| engine.examine(target, progress);
        targets.into_iter().map(examine).collect::<Result<Vec<Found>, _>>()
    })?;
    tell_problems(&found, settings);
    if args.stats {
        settings.note(&document(&Figures::new(&found, &resources, start.elapsed())));
    }
    let summary = Summary::of(&found);
    if acts {
        if can_ask(args.yes) && !settings.json && settings.verbosity != Verbosity::Quiet {
            // The user decides on the basis of the table.
            stdout::print(|out| report::write(out, &book, &found, settings))?;
        } else {
            tell_refused(&book, &found, settings);
        }
        refuse_strictly(args, &book, &found)?;
        return act(&book, &found, &summary, args, settings);
    }
    print(&book, &found, listed, &summary, args, settings)?;
    conclude(&book, &found, &summary, args, settings)
}

/// Prints which folders of the targets no rule takes because they are protected.
///
/// # Errors
///
/// Fails if a whole target is protected.
fn tell_protected(
    targets: &[Target],
    protected: &Protected,
    settings: &Settings,
) -> Result<(), CommandError> {
    for target in targets {
        if let Some(folder) = protected.folder_of(&target.absolute) {
            let given = report::shown_bytes(&target.given);
            let text = format!("{given} is protected by {}; nothing was changed", folder.by());
            return Err(CommandError::new(Exit::Refused, text));
        }
        protected.below(&target.absolute).for_each(|folder| folder.note(settings));
    }
    Ok(())
}

/// Returns the matches to list, and the paths of the targets. The value of `--list` is a target unless a rule has this
/// ID, because `lop sweep --list TARGET` looks like `lop sweep --list ID`.
fn listed(args: &SweepArgs, book: &RuleBook) -> Result<(Listed, Vec<PathBuf>), CommandError> {
    let mut targets = args.targets.clone();
    let listed = match &args.list {
        None => Listed::Nothing,
        Some(None) => Listed::Matches(None),
        Some(Some(value)) => match value.to_str().and_then(|id| book.index_of(id)) {
            Some(rule) => Listed::Matches(Some(rule)),
            None if PathBuf::from(value).exists() => {
                targets.push(value.into());
                Listed::Matches(None)
            }
            None => return Err(unknown_rule("--list", &value.to_string_lossy())),
        },
    };
    if targets.is_empty() {
        targets.push(".".into());
    }
    Ok((listed, targets))
}

/// Takes the matches.
fn act(
    book: &RuleBook,
    found: &[Found],
    previewed: &Summary,
    args: &SweepArgs,
    settings: &Settings,
) -> Result<Exit, CommandError> {
    let batches: Vec<Batch<'_>> = found.iter().map(|found| Batch::of(found, book)).collect();
    let before = Summary { problems: previewed.problems, ..Summary::default() };
    let document =
        |summary: &Summary| document(&Document::new(book, found, Listed::Nothing, summary));
    act::take(&batches, args, settings, &Report { before, document: &document })
}

/// Prints the preview: the table, the list of matches, or the document.
fn print(
    book: &RuleBook,
    found: &[Found],
    listed: Listed,
    summary: &Summary,
    args: &SweepArgs,
    settings: &Settings,
) -> Result<bool, CommandError> {
    stdout::print(|out| match listed {
        _ if settings.json => {
            writeln!(out, "{}", document(&Document::new(book, found, listed, summary)))
        }
        Listed::Nothing => report::write(out, book, found, settings),
        Listed::Matches(rule) => {
            let mut path = Vec::new();
            for found in found {
                for one in found.matches_of(rule) {
                    found.target.show_path(&one.path, &mut path);
                    if args.null {
                        path.push(0);
                        out.write_all(&path)?;
                    } else {
                        settings.stdout.names.write_line(out, &path, "")?;
                    }
                }
            }
            Ok(())
        }
    })
}

/// A note about the next steps after a preview.
const NEXT_STEPS: &[u8] =
    b"'lop undo' moves them back. See also --list, --explain PATH, --plan, --delete.";

/// Ends a preview: writes the plan, and prints the summary.
fn conclude(
    book: &RuleBook,
    found: &[Found],
    summary: &Summary,
    args: &SweepArgs,
    settings: &Settings,
) -> Result<Exit, CommandError> {
    refuse_strictly(args, book, found)?;
    let mut left = 0;
    let mut text = summary.preview_text();
    if let Some(file) = &args.plan {
        let saved = plan::save(file, found, book, settings)?;
        left = saved.failed;
        let shown = settings.stderr.names.show_line(file.as_os_str().as_encoded_bytes());
        let shown = String::from_utf8_lossy(&shown);
        text = format!(
            "Wrote the plan: {}. Carry it out with: lop sweep --plan {shown} --apply",
            saved.amount()
        );
    }
    settings.summarize(text.as_bytes());
    if args.plan.is_none() && summary.matches > 0 {
        settings.summarize(NEXT_STEPS);
    }
    let exit = Exit::Done.partial_if(summary.problems + left > 0);
    let left_out = format!("{} not written to the plan", counted(left, "entry", "entries"));
    let why = match (summary.problems, left) {
        (problems, 0) => unexamined(problems),
        (0, _) => left_out,
        (problems, _) => format!("{}, {left_out}", unexamined(problems)),
    };
    settings.finish(Ok(()), exit, why.as_bytes())
}

/// Fails if `--strict` was given and a rule was refused or dropped.
fn refuse_strictly(args: &SweepArgs, book: &RuleBook, found: &[Found]) -> Result<(), CommandError> {
    let refused = (book.refused.len()
        + found.iter().map(|found| found.preview.refused.len()).sum::<usize>())
        as u64;
    let dropped = book.dropped.len() as u64;
    if !args.strict || refused + dropped == 0 {
        return Ok(());
    }
    let (refused, dropped) =
        (counted(refused, "rule", "rules"), counted(dropped, "entry", "entries"));
    let text = format!(
        "--strict: {refused} refused, {dropped} of rule files dropped; nothing was changed"
    );
    Err(CommandError::new(Exit::Refused, text).hint("leave out refused rules with --skip ID"))
}

/// Prints the rules that a guard refused, for a run that prints no table.
fn tell_refused(book: &RuleBook, found: &[Found], settings: &Settings) {
    let of_targets = found.iter().flat_map(|found| &found.preview.refused);
    for refused in book.refused.iter().chain(of_targets) {
        if settings.verbosity != Verbosity::Quiet {
            let id = report::shown(&book.rules[refused.rule].id);
            let text = format!("rule {id} was refused: {}", report::objection(book, refused));
            settings.complain(text.as_bytes());
        }
    }
}

/// Prints the entries that could not be examined, and the remarks about the targets.
fn tell_problems(found: &[Found], settings: &Settings) {
    let unexamined = found.iter().flat_map(|found| {
        let problem = |problem| Unexamined { target: &found.target, problem };
        found.preview.problems.iter().map(problem)
    });
    problems::print(&unexamined.collect::<Vec<_>>(), settings);
    if settings.verbosity != Verbosity::Quiet {
        for found in found {
            for remark in &found.bindings.remarks {
                settings.complain(&[&found.target.given[..], b": ", remark.as_bytes()].concat());
            }
        }
    }
}

/// An entry that could not be examined.
struct Unexamined<'a> {
    target: &'a Target,
    problem: &'a sweep::preview::Problem,
}

impl PathProblem for Unexamined<'_> {
    fn path(&self) -> Cow<'_, [u8]> {
        Cow::Owned(self.target.shown_path(&self.problem.path))
    }

    fn reason(&self) -> String {
        failed_to(self.problem.op, &self.problem.source)
    }
}
