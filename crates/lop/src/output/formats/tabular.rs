//! The format `csv`: one row per file. Fields are quoted according to RFC 4180, and paths are raw bytes.

use std::io::{self, Write};

use super::{GroupHead, GroupWriter, Names};

/// Writes one row per file with group number, size, digest and path.
pub(super) struct Csv<W: Write> {
    out: csv::Writer<W>,
    names: Names,
    group: u64,
    size: String,
    digest: String,
}

impl<W: Write> Csv<W> {
    pub(super) fn new(out: W, names: Names) -> Self {
        let out = csv::Writer::from_writer(out);
        Csv { out, names, group: 0, size: String::new(), digest: String::new() }
    }

    fn heading_once(&mut self) -> io::Result<()> {
        if self.group == 0 {
            self.out.write_record(["group", "size", "digest", "path"])?;
        }
        Ok(())
    }
}

impl<W: Write> GroupWriter for Csv<W> {
    fn begin(&mut self, group: &GroupHead) -> io::Result<()> {
        self.heading_once()?;
        self.group += 1;
        self.size = group.size.to_string();
        self.digest = group.digest.map_or_else(String::new, |digest| digest.to_string());
        Ok(())
    }

    fn file(&mut self, path: &[u8], _mark: Option<&str>) -> io::Result<()> {
        let group = self.group.to_string();
        let path = self.names.show(path);
        let row = [group.as_bytes(), self.size.as_bytes(), self.digest.as_bytes(), &path];
        Ok(self.out.write_record(row)?)
    }

    fn end(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn finish(&mut self, _summary: &str) -> io::Result<()> {
        self.heading_once()?;
        self.out.flush()
    }
}
