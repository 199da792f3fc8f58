//! `report`, `file`, `ls` and `dups`: order, limits, and messages about changes since the scan.

use std::fs;

use testkit::{
    Groups, TreeBuilder, assert_groups, disk_space, groups_of, parse_fdupes, relative_to,
};

use crate::lop::{Lop, document, settle};

fn groups_of_many_kinds() -> Lop {
    let mut tree = TreeBuilder::new();
    // File sizes are multiples of 4 KiB, in groups of 2, 3, 5 and 6 files. Larger groups have more to reclaim.
    for (name, size, count) in [("w", 100, 2), ("x", 90, 3), ("y", 30, 5), ("z", 10, 6)] {
        for n in 0..count {
            // The group with the largest files comes last in path order.
            tree = tree.seeded(format!("{}{n}", if name == "w" { "zz" } else { name }), size, size);
        }
    }
    let lop = Lop::with(&tree);
    lop.remember(["."]);
    lop
}

/// Returns the first letter of each group in output order.
fn order(lop: &Lop, args: &[&str]) -> String {
    let output = lop.command().args(["report", "--format", "fdupes"]).args(args).run();
    output.success();
    let text = output.stdout_str();
    let first = |group: &str| group.lines().next()?.rsplit('/').next()?.chars().next();
    text.split("\n\n").filter_map(first).collect()
}

#[test]
fn groups_are_sorted_and_limited() {
    let lop = groups_of_many_kinds();
    let counts = |text: &str| text.split("\n\n").map(|g| g.lines().count()).collect::<Vec<_>>();
    let sizes = lop.run(["report", "--format", "fdupes", "--sort", "size"]);
    assert_eq!(counts(sizes.stdout_str()), [2, 3, 5, 6]);
    assert_eq!(order(&lop, &[]), "zyxz");
    assert_eq!(order(&lop, &["--sort", "reclaimable"]), "zyxz");
    let path = lop.run(["report", "--format", "fdupes", "--sort", "path"]);
    assert_eq!(counts(path.stdout_str()), [3, 5, 6, 2]);
    let count = lop.run(["report", "--format", "fdupes", "--sort", "count"]);
    assert_eq!(counts(count.stdout_str()), [6, 5, 3, 2]);
    assert_eq!(order(&lop, &["--limit", "2"]), "zy");
    assert_eq!(order(&lop, &["--limit", "0"]), "zyxz");
    assert_eq!(order(&lop, &["--limit", "99"]), "zyxz");
    assert_eq!(order(&lop, &["--min-size", "31", "--sort", "path"]), "xz");
    assert_eq!(order(&lop, &["--min-size", "1k"]), "");
}

#[test]
fn a_limit_shortens_the_list_and_not_the_summary() {
    let lop = groups_of_many_kinds();
    let output = lop.run(["report", "--limit", "1"]);
    assert!(output.stderr_str().starts_with("4 groups: 12 redundant files, "));
    assert!(output.stdout_str().starts_with("6 files of 10 B, "));
    let summary = lop.json(["report", "--limit", "1"])["summary"].clone();
    assert_eq!(summary["groups"], 4);
    assert_eq!(summary["reclaimable_bytes"], 12 * disk_space(lop.path("z0")));
    assert_eq!(lop.json(["report", "--min-size", "90"])["summary"]["groups"], 2);
}

#[test]
fn an_empty_report_is_explained() {
    let lop = Lop::with(&TreeBuilder::new().file("a", "x"));
    lop.remember(["."]);
    let output = lop.run(["report"]);
    assert_eq!((output.stdout_str(), output.stderr_str()), ("", "No duplicates\n"));
}

/// Returns a tree with six files that were identical at the time of the scan. Two of them are unchanged.
fn changed() -> Lop {
    let mut tree = TreeBuilder::new();
    for name in ["changed", "gone", "moved", "same 1", "same 2", "touched"] {
        tree = tree.file(format!("d/{name}"), "alike");
    }
    let lop = Lop::with(&tree.file("pair 1", "a pair").file("pair 2", "a pair"));
    lop.remember(["."]);
    fs::write(lop.path("d/changed"), "Alike").expect("written");
    fs::remove_file(lop.path("d/gone")).expect("removed");
    fs::rename(lop.path("d/moved"), lop.path("d/moved away")).expect("renamed");
    let file = fs::File::options().write(true).open(lop.path("d/touched")).expect("opens");
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).expect("set");
    fs::remove_file(lop.path("pair 2")).expect("removed");
    lop
}

