//! Tests of the page with the sizes of folders.

use axum::http::StatusCode;
use catalog::Catalog;
use space::{Comparisons, Space, TOP};
use testkit::TreeBuilder;

use crate::app::spaces::Sizes;
use crate::testing::TestServer;

/// Returns the value of an attribute of the first element that contains `marker`.
fn attribute(page: &str, marker: &str, name: &str) -> String {
    let at = page.find(marker).unwrap_or_else(|| panic!("{marker} in {page}"));
    let start = page[..at].rfind(&format!("{name}=\"")).expect("the attribute") + name.len() + 2;
    page[start..].split('"').next().expect("a value").to_owned()
}

fn served() -> TestServer {
    let tree = TreeBuilder::new()
        .file("large/deep/one", vec![b'1'; 50_000])
        .file("large/two", vec![b'2'; 9000])
        .file("copy/one", vec![b'1'; 50_000])
        .file("<i>small", vec![b'3'; 100])
        .file("s\"mall/three", vec![b'3'; 100]);
    TestServer::scanned(&tree)
}

#[test]
fn folders_are_listed_by_size_with_their_share() {
    let page = served().get("/space").text();
    let large = page.find(">large</bdi>").expect("large");
    assert!(large < page.find(">copy</bdi>").expect("copy"), "largest first: {page}");
    assert!(page.contains("<bdi>s&quot;mall</bdi>"), "{page}");
    assert!(page.contains("Files directly in this folder"), "{page}");
    assert!(page.contains("<bdi>&lt;i&gt;small</bdi>"), "the largest files: {page}");
    assert!(!page.contains("<i>small"), "{page}");
}

#[test]
fn a_folder_is_a_link_to_its_own_page() {
    let served = served();
    let page = served.get("/space").text();
    let link = attribute(&page, ">large</bdi>", "href").replace("&amp;", "&");
    let inner = served.get(&link);
    assert_eq!(inner.status, StatusCode::OK);
    assert!(inner.text().contains(">deep</bdi>"));
    assert!(!inner.text().contains(">copy</bdi>"));
    assert!(inner.text().contains("data-parent"), "a way back up");
}

#[test]
fn every_tile_has_a_colour_of_the_legend() {
    let page = served().get("/space").text();
    let tiles: Vec<&str> = page.split("<title>").skip(2).collect();
    let own = tiles.iter().find(|tile| tile.starts_with("Files directly here: 52.0 KiB"));
    let own = own.unwrap_or_else(|| panic!("the file of a folder: {page}"));
    assert!(own.contains("100 % of its disk space reclaimable"), "{own}");
    assert!(own.contains("class=\"tile share-3\""), "{own}");
    assert!(tiles.iter().all(|tile| tile.contains("tile share-") && !tile.contains(" other")));
}

#[test]
fn rows_of_a_folder_are_loaded_when_it_is_opened() {
    let served = served();
    let dir = attribute(&served.get("/space").text(), ">large</bdi>", "data-dir");
    let rows = served.get(&format!("/space/children?dir={dir}&by=files&level=1"));
    assert_eq!(rows.status, StatusCode::OK);
    assert!(rows.text().starts_with("<tr"), "{}", rows.text());
    assert!(rows.text().contains("data-level=\"1\""));
    assert!(rows.text().contains(">deep</bdi>"));
}

#[test]
fn a_folder_from_before_a_change_is_never_mistaken_for_another() {
    let served = served();
    let dir = attribute(&served.get("/space").text(), ">large</bdi>", "data-dir");
    let (number, _) = dir.split_once('-').expect("a number");
    for forged in [format!("{number}-00000000"), "4000000000-00000000".into(), "x".into()] {
        let page = served.get(&format!("/space?dir={forged}"));
        assert_eq!(page.status, StatusCode::OK);
        assert!(page.text().contains("catalog has changed"), "{forged}");
        for part in ["children", "map"] {
            let answer = served.get(&format!("/space/{part}?dir={forged}"));
            assert_eq!(answer.status, StatusCode::CONFLICT, "{part} of {forged}");
        }
    }
}

#[test]
fn the_sizes_follow_the_catalog() {
    let served = served();
    assert!(!served.get("/space").text().contains(">new</bdi>"));
    TreeBuilder::new().file("new/file", "new").make(served.tree.path());
    served.scan();
    assert!(served.get("/space").text().contains(">new</bdi>"));
}

#[test]
fn a_map_of_many_folders_has_few_tiles() {
    let mut tree = TreeBuilder::new();
    for outer in 0..30 {
        for inner in 0..40 {
            tree = tree.file(format!("{outer}/{inner}/file"), vec![b'x'; 1 + outer * 8192]);
        }
    }
    let served = TestServer::scanned(&tree);
    let page = served.get("/space").text();
    let tiles = page.matches("<rect class=\"tile").count();
    assert!((30..=604).contains(&tiles), "{tiles} tiles, with the legend");
    let dir = attribute(&page, "data-by=\"size\"", "data-dir");
    let map = served.get(&format!("/space/map?dir={dir}&by=size&w=200&h=150")).text();
    assert!(map.contains("1 smaller folder"), "{map}");
    let forged = served.get(&format!("/space/map?dir={dir}&w=4294967295&h=0"));
    assert!(forged.text().contains("viewBox=\"0 0 4000 150\""));
}

#[test]
fn every_measure_has_a_page() {
    let served = served();
    for (by, part) in [
        ("size", "Disk space"),
        ("reclaimable", "reclaimable"),
        ("grown", "Growth needs two scans"),
        ("files", "1 file"),
        ("nonsense", "Disk space"),
    ] {
        let page = served.get(&format!("/space?by={by}"));
        assert_eq!(page.status, StatusCode::OK, "{by}");
        assert!(page.text().contains(part), "{by} without {part}");
    }
}

#[test]
fn growth_is_unknown_after_a_run_and_the_page_says_so() {
    let served = served();
    let catalog = Catalog::open(served.app.catalog_path());
    let space = catalog.and_then(|catalog| Space::load(&catalog)).expect("loads");
    let mut sizes = Sizes { space, comparisons: Comparisons::default() };
    let said = |sizes: &Sizes| super::since(sizes, TOP).into_string();
    assert!(said(&sizes).contains("Growth needs two scans"));
    sizes.comparisons.outdated.push(TOP);
    let page = said(&sizes);
    assert!(page.contains("A run has changed files since the last scan"), "{page}");
    assert!(!page.contains("Growth needs two scans"), "{page}");
}
