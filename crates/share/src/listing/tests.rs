//! Listings of small trees.

use std::path::Path;

use fsops::{Dir, Kind};
use httpd::server::{Body, Part, Response};
use testkit::{TempTree, TreeBuilder};
use walk::OwnFiles;

use super::page::PAGE_ROWS;
use super::{Budget, FolderSize, List, Place, Row, Totals, View, Wanted, href};

const PLACE: Place<'_> = Place { label: b"tree", path: b"", has_top: false, has_archive: true };

fn no_size(_name: &[u8]) -> Option<FolderSize> {
    None
}

fn open(root: &Path) -> Dir {
    Dir::open(root).expect("opened")
}

fn list_of(root: &Path) -> List {
    List::read(&open(root), b"", &open(root), &OwnFiles::default(), &Budget::default())
        .expect("listed")
}

fn view(query: &str) -> View {
    View::parse(Some(query.as_bytes()), None)
}

fn body(response: &Response) -> String {
    let Body::Bytes(body) = &response.body else { panic!("a body in memory") };
    String::from_utf8(body.to_vec()).expect("UTF-8")
}

/// Returns the main part of a page, one element per line.
fn main_of(response: &Response) -> String {
    let page = body(response);
    let (_, main) = page.split_once("<main>").expect("a main part");
    let (main, _) = main.split_once("</main>").expect("its end");
    main.replace("<tr>", "\n<tr>").replace("<tbody>", "\n<tbody>").replace("<table>", "\n<table>")
}

/// Returns the names in the order of a view.
fn names(list: &List, query: &str) -> Vec<String> {
    let size = |name: &[u8]| (name == b"Known").then_some(FolderSize { bytes: 150, files: 2 });
    let rows = list.sorted(view(query), &size);
    rows.iter().map(|row| String::from_utf8_lossy(&row.name).into_owned()).collect()
}

fn row<'a>(list: &'a List, name: &str) -> &'a Row {
    list.rows.iter().find(|row| *row.name == *name.as_bytes()).expect("listed")
}