#[test]
fn a_report_marks_changed_files_and_does_not_count_them() {
    let lop = changed();
    for format in ["fdupes", "nul", "csv", "json"] {
        let output = lop.run(["report", "--format", format]);
        output.code(3);
        let text = output.stdout_str();
        assert!(text.contains("same 1") && text.contains("same 2"), "{format}: {text}");
        for name in ["changed", "gone", "moved", "touched", "pair"] {
            assert!(!text.contains(&format!("/{name}")), "{format}: {text}");
        }
    }
    assert_groups(&groups_of([["d/same 1", "d/same 2"]]), &lop.report());
    let output = lop.run(["report"]);
    let text = output.stdout_str().replace(lop.work().to_str().expect("UTF-8"), "");
    let expected = "  /d/same 1\n  /d/same 2\n  /d/changed  (changed since the scan)\n  \
                    /d/gone  (gone)\n  /d/moved  (gone)\n  /d/touched  (changed since the scan)\n";
    let (heading, files) = text.split_once('\n').expect("a heading");
    assert_eq!(files, expected);
    // The figures are those of a group that contains only the two unchanged files.
    let one = disk_space(lop.path("d/same 1"));
    assert_eq!(one, 4096, "a block");
    assert!(heading.starts_with("2 files of 5 B, 4.0 KiB reclaimable, "), "{heading}");
    let group = &document(&lop.run(["report", "--json"]))["groups"][0];
    assert_eq!(group["reclaimable_bytes"], one);
    // "pair 2" counts too, because a changed member of a group is unknown, not unique.
    let said = "1 group: 1 redundant file, 4.0 KiB reclaimable\n  \
                2 files changed since the scan; run 'lop scan' again\n  \
                3 files are gone since the scan; run 'lop scan' again\n";
    assert_eq!(output.stderr_str(), said);
}

#[test]
fn file_marks_changed_copies_and_does_not_count_them() {
    let lop = changed();
    let output = lop.run(["file", "d/same 1"]);
    output.success();
    let text = output.stdout_str().replace(lop.work().to_str().expect("UTF-8"), "");
    let expected = "d/same 1: 1 duplicate, 5 B\n  /d/changed  (changed since the scan)\n  \
                    /d/gone  (gone)\n  /d/moved  (gone)\n  /d/same 2\n  \
                    /d/touched  (changed since the scan)\n";
    assert_eq!(text, expected);
    let output = lop.run(["file", "pair 1"]);
    assert!(output.stdout_str().starts_with("pair 1: no duplicates, 6 B\n"));
    let output = lop.run(["file", "d/changed", "d/moved away", "d/gone", "d/touched"]);
    output.code(3);
    let said = "lop: d/changed: changed since the scan; scan it again\n\
                lop: d/moved away: not in the catalog; scan it first\n\
                lop: d/gone: No such file or directory\n\
                lop: d/touched: changed since the scan; scan it again\n";
    assert_eq!((output.stdout_str(), output.stderr_str()), ("", said));
}

#[test]
fn ls_counts_what_is_live_and_marks_the_rest() {
    let lop = changed();
    let output = lop.run(["ls", "d"]);
    output.code(3);
    let expected = "        ?        5 B   20%  d/changed  (changed since the scan)
        ?        5 B   20%  d/moved away  (not in the catalog)
        1        5 B   20%  d/same 1
        1        5 B   20%  d/same 2
        ?        5 B   20%  d/touched  (changed since the scan)
";
    assert_eq!(output.stdout_str(), expected);
    assert_eq!(lop.run(["ls", "-R"]).stdout_str().lines().count(), 7);
    assert_eq!(lop.run(["ls", "--recursive", "."]).stdout_str().lines().count(), 7);
}

