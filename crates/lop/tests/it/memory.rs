//! `--memory` accepts a size, and affects nothing but memory use.

use testkit::TreeBuilder;

use crate::lop::{Figures, Lop};

#[test]
fn less_than_the_minimum_is_refused_before_anything_is_done() {
    let lop = Lop::with(&TreeBuilder::new().file("a", "x").file("b", "x"));
    for little in ["0", "1", "64M", "255M"] {
        let output = lop.command().args(["scan", "--memory", little, "."]).run();
        output.code(2);
        assert!(output.stderr_str().contains("is too little: the minimum is 256.0 MiB"));
        assert!(!lop.catalog().exists());
    }
}

#[test]
fn a_bound_changes_no_answer() {
    let mut tree = TreeBuilder::new();
    for n in 0..90 {
        tree = tree.seeded(format!("d{}/f{n}", n % 7), n % 20, 3000 + n % 3);
    }
    let lop = Lop::with(&tree);
    let free = lop.scan(["--no-catalog", "--format", "csv", "."]);
    for bound in ["256M", "1G", "1000T"] {
        let options = ["--no-catalog", "--format", "csv", "--stats", "--memory", bound, "."];
        let output = lop.scan(options);
        assert_eq!(output.stdout, free.stdout);
        assert_eq!(Figures::of(&output).get("spilled_bytes").to_string(), "0");
    }
}
