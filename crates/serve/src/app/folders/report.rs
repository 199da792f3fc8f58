//! Parses the output of `lop report --dirs --json`, which `docs/formats.md` describes.

use std::cmp::Reverse;
use std::io;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

/// The format that lop prints.
const FORMAT: u32 = 1;

/// The folders that have something in common, those with the most reclaimable space first.
#[derive(Debug, Deserialize)]
pub(crate) struct Report {
    format_version: u32,
    pub(crate) related: Vec<Relation>,
    pub(crate) summary: Summary,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Summary {
    /// Disk space that removing all copies and all contained folders would free.
    pub(crate) reclaimable_bytes: u64,
    /// Files and folders that lop could not examine.
    pub(crate) problems: u64,
}

/// A set of equal folders, or a pair.
#[derive(Debug, Deserialize)]
pub(crate) struct Relation {
    #[serde(rename = "relation")]
    pub(crate) kind: Kind,
    /// Percentage of the bytes of the first folder that the others have too.
    pub(crate) percent: u32,
    /// Number and bytes of the files that the first folder shares with the others.
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    pub(crate) reclaimable_bytes: u64,
    pub(crate) dirs: Vec<Folder>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Equal,
    Contained,
    Overlapping,
    /// A relation of a later version of lop.
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Folder {
    path: String,
    path_base64: Option<String>,
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    /// Files that changed since the scan.
    #[serde(default)]
    pub(crate) changed: u64,
    /// Files whose content is not known.
    #[serde(default)]
    pub(crate) unknown: u64,
}

impl Folder {
    /// Returns the bytes of the path.
    pub(crate) fn path(&self) -> Vec<u8> {
        let bytes = self.path_base64.as_ref().and_then(|text| STANDARD.decode(text).ok());
        bytes.unwrap_or_else(|| self.path.clone().into_bytes())
    }
}

impl Report {
    /// Reads the document.
    ///
    /// # Errors
    ///
    /// Fails if the document has another format.
    pub(crate) fn read(document: impl io::Read) -> Result<Report, serde_json::Error> {
        let mut report: Report = serde_json::from_reader(document)?;
        if report.format_version != FORMAT {
            return Err(serde::de::Error::custom("unknown format_version"));
        }
        report.related.retain(|relation| relation.kind != Kind::Other && relation.dirs.len() > 1);
        report.related.sort_by_key(|relation| Reverse(relation.reclaimable_bytes));
        Ok(report)
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, Report};

    #[test]
    fn relations_are_sorted_by_what_can_be_reclaimed() {
        let folder = |path: &str| {
            format!(
                r#"{{"path":"{path}","percent":100,"files":1,"bytes":9,"shared_files":1,"shared_bytes":9,"changed":0,"unknown":2}}"#
            )
        };
        let relation = |kind: &str, bytes: u64| {
            format!(
                r#"{{"relation":"{kind}","percent":100,"files":1,"bytes":9,"reclaimable_bytes":{bytes},"dirs":[{},{}]}}"#,
                folder("/a"),
                r#"{"path":"/b\ufffd","path_base64":"L2L/","percent":1,"files":1,"bytes":9}"#
            )
        };
        let document = format!(
            r#"{{"format_version":1,"related":[{},{},{}],"summary":{{"equal":1,"reclaimable_bytes":7,"problems":0}}}}"#,
            relation("contained", 1),
            relation("akin", 3),
            relation("equal", 2)
        );
        let report = Report::read(document.as_bytes()).expect("read");
        let kinds: Vec<Kind> = report.related.iter().map(|relation| relation.kind).collect();
        assert_eq!(kinds, [Kind::Equal, Kind::Contained], "an unknown relation is left out");
        let [a, b] = &*report.related[0].dirs else { panic!("two folders") };
        assert_eq!((a.path(), a.unknown), (b"/a".to_vec(), 2));
        assert_eq!((b.path(), b.unknown), (b"/b\xff".to_vec(), 0));
        assert!(Report::read(document.replace(":1,\"related", ":2,\"related").as_bytes()).is_err());
        assert!(Report::read(&b"{}"[..]).is_err());
    }
}
