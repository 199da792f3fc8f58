//! Reads the XML of a `CleanerML` file into plain data.
//!
//! A file with a document type is refused. It therefore cannot declare entities, and the memory in
//! use is proportional to the size of the file.

use std::collections::{BTreeMap, HashMap};

use quick_xml::XmlVersion;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::reader::Reader;

use crate::formats::limits::Lines;
use crate::formats::{Defect, Dropped};

/// A `CleanerML` file.
#[derive(Debug, Default)]
pub(super) struct Document {
    pub(super) id: String,
    pub(super) label: String,
    pub(super) variables: HashMap<String, Vec<Value>>,
    pub(super) options: Vec<WrittenOption>,
    pub(super) skipped: BTreeMap<&'static str, u64>,
}

/// An `<option>` element.
#[derive(Debug, Default)]
pub(super) struct WrittenOption {
    pub(super) id: String,
    pub(super) label: String,
    pub(super) line: u32,
    pub(super) has_warning: bool,
    pub(super) actions: Vec<Action>,
    /// The first reason to drop the option.
    pub(super) defect: Option<Dropped>,
}

/// The attributes of an `<action>` element, and the systems that it applies to.
#[derive(Debug)]
pub(super) struct Action {
    pub(super) attributes: Vec<(String, String)>,
    pub(super) systems: Systems,
}

impl Action {
    /// Returns the value of an attribute, or an empty string.
    pub(super) fn get(&self, name: &str) -> &str {
        self.attributes.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }
}

/// A value of a variable.
#[derive(Debug)]
pub(super) struct Value {
    pub(super) text: String,
    pub(super) systems: Systems,
    /// Whether `*` and `?` in the text are wildcards. Otherwise, they are literal characters.
    pub(super) is_glob: bool,
}

impl Value {
    /// Returns the value of a variable that every file may use.
    pub(super) fn built_in(name: &str) -> Value {
        Value { text: format!("%{name}%"), systems: Systems::WINDOWS, is_glob: false }
    }
}

/// A set of operating systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Systems(u8);

impl Systems {
    pub(super) const WINDOWS: Systems = Systems(1);
    pub(super) const LINUX: Systems = Systems(2);
    pub(super) const MAC: Systems = Systems(4);
    pub(super) const ALL: Systems = Systems(7);
    /// Systems that lop does not recognise on a disk, such as the BSDs.
    const OTHER: Systems = Systems(0);

    /// Returns the systems of an `os` attribute.
    fn of(name: Option<&str>) -> Systems {
        match name {
            None => Systems::ALL,
            Some("windows") => Systems::WINDOWS,
            Some("linux") => Systems::LINUX,
            Some("macos" | "darwin") => Systems::MAC,
            Some("unix") => Systems(Systems::LINUX.0 | Systems::MAC.0),
            Some(_) => Systems::OTHER,
        }
    }

    /// Returns the systems that are in both sets.
    pub(super) fn and(self, other: Systems) -> Systems {
        Systems(self.0 & other.0)
    }

    /// Returns whether the set is empty.
    pub(super) fn is_none(self) -> bool {
        self.0 == 0
    }

    /// Returns whether the sets have a system in common.
    pub(super) fn has(self, other: Systems) -> bool {
        !self.and(other).is_none()
    }

    /// Returns whether the set contains a Unix system.
    pub(super) fn has_unix(self) -> bool {
        self.has(Systems::LINUX) || self.has(Systems::MAC)
    }
}

/// The maximum depth of elements. `CleanerML` needs five.
const MAX_DEPTH: usize = 16;

/// An open element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    Cleaner,
    CleanerLabel,
    Option,
    OptionLabel,
    Var,
    Value,
    Other,
}

/// Reads a file.
pub(super) fn read(text: &str) -> Result<Document, Defect> {
    let mut reader = Reader::from_str(text);
    let mut lines = Lines::new(text.as_bytes());
    let mut parsing = Parsing::default();
    loop {
        let line = lines.at(usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX));
        let at_line = |why: &str| (line, why.to_string());
        match reader.read_event().map_err(|e| (line, e.to_string()))? {
            Event::Start(tag) => parsing.open(&tag, line).map_err(|why| (line, why))?,
            Event::Empty(tag) => {
                parsing.open(&tag, line).map_err(|why| (line, why))?;
                parsing.close();
            }
            Event::End(_) => parsing.close(),
            Event::Text(part) => parsing.text(&part.xml10_content()),
            Event::CData(part) => parsing.text(&part.xml10_content()),
            Event::GeneralRef(entity) => {
                let char = resolved(&entity).ok_or_else(|| at_line("an unknown entity"))?;
                parsing.text(char.encode_utf8(&mut [0; 4]));
            }
            Event::DocType(_) => return Err(at_line("a document type (DOCTYPE) is not allowed")),
            Event::Eof => break,
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
        }
    }
    if !parsing.open.is_empty() {
        return Err((lines.at(text.len()), "an element is not closed".to_string()));
    }
    if !parsing.has_root {
        return Err((1, "the file has no cleaner element".to_string()));
    }
    Ok(parsing.document)
}

