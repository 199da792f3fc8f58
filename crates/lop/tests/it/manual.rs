//! Man pages and completions, which the binary itself can print.

use std::process::Command;

use testkit::{Sandbox, skipped};

use crate::lop::Lop;

fn pages(lop: &Lop) -> Vec<String> {
    let output = lop.run(["man", "--list"]);
    output.success().stdout_str().lines().map(String::from).collect()
}

#[test]
fn each_page_has_what_belongs_in_one() {
    let lop = Lop::new();
    let pages = pages(&lop);
    for page in ["lop.1", "lop-scan.1", "lop-quarantine-purge.1", "lop-formats.7"] {
        assert!(pages.iter().any(|name| name == page), "no {page}");
    }
    for page in &pages {
        let text = lop.run(["man", page]).success().stdout_str().to_string();
        let (name, section) = page.rsplit_once('.').expect("a section");
        let title = format!(".TH {} {section} 20", name.to_uppercase());
        assert!(text.contains(&title), "{page}: no {title}");
        assert!(text.contains(" \"lop "), "{page} does not say of which version it is");
        if section == "7" {
            continue;
        }
        let sections = [
            "NAME",
            "SYNOPSIS",
            "DESCRIPTION",
            "OPTIONS",
            "EXIT STATUS",
            "ENVIRONMENT",
            "FILES",
            "SEE ALSO",
        ];
        for section in sections {
            let heading = format!("\n.SH {section}\n").replace("EXIT STATUS", "\"EXIT STATUS\"");
            let heading = heading.replace("SEE ALSO", "\"SEE ALSO\"");
            assert!(text.contains(&heading), "{page}: no {section}");
        }
        assert!(!text.contains("docs/"), "{page} refers to a file that is not installed");
    }
}

#[test]
fn pages_are_found_by_what_is_typed() {
    let lop = Lop::new();
    let page = |args: &[&str]| lop.command().arg("man").args(args).run().success().stdout.clone();
    assert_eq!(page(&[]), page(&["lop.1"]));
    assert_eq!(page(&["quarantine", "purge"]), page(&["lop-quarantine-purge.1"]));
    assert_eq!(page(&["formats"]), page(&["lop-formats"]));
    let output = lop.run(["man", "nothing"]);
    output.code(2);
    assert!(output.stderr_str().contains("hint: "), "{}", output.stderr_str());
}

#[test]
fn the_formatter_reports_no_warnings() {
    let lop = Lop::new();
    let groff = ["-man", "-k", "-Tutf8", "-ww", "-z"];
    if Command::new("groff").arg("--version").output().is_err() {
        return skipped("groff is not installed");
    }
    for page in pages(&lop) {
        let text = lop.run(["man", &page]).success().stdout.clone();
        let output = Sandbox::new("/usr/bin/groff").command().args(groff).stdin(text).run();
        // A single word may be longer than a line.
        let said = output.stderr_str().lines().filter(|line| !line.contains("adjust line"));
        assert_eq!(said.collect::<Vec<_>>(), [""; 0], "{page}");
    }
}

#[test]
fn bash_completes_rules_and_commands() {
    let lop = Lop::new();
    std::fs::write(lop.path("lop.bash"), &lop.run(["completions", "bash"]).success().stdout)
        .expect("written");
    let complete = |words: &str| {
        let script = format!(
            ". ./lop.bash; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _lop lop \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        let bash = Sandbox::new("/bin/bash");
        let output = bash.command().args(["-c", &script]).cwd(lop.work()).run();
        output.success().stdout_str().to_string()
    };
    assert_eq!(complete("lop dedupe --keep sh"), "shortest-path\nshallowest\n");
    assert_eq!(complete("lop quar"), "quarantine\n");
    for shell in ["zsh", "fish"] {
        let script = lop.run(["completions", shell]).success().stdout_str().to_string();
        assert!(script.contains("shortest-path"), "{shell}");
    }
}
