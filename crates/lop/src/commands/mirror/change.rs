//! Formats a change for a list: as a line of text or as a JSON object.

use fsops::Kind;
use mirror::{Action, Change, Differences};
use serde::Serialize;

use crate::output::formats::JsonPath;
use crate::output::names::Names;

/// A change as a JSON object.
#[derive(Serialize)]
pub(super) struct Line<'a> {
    action: &'static str,
    #[serde(flatten)]
    path: JsonPath<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<JsonPath<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    differs: Vec<&'static str>,
}

impl<'a> Line<'a> {
    pub(super) fn of(change: &'a Change) -> Line<'a> {
        Line {
            action: word(change.action),
            path: JsonPath::new(&change.path),
            kind: Kind::of_mode(change.file_type).word(),
            size: change.size,
            from: change.to.as_deref().map(JsonPath::new),
            differs: words(change.differences),
        }
    }
}

/// Returns a change as a line of text.
pub(super) fn line(change: &Change, names: Names) -> Vec<u8> {
    let shown = |path: &[u8]| {
        let path = if path.is_empty() { b"." } else { path };
        names.show_line(path).into_owned()
    };
    let mut line = format!("{:8} ", word(change.action)).into_bytes();
    line.extend_from_slice(&shown(&change.path));
    if Kind::of_mode(change.file_type) == Kind::Dir {
        line.push(b'/');
    }
    if let Some(to) = &change.to {
        line.extend_from_slice(b" => ");
        line.extend_from_slice(&shown(to));
    }
    let differs = words(change.differences);
    if !differs.is_empty() && change.action != Action::Linked {
        line.extend_from_slice(format!(" ({})", differs.join(", ")).as_bytes());
    }
    line.push(b'\n');
    line
}

fn word(what: Action) -> &'static str {
    match what {
        Action::New => "new",
        Action::Replaced => "replace",
        Action::Linked => "link",
        Action::Adjusted => "adjust",
        Action::Removed => "remove",
        Action::Reused => "reuse",
    }
}

fn words(differs: Differences) -> Vec<&'static str> {
    let Differences { kind, content, time, mode, owner, xattrs, links } = differs;
    let all = [
        (kind, "kind"),
        (content, "content"),
        (time, "time"),
        (mode, "mode"),
        (owner, "owner"),
        (xattrs, "attributes"),
        (links, "links"),
    ];
    all.into_iter().filter(|(differs, _)| *differs).map(|(_, word)| word).collect()
}
