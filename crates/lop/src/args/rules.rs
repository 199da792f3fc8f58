//! The rules of `--keep`, for the completion of shells. `action::keep` defines what a rule means.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command, Error};

/// Each rule that `action::keep` knows. A rule that ends with a colon takes a value.
const RULES: [(&str, &str); 11] = [
    ("local", "One on a file system of this machine"),
    ("tidy", "The one that looks least like a copy"),
    ("newest", "The one modified last"),
    ("oldest", "The one modified first"),
    ("shortest-path", "The one with the shortest path"),
    ("longest-path", "The one with the longest path"),
    ("shallowest", "The one below the fewest directories"),
    ("deepest", "The one below the most directories"),
    ("first-root", "One below the PATH that was named first"),
    ("path:", "One whose path matches GLOB"),
    ("device:", "One on the device of DIR"),
];

/// Accepts any text, and offers the rules as completions.
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
    fn every_rule_is_one() {
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
