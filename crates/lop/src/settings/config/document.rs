//! Reads the text of a configuration file, and reports each error with its line and column.

use std::path::PathBuf;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::value::{self, Objection};
use super::{ConfigFile, Configured, Place, Rates};
use crate::error::CommandError;
use crate::spelling::nearest;

/// The keys of a file.
const KEYS: [&str; 6] = ["catalog", "roots", "exclude", "keep", "protect", "rates"];

/// The keys of the table `rates`.
const RATES: [&str; 4] = ["mirror", "purge", "serve", "share"];

/// The hint that names the explanation of the keys and values.
const EXPLAINED: &str = "'lop config --help' explains the keys";

/// The values of a file.
#[derive(Debug, Default)]
pub(super) struct Document {
    pub(super) catalog: Option<Configured<PathBuf>>,
    pub(super) roots: Option<Vec<Configured<PathBuf>>>,
    pub(super) exclude: Vec<Configured<String>>,
    pub(super) keep: Option<Vec<Configured<String>>>,
    pub(super) protect: Vec<Configured<PathBuf>>,
    pub(super) rates: Rates,
}

impl Document {
    /// Parses a file.
    ///
    /// # Errors
    ///
    /// Fails with all errors in the order of their lines. If the file is not valid TOML, fails with only the first
    /// syntax error, because the parser may misread everything after it.
    pub(super) fn parse(
        file: &Arc<ConfigFile>,
        bytes: &[u8],
    ) -> Result<Document, Vec<CommandError>> {
        let mut reader = Reader { file, text: "", errors: Vec::new() };
        let document = match std::str::from_utf8(bytes) {
            Ok(text) => {
                reader.text = text;
                reader.read()
            }
            Err(error) => {
                let valid = &bytes[..error.valid_up_to()];
                reader.text = std::str::from_utf8(valid).unwrap_or_default();
                reader.fail(valid.len(), "the file is not UTF-8", "save the file as UTF-8");
                Document::default()
            }
        };
        let mut errors = reader.errors;
        errors.sort_by_key(|&(offset, _)| offset);
        if errors.is_empty() {
            return Ok(document);
        }
        Err(errors.into_iter().map(|(_, error)| error).collect())
    }
}

/// A value in the text of a file.
type Value<'t> = Spanned<DeValue<'t>>;

/// Reads a file, and collects its errors.
struct Reader<'t> {
    file: &'t Arc<ConfigFile>,
    text: &'t str,
    /// The errors found so far, each with its offset in the text.
    errors: Vec<(usize, CommandError)>,
}

impl<'t> Reader<'t> {
    fn read(&mut self) -> Document {
        let mut document = Document::default();
        let table = match DeTable::parse(self.text) {
            Ok(table) => table,
            Err(error) => {
                let offset = error.span().map_or(0, |span| span.start);
                self.fail(offset, &format!("not valid TOML: {}", error.message()), EXPLAINED);
                return document;
            }
        };
        for (key, value) in table.get_ref() {
            match &**key.get_ref() {
                "catalog" => document.catalog = self.text_of("catalog", value, value::path),
                "roots" => document.roots = self.list("roots", value, value::path),
                "exclude" => document.exclude = self.all("exclude", value, value::glob),
                "keep" => document.keep = self.list("keep", value, value::rule),
                "protect" => document.protect = self.all("protect", value, value::path),
                "rates" => document.rates = self.rates(value),
                unknown => self.unknown(key.span().start, unknown, "", &KEYS),
            }
        }
        document
    }

    fn rates(&mut self, value: &Value<'t>) -> Rates {
        let mut rates = Rates::default();
        let DeValue::Table(table) = value.get_ref() else {
            let hint = "write a line [rates], and the rates below it";
            self.wrong_type("rates", value, "a table", hint);
            return rates;
        };
        for (key, value) in table {
            match &**key.get_ref() {
                "mirror" => rates.mirror = self.number("rates.mirror", value, value::rate),
                "purge" => rates.purge = self.number("rates.purge", value, value::count),
                "serve" => rates.serve = self.number("rates.serve", value, value::rate),
                "share" => rates.share = self.number("rates.share", value, value::rate),
                unknown => self.unknown(key.span().start, unknown, "rates.", &RATES),
            }
        }
        rates
    }

