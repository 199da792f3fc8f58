//! The listing as a page.

use fsops::Kind;
use httpd::server::{Head, Response};
use jiff::Timestamp;
use maud::{Markup, html};
use runtime::quantity::{count, counted, size};

use super::view::order;
use super::{FolderSizes, List, Place, Row, Sort, Totals, View, href};
use crate::frame::{name, plain_name, respond};

/// Number of rows of a page. Browsers show a table of this length at once, and it is about 1 MiB of text.
pub(super) const PAGE_ROWS: usize = 5_000;

/// The columns: title and parameter.
const COLUMNS: [(&str, Sort); 3] =
    [("Name", Sort::Name), ("Size", Sort::Size), ("Modified (UTC)", Sort::Time)];

impl List {
    /// Returns a page of the listing. A page beyond the end is the last one.
    pub(crate) fn page(&self, place: &Place<'_>, view: View, sizes: FolderSizes<'_>) -> Response {
        let title = place.path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
        let title = if title.is_empty() { place.label } else { title };
        let body = html! {
            header {
                (crumbs(place))
                h1 { (name(title)) }
            }
            main { (self.main(place, view, sizes)) }
        };
        respond(Head::new(200), &plain_name(title), &body)
    }

    fn main(&self, place: &Place<'_>, view: View, sizes: FolderSizes<'_>) -> Markup {
        let rows = self.sorted(view, sizes);
        let pages = rows.len().div_ceil(PAGE_ROWS).max(1);
        let view = View { page: view.page.clamp(1, pages), ..view };
        let shown = rows.chunks(PAGE_ROWS).nth(view.page - 1).unwrap_or_default();
        html! {
            div.bar {
                p.dim { (totals(self.totals)) }
                @if place.has_archive {
                    form { button name="tar" { "Download as tar" } }
                }
            }
            @if rows.is_empty() {
                p.empty { "This folder is empty." }
            } @else {
                table {
                    thead { tr { @for (title, sort) in COLUMNS { (column(title, sort, view)) } } }
                    tbody { @for row in shown { (self::row(row, sizes)) } }
                }
            }
            @if pages > 1 { (page_links(view, pages, rows.len())) }
        }
    }
}

/// Returns links to the directories above.
fn crumbs(place: &Place<'_>) -> Markup {
    let below: Vec<&[u8]> =
        place.path.split(|&byte| byte == b'/').filter(|n| !n.is_empty()).collect();
    let depth = below.len();
    let up = |levels: usize| "../".repeat(levels);
    // The last component is the heading.
    let parents = below.iter().take(depth.saturating_sub(1));
    html! {
        @if depth > 0 || place.has_top {
            nav aria-label="Folders above" {
                ol.crumbs {
                    @if place.has_top { li { a href=(up(depth + 1)) { "Shared folders" } } }
                    @if depth > 0 { li { a href=(up(depth)) { (name(place.label)) } } }
                    @for (at, parent) in parents.enumerate() {
                        li { a href=(up(depth - 1 - at)) { (name(parent)) } }
                    }
                }
            }
        }
    }
}

fn totals(totals: Totals) -> String {
    let files = counted(totals.files, "file", "files");
    let mut text = match (totals.folders, totals.files) {
        (0, _) => files,
        (folders, 0) => counted(folders, "folder", "folders"),
        (folders, _) => format!("{}, {files}", counted(folders, "folder", "folders")),
    };
    if totals.files > 0 {
        text.push_str(&format!(" of {}", size(totals.bytes)));
    }
    if totals.others > 0 {
        text.push_str(&format!(", {}", counted(totals.others, "other entry", "other entries")));
    }
    text
}

/// Returns the head of a column, which sorts by it. The column in use reverses the order.
fn column(title: &str, sort: Sort, view: View) -> Markup {
    let is_used = view.sort == sort;
    let state = if view.is_descending { "descending" } else { "ascending" };
    let next = if is_used { !view.is_descending } else { sort.starts_descending() };
    html! {
        th scope="col" aria-sort=[is_used.then_some(state)] {
            form {
                input type="hidden" name="order" value=(order(next));
                button name="sort" value=(sort.value()) { (title) }
            }
        }
    }
}

fn row(row: &Row, sizes: FolderSizes<'_>) -> Markup {
    let is_dir = row.kind == Kind::Dir;
    html! {
        tr {
            td class=[is_dir.then_some("d")] {
                @if row.can_open() {
                    a href=(href(&row.name, is_dir)) { (name(&row.name)) }
                } @else {
                    (name(&row.name))
                }
                @if let Some(note) = note(row) { small { (note) } }
            }
            (size_cell(row, sizes))
            td { @if row.kind != Kind::Unknown { (time(row.mtime.s)) } }
        }
    }
}

/// Returns what is special about an entry.
fn note(row: &Row) -> Option<String> {
    let kind = match row.kind {
        Kind::Fifo => Some("FIFO"),
        Kind::Socket => Some("socket"),
        Kind::Device => Some("device"),
        Kind::File | Kind::Dir | Kind::Symlink | Kind::Unknown => None,
    };
    let kind = kind.or(row.is_link.then_some("link"));
    match (kind, row.why.as_deref()) {
        (Some(kind), Some(why)) => Some(format!("{kind}, {why}")),
        (Some(kind), None) => Some(kind.to_owned()),
        (None, why) => why.map(str::to_owned),
    }
}

fn size_cell(row: &Row, sizes: FolderSizes<'_>) -> Markup {
    if row.kind == Kind::File {
        let exact = (row.size >= 1024).then(|| counted(row.size, "byte", "bytes"));
        return html! { td title=[exact] { (size(row.size)) } };
    }
    let folder = row.folder_size(sizes);
    let files = folder.map(|folder| counted(folder.files, "file", "files"));
    html! { td title=[files] { @if let Some(folder) = folder { (size(folder.bytes)) } } }
}

/// Returns a time in seconds since the epoch.
fn time(seconds: i64) -> Markup {
    // Some file systems store times outside the years -9999 to 9999.
    let Ok(time) = Timestamp::from_second(seconds) else { return html! { "unknown time" } };
    let machine = time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    html! { time datetime=(machine) { (time.strftime("%Y-%m-%d %H:%M").to_string()) } }
}

fn page_links(view: View, pages: usize, rows: usize) -> Markup {
    let first = (view.page - 1) * PAGE_ROWS;
    let last = rows.min(first + PAGE_ROWS);
    let number = |number: usize| count(number as u64);
    html! {
        nav.pages aria-label="Pages" {
            @if view.page > 1 { a href=(view.query(view.page - 1)) rel="prev" { "Previous page" } }
            @if view.page < pages { a href=(view.query(view.page + 1)) rel="next" { "Next page" } }
            span.dim { "Entries " (number(first + 1)) " to " (number(last)) " of " (number(rows)) }
        }
    }
}
