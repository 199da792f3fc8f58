//! The rules of `--keep`, offered as shell completions. `action::keep` defines their meanings.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command, Error};

/// The rules that `action::keep` knows. A rule that ends with a colon takes a value.
const RULES: [(&str, &str); 11] = [
    ("local", "A file on a file system of this machine"),
    ("tidy", "The file that looks least like a copy"),
    ("newest", "The file modified last"),
    ("oldest", "The file modified first"),
    ("shortest-path", "The file with the shortest path"),
    ("longest-path", "The file with the longest path"),
    ("shallowest", "The file below the fewest directories"),
    ("deepest", "The file below the most directories"),
    ("first-root", "A file below the PATH that was given first"),
    ("path:", "A file whose path matches GLOB"),
    ("device:", "A file on the device of DIR"),
];

/// Accepts any text, and lists the rules as possible values.
#[derive(Clone)]
pub(super) struct Rules;

impl TypedValueParser for Rules {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(RULES.iter().map(|&(rule, help)| PossibleValue::new(rule).help(help))))
    }
}

#[cfg(test)]
mod tests {
    use action::plan::Rule;

    use super::RULES;

    #[test]
    fn every_listed_rule_can_be_parsed() {
        for (rule, _) in RULES {
            let value = match rule {
                "device:" => "/",
                "path:" => "photos",
                _ => "",
            };
            assert!(Rule::parse(&format!("{rule}{value}"), &[]).is_ok(), "{rule}");
        }
    }
}
