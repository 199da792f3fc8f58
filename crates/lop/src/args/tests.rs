//! Checks that apply to every command and argument.

use clap::{Arg, Command, CommandFactory, Parser};

use super::Cli;

fn each_command(mut check: impl FnMut(&Command)) {
    let mut top = Cli::command();
    top.build();
    check(&top);
    let below = |command: &Command| -> Vec<Command> {
        command.get_subcommands().filter(|sub| sub.get_name() != "help").cloned().collect()
    };
    for command in below(&top) {
        check(&command);
        below(&command).iter().for_each(&mut check);
    }
}

fn each_arg(mut check: impl FnMut(&Command, &Arg)) {
    each_command(|command| command.get_arguments().for_each(|arg| check(command, arg)));
}

#[test]
fn the_definition_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn every_argument_has_help() {
    each_arg(|command, arg| {
        let name = command.get_name();
        let help = arg.get_help().unwrap_or_else(|| panic!("{name} {}", arg.get_id()));
        assert!(!help.to_string().ends_with('.'), "{name} {}: no full stop", arg.get_id());
    });
}

#[test]
fn every_value_has_an_upper_case_name() {
    each_arg(|command, arg| {
        if arg.get_action().takes_values() {
            let names = arg.get_value_names().expect("a value name");
            let loud = names.iter().all(|name| name.chars().all(|c| c.is_ascii_uppercase()));
            assert!(loud, "{} {}: {names:?}", command.get_name(), arg.get_id());
        }
    });
}

#[test]
fn every_command_has_help_and_examples() {
    each_command(|command| {
        let name = command.get_name();
        assert!(command.get_about().is_some(), "{name}");
        if command.is_hide_set() {
            return;
        }
        let examples = command.get_after_help().unwrap_or_else(|| panic!("{name}")).to_string();
        assert!(examples.starts_with("Examples:\n  lop "), "{name}");
    });
}

/// Every example in a help text must be a valid command line.
#[test]
fn every_example_parses() {
    each_command(|command| {
        let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        for line in examples.lines().filter(|line| line.starts_with("  ")) {
            let typed = line.split("   ").find(|part| !part.is_empty()).unwrap_or_default();
            let typed = typed.split(" | ").find(|part| part.trim().starts_with("lop"));
            let words: Vec<&str> = typed.unwrap_or("lop").split_whitespace().collect();
            let words = words.iter().take_while(|word| **word != ">");
            let words = words.map(|word| word.trim_matches('\''));
            if let Err(e) = Cli::try_parse_from(words) {
                panic!("{line:?}: {e}");
            }
        }
    });
}

#[test]
fn help_fits_80_columns() {
    each_command(|command| {
        for help in [command.clone().render_help(), command.clone().render_long_help()] {
            for line in help.to_string().lines() {
                assert!(line.chars().count() <= 80, "{}: {line:?}", command.get_name());
            }
        }
    });
}
