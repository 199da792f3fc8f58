//! Updates the example in the README. The commands of the example run in a small tree that is the
//! same on every machine, and their output replaces the output in the README.
//!
//! Times differ between runs. If nothing else changed, the README is left as it is.

mod example;

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::programs;
use crate::traces::Temporary;

/// The first and the last line of the code block with the example.
const BEGIN: &str = "```console\n";
const END: &str = "```\n";

/// The working directory that the example shows.
const HOME: &str = "/home/me";
const MOUNTED: &str = "/mnt";

/// A line that marks the end of the output of a command. No command prints it.
const MARK: &str = "\u{1}\n";

/// Updates the example in the README. With `check`, returns a complaint if the example is stale.
#[expect(clippy::disallowed_methods, reason = "writes to the source tree, not to a user's files")]
pub(crate) fn run(root: &Path, check: bool) -> io::Result<Vec<String>> {
    let readme = root.join("README.md");
    let text = fs::read_to_string(&readme)?;
    let other = |what: &str| io::Error::other(format!("README.md: {what}"));
    let (before, rest) = text.split_once(BEGIN).ok_or_else(|| other("no example"))?;
    let (block, after) = rest.split_once(END).ok_or_else(|| other("the example has no end"))?;
    let steps = steps(block);
    let printed = play(&programs::of_tests(root, "lop")?, &steps)?;
    let mut new = String::new();
    for (step, printed) in steps.iter().zip(&printed) {
        new += &[step.before, "$ ", &step.command, "\n", printed].concat();
    }
    if timeless(&new) == timeless(block) {
        return Ok(Vec::new());
    }
    if check {
        return Ok(vec!["the example in README.md is stale: run cargo xtask transcript".into()]);
    }
    fs::write(readme, [before, BEGIN, &new, END, after].concat())?;
    Ok(Vec::new())
}

/// A command of the example.
#[derive(Debug, PartialEq, Eq)]
struct Step {
    /// The expected output; empty for none.
    before: &'static str,
    command: String,
}

fn steps(block: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut last = "-";
    for line in block.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            let before = if last.is_empty() { "\n" } else { "" };
            steps.push(Step { before, command: command.into() });
        }
        last = line;
    }
    steps
}

/// Runs the commands in one shell, in order. Returns the output of each.
fn play(program: &Path, steps: &[Step]) -> io::Result<Vec<String>> {
    let place = Temporary::new("lop-example")?;
    let result = play_in(place.path(), program, steps);
    place.remove()?;
    result
}

fn play_in(place: &Path, program: &Path, steps: &[Step]) -> io::Result<Vec<String>> {
    let (home, mounted) = (place.join("me"), place.join("mnt"));
    example::make(&home, &mounted)?;
    let there = |text: &str| {
        text.replace(HOME, &home.to_string_lossy()).replace(MOUNTED, &mounted.to_string_lossy())
    };
    let here = |text: &str| {
        text.replace(&*home.to_string_lossy(), HOME).replace(&*mounted.to_string_lossy(), MOUNTED)
    };
    let mut script = "exec 2>&1\n".to_string();
    for step in steps {
        // The next command may use the exit code of this one.
        script += &format!("{}\nended=$?; printf '{MARK}'; (exit $ended)\n", there(&step.command));
    }
    let path = [program.parent().unwrap_or(place), Path::new("/usr/bin"), Path::new("/bin")];
    let path = std::env::join_paths(path).map_err(io::Error::other)?;
    let mut shell = Command::new("sh");
    shell
        .env_clear()
        .env("PATH", path)
        .env("HOME", &home)
        .env("TMPDIR", place)
        .env("LANG", "C.UTF-8");
    shell.env("XDG_STATE_HOME", place.join("state")).current_dir(&home);
    let mut shell = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    if let Some(mut stdin) = shell.stdin.take() {
        stdin.write_all(script.as_bytes())?;
    }
    let output = shell.wait_with_output()?;
    let printed = here(&String::from_utf8_lossy(&output.stdout));
    let printed: Vec<String> = printed.split_terminator(MARK).map(String::from).collect();
    if printed.len() == steps.len() {
        return Ok(printed);
    }
    Err(io::Error::other(format!("the example ended early: {printed:?}")))
}

/// Returns the text with every time replaced by zero, such as `in 0.22 s`.
fn timeless(text: &str) -> String {
    let mut parts = text.split(" in ");
    let mut plain = parts.next().unwrap_or_default().to_string();
    for part in parts {
        plain += " in ";
        let number = part.trim_start_matches(|c: char| c.is_ascii_digit() || ".,".contains(c));
        plain += if number.starts_with(" s") && number.len() < part.len() { number } else { part };
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::{Step, steps, timeless};

    #[test]
    fn commands_are_taken_from_the_example_and_output_is_not() {
        let block = "$ lop scan .\nScanned\n\n$ lop undo  # back\nold\n$ echo $?\n6\n";
        let step = |before, command: &str| Step { before, command: command.into() };
        let expected =
            [step("", "lop scan ."), step("\n", "lop undo  # back"), step("", "echo $?")];
        assert_eq!(steps(block), expected);
    }

    #[test]
    fn times_do_not_matter_and_everything_else_does() {
        assert_eq!(timeless("3 files in 0.22 s\n"), timeless("3 files in 1.05 s\n"));
        assert_ne!(timeless("3 files in 2 directories"), timeless("3 files in 3 directories"));
        assert_ne!(timeless("3 files in 0.22 s\n"), timeless("4 files in 0.22 s\n"));
    }
}
