//! Lets the user go through groups of identical files on the terminal and choose which files to keep, with one line
//! for each group.
//!
//! It does not change files. It collects the choices, shows all of them at the end, and returns
//! them. All choices are discarded if the input ends early.

mod answer;

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, IsTerminal, Write};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use action::plan::{KeepReason, Kind, Member, Plan};

use self::answer::Answer;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::monitor::interrupt;
use crate::output::stream::Stream;
use crate::quantity::{counted, size, space_change};
use crate::settings::Settings;

/// The help text. No line is longer than 50 columns.
const HELP: &str = "
  1         keep only file 1
  1,3  2-4  keep several
  Enter     keep the files marked as kept
  skip      leave this group alone (or: all)
  back      go back to the previous group
  rest      take all remaining groups as shown
  done      stop here and use the choices so far
  quit      quit without changing anything
  ?         this help
A word can be shortened to its first letter.
";

/// Maximum number of files listed before the last question. The user can ask for the full list.
const MAX_LISTED_FILES: usize = 10;

/// The choice for a group, or `None` to leave the group alone.
type Choice = Option<Plan>;

/// Lets the user choose, and returns the chosen plans.
///
/// # Errors
///
/// Fails if there is no terminal, or if the user quits.
pub(crate) fn choose(
    plans: &[Plan],
    kind: Kind,
    settings: &Settings,
) -> Result<Vec<Plan>, CommandError> {
    if !(io::stdin().is_terminal() && io::stdout().is_terminal()) {
        return Err(CommandError::usage("--interactive needs a terminal"));
    }
    let mut choices: Vec<Choice> = Vec::new();
    while choices.len() < plans.len() {
        let plan = &plans[choices.len()];
        show(settings.stdout, plan, kind, choices.len(), plans.len())?;
        match answer(plan)? {
            Answer::Keep(numbers) => choices.push(plan.clone().keep_chosen(&numbers)),
            Answer::AsShown => choices.push(Some(plan.clone())),
            Answer::Skip => choices.push(None),
            Answer::Back => drop(choices.pop()),
            Answer::Rest => choices.extend(plans[choices.len()..].iter().cloned().map(Some)),
            Answer::Done => break,
            Answer::Quit => return Err(left()),
        }
    }
    Ok(choices.into_iter().flatten().collect())
}

/// Lists the chosen actions and asks whether to perform them.
///
/// # Errors
///
/// Fails if the user answers no.
pub(crate) fn confirm(plans: &[Plan], kind: Kind, settings: &Settings) -> Result<(), CommandError> {
    let files: Vec<&Member> = plans.iter().flat_map(|plan| &plan.others).collect();
    list(settings.stdout, &files[..files.len().min(MAX_LISTED_FILES)], kind)?;
    let rest = files.len().saturating_sub(MAX_LISTED_FILES);
    let more = if rest > 0 { "/list all" } else { "" };
    if rest > 0 {
        write(format!("  … and {rest} more\n").as_bytes())?;
    }
    let word = kind.word();
    let (first, tail) = word.split_at(1);
    let question = format!(
        "{}{tail} {}{}? [y/N{more}] ",
        first.to_uppercase(),
        counted(files.len() as u64, "file", "files"),
        space_change(plans.iter().fold(0, |sum, plan| plan.frees(kind).saturating_add(sum)), 0),
    );
    loop {
        match ask(&question)?.trim().to_lowercase().as_str() {
            "y" | "yes" => return Ok(()),
            "l" | "list" => list(settings.stdout, &files, kind)?,
            _ => return Err(left()),
        }
    }
}

/// Asks for the name of a file to save a plan in, and creates the file. Returns `None` if the user does not want to
/// save the plan. An existing file is never overwritten.
///
/// # Errors
///
/// Fails if the terminal cannot be read or written.
pub(crate) fn ask_file() -> Result<Option<(PathBuf, File)>, CommandError> {
    let mut question = "Save the plan to which file? [Enter: do not save] ".to_string();
    loop {
        let name = line(&question)?.unwrap_or_default();
        let name = name.trim_ascii();
        if name.is_empty() {
            return Ok(None);
        }
        let path = PathBuf::from(std::ffi::OsString::from_vec(name.to_vec()));
        match File::create_new(&path) {
            Ok(file) => return Ok(Some((path, file))),
            Err(e) => {
                let why = crate::error::io_text(&e);
                question = format!("Cannot create it: {why}. Another file? [Enter: do not save] ");
            }
        }
    }
}

