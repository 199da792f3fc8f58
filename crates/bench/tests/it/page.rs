//! The benchmark pages, made from records with known medians.

mod charts;
mod races;
mod requirements;
mod serve;

use bench::page;
use bench::record::{Dated, Ending, Fact, Record, Run, read_newest};
use bench::scenario::Scenario;
use testkit::TempTree;

use races::Racing;

/// Returns the summary page of some records.
fn text_of(records: &[Dated]) -> String {
    page::render(records).remove("benchmarks.md").expect("a summary")
}

/// Returns all pages of some records, one after the other.
fn pages_of(records: &[Dated]) -> String {
    page::render(records).into_values().filter(|text| text.starts_with("# ")).collect()
}

/// Returns a list that contains only this record, of the given kind.
fn only(kind: &str, record: Record) -> [Dated; 1] {
    [Dated { kind: kind.into(), folder: format!("2026-07-20-{kind}"), record }]
}

/// Returns the rows of the table below the first line with this prefix.
fn rows<'a>(text: &'a str, start: &str) -> Vec<&'a str> {
    let lines = text.lines().skip_while(|line| !line.starts_with(start)).skip(1);
    let table = lines.skip_while(|line| !line.starts_with('|')).skip(2);
    table.take_while(|line| line.starts_with('|')).collect()
}

/// Returns the first cells of rows, without emphasis.
fn names<'a>(rows: &[&'a str]) -> Vec<&'a str> {
    rows.iter()
        .map(|row| row[1..].split(" |").next().unwrap_or("").trim_matches([' ', '*']))
        .collect()
}

#[test]
fn the_verdict_counts_the_wins_of_lop() {
    let text = text_of(&races::all());
    assert!(text.contains("**lop has the lowest median in 11 of 13 comparisons**"), "{text}");
    assert!(
        text.contains(": in 9 of 10 with warm caches, and in 2 of 3 with cold caches."),
        "{text}"
    );
    assert!(text.contains("In 11 of them, its slowest run was faster"), "{text}");
    assert!(
        text.contains("lop ties with the fastest peer in 1, and a peer is faster in 1."),
        "{text}"
    );
}

#[test]
fn the_losses_come_first_and_name_the_faster_tool() {
    let text = text_of(&races::all());
    assert!(text.find("## Where lop loses") < text.find("## Where lop wins"), "{text}");
    let losses = rows(&text, "## Where lop loses");
    assert_eq!(losses.len(), 3, "{losses:?}");
    let samesize = "| find [samesize](benchmarks/find-warm.md#find-samesize-warm), 100,000 names | own disk, \
                    warm | 0.700 s | **yadf** 0.570 s (1.23x as fast) |";
    assert_eq!(losses[0], samesize);
    assert!(losses[1].contains("#find-server2018-xfs-cold"), "{losses:?}");
    assert!(losses[1].ends_with("| 2.31 s | **yadf** equally fast |"), "{losses:?}");
    let settled = "| until all data is on storage: **rmz** 6.05 s, lop 6.30 s (1.04x as fast) |";
    assert!(losses[2].ends_with(settled), "{losses:?}");
}

#[test]
fn overlapping_runs_are_named() {
    let mut record = races::find();
    record.runs.retain(|run| run.scenario == "samesize-warm");
    for run in record.runs.iter_mut().filter(|run| run.tool == "lop") {
        run.wall_s *= 0.582 / 0.7;
    }
    let text = text_of(&only("find", record));
    assert!(text.contains("**yadf** 0.570 s (1.02x as fast, runs overlap)"), "{text}");
}

#[test]
fn a_lop_without_a_figure_has_lost() {
    let mut record = races::delete();
    record.spoil("flat-warm", "lop purge", 3, Ending::Failed);
    let text = text_of(&only("delete", record));
    assert!(text.contains("lowest median in 0 of 1 comparison**"), "{text}");
    let losses = rows(&text, "## Where lop loses");
    assert!(losses[0].ends_with("| failed in 3 of 5 runs | **rmz** 6.00 s |"), "{text}");
}

#[test]
fn a_race_without_lop_is_shown_but_not_counted() {
    let mut records = races::all();
    let mirror = &mut records[4].record;
    mirror.tools.retain(|tool| tool.name != "lop mirror");
    mirror.runs.retain(|run| run.tool != "lop mirror");
    let text = text_of(&records);
    assert!(text.contains("**lop has the lowest median in 9 of 11 comparisons**"), "{text}");
    assert!(text.contains("2 more comparisons are shown without lop"), "{text}");
    assert_eq!(
        names(&rows(&pages_of(&records), "<a id=\"mirror-links-first\">")),
        ["xcp", "cp -a", "rsync"]
    );
}

