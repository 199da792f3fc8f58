//! The format `json`: a single document, written file by file, with one group per line.

use std::io::{self, Write};

use serde::Serialize;

use super::document::{JsonList, JsonPath};
use super::{GroupHead, GroupWriter};

/// Writes `{"format_version":1,"groups":[…],"summary":{…}}`.
pub(super) struct Json<W> {
    groups: JsonList<W>,
    /// Number of files of the current group that have been written.
    files: u64,
}

impl<W: Write> Json<W> {
    pub(super) fn new(out: W) -> Self {
        Json { groups: JsonList::new(out, "groups"), files: 0 }
    }
}

impl<W: Write> GroupWriter for Json<W> {
    fn begin(&mut self, group: &GroupHead) -> io::Result<()> {
        self.files = 0;
        let out = self.groups.begin_item()?;
        let GroupHead { size, digest, reclaimable_bytes, .. } = *group;
        write!(out, "{{\"size\":{size},\"digest\":")?;
        match digest {
            Some(digest) => write!(out, "\"{digest}\"")?,
            None => out.write_all(b"null")?,
        }
        write!(out, ",\"reclaimable_bytes\":{reclaimable_bytes},\"files\":[")
    }

    fn file(&mut self, path: &[u8], mark: Option<&str>) -> io::Result<()> {
        let mut out = self.groups.out();
        if self.files > 0 {
            out.write_all(b",")?;
        }
        self.files += 1;
        runtime::json::write(&mut out, &JsonFile { path: JsonPath::new(path), state: mark })
    }

    fn end(&mut self) -> io::Result<()> {
        self.groups.out().write_all(b"]}")
    }

    fn finish(&mut self, summary: &str) -> io::Result<()> {
        self.groups.finish(summary)
    }
}

#[derive(Serialize)]
struct JsonFile<'a> {
    #[serde(flatten)]
    path: JsonPath<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<&'a str>,
}
