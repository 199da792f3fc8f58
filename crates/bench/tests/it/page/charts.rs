//! The charts: they are well-formed, linked from the pages, and show every tool.

use std::collections::BTreeMap;
use std::path::Path;

use bench::filter_graph::{Cache, Figure, Graph, LAYOUTS};
use bench::head_trace::Moment;
use bench::page;

use super::races;

fn is_chart(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == "svg")
}

/// Returns the charts by their paths below `docs/`.
fn charts() -> BTreeMap<String, String> {
    let files = page::render(&races::all());
    files.into_iter().filter(|(path, _)| is_chart(path)).collect()
}

/// Panics unless all elements are closed in the right order and all special characters in text are
/// escaped.
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
fn charts_are_well_formed() {
    for (path, svg) in charts() {
        assert!(svg.contains(" width=\"720\""), "{path}");
        assert!(svg.contains("fill=\"#FFFFFF\""), "{path} needs a white sheet");
        assert_balanced(&svg);
    }
}

#[test]
fn there_are_few_charts_and_each_is_shown_on_the_summary() {
    let files = page::render(&races::all());
    let links =
        files["benchmarks.md"].split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let mut shown: Vec<&str> = links.filter(|link| is_chart(link)).collect();
    shown.sort_unstable();
    let made: Vec<String> = charts().into_keys().collect();
    assert_eq!(shown, made);
    // If every job was raced, there are seven charts and the head trace.
    assert!(made.len() <= 7, "{made:?}");
}

#[test]
fn bars_have_every_tool_in_order_with_its_value() {
    let svg = &charts()["benchmarks/find-warm.svg"];
    let at = |text: &str| svg.find(&format!(">{text}<")).unwrap_or_else(|| panic!("no {text}"));
    let order = ["lop", "yadf", "fclones", "jdupes", "rdfind", "duff", "rmlint", "lop, again"];
    assert!(order.map(at).is_sorted(), "{svg}");
    assert!(at("lop") < at("0.610 s") && at("0.610 s") < at("yadf"), "{svg}");
}

#[test]
fn a_tool_without_a_figure_is_in_the_chart_with_the_reason() {
    let mut record = races::delete();
    races::Racing::spoil(&mut record, "flat-warm", "rmz", 3, bench::record::Ending::Failed);
    let svg = page::render(&super::only("delete", record)).remove("benchmarks/delete.svg");
    let svg = svg.expect("a chart");
    assert!(svg.contains(">rmz<") && svg.contains(">failed in 3 of 5 runs<"), "{svg}");
}

#[test]
fn charts_are_described_in_words() {
    let summary = page::render(&races::all()).remove("benchmarks.md").expect("a summary");
    let bars = "![Bar chart. Deleting the tree million. Seconds: lop purge 5.10; rmz 6.00; \
                find -delete 12.5; rm -rf 12.8](benchmarks/delete.svg)";
    assert!(summary.contains(bars), "{summary}");
}

#[test]
fn head_traces_are_drawn() {
    let trace = |seconds: u32| {
        let moment = |n: u32| Moment {
            busy_s: f64::from(n),
            seeks: u64::from(n) * 1000,
            at: u64::from(n % 7) << 30,
        };
        (0..=seconds).map(moment).collect::<Vec<_>>()
    };
    let traces = [("before".to_owned(), trace(30)), ("now".to_owned(), trace(3))];
    let svg = page::render_head_traces(&traces);
    assert_balanced(&svg);
    for text in ["before: 30 s, 30,000 seeks", "now: 3 s, 3,000 seeks"] {
        assert!(svg.contains(text), "{svg}");
    }
    assert_balanced(&page::render_head_traces(&[]));
}

#[test]
fn the_filter_graph_has_layouts_caches_and_a_table() {
    let figures = LAYOUTS.into_iter().flat_map(|layout| {
        (10..=20).map(move |log2_bytes| Figure {
            layout,
            bytes: 1 << log2_bytes,
            median_ns: f64::from(log2_bytes),
            min_ns: 1.0,
            max_ns: 40.0,
            false_positives: 2_500_000,
        })
    });
    let cache = |name: &str, bytes| Cache { name: name.into(), bytes };
    // The last cache is larger than every filter.
    let caches = vec![cache("L1d", 49_152), cache("L2", 1 << 20), cache("L3", 1 << 28)];
    let graph = Graph { figures: figures.collect(), caches };
    let files = page::render_filter_graph(&graph);
    let svg = &files["benchmarks/filter.svg"];
    assert_balanced(svg);
    for text in ["1 bit", "4 bits in a cache line", "L1d 48 KiB", "L2 1 MiB", "64 KiB"] {
        assert!(svg.contains(&format!(">{text}<")), "{text}: {svg}");
    }
    assert!(!svg.contains("L3"), "{svg}");
    let table = &files["benchmarks/filter.md"];
    for text in ["L1d 48 KiB, L2 1 MiB, L3 256 MiB.", "\n| 32 KiB | L1d | 15.0 ns, 25.00 % |"] {
        assert!(table.contains(text), "{text}: {table}");
    }
    assert_balanced(&page::render_filter_graph(&Graph::default())["benchmarks/filter.svg"]);
}
