//! Tests of `lop-fleet report --html`.

use std::fs;

use crate::hosts::{Hosts, Inode};
use crate::{digest, run, two_hosts};

/// Returns the page about all hosts.
fn page(hosts: &Hosts) -> String {
    let output = run(&["report", "--html"], hosts.dir.as_ref());
    output.success();
    output.stdout_str().to_owned()
}

/// Returns the text of the cells of the table row that begins with `start`.
fn cells(page: &str, start: &str) -> Vec<String> {
    let is_wanted =
        |row: &&str| row.contains("scope=\"row\"") && row.contains(&format!("<bdi>{start}</bdi>"));
    let row = page.split("</tr>").find(is_wanted);
    let row = row.unwrap_or_else(|| panic!("no row of {start} in {page}"));
    let text = |cell: &str| {
        let pieces =
            cell.split('<').map(|piece| piece.split_once('>').map_or("", |(_, text)| text));
        pieces.collect::<String>().trim().to_owned()
    };
    row.split("<td").skip(1).map(|cell| text(&format!("<td{cell}"))).collect()
}

#[test]
fn the_page_has_the_numbers_of_the_report() {
    let page = page(&two_hosts());
    assert!(page.starts_with("<!DOCTYPE html>"), "{page}");
    let expected = ["4", "6.9 KiB", "", "2.0 KiB 28 %", "4.9 KiB 70 %", "77 B 1 %", "1000 B"];
    assert_eq!(cells(&page, "laptop"), expected);
    let expected = ["4", "9.8 KiB", "", "1000 B 10 %", "4.9 KiB 50 %", "3.9 KiB 40 %", "2.0 KiB"];
    assert_eq!(cells(&page, "nas"), expected);
    assert!(page.contains(&digest(1)) && page.contains(&digest(2)), "{page}");
    // The laptop has 7077 bytes, the NAS 10,000. They share one content of 1000 bytes.
    let matrix = page.split("id=\"matrix\"").nth(1).expect("a matrix");
    assert_eq!(cells(matrix, "laptop"), ["same host", "14"]);
    assert_eq!(cells(matrix, "nas"), ["10", "same host"]);
}

#[test]
fn the_page_shows_growth_if_a_host_has_several_exports() {
    let mut hosts = two_hosts();
    assert!(!page(&hosts).contains("id=\"growth\""));
    hosts.export("nas", &[(40_000, 9, 9)]);
    let page = page(&hosts);
    let growth = page.split("id=\"growth\"").nth(1).expect("a graph");
    assert!(growth.contains("points=\"0.0,240.0 1000.0,0.0\""), "{growth}");
    assert_eq!(cells(growth, "nas"), ["2", "9.8 KiB", "39.1 KiB"]);
    assert!(!growth.contains("<bdi>laptop</bdi>"), "{growth}");
}

#[test]
fn the_page_loads_nothing_and_a_hostile_host_adds_no_markup() {
    let mut hosts = two_hosts();
    hosts.export("office", &[(5, 1, 1)]);
    let export = fs::read_dir(hosts.dir.join("office")).expect("a folder").find_map(|entry| {
        let manifest = entry.expect("an entry").path().join("_MANIFEST.json");
        manifest.is_file().then_some(manifest)
    });
    let manifest = export.expect("an export");
    let text = fs::read_to_string(&manifest).expect("a manifest");
    fs::write(&manifest, text.replace("\"office\"", "\"<img src=x>\"")).expect("written");
    let page = page(&hosts);
    assert!(page.contains("<bdi>&lt;img src=x&gt;</bdi>"), "{page}");
    for loading in ["<img", "<script", "<link", "http:", "https:", "url(", "@import"] {
        assert!(!page.contains(loading), "{loading}");
    }
}

#[test]
fn a_fleet_with_nothing_in_common_and_a_single_host_have_pages() {
    let mut hosts = Hosts::new();
    hosts.export("one", &[]);
    assert_eq!(cells(&page(&hosts), "one")[..2], ["0", "0 B"]);
    let apart: [Inode; 1] = [(7, 1, 1)];
    hosts.export("two", &apart);
    let page = page(&hosts);
    let matrix = page.split("id=\"matrix\"").nth(1).expect("a matrix");
    assert_eq!(cells(matrix, "two"), ["–", "same host"]);
}

#[test]
fn a_page_is_not_json() {
    run(&["report", "--html", "--json"], two_hosts().dir.as_ref()).code(2);
}