#[test]
fn dups_lists_live_files_with_live_copies() {
    let lop = changed();
    assert_eq!(lop.listed(["dups"], 3), ["./d/same 1", "./d/same 2"]);
    let output = lop.run(["dups", "."]);
    let said = "2 of 6 files (10 B) have duplicates, all inside .\n  \
                1 file is not in the catalog; run 'lop scan' there\n  \
                2 files changed since the scan; run 'lop scan' again\n";
    assert_eq!(output.stderr_str(), said);
    settle();
    lop.remember(["."]);
    let all = ["./d/moved away", "./d/same 1", "./d/same 2", "./d/touched"];
    assert_eq!(lop.listed(["dups", "."], 0), all);
}

#[test]
fn dups_of_a_directory_count_copies_anywhere() {
    let tree = TreeBuilder::new()
        .file("dir/a", "outside, the longest")
        .file("dir/b", "inside")
        .file("dir/c", "inside")
        .file("dir/d", "alone")
        .file("elsewhere", "outside, the longest");
    let lop = Lop::with(&tree);
    lop.remember(["."]);
    assert_eq!(lop.listed(["dups", "dir"], 0), ["dir/a", "dir/b", "dir/c"]);
    assert_eq!(lop.listed(["dups", "dir", "--sort", "size", "--limit", "1"], 0), ["dir/a"]);
    let summary = &lop.json(["dups", "dir"])["summary"];
    assert_eq!((&summary["duplicates"], &summary["only_inside"]), (&3.into(), &2.into()));
    let output = lop.run(["dups", "elsewhere"]);
    output.code(1);
    lop.lay(&TreeBuilder::new().dir("empty"));
    assert_eq!(lop.run(["dups", "empty"]).stderr_str(), "None of 0 files has a duplicate\n");
}

#[test]
fn file_knows_hard_links_from_copies() {
    let tree = TreeBuilder::new().hard_links("alike", &["a", "link"]).file("copy", "alike");
    let lop = Lop::with(&tree);
    lop.remember(["."]);
    let output = lop.run(["file", "a"]);
    let text = output.stdout_str().replace(lop.work().to_str().expect("UTF-8"), "");
    assert_eq!(text, "a: 1 duplicate, 1 hard link, 5 B\n  /copy\n  /link  (hard link)\n");
    let answer = lop.json(["file", "copy"]);
    assert_eq!(answer["files"][0]["duplicates"], 1, "two names of one inode are one copy");
    assert_eq!(answer["files"][0]["others"].as_array().map(Vec::len), Some(2));
}

#[test]
fn file_marks_further_names_of_a_copy() {
    let tree = TreeBuilder::new()
        .hard_links("alike", &["a", "b"])
        .hard_links("alike", &["c", "d", "e"])
        .file("f", "alike");
    let lop = Lop::with(&tree);
    lop.remember(["."]);
    let output = lop.run(["file", "a"]);
    let text = output.stdout_str().replace(lop.work().to_str().expect("UTF-8"), "");
    let copies =
        "  /c\n  /d  (hard link of the copy above)\n  /e  (hard link of the copy above)\n  /f\n";
    let own = "  /b  (hard link)\n";
    assert!(text.starts_with("a: 2 duplicates, 3 hard links, 5 B\n"), "{text}");
    assert!(text.contains(copies) && text.contains(own), "{text}");
    assert_eq!(text.lines().count(), 6, "{text}");
}

#[test]
fn file_takes_paths_as_people_write_them() {
    let tree = TreeBuilder::new().file("d/a", "alike").file("b", "alike").symlink("link", "d");
    let lop = Lop::with(&tree.symlink("to b", "b"));
    lop.remember(["."]);
    let absolute = lop.path("d/a");
    let absolute = absolute.to_str().expect("UTF-8");
    for path in ["d/a", "./d/a", "d//a", "d/../d/./a", "link/a", absolute] {
        let output = lop.run(["file", path]);
        output.success();
        assert!(output.stdout_str().starts_with(&format!("{path}: 1 duplicate, 5 B\n")), "{path}");
    }
    let output = lop.command().cwd("d").args(["file", "a", "../b"]).run();
    output.success();
    let output = lop.run(["file", "to b", "d/a/", ".", "d/.."]);
    output.code(3);
    assert_eq!(output.stderr_str().lines().count(), 4);
}