    /// Returns a value that is a string.
    fn text_of<T>(
        &mut self,
        key: &str,
        value: &Value<'t>,
        check: impl Fn(&str) -> Result<T, Objection>,
    ) -> Option<Configured<T>> {
        let DeValue::String(text) = value.get_ref() else {
            self.wrong_type(key, value, "a string", "put the value in quotes");
            return None;
        };
        self.checked(key, value, text, check)
    }

    /// Returns a value that is a number, or a string with a number and a unit.
    fn number<T>(
        &mut self,
        key: &str,
        value: &Value<'t>,
        check: impl Fn(&str) -> Result<T, Objection>,
    ) -> Option<Configured<T>> {
        match value.get_ref() {
            DeValue::String(text) => self.checked(key, value, text, check),
            DeValue::Integer(number) => self.checked(key, value, &number.to_string(), check),
            _ => {
                self.wrong_type(key, value, "a number or a string", EXPLAINED);
                None
            }
        }
    }

    /// Returns the valid elements of a list of strings. Records an error for each other element; a file with errors is
    /// not used.
    fn list<T>(
        &mut self,
        key: &str,
        value: &Value<'t>,
        check: impl Fn(&str) -> Result<T, Objection>,
    ) -> Option<Vec<Configured<T>>> {
        let DeValue::Array(elements) = value.get_ref() else {
            let hint = format!("write a list of strings: {key} = [\"...\"]");
            self.wrong_type(key, value, "a list of strings", &hint);
            return None;
        };
        Some(elements.iter().filter_map(|value| self.text_of(key, value, &check)).collect())
    }

    fn all<T>(
        &mut self,
        key: &str,
        value: &Value<'t>,
        check: impl Fn(&str) -> Result<T, Objection>,
    ) -> Vec<Configured<T>> {
        self.list(key, value, check).unwrap_or_default()
    }

    fn checked<T>(
        &mut self,
        key: &str,
        value: &Value<'t>,
        text: &str,
        check: impl Fn(&str) -> Result<T, Objection>,
    ) -> Option<Configured<T>> {
        let offset = value.span().start;
        match check(text) {
            Ok(value) => {
                let place = Place { file: Arc::clone(self.file), line: self.position(offset).0 };
                Some(Configured { value, place })
            }
            Err(Objection { why, hint }) => {
                self.fail(offset, &format!("{key}: {why}"), hint);
                None
            }
        }
    }

    fn unknown(&mut self, offset: usize, key: &str, table: &str, known: &[&str]) {
        let hint = match nearest(key, known) {
            Some(near) => format!("did you mean {table}{near}?"),
            None => format!("the keys are: {table}{}", known.join(&format!(", {table}"))),
        };
        self.fail(offset, &format!("{table}{key}: unknown key"), &hint);
    }

    fn wrong_type(&mut self, key: &str, value: &Value<'t>, expected: &str, hint: &str) {
        let found = value.get_ref().type_str();
        let article = if found.starts_with(['a', 'i']) { "an" } else { "a" };
        let why = format!("{key}: expected {expected}, found {article} {found}");
        self.fail(value.span().start, &why, hint);
    }

    fn fail(&mut self, offset: usize, why: &str, hint: &str) {
        let (line, column) = self.position(offset);
        let error = CommandError::usage(format!("{}:{line}:{column}: {why}", self.file)).hint(hint);
        self.errors.push((offset, error));
    }

    /// Returns the line and the column of an offset. Both start at 1, and the column is counted in characters.
    fn position(&self, offset: usize) -> (usize, usize) {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.matches('\n').count() + 1;
        (line, before[line_start..].chars().count() + 1)
    }
}