#[test]
fn fewer_runs_are_noted() {
    let mut record = races::find();
    record.runs.retain(|run| run.tool != "duff" || run.round < 2);
    record.spoil("server2018-cold", "duff", 1, Ending::Stopped);
    let text = pages_of(&only("find", record));
    let warm = rows(&text, "<a id=\"find-server2018-warm\">");
    assert!(warm[5].starts_with("| duff | 3.74 | one run | 2.44x |"), "{warm:?}");
    assert!(text.contains("- Timed runs per tool: 5; duff: 1.\n"), "{text}");
    assert!(text.contains("- duff has no figure: stopped after 0.00100 s.\n"), "{text}");
}

#[test]
fn a_tool_listed_for_two_kinds_of_work_has_one_row() {
    let mut record = races::mirror();
    let mut again = record.tools[1].clone();
    again.command.push_str(" again");
    record.tools.push(again);
    let text = pages_of(&only("mirror", record));
    let table = rows(&text, "<a id=\"mirror-links-again\">");
    assert_eq!(names(&table), ["lop mirror", "rsync", "cp -a"]);
}

#[test]
fn ranks_are_averaged_over_the_four_conditions() {
    let text = text_of(&races::all());
    let lines = [
        "| **lop** | 1 | 1 | 1 | 1 | **1.00** |",
        "| yadf | 5 | 2 | 2 | 2 | 2.75 |",
        "| fclones | 3 | 3 | 3 | 3 | 3.00 |",
        "| rmlint | 2 | 6 | 4 | 6 | 4.50 |",
        "| rdfind | 4 | 4.5 | 6 | 5 | 4.88 |",
        "| jdupes | 6 | 4.5 | 5 | 4 | 4.88 |",
    ];
    assert_eq!(rows(&text, "## Average ranking"), lines);
    assert!(text.contains("not raced in all conditions: duff."), "{text}");
}

#[test]
fn conditions_not_raced_are_named_and_failures_rank_last() {
    let mut record = races::find();
    record.stop("server2018-warm", "yadf", 900.0);
    record.spoil("server2018-warm", "fclones", 5, Ending::Failed);
    let text = text_of(&only("find", record));
    let ranking = rows(&text, "## Average ranking");
    assert!(ranking.contains(&"| yadf | 2 | no figure: 6.5 | 4.25 |"), "{ranking:?}");
    assert!(ranking.contains(&"| fclones | 3 | no figure: 6.5 | 4.75 |"), "{ranking:?}");
    assert!(text.contains("Not raced yet: hard disk, cold; hard disk, warm."), "{text}");
}

#[test]
fn tables_are_sorted_by_the_figure_that_counts() {
    let text = pages_of(&races::all());
    let table = rows(&text, "<a id=\"find-samesize-warm\">");
    let order = ["yadf", "lop", "jdupes", "fclones", "rmlint", "duff", "lop, again"];
    assert_eq!(names(&table), order);
    assert!(table[1].starts_with("| **lop** | 0.700 | 0.679 - 0.728 | **1.23x** | 0.840 |"));
    assert!(table[6].starts_with("| *lop, again* | *0.310* | *0.301 - 0.322* | *0.54x* |"));
}

#[test]
fn on_the_hard_disk_only_its_busy_time_counts() {
    let text = pages_of(&races::all());
    let start = "<a id=\"hdd-server2018-hdd-cold\">";
    let table = rows(&text, start);
    assert_eq!(names(&table), ["lop", "rmlint", "fclones", "rdfind", "yadf", "jdupes"]);
    let lop = "| **lop** | 61.0 | 59.2 - 63.4 | **0.62x** | 9,000 | 2.52 GiB | 38.6 |";
    assert_eq!(table[0], lop);
    assert!(!table.join("\n").contains("3.05"), "wall times are scaled: {table:?}");
}

#[test]
fn failed_runs_do_not_count_but_are_named() {
    let text = pages_of(&races::all());
    let warm = rows(&text, "<a id=\"find-server2018-warm\">");
    // The median of all runs except the first equals the median of all five.
    assert!(warm[3].starts_with("| jdupes | 2.92 | 2.83 - 3.04 |"), "{warm:?}");
    assert!(
        text.contains("- jdupes: failed in 1 of 5 runs. Its figures come from the 4 other runs.")
    );
    assert!(text.contains("- rdfind has no figure: failed in 3 of 5 runs."));
    assert!(text.contains("- duff has no figure: stopped after 600 s in the untimed run."));
}

#[test]
fn untimed_runs_do_not_count() {
    let mut record = races::find();
    for run in record.runs.iter_mut().filter(|run| run.round == 0) {
        run.wall_s = 0.000_1;
    }
    let find = |record| pages_of(&only("find", record));
    assert_eq!(
        rows(&find(record), "<a id=\"find-server2018-warm\">"),
        rows(&find(races::find()), "<a id=\"find-server2018-warm\">")
    );
}

#[test]
fn settled_times_have_a_column_where_they_are_known() {
    let text = pages_of(&races::all());
    let table = rows(&text, "<a id=\"delete-flat-warm\">");
    assert!(
        table[1].starts_with("| rmz | 6.00 | 5.82 - 6.24 | 1.00x | 6.05 | 7.20 |"),
        "{table:?}"
    );
}

