//! Lets a person go through plans on a terminal, group by group, with one key each.
//!
//! Nothing is done until all is chosen: going back to the group before takes a choice back.

use std::io::{self, IsTerminal, Read, Write};

use action::Plan;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::error::CommandError;
use crate::formats::PlanWriter;
use crate::settings::Settings;

const HELP: &str = "  y  as shown          1-9  keep that file instead     s  skip this group
  a  this and all after it as shown                    u  back to the group before
  q  end here, go on with what was chosen              Ctrl-C  end, change nothing
";

/// What was decided about a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    AsShown,
    /// Another file stays: its number among those that were to go.
    Keep(usize),
    Skip,
}

/// Lets a person choose; returns the plans that are to be carried out.
pub(crate) fn choose(
    plans: &[Plan],
    kind: action::Kind,
    settings: &Settings,
) -> Result<Vec<Plan>, CommandError> {
    if !(io::stdin().is_terminal() && io::stdout().is_terminal()) {
        return Err(CommandError::usage("--interactive needs a terminal"));
    }
    let _keys =
        Keys::single().map_err(|e| CommandError::failed("cannot read single keys").because(e))?;
    let failed = |e: io::Error| CommandError::failed("cannot use the terminal").because(e);
    let mut choices: Vec<Choice> = Vec::new();
    while choices.len() < plans.len() {
        let plan = &plans[choices.len()];
        show(plan, kind, choices.len(), plans.len(), settings).map_err(failed)?;
        match ask(plan.others.len()).map_err(failed)? {
            Key::Choose(choice) => choices.push(choice),
            Key::Back => drop(choices.pop()),
            Key::Rest => choices.resize(plans.len(), Choice::AsShown),
            Key::End => choices.resize(plans.len(), Choice::Skip),
            Key::Stop => return Err(fsops::Interrupted.into()),
        }
    }
    let chosen = plans.iter().zip(choices).filter_map(|(plan, choice)| match choice {
        Choice::AsShown => Some(plan.clone()),
        Choice::Keep(at) => plan.clone().keep_instead(at),
        Choice::Skip => None,
    });
    Ok(chosen.collect())
}

fn show(
    plan: &Plan,
    kind: action::Kind,
    number: usize,
    all: usize,
    settings: &Settings,
) -> io::Result<()> {
    let mut out = io::stdout().lock();
    write!(out, "\n[{}/{all}] ", number + 1)?;
    let mut writer = PlanWriter::new(&mut out, kind, settings.stdout, false);
    writer.numbered();
    writer.plan(plan)?;
    write!(out, "y, 1-9, s, a, u, q or ? ")?;
    out.flush()
}

/// What a key means.
enum Key {
    Choose(Choice),
    Back,
    Rest,
    End,
    Stop,
}

fn ask(files: usize) -> io::Result<Key> {
    let mut out = io::stdout().lock();
    loop {
        let mut byte = [0];
        let read = io::stdin().lock().read(&mut byte)?;
        // The end of the input and Ctrl-C, Ctrl-D.
        let key = if read == 0 { 3 } else { byte[0] };
        let meant = match key {
            b'y' | b'Y' => Key::Choose(Choice::AsShown),
            b's' | b'S' | b'n' | b'N' => Key::Choose(Choice::Skip),
            b'1'..=b'9' if usize::from(key - b'1') < files => {
                Key::Choose(Choice::Keep(usize::from(key - b'1')))
            }
            b'a' | b'A' => Key::Rest,
            b'u' | b'U' => Key::Back,
            b'q' | b'Q' => Key::End,
            3 | 4 => Key::Stop,
            _ => {
                write!(out, "\n{HELP}")?;
                out.flush()?;
                continue;
            }
        };
        if key.is_ascii_graphic() {
            writeln!(out, "{}", char::from(key))?;
        } else {
            writeln!(out)?;
        }
        return Ok(meant);
    }
}

/// The terminal while it hands over single keys, unechoed; as it was before when dropped.
struct Keys(Termios);

impl Keys {
    fn single() -> io::Result<Keys> {
        let before = tcgetattr(io::stdin())?;
        let mut now = before.clone();
        // Ctrl-C comes as a key too, so that the terminal is put back.
        now.local_modes -= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
        tcsetattr(io::stdin(), OptionalActions::Now, &now)?;
        Ok(Keys(before))
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        let _unset = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}
