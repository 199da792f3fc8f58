//! Updates the example in the README and its picture. The commands of the example run in a small tree that is the
//! same on every machine, and their output replaces the output in the README.
//!
//! Times differ between runs. If nothing else changed, the README is left as it is.

mod example;
mod picture;

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::programs;
use crate::traces::Temporary;

/// The first and the last line of the code block with the example.
const BEGIN: &str = "```console\n";
const END: &str = "```\n";

/// The picture of the first commands of the example.
const PICTURE: &str = "docs/images/terminal.svg";

/// The working directory that the example shows.
const HOME: &str = "/home/me";
const MOUNTED: &str = "/mnt";

/// A line that marks the end of the output of a command. No command prints it.
const MARK: &str = "\u{1}\n";

/// Updates the example in the README and its picture. With `check`, returns a complaint about each that is stale.
#[expect(clippy::disallowed_methods, reason = "writes to the source tree, not to a user's files")]
pub(crate) fn run(root: &Path, check: bool) -> io::Result<Vec<String>> {
    let example = Example::read(root)?;
    let program = programs::of_tests(root, "lop")?;
    let place = Temporary::new("lop-example")?;
    let played = Stage::new(place.path(), &program).and_then(|stage| example.play(stage));
    place.remove()?;
    let new = played?;
    let block = if example.is_as_before(&new) { &example.block } else { &new };
    let text = [&example.before, BEGIN, block, END, &example.after].concat();
    let mut complaints = Vec::new();
    for (name, text) in [("README.md", text), (PICTURE, picture::draw(block))] {
        let path = root.join(name);
        if fs::read_to_string(&path).is_ok_and(|old| old == text) {
            continue;
        }
        if check {
            complaints.push(format!("{name} is stale: run cargo xtask transcript"));
        } else {
            fs::write(path, text)?;
        }
    }
    Ok(complaints)
}

/// The example, and the text around it.
pub(crate) struct Example {
    before: String,
    block: String,
    after: String,
}

impl Example {
    /// Reads the example from the README.
    pub(crate) fn read(root: &Path) -> io::Result<Example> {
        let text = fs::read_to_string(root.join("README.md"))?;
        let other = |what: &str| io::Error::other(format!("README.md: {what}"));
        let (before, rest) = text.split_once(BEGIN).ok_or_else(|| other("no example"))?;
        let (block, after) = rest.split_once(END).ok_or_else(|| other("the example has no end"))?;
        Ok(Example { before: before.into(), block: block.into(), after: after.into() })
    }

    /// Runs the commands of the example and returns the example with their output.
    pub(crate) fn play(&self, stage: Stage) -> io::Result<String> {
        let steps = steps(&self.block);
        let mut new = String::new();
        for (step, printed) in steps.iter().zip(stage.play(&steps)?) {
            new += &[step.before, "$ ", &step.command, "\n", &printed].concat();
        }
        Ok(new)
    }

    /// Returns whether a new example equals this one, apart from times.
    pub(crate) fn is_as_before(&self, new: &str) -> bool {
        timeless(new) == timeless(&self.block)
    }
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

/// The shell and the tree in which the commands run.
pub(crate) struct Stage {
    /// A shell that starts in the home folder.
    pub(crate) shell: Command,
    /// The paths of the home folder and of the folder with mounted disks, as the shell sees them.
    home: String,
    mounted: String,
}

impl Stage {
    /// Creates the tree below `place`, and a shell that has `program` in its `PATH`.
    fn new(place: &Path, program: &Path) -> io::Result<Stage> {
        let (home, mounted) = (place.join("me"), place.join("mnt"));
        example::make(&home, &mounted)?;
        let path = [program.parent().unwrap_or(place), Path::new("/usr/bin"), Path::new("/bin")];
        let path = std::env::join_paths(path).map_err(io::Error::other)?;
        let mut shell = Command::new("sh");
        shell.env_clear().env("PATH", path).env("HOME", &home).env("TMPDIR", place);
        shell.env("LANG", "C.UTF-8").env("XDG_STATE_HOME", place.join("state"));
        shell.env("LOP_CONFIG", "").current_dir(&home);
        let [home, mounted] = [home, mounted].map(|path| path.to_string_lossy().into_owned());
        Ok(Stage { shell, home, mounted })
    }

    /// Creates the tree in `root`, for a shell whose root directory is `root`.
    #[cfg(test)]
    pub(crate) fn in_root(root: &Path, shell: Command) -> io::Result<Stage> {
        let inside = |path: &str| root.join(path.trim_start_matches('/'));
        example::make(&inside(HOME), &inside(MOUNTED))?;
        Ok(Stage { shell, home: HOME.into(), mounted: MOUNTED.into() })
    }

    /// Runs the commands in one shell, in order. Returns the output of each.
    fn play(mut self, steps: &[Step]) -> io::Result<Vec<String>> {
        let there = |text: &str| text.replace(HOME, &self.home).replace(MOUNTED, &self.mounted);
        let here = |text: &str| text.replace(&self.home, HOME).replace(&self.mounted, MOUNTED);
        let mut script = "exec 2>&1\n".to_string();
        for step in steps {
            // The next command may use the exit code of this one.
            script +=
                &format!("{}\nended=$?; printf '{MARK}'; (exit $ended)\n", there(&step.command));
        }
        let mut shell = self.shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
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