#[test]
fn a_page_shows_hostile_names_safely() {
    let tree = TreeBuilder::new()
        .dir("sub dir")
        .file("<b>&\"'", "12345")
        .file(b"bytes \xff", "")
        .file("a\u{202e}gpj.exe", "x")
        .file("javascript:alert(1)", "x")
        .file(" ", "x")
        .sparse("large", 3 << 29, &[])
        .symlink("out", "../../etc")
        .symlink("in", "sub dir")
        .fifo("pipe")
        .mtime("sub dir", 86_400, 0)
        .mtime("<b>&\"'", 1_782_108_000, 5)
        .mtime(b"bytes \xff", 0, 0)
        .mtime("a\u{202e}gpj.exe", -1, 0)
        .mtime("javascript:alert(1)", 0, 0)
        .mtime(" ", 0, 0)
        .mtime("large", 0, 0)
        .mtime("pipe", 0, 0)
        .make_temp();
    let mut list = list_of(tree.path());
    // The tree cannot set the time of a link.
    for row in list.rows.iter_mut().filter(|row| row.kind == Kind::Symlink) {
        row.mtime = fsops::Time::default();
    }
    let size = |name: &[u8]| (name == b"sub dir").then_some(FolderSize { bytes: 2048, files: 1 });
    insta::assert_snapshot!(main_of(&list.page(&PLACE, view(""), &size)), @r###"
<div class="bar"><p class="dim">2 folders, 6 files of 1.5 GiB, 2 other entries</p><form><button name="tar">Download as tar</button></form></div>
<table><thead>
<tr><th scope="col" aria-sort="ascending"><form><input type="hidden" name="order" value="desc"><button name="sort" value="name">Name</button></form></th><th scope="col"><form><input type="hidden" name="order" value="desc"><button name="sort" value="size">Size</button></form></th><th scope="col"><form><input type="hidden" name="order" value="desc"><button name="sort" value="time">Modified (UTC)</button></form></th></tr></thead>
<tbody>
<tr><td class="d"><a href="./in/"><bdi>in</bdi></a><small>link</small></td><td></td><td><time datetime="1970-01-02T00:00:00Z">1970-01-02 00:00</time></td></tr>
<tr><td class="d"><a href="./sub%20dir/"><bdi>sub dir</bdi></a></td><td title="1 file">2.0 KiB</td><td><time datetime="1970-01-02T00:00:00Z">1970-01-02 00:00</time></td></tr>
<tr><td><a href="./%20"><bdi><span class="esc">\x20</span></bdi></a></td><td>1 B</td><td><time datetime="1970-01-01T00:00:00Z">1970-01-01 00:00</time></td></tr>
<tr><td><a href="./%3Cb%3E%26%22%27"><bdi>&lt;b&gt;&amp;&quot;&#39;</bdi></a></td><td>5 B</td><td><time datetime="2026-06-22T06:00:00Z">2026-06-22 06:00</time></td></tr>
<tr><td><a href="./a%E2%80%AEgpj.exe"><bdi>a<span class="esc">\u{202e}</span>gpj.exe</bdi></a></td><td>1 B</td><td><time datetime="1969-12-31T23:59:59Z">1969-12-31 23:59</time></td></tr>
<tr><td><a href="./bytes%20%FF"><bdi>bytes <span class="esc">\xff</span></bdi></a></td><td>0 B</td><td><time datetime="1970-01-01T00:00:00Z">1970-01-01 00:00</time></td></tr>
<tr><td><a href="./javascript%3Aalert%281%29"><bdi>javascript:alert(1)</bdi></a></td><td>1 B</td><td><time datetime="1970-01-01T00:00:00Z">1970-01-01 00:00</time></td></tr>
<tr><td><a href="./large"><bdi>large</bdi></a></td><td title="1,610,612,736 bytes">1.5 GiB</td><td><time datetime="1970-01-01T00:00:00Z">1970-01-01 00:00</time></td></tr>
<tr><td><bdi>out</bdi><small>link, leads outside</small></td><td></td><td><time datetime="1970-01-01T00:00:00Z">1970-01-01 00:00</time></td></tr>
<tr><td><bdi>pipe</bdi><small>FIFO</small></td><td></td><td><time datetime="1970-01-01T00:00:00Z">1970-01-01 00:00</time></td></tr></tbody></table>
"###);
}

#[test]
fn a_page_loads_nothing_and_may_not_be_framed() {
    let tree = TempTree::new();
    let response = list_of(tree.path()).page(&PLACE, view(""), &no_size);
    let head = String::from_utf8(response.head.to_vec()).expect("ASCII");
    for field in [
        "content-type: text/html; charset=utf-8\r\n",
        "cache-control: no-cache\r\n",
        "x-content-type-options: nosniff\r\n",
        "referrer-policy: same-origin\r\n",
        "content-security-policy: default-src 'none'; style-src 'sha256-",
        "frame-ancestors 'none'\r\n",
    ] {
        assert!(head.contains(field), "{field}");
    }
    let page = body(&response);
    assert!(page.contains("This folder is empty.") && !page.contains("<table>"));
    assert!(!page.contains("<script") && !page.contains(" style="));
}

#[test]
fn names_are_sorted_without_regard_to_case_and_folders_first() {
    let tree = TreeBuilder::new()
        .dir("zoo")
        .file("Known/x", "")
        .seeded("b", 1, 100)
        .seeded("B", 1, 200)
        .seeded("a", 1, 100)
        .seeded("C", 1, 300)
        .mtime("zoo", 50, 0)
        .mtime("Known", 40, 0)
        .mtime("b", 10, 0)
        .mtime("B", 10, 0)
        .mtime("a", 30, 0)
        .mtime("C", 20, 0)
        .make_temp();
    let list = list_of(tree.path());
    assert_eq!(names(&list, ""), ["Known", "zoo", "a", "B", "b", "C"]);
    assert_eq!(names(&list, "sort=name&order=desc"), ["zoo", "Known", "C", "b", "B", "a"]);
    // A folder of unknown size is the smallest one. Equal entries are in the order of their names.
    assert_eq!(names(&list, "sort=size"), ["C", "B", "Known", "a", "b", "zoo"]);
    assert_eq!(names(&list, "sort=size&order=asc"), ["zoo", "a", "b", "Known", "B", "C"]);
    assert_eq!(names(&list, "sort=time"), ["zoo", "Known", "a", "C", "B", "b"]);
    assert_eq!(names(&list, "order=asc&sort=time"), ["B", "b", "C", "a", "Known", "zoo"]);
}

#[test]
fn the_head_of_the_sorted_column_reverses_the_order() {
    let tree = TreeBuilder::new().file("a", "").make_temp();
    let page = body(&list_of(tree.path()).page(&PLACE, view("sort=size"), &no_size));
    let button = |sort: &str, order: &str| {
        format!(
            "<form><input type=\"hidden\" name=\"order\" value=\"{order}\"><button name=\"sort\" value=\"{sort}\">"
        )
    };
    let sorted = format!("<th scope=\"col\" aria-sort=\"descending\">{}", button("size", "asc"));
    assert!(page.contains(&sorted), "{page}");
    assert!(page.contains(&button("name", "asc")) && page.contains(&button("time", "desc")));
    assert_eq!(page.matches("aria-sort=\"").count(), 1);
}

#[test]
fn links_are_shown_as_what_they_lead_to_below_the_root() {
    let tree = TreeBuilder::new()
        .file("top/file", "12345")
        .dir("top/below/dir")
        .symlink("top/below/to file", "../file")
        .symlink("top/below/to dir", "dir")
        .symlink("top/below/out", "../../../etc")
        .symlink("top/below/absolute", "/etc")
        .symlink("top/below/gone", "nowhere")
        .symlink_loop("top/below/loop 1", "top/below/loop 2")
        .make_temp();
    let root = open(&tree.path().join("top"));
    let dir = open(&tree.path().join("top/below"));
    let list = List::read(&root, b"below", &dir, &OwnFiles::default(), &Budget::default())
        .expect("listed");
    let file = row(&list, "to file");
    assert_eq!((file.kind, file.size, file.is_link, file.can_open()), (Kind::File, 5, true, true));
    assert!(row(&list, "to dir").kind == Kind::Dir && row(&list, "to dir").can_open());
    for (name, why) in [
        ("out", "leads outside"),
        ("absolute", "has an absolute target"),
        ("gone", "leads nowhere"),
    ] {
        let row = row(&list, name);
        assert_eq!(
            (row.kind, row.why.as_deref(), row.can_open()),
            (Kind::Symlink, Some(why), false)
        );
    }
    assert!(row(&list, "loop 1").why.is_some());
    assert_eq!(list.totals, Totals { folders: 2, files: 1, bytes: 5, others: 5 });
    let page = body(&list.page(&PLACE, view(""), &no_size));
    assert!(page.contains("<td><bdi>out</bdi><small>link, leads outside</small></td>"), "{page}");
    assert!(page.contains("<a href=\"./to%20dir/\"><bdi>to dir</bdi></a><small>link</small>"));
}

#[test]
fn a_long_listing_has_pages() {
    let mut tree = TreeBuilder::new();
    for number in 0..=2 * PAGE_ROWS {
        tree = tree.file(format!("{number:05}"), "");
    }
    let tree = tree.make_in_memory();
    let list = list_of(tree.path());
    let page = |query: &str| body(&list.page(&PLACE, view(query), &no_size));
    let (first, second, third) = (page(""), page("page=2"), page("page=99"));
    assert_eq!(first.matches("<tr>").count(), PAGE_ROWS + 1);
    assert!(first.contains("Entries 1 to 5,000 of 10,001") && !first.contains("rel=\"prev\""));
    assert!(first.contains("<a href=\"?sort=name&amp;order=asc&amp;page=2\" rel=\"next\">"));
    assert!(second.contains("05000") && !second.contains("<bdi>04999"));
    assert!(second.contains("rel=\"prev\"") && second.contains("rel=\"next\""));
    assert!(
        third.contains("Entries 10,001 to 10,001 of 10,001") && !third.contains("rel=\"next\"")
    );
}

#[test]
fn links_to_the_folders_above_are_relative() {
    let tree = TempTree::new();
    let page = |path: &'static str, has_top| {
        let place = Place { path: path.as_bytes(), has_top, ..PLACE };
        body(&list_of(tree.path()).page(&place, view(""), &no_size))
    };
    let root = page("", false);
    assert!(root.contains("<h1><bdi>tree</bdi></h1>") && !root.contains("<nav"));
    assert!(page("", true).contains("<li><a href=\"../\">Shared folders</a></li></ol>"));
    let below = page("a/<b>/c", true);
    for link in [
        "<a href=\"../../../../\">Shared folders</a>",
        "<a href=\"../../../\"><bdi>tree</bdi></a>",
        "<a href=\"../../\"><bdi>a</bdi></a>",
        "<a href=\"../\"><bdi>&lt;b&gt;</bdi></a></li></ol></nav><h1><bdi>c</bdi></h1>",
    ] {
        assert!(below.contains(link), "{link}");
    }
}

