//! The graphs: well-formed, linked from the page, and with everybody in them.

use std::path::{Path, PathBuf};

use bench::head_trace::Moment;
use bench::page;

use super::races;

/// Returns the graphs there are.
fn graphs() -> Vec<(PathBuf, String)> {
    let files = page::render(&races::all());
    files.into_iter().filter(|(path, _)| path.extension().is_some_and(|e| e == "svg")).collect()
}

fn graph(name: &str) -> String {
    let path = Path::new("benchmarks").join(name);
    let found = graphs().into_iter().find(|(p, _)| *p == path);
    found.unwrap_or_else(|| panic!("no {name}")).1
}

/// Panics unless every element is closed, in the right order, and text has no bare characters.
fn assert_balanced(svg: &str) {
    let mut open = Vec::new();
    for piece in svg.split('<').skip(1) {
        let (tag, text) = piece.split_once('>').expect("a tag ends");
        assert!(!text.contains('>'), "{piece}");
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        let name = tag.trim_start_matches('/').split_whitespace().next().expect("a name");
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "{tag}");
        } else if !tag.ends_with('/') {
            open.push(name);
        }
        for after in text.split('&').skip(1) {
            let entity = after.split(';').next().unwrap_or("");
            assert!(["lt", "gt", "amp", "quot", "apos"].contains(&entity), "{text}");
        }
    }
    assert_eq!(open, [""; 0]);
}

#[test]
fn graphs_are_well_formed() {
    for (path, svg) in graphs() {
        assert!(svg.starts_with("<svg width=\"720\""), "{}", path.display());
        assert!(svg.contains("fill=\"#FFFFFF\""), "{} needs a white sheet", path.display());
        assert_balanced(&svg);
    }
}

#[test]
fn every_graph_is_on_the_page_and_there() {
    let files = page::render(&races::all());
    let page = &files[0].1;
    let links = page.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let mut linked: Vec<PathBuf> =
        links.filter(|link| link.starts_with("benchmarks/")).map(PathBuf::from).collect();
    linked.sort();
    let mut made: Vec<PathBuf> = graphs().into_iter().map(|(path, _)| path).collect();
    made.sort();
    assert_eq!(linked, made);
    assert_eq!(made.len(), 10);
}

#[test]
fn bars_have_everybody_in_order_with_their_values() {
    let svg = graph("find-samesize-warm.svg");
    let at = |text: &str| svg.find(&format!("\n{text}\n")).unwrap_or_else(|| panic!("no {text}"));
    let order = ["yadf", "lop", "jdupes", "fclones", "rmlint", "duff", "lop, tree remembered"];
    assert!(order.map(at).is_sorted(), "{svg}");
    assert!(at("lop") < at("0.700 s") && at("0.700 s") < at("jdupes"), "{svg}");
    assert!(at("rdfind") < at("failed in 3 of 5 runs"), "{svg}");
}

#[test]
fn lines_have_everybody_and_both_axes() {
    let svg = graph("growth-server2018-find-created-asis-warm.svg");
    let names = ["lop", "yadf", "fclones", "jdupes", "rdfind", "rmlint", "duff, to 100,000"];
    for text in names.into_iter().chain(["1,000", "1,000,000", "0.01 s", "10 s"]) {
        assert!(svg.contains(&format!("\n{text}\n")), "no {text} in {svg}");
    }
}

#[test]
fn what_is_seen_is_also_said() {
    let page = page::render(&races::all()).swap_remove(0).1;
    let bars = "![Bar chart of seconds: lop purge 5.10; rmz 6.00; find -delete 12.5; rm -rf 12.8](";
    assert!(page.contains(bars), "{page}");
    let lines = "Line chart of seconds for 1,000 to 1,000,000 names, both axes logarithmic; \
                 at 1,000,000: lop 4.77; yadf 11.8;";
    assert!(page.contains(lines), "{page}");
}

#[test]
fn the_way_of_an_head_is_drawn() {
    let way = |seconds: u32| {
        let moment = |n: u32| Moment {
            busy_s: f64::from(n),
            seeks: u64::from(n) * 1000,
            at: u64::from(n % 7) << 30,
        };
        (0..=seconds).map(moment).collect::<Vec<_>>()
    };
    let ways = [("before".to_owned(), way(30)), ("now".to_owned(), way(3))];
    let (path, svg) = page::render_head_traces(&ways);
    assert_eq!(path, Path::new("benchmarks/way-of-the-hdd.svg"));
    assert_balanced(&svg);
    for text in ["before: 30 s, 30,000 movements", "now: 3 s, 3,000 movements"] {
        assert!(svg.contains(text), "{svg}");
    }
    assert_balanced(&page::render_head_traces(&[]).1);
}