#[test]
fn questions_work_from_any_directory() {
    let tree = TreeBuilder::new().file("d/a", "alike").file("d/e/b", "alike").file("c", "x");
    let lop = Lop::with(&tree);
    lop.command().cwd("d").args(["scan"]).run().success();
    let in_d = |args: &[&str]| {
        let output = lop.command().cwd("d").args(args).run();
        output.success();
        output.stdout_str().to_string()
    };
    let listed = "        1        5 B   50%  ./a\n        1        5 B   50%  ./e/  (1 file)\n";
    assert_eq!(in_d(&["ls"]), listed);
    assert_eq!(in_d(&["ls", "e"]), "        1        5 B  100%  e/b\n");
    assert_eq!(in_d(&["ls", "../d/e"]), "        1        5 B  100%  ../d/e/b\n");
    let output = lop.command().cwd("d").args(["dups", "--format", "fdupes", ".."]).run();
    output.code(3);
    assert_eq!(output.stdout_str(), "../d/a\n../d/e/b\n", "of c nothing is known");
}

#[test]
fn ls_goes_below_path_max() {
    let name = "d".repeat(200);
    let lop = Lop::with(&TreeBuilder::new().deep_chain(100, &name, "deep down").file("a", "x"));
    lop.remember(["."]);
    let output = lop.run(["ls", "-R"]);
    output.success();
    let lines: Vec<&str> = output.stdout_str().lines().collect();
    assert_eq!(lines.len(), 102, "each directory, and two files");
    assert_eq!(lines[0], "        0        1 B   10%  ./a");
    let last = lines[101];
    assert!(last.starts_with("        0        9 B  100%  ./dd") && last.ends_with("dd/bottom"));
    assert_eq!(last.matches('/').count(), 101);
}

#[test]
fn the_views_agree_with_the_report() {
    let lop = groups_of_many_kinds();
    let database = lop.database();
    let mut query = database
        .prepare("SELECT \"group\", path, size, digest FROM duplicates ORDER BY 1, 2")
        .expect("a query");
    let rows = query
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
        .and_then(Iterator::collect::<Result<Vec<(i64, String, i64, String)>, _>>)
        .expect("rows");
    let groups: Groups = rows
        .chunk_by(|a, b| a.0 == b.0)
        .map(|group| group.iter().map(|row| row.1.clone().into_bytes()).collect())
        .collect();
    assert_groups(&lop.report(), &relative_to(lop.work(), &groups));
    for (_, path, size, digest) in &rows {
        let bytes = fs::read(path).expect("readable");
        assert_eq!(
            (i64::try_from(bytes.len()).ok(), blake3::hash(&bytes).to_string()),
            (Some(*size), digest.clone())
        );
    }
    let report = lop.json(["report", "--sort", "size"]);
    let mut query = database
        .prepare("SELECT size, inodes, reclaimable, digest FROM groups ORDER BY size DESC")
        .expect("a query");
    let groups = query
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
        .and_then(Iterator::collect::<Result<Vec<(u32, u32, u32, String)>, _>>)
        .expect("rows");
    assert_eq!(groups.len(), 4);
    for (n, (size, inodes, reclaimable, digest)) in groups.iter().enumerate() {
        let group = &report["groups"][n];
        assert_eq!(
            (&group["size"], &group["reclaimable_bytes"]),
            (&(*size).into(), &(*reclaimable).into())
        );
        assert_eq!(group["files"].as_array().map(Vec::len), usize::try_from(*inodes).ok());
        assert_eq!(group["digest"], *digest);
    }
    let sql = "SELECT count(*), sum(duplicates), min(modified) > '2020' FROM files";
    let row = database.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
    // 2 files with 1 duplicate each, 3 with 2, 5 with 4, 6 with 5.
    assert_eq!(row.expect("a row"), (16, 2 + 6 + 20 + 30, true));
    assert_eq!(parse_fdupes(lop.scan(["--format", "fdupes", "."]).stdout.as_slice()).len(), 4);
}