#[test]
fn json_has_the_bytes_of_every_name() {
    let tree = TreeBuilder::new()
        .file("a\u{202e}\n\"", "12345")
        .file(b"\xff", "")
        .dir("dir")
        .dangling_symlink("link")
        .mtime("a\u{202e}\n\"", 1, 5)
        .mtime(b"\xff", 0, 0)
        .mtime("dir", 0, 0)
        .make_temp();
    let mut list = list_of(tree.path());
    for row in list.rows.iter_mut().filter(|row| row.kind == Kind::Symlink) {
        row.mtime = fsops::Time::default();
    }
    let size = |_: &[u8]| Some(FolderSize { bytes: 7, files: 2 });
    let response = list.json(view("json"), &size);
    let head = String::from_utf8(response.head.to_vec()).expect("ASCII");
    assert!(head.contains("content-type: application/json\r\n"));
    insta::assert_snapshot!(body(&response), @r###"
{"format_version":1,"entries":[
{"name":"dir","kind":"directory","files":2,"bytes":7,"mtime_ns":0},
{"name":"a\u202e\n\"","kind":"file","size":5,"mtime_ns":1000000005},
{"name":"link","kind":"symlink","is_link":true,"mtime_ns":0,"why":"leads nowhere"},
{"name":"�","name_base64":"/w==","kind":"file","size":0,"mtime_ns":0}
],"summary":{"dirs":1,"files":2,"bytes":5}}
"###);
}

#[test]
fn a_large_document_is_sent_whole() {
    let names = (0..12_000).fold(TreeBuilder::new(), |tree, n| tree.file(format!("{n}"), ""));
    let list = list_of(names.make_temp().path());
    let Response { head, body: Body::Parts(mut parts) } = list.json(view("json"), &no_size) else {
        panic!("its memory counts while it is sent");
    };
    let Some(Part::Bytes(document)) = parts.next().expect("made") else { panic!("a document") };
    assert!(parts.next().expect("made").is_none());
    let head = String::from_utf8(head.to_vec()).expect("ASCII");
    assert!(head.contains(&format!("content-length: {}\r\n", document.len())), "{head}");
    let document: serde_json::Value = serde_json::from_slice(&document).expect("JSON");
    assert_eq!(document["entries"].as_array().expect("entries").len(), 12_000);
}

#[test]
fn a_query_is_read_leniently() {
    let default = view("");
    assert_eq!(View::parse(None, None), default);
    assert_eq!(view("sort=bytes&order=up&page=-1&x&=&page=0"), default);
    assert_eq!((view("tar").wanted, view("tar=").wanted), (Wanted::Tar, Wanted::Tar));
    assert_eq!(view("json&page=3"), View { wanted: Wanted::Json, page: 3, ..default });
    let accepts = |accept: &str| View::parse(None, Some(accept.as_bytes())).wanted;
    assert_eq!(accepts("application/json"), Wanted::Json);
    assert_eq!(accepts("text/html,application/json;q=0.9,*/*"), Wanted::Page);
    assert_eq!(accepts("*/*"), Wanted::Page);
}

#[test]
fn addresses_contain_the_bytes_of_names() {
    assert_eq!(href(b"a-b_c.d~e", false), "./a-b_c.d~e");
    assert_eq!(href("ü:%?#/\\ \n".as_bytes(), true), "./%C3%BC%3A%25%3F%23%2F%5C%20%0A/");
}
