//! Tests of the configuration that need no process.

use std::sync::Arc;

use super::document::Document;
use super::{Config, ConfigFile};

fn file(path: &str) -> Arc<ConfigFile> {
    Arc::new(ConfigFile::of_test(path))
}

fn parsed(path: &str, text: &str) -> Document {
    Document::parse(&file(path), text.as_bytes()).unwrap_or_else(|errors| panic!("{errors:?}"))
}

/// Returns the errors of a file without its name, each with its hint.
fn errors(text: impl AsRef<[u8]>) -> Vec<String> {
    let errors = Document::parse(&file("f"), text.as_ref()).expect_err("wrong");
    let shown = |error: &crate::error::CommandError| {
        format!("{} ({})", error.text().trim_start_matches("f:"), error.hints().join("; "))
    };
    errors.iter().map(shown).collect()
}

#[test]
fn every_key_is_read_with_its_line() {
    let document = parsed(
        "f",
        "catalog = '/c.db'\nroots = ['/a',\n  '/b']\nexclude = ['*.o']\nkeep = ['newest', 'path:x']\n\
         protect = ['/p']\n[rates]\nmirror = '20M'\npurge = 2_000\nserve = 1024\nshare = \"1k\"\n",
    );
    let catalog = document.catalog.expect("a catalog");
    assert_eq!((catalog.value.to_str(), catalog.place.to_string()), (Some("/c.db"), "f:1".into()));
    let roots = document.roots.expect("roots");
    let roots: Vec<_> = roots.iter().map(|root| (root.value.to_str(), root.place.line)).collect();
    assert_eq!(roots, [(Some("/a"), 2), (Some("/b"), 3)]);
    assert_eq!(document.exclude[0].value, "*.o");
    let keep: Vec<_> = document.keep.expect("rules").into_iter().map(|rule| rule.value).collect();
    assert_eq!(keep, ["newest", "path:x"]);
    assert_eq!(document.protect[0].value.to_str(), Some("/p"));
    let rates = document.rates;
    let rates = [rates.mirror, rates.purge, rates.serve, rates.share].map(|rate| {
        let rate = rate.expect("a rate");
        (rate.value.get(), rate.place.line)
    });
    assert_eq!(rates, [(20 << 20, 8), (2000, 9), (1024, 10), (1024, 11)]);
}

#[test]
fn the_first_file_has_precedence_and_lists_of_protection_add_up() {
    let mut config = Config::default();
    config.add(parsed("u", "roots = []\nkeep = ['newest']\nexclude = ['a']\nrates.mirror = 1\n"));
    config.add(parsed(
        "s",
        "catalog = '/s.db'\nroots = ['/s']\nkeep = ['oldest']\nexclude = ['b']\nprotect = ['/p']\n\
         [rates]\nmirror = 2\npurge = 3\n",
    ));
    assert_eq!(config.catalog.as_ref().map(|c| c.place.to_string()).as_deref(), Some("s:1"));
    assert!(config.roots().is_empty(), "an empty list replaces that of the system");
    assert_eq!(config.keep()[0].value, "newest");
    let exclude: Vec<_> = config.exclude.iter().map(|glob| &*glob.value).collect();
    assert_eq!((exclude, config.protect.len()), (vec!["a", "b"], 1));
    let rates = [config.rates.mirror, config.rates.purge].map(|rate| rate.map(|r| r.value.get()));
    assert_eq!(rates, [Some(1), Some(3)]);
}

#[test]
fn every_error_has_a_place_a_key_a_reason_and_advice() {
    for (text, expected) in [
        ("\nexlude = []", "2:1: exlude: unknown key (did you mean exclude?)"),
        (
            "x = 1",
            "1:1: x: unknown key (the keys are: catalog, roots, exclude, keep, protect, rates)",
        ),
        ("[rates]\npurges = 1", "2:1: rates.purges: unknown key (did you mean rates.purge?)"),
        (
            "catalog = 1",
            "1:11: catalog: expected a string, found an integer (put the value in quotes)",
        ),
        (
            "roots = '/a'",
            "1:9: roots: expected a list of strings, found a string (write a list of strings: roots = [\"...\"])",
        ),
        ("keep = [1]", "1:9: keep: expected a string, found an integer (put the value in quotes)"),
        (
            "rates = 1",
            "1:9: rates: expected a table, found an integer (write a line [rates], and the rates below it)",
        ),
        (
            "rates.mirror = true",
            "1:16: rates.mirror: expected a number or a string, found a boolean ('lop config --help' explains the keys)",
        ),
        (
            "roots = ['photos']",
            "1:10: roots: \"photos\" is not an absolute path (begin each path with / or ~/)",
        ),
        (
            "protect = ['~you/x']",
            "1:12: protect: \"~you/x\" is not an absolute path (begin each path with / or ~/)",
        ),
        (
            "keep = ['device:usb']",
            "1:9: keep: \"usb\" is not an absolute path (begin each path with / or ~/)",
        ),
        (
            "exclude = ['']",
            "1:12: exclude: an empty pattern matches nothing ('lop scan --help' describes the patterns)",
        ),
    ] {
        assert_eq!(errors(text), [expected]);
    }
    for (text, key) in [
        ("exclude = ['a[']", "1:12: exclude: "),
        ("keep = ['largest']", "1:9: keep: "),
        ("keep = ['path:']", "1:9: keep: "),
        ("rates.share = 'fast'", "1:15: rates.share: \"fast\": "),
        ("rates.share = 0", "1:15: rates.share: \"0\": must not be zero"),
        ("rates.purge = '1k'", "1:15: rates.purge: \"1k\": "),
        ("rates.purge = -1", "1:15: rates.purge: \"-1\": "),
        ("catalog = '/a\u{0}'", "1:"),
        ("a = [", "1:"),
        ("keep = []\nkeep = []", "2:1: not valid TOML: "),
    ] {
        let errors = errors(text);
        assert!(errors[0].starts_with(key) && errors[0].ends_with(')'), "{text}: {errors:?}");
    }
    let latin = errors(b"# Gr\xfc\xdfe\nkeep = []");
    assert_eq!(latin, ["1:5: the file is not UTF-8 (save the file as UTF-8)"]);
}

#[test]
fn all_errors_are_reported_in_the_order_of_the_lines() {
    let errors = errors("[rates]\nshare = 0\nmirror = 'x'\n[zz]\n[protect]\n");
    let lines: Vec<&str> = errors.iter().map(|error| &error[..1]).collect();
    assert_eq!(lines, ["2", "3", "4", "5"], "{errors:?}");
    let path = std::env::var_os("HOME").map(std::path::PathBuf::from);
    if let Some(home) = path.filter(|home| home.is_absolute()) {
        let document = parsed("f", "roots = ['~', '~/a']");
        let roots: Vec<_> = document.roots.expect("roots").into_iter().map(|r| r.value).collect();
        assert_eq!(roots, [home.clone(), home.join("a")]);
    }
}
