//! The user's decisions about groups: which files stay.
//!
//! A decision is about one group, about all groups with the same folder set, or about all groups that
//! match a filter. The catalog only stores decisions. It remembers a group by the digest of its
//! content, so decisions about groups survive scans. `review` interprets decisions.
//!
//! Lists are stored with a NUL after each item but the last. Their items must be neither empty nor
//! contain a NUL, because [`unlist`] could not restore them.

pub(crate) mod decider;

use content::Digest;
use rusqlite::Row;
use rusqlite::types::Type;

use crate::error::{At, Error};
use crate::open::Catalog;

/// The groups that a decision is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// The group whose files have this digest.
    Group(Digest),
    /// The groups whose files are in these folders, given as sorted absolute paths.
    Folders(Vec<Vec<u8>>),
    /// The groups that match a filter. An empty filter matches all groups.
    Filter(String),
}

/// The files that stay, according to a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// All files stay.
    Leave,
    /// The file that these keep rules choose stays. The rules are as `--keep` takes them.
    Rules(Vec<String>),
    /// The files in these folders stay, given as absolute paths of the folder set.
    Folder(Vec<Vec<u8>>),
    /// Some files stay, given as absolute paths.
    Files {
        /// The files that stay.
        keep: Vec<Vec<u8>>,
        /// The other files of the group when the decision was made. No other file may be removed.
        others: Vec<Vec<u8>>,
    },
}

/// A stored decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Its number. A later decision has a greater number.
    pub id: i64,
    /// When it was made, in milliseconds since the epoch.
    pub made_ms: i64,
    /// The groups that it is about. No other decision has the same scope.
    pub scope: Scope,
    /// The files of these groups that stay.
    pub choice: Choice,
}

impl Scope {
    /// Returns the columns `scope` and `subject`.
    fn columns(&self) -> (&'static str, Vec<u8>) {
        match self {
            Scope::Group(digest) => ("group", digest.0.to_vec()),
            Scope::Folders(paths) => ("folders", list(paths)),
            Scope::Filter(text) => ("filter", text.clone().into_bytes()),
        }
    }

    fn of_columns(scope: &str, subject: Vec<u8>) -> Option<Scope> {
        Some(match scope {
            "group" => Scope::Group(Digest(subject.try_into().ok()?)),
            "folders" => Scope::Folders(unlist(&subject)),
            "filter" => Scope::Filter(String::from_utf8(subject).ok()?),
            _ => return None,
        })
    }
}

impl Choice {
    /// Returns the columns `choice` and `value`.
    fn columns(&self) -> (&'static str, Vec<u8>) {
        match self {
            Choice::Leave => ("leave", Vec::new()),
            Choice::Rules(rules) => ("rules", list(rules)),
            Choice::Folder(paths) => ("folder", list(paths)),
            Choice::Files { keep, others } => {
                ("files", [list(keep), list(others)].join(LISTS_SEPARATOR))
            }
        }
    }

    fn of_columns(choice: &str, value: &[u8]) -> Option<Choice> {
        Some(match choice {
            "leave" => Choice::Leave,
            "rules" => {
                let rules = unlist(value).into_iter().map(String::from_utf8);
                Choice::Rules(rules.collect::<Result<_, _>>().ok()?)
            }
            "folder" => Choice::Folder(unlist(value)),
            "files" => {
                let mut parts = value.windows(LISTS_SEPARATOR.len());
                let end = parts.position(|part| part == LISTS_SEPARATOR).unwrap_or(value.len());
                Choice::Files { keep: unlist(&value[..end]), others: unlist(&value[end..]) }
            }
            _ => return None,
        })
    }
}

/// Separates two lists, because no item is empty.
const LISTS_SEPARATOR: &[u8] = b"\0\0";

fn list(items: &[impl AsRef<[u8]>]) -> Vec<u8> {
    let items: Vec<&[u8]> = items.iter().map(AsRef::as_ref).collect();
    items.join(&0)
}

fn unlist(bytes: &[u8]) -> Vec<Vec<u8>> {
    let items = bytes.split(|&byte| byte == 0).filter(|item| !item.is_empty());
    items.map(<[u8]>::to_vec).collect()
}

fn read(row: &Row<'_>) -> rusqlite::Result<Decision> {
    let unknown = |column, text: &str| {
        let error = format!("not a kind of decision: {text}").into();
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, error)
    };
    let (scope, choice): (String, String) = (row.get(2)?, row.get(4)?);
    Ok(Decision {
        id: row.get(0)?,
        made_ms: row.get(1)?,
        scope: Scope::of_columns(&scope, row.get(3)?).ok_or_else(|| unknown(2, &scope))?,
        choice: Choice::of_columns(&choice, &row.get::<_, Vec<u8>>(5)?)
            .ok_or_else(|| unknown(4, &choice))?,
    })
}

impl Catalog {
    /// Returns all decisions, oldest first.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read or is damaged.
    pub fn decisions(&self) -> Result<Vec<Decision>, Error> {
        let sql = "SELECT id, made_ms, scope, subject, choice, value FROM decision ORDER BY id";
        let mut query = self.db.prepare(sql).at(&self.path)?;
        query.query_map([], read).and_then(Iterator::collect).at(&self.path)
    }
}
