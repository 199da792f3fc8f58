//! The query of a request: the format, the order and the page.

use std::cmp::Ordering;

use fsops::Kind;

use super::{FolderSizes, List, Row};

/// The options of a request for a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct View {
    /// The format of the response.
    pub wanted: Wanted,
    /// The column by which rows are sorted.
    pub sort: Sort,
    /// True for the reverse order.
    pub is_descending: bool,
    /// The page, from 1.
    pub page: usize,
}

/// A format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// A page for people.
    Page,
    /// The listing as JSON.
    Json,
    /// The directory as an archive.
    Tar,
}

/// A column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sort {
    /// By name, directories first.
    Name,
    /// By size.
    Size,
    /// By modification time.
    Time,
}

impl View {
    /// Reads the query and `Accept` of a request. Unknown parameters and values are ignored.
    pub(crate) fn parse(query: Option<&[u8]>, accept: Option<&[u8]>) -> View {
        let wanted = if wants_json(accept) { Wanted::Json } else { Wanted::Page };
        let mut view = View { wanted, sort: Sort::Name, is_descending: false, page: 1 };
        let mut order = None;
        for part in query.unwrap_or_default().split(|&byte| byte == b'&') {
            let mut halves = part.splitn(2, |&byte| byte == b'=');
            let (key, value) =
                (halves.next().unwrap_or_default(), halves.next().unwrap_or_default());
            match (key, value) {
                (b"tar", _) => view.wanted = Wanted::Tar,
                (b"json", _) => view.wanted = Wanted::Json,
                (b"sort", b"name") => view.sort = Sort::Name,
                (b"sort", b"size") => view.sort = Sort::Size,
                (b"sort", b"time") => view.sort = Sort::Time,
                (b"order", b"asc") => order = Some(false),
                (b"order", b"desc") => order = Some(true),
                (b"page", number) => {
                    let number =
                        std::str::from_utf8(number).ok().and_then(|text| text.parse().ok());
                    view.page = number.unwrap_or(1).max(1);
                }
                _ => {}
            }
        }
        view.is_descending = order.unwrap_or(view.sort.starts_descending());
        view
    }

    /// Returns the query of the same view with another page.
    pub(super) fn query(self, page: usize) -> String {
        let order = order(self.is_descending);
        format!("?sort={}&order={order}&page={page}", self.sort.value())
    }
}

impl Sort {
    /// Returns true if people want the largest values first.
    pub(super) fn starts_descending(self) -> bool {
        self != Sort::Name
    }

    /// Returns the value of the parameter.
    pub(super) fn value(self) -> &'static str {
        match self {
            Sort::Name => "name",
            Sort::Size => "size",
            Sort::Time => "time",
        }
    }
}

/// Returns the value of the parameter `order`.
pub(super) fn order(is_descending: bool) -> &'static str {
    if is_descending { "desc" } else { "asc" }
}

/// Returns true if a client prefers JSON. Browsers ask for pages.
fn wants_json(accept: Option<&[u8]>) -> bool {
    let accepts = |kind: &[u8]| {
        accept.is_some_and(|accept| accept.windows(kind.len()).any(|part| part == kind))
    };
    accepts(b"application/json") && !accepts(b"text/html")
}

impl List {
    /// Returns the rows in the order of `view`. Equal rows are in the order of their names.
    pub(super) fn sorted(&self, view: View, sizes: FolderSizes<'_>) -> Vec<&Row> {
        let mut rows: Vec<&Row> = self.rows.iter().collect();
        rows.sort_unstable_by(|a, b| by_name(&a.name, &b.name));
        let turn = |order: Ordering| if view.is_descending { order.reverse() } else { order };
        match view.sort {
            Sort::Name => {
                rows.sort_by_key(|row| row.kind != Kind::Dir);
                if view.is_descending {
                    let folders = rows.partition_point(|row| row.kind == Kind::Dir);
                    rows[..folders].reverse();
                    rows[folders..].reverse();
                }
            }
            Sort::Time => rows.sort_by(|a, b| turn(a.mtime.cmp(&b.mtime))),
            Sort::Size => {
                let mut keyed: Vec<_> = rows.iter().map(|row| (row.bytes(sizes), *row)).collect();
                keyed.sort_by(|a, b| turn(a.0.cmp(&b.0)));
                rows = keyed.into_iter().map(|(_, row)| row).collect();
            }
        }
        rows
    }
}

impl Row {
    /// Returns the size in bytes. That of a directory is known only from elsewhere.
    fn bytes(&self, sizes: FolderSizes<'_>) -> Option<u64> {
        match self.kind {
            Kind::Dir => self.folder_size(sizes).map(|size| size.bytes),
            Kind::File => Some(self.size),
            _ => None,
        }
    }

    /// Returns the size of a directory. That of a link is the size of another directory, so it is not known.
    pub(super) fn folder_size(&self, sizes: FolderSizes<'_>) -> Option<super::FolderSize> {
        (self.kind == Kind::Dir && !self.is_link).then(|| sizes(&self.name)).flatten()
    }
}

/// Compares two names without regard to the case of ASCII letters. Names that differ only in case are in byte order.
fn by_name(a: &[u8], b: &[u8]) -> Ordering {
    let folded = a.iter().map(u8::to_ascii_lowercase).cmp(b.iter().map(u8::to_ascii_lowercase));
    folded.then_with(|| a.cmp(b))
}