/// Returns the character that a predefined entity or a character reference stands for.
fn resolved(entity: &BytesRef<'_>) -> Option<char> {
    if let Ok(Some(char)) = entity.resolve_char_ref() {
        return Some(char);
    }
    quick_xml::escape::resolve_predefined_entity(&entity.xml10_content())?.chars().next()
}

/// The state while a file is read.
#[derive(Default)]
struct Parsing {
    document: Document,
    open: Vec<Element>,
    has_root: bool,
    /// The systems of the cleaner, of the current option, and of the current variable.
    cleaner_systems: Option<Systems>,
    option_systems: Option<Systems>,
    variable: Option<(String, Systems)>,
}

impl Parsing {
    fn open(&mut self, tag: &BytesStart<'_>, line: u32) -> Result<(), String> {
        if self.open.len() >= MAX_DEPTH {
            return Err("the elements are nested too deeply".to_string());
        }
        let attributes = attributes(tag)?;
        let get =
            |name: &str| attributes.iter().find(|(key, _)| key == name).map(|(_, v)| v.as_str());
        let systems = Systems::of(get("os"));
        let parent = self.open.last().copied();
        let name = tag.name();
        let element = match (name.as_ref(), parent) {
            ("cleaner", None) if !self.has_root => {
                self.has_root = true;
                self.document.id = get("id").unwrap_or_default().to_string();
                self.cleaner_systems = Some(systems);
                Element::Cleaner
            }
            (_, None) => return Err("the file is not a CleanerML file".to_string()),
            ("label", Some(Element::Cleaner)) => Element::CleanerLabel,
            ("label", Some(Element::Option)) => Element::OptionLabel,
            ("option", Some(Element::Cleaner)) => {
                let id = get("id").unwrap_or_default().to_string();
                self.document.options.push(WrittenOption { id, line, ..WrittenOption::default() });
                self.option_systems = self.cleaner_systems.map(|cleaner| cleaner.and(systems));
                Element::Option
            }
            ("var", _) => {
                self.variable = Some((get("name").unwrap_or_default().to_string(), systems));
                Element::Var
            }
            ("value", Some(Element::Var)) => {
                self.open_value(systems, get("search"));
                Element::Value
            }
            ("action", Some(Element::Option)) => {
                let systems = self.option_systems.map_or(systems, |outer| outer.and(systems));
                if let Some(option) = self.document.options.last_mut() {
                    option.actions.push(Action { attributes, systems });
                }
                Element::Other
            }
            ("option" | "action", _) => {
                return Err("an option or action is in the wrong place".to_string());
            }
            (name, Some(Element::Option)) => {
                self.open_in_option(name);
                Element::Other
            }
            ("running", _) => {
                self.skip("checks for running programs");
                Element::Other
            }
            _ => Element::Other,
        };
        self.open.push(element);
        Ok(())
    }

    /// Begins a value of the current variable.
    fn open_value(&mut self, systems: Systems, search: Option<&str>) {
        let Some((name, of_variable)) = &self.variable else { return };
        let systems = of_variable.and(systems);
        let values = self.document.variables.entry(name.clone()).or_default();
        let is_known = matches!(search, None | Some("glob"));
        let systems = if is_known { systems } else { Systems::OTHER };
        values.push(Value { text: String::new(), systems, is_glob: search == Some("glob") });
        if !is_known {
            self.skip("values that are not paths");
        }
    }

    /// Begins another element of an option.
    fn open_in_option(&mut self, name: &str) {
        let Some(option) = self.document.options.last_mut() else { return };
        match name {
            "warning" => option.has_warning = true,
            "description" => {}
            "running" => self.skip("checks for running programs"),
            _ => option.defect = Some(Dropped::Unsupported("an unknown element")),
        }
    }

    fn skip(&mut self, part: &'static str) {
        *self.document.skipped.entry(part).or_default() += 1;
    }

    fn text(&mut self, part: &str) {
        let target = match self.open.last() {
            Some(Element::CleanerLabel) => Some(&mut self.document.label),
            Some(Element::OptionLabel) => {
                self.document.options.last_mut().map(|option| &mut option.label)
            }
            Some(Element::Value) => {
                let values =
                    self.variable.as_ref().and_then(|v| self.document.variables.get_mut(&v.0));
                values.and_then(|values| values.last_mut()).map(|value| &mut value.text)
            }
            _ => None,
        };
        if let Some(target) = target {
            target.push_str(part);
        }
    }

    fn close(&mut self) {
        let closed = self.open.pop();
        if closed == Some(Element::Value)
            && let Some((name, _)) = &self.variable
            && let Some(value) = self.document.variables.get_mut(name).and_then(|v| v.last_mut())
        {
            value.text = value.text.trim().to_string();
        }
    }
}

/// Returns the attributes of an element.
fn attributes(tag: &BytesStart<'_>) -> Result<Vec<(String, String)>, String> {
    tag.attributes()
        .map(|attribute| {
            let attribute = attribute.map_err(|e| e.to_string())?;
            let value =
                attribute.normalized_value(XmlVersion::Implicit1_0).map_err(|e| e.to_string())?;
            Ok((attribute.key.as_ref().to_string(), value.into_owned()))
        })
        .collect()
}