#[test]
fn growth_is_shown_per_name() {
    let text = pages_of(&races::all());
    let table = rows(&text, "## Time by size: server2018 at scale 0.1, on the machine's own disk");
    // 0.004 s, plus 4 us for each file. The time per file grows by 6 % with each power of ten.
    assert_eq!(table[0], "| **lop** | 8.00 | 4.64 | 4.53 | 4.77 | **1.05x** |");
    assert_eq!(table[6], "| duff | 28.0 | 25.8 | 27.0 | - | - |");
}

#[test]
fn deleting_is_extrapolated_to_a_billion() {
    let mut record = races::delete();
    let larger = record.scenarios[0].clone();
    let larger = Scenario { id: "flat-larger".into(), names: 10_000_000, ..larger };
    record.race(&larger, &[54.0, 130.0, 128.0, 61.2]);
    let text = pages_of(&only("delete", record));
    let table = rows(&text, "## Time by size: Deleting the tree million, on a loop image of ext4");
    // 48.9 s for nine million additional names give 5,433 s for a billion names.
    assert_eq!(table[0], "| **lop purge** | 5.10 | 5.40 | **1.06x** | 1.51 h |");
    assert!(text.contains("extrapolation to a billion names"), "{text}");
    assert!(!pages_of(&races::all()).contains("a billion"), "one size is no series");
}

#[test]
fn storage_reads_of_warm_runs_are_noted() {
    let mut record = races::delete();
    let cold = "No timed run read from storage.";
    let of = |record| pages_of(&only("delete", record));
    assert!(of(record.clone()).contains(cold));
    let timed = |run: &&mut Run| run.round == 3 && run.tool == "rmz";
    record.runs.iter_mut().find(timed).expect("it ran").storage_bytes = 3 << 20;
    let text = of(record);
    assert!(!text.contains(cold) && text.contains("read from storage: 3.00 MiB (rmz)."), "{text}");
}

#[test]
fn text_from_records_cannot_break_tables() {
    let mut record = races::delete();
    record.machine.push(Fact { name: "a|b".into(), value: "c\nd".into() });
    let text = pages_of(&only("delete", record));
    assert!(text.contains(r"| a\|b | c d |"), "{text}");
    assert!(text.contains(r"| rmz | rmz 1.2 \| x86 | peer | delete |"), "{text}");
    assert!(text.contains("# rmz (delete)\nrmz --quiet --hidden DIR | sort\n"), "{text}");
}

#[test]
fn the_page_depends_on_the_records_only() {
    let mut backwards = races::all();
    backwards.reverse();
    assert_eq!(page::render(&races::all()), page::render(&backwards));
}

#[test]
fn without_records_there_is_a_summary_that_says_so() {
    let files = page::render(&[]);
    assert_eq!(files.keys().collect::<Vec<_>>(), ["benchmarks.md", "benchmarks/method.md"]);
    let summary = &files["benchmarks.md"];
    assert!(summary.contains("has been recorded yet"), "{summary}");
}

#[test]
fn each_job_has_a_table_with_ratios_on_the_summary() {
    let text = text_of(&races::all());
    let delete = "| [million](benchmarks/delete.md#delete-flat-warm) | 1,000,000 | ext4, warm | 5.10 s \
                  | rmz 6.00 s | 0.85x |";
    assert_eq!(rows(&text, "## Delete a tree"), [delete]);
    let slower = rows(&text, "## Find duplicates, warm caches");
    assert!(slower.iter().any(|row| row.ends_with("| yadf 0.570 s | **1.23x** |")), "{slower:?}");
    assert!(!text.contains("growth-"), "sizes of one tree are on the page of the job");
    let again = rows(&text, "## Scan again");
    assert!(again[0].ends_with("| 0.203 s | yadf 1.53 s | 0.13x |"), "{again:?}");
}

#[test]
fn the_summary_links_every_comparison_that_exists() {
    let files = page::render(&races::all());
    let summary = &files["benchmarks.md"];
    let links = summary.split("](benchmarks/").skip(1).filter_map(|rest| rest.split(')').next());
    for link in links {
        let (page, anchor) = link.split_once('#').unwrap_or((link, ""));
        let text = files.get(&format!("benchmarks/{page}")).unwrap_or_else(|| panic!("no {page}"));
        let is_there = text.contains(&format!("<a id=\"{anchor}\">"));
        assert!(anchor.is_empty() || is_there || anchor == "every-run", "{link}");
    }
}

#[test]
fn the_newest_records_are_read_with_their_kinds() {
    let root = TempTree::new();
    for dated in races::all() {
        let written = dated.record.write(&root.join("runs").join(dated.folder));
        written.expect("a record can be written");
    }
    let read = read_newest(&root.join("runs")).expect("records that can be read");
    assert_eq!(page::render(&read), page::render(&races::all()));
}

#[test]
fn a_missing_folder_of_runs_is_explained() {
    let root = TempTree::new();
    let failure = page::all(root.path()).expect_err("nothing to read");
    assert!(failure.to_string().contains("benchsuite/runs"), "{failure}");
}
