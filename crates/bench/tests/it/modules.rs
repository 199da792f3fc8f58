//! Makes sure that no file of tests is left out of the binary.

use std::fs;
use std::path::Path;

#[test]
fn every_file_in_this_directory_is_a_module_of_the_test_binary() {
    let declared = include_str!("main.rs");
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    let mut modules = 0;
    for entry in fs::read_dir(directory).expect("the directory of the tests") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().and_then(|n| n.to_str()).expect("a name in UTF-8");
        if name != "main" {
            let line = format!("mod {name};");
            assert!(declared.lines().any(|l| l == line), "{name} is not in main.rs");
            modules += 1;
        }
    }
    assert!(modules > 1);
}