fn left() -> CommandError {
    CommandError::new(Exit::Refused, "nothing was changed")
}

/// Prints a group with its files numbered.
fn show(
    stream: Stream,
    plan: &Plan,
    kind: Kind,
    before: usize,
    all: usize,
) -> Result<(), CommandError> {
    let (bold, end) = stream.bold();
    let members = plan.members();
    let each = size(plan.keep.stat.size);
    let heading = format!("[{}/{all}] {} files of {each}", before + 1, members.len());
    write(&[b"\n", bold, heading.as_bytes(), end, b"\n"].concat())?;
    let kept = 1 + plan.stay.len();
    let whys = std::iter::once(&plan.why).chain(plan.stay.iter().map(|(_, why)| why));
    let width = members.len().to_string().len();
    let words = kind.word().len();
    let mut notes: Vec<String> = whys.map(KeepReason::to_string).collect();
    let warned = plan.warned(kind).map(|(_, warnings)| {
        let words: Vec<_> = warnings.iter().map(|warning| warning.text()).collect();
        words.join(", ")
    });
    notes.extend(warned);
    // The index of the first name of each file.
    let mut names = HashMap::new();
    for (at, (member, note)) in members.iter().zip(notes).enumerate() {
        let word = if at < kept { "keep" } else { kind.word() };
        let first = *names.entry(member.stat.key()).or_insert(at);
        let linked = (first < at).then(|| format!("hard link of {}", first + 1));
        let notes: Vec<String> =
            linked.into_iter().chain([note]).filter(|note| !note.is_empty()).collect();
        let notes =
            if notes.is_empty() { String::new() } else { format!("  ({})", notes.join(", ")) };
        let start = format!("{:>width$}  {word:<words$}  ", at + 1);
        let path = stream.names.show_line(&member.target.path);
        write(&[start.as_bytes(), &path, notes.as_bytes(), b"\n"].concat())?;
    }
    Ok(())
}

/// Asks which files to keep, and repeats the question until the answer is valid.
fn answer(plan: &Plan) -> Result<Answer, CommandError> {
    loop {
        let typed = ask("Keep which files? [Enter: as shown, ?: help] ")?;
        match Answer::read(&typed, plan.members().len()) {
            Ok(Some(answer)) => return Ok(answer),
            Ok(None) => write(&HELP.as_bytes()[1..])?,
            Err(wrong) => write(format!("{wrong}\n").as_bytes())?,
        }
    }
}

fn list(stream: Stream, files: &[&Member], kind: Kind) -> Result<(), CommandError> {
    write(b"\n")?;
    for file in files {
        let path = stream.names.show_line(&file.target.path);
        write(&[b"  ", kind.word().as_bytes(), b"  ", &path, b"\n"].concat())?;
    }
    Ok(())
}

/// Asks a question and returns the answer. The end of the input counts as a request to quit.
fn ask(question: &str) -> Result<String, CommandError> {
    let line = line(question)?.ok_or_else(left)?;
    Ok(String::from_utf8_lossy(&line).into_owned())
}

/// Asks a question and returns the line that the user types, or `None` at the end of the input. Ctrl-C ends the
/// program at once, because nothing is being changed.
fn line(question: &str) -> Result<Option<Vec<u8>>, CommandError> {
    write(question.as_bytes())?;
    let mut line = Vec::new();
    let read = interrupt::default_during(|| io::stdin().lock().read_until(b'\n', &mut line));
    let read = read.map_err(|e| CommandError::failed("cannot read the answer").because(e))?;
    if read == 0 {
        write(b"\n")?;
    }
    Ok((read > 0).then_some(line))
}

fn write(text: &[u8]) -> Result<(), CommandError> {
    let mut out = io::stdout().lock();
    let written = out.write_all(text).and_then(|()| out.flush());
    written.map_err(|e| CommandError::failed("cannot write to the terminal").because(e))
}
