//! `lop survey`: hosts read only files that another host may have, and their exports can then be
//! compared as if all files had been read.

mod answers;
mod errors;
mod hosts;
mod kills;
mod since;
mod truth;

use std::collections::BTreeSet;
use std::fs;

use export::Key;
use survey::{HostSurvey, Kind, key_of};
use testkit::{Dice, TreeBuilder};

use crate::lop::{Lop, settle};
use crate::surveying::hosts::{Hosts, Totals};
use crate::surveying::truth::{
    Elsewhere, assert_all_known, assert_same_answers, exported, needed, true_answers,
};

const SIZES: [u64; 8] = [0, 1, 700, 8191, 8192, 8193, 20_000, 70_000];

/// Returns the files of one of several hosts. Many have the size of other files; of these, some differ at
/// the beginning, some at the end, and some are equal.
fn random_tree(dice: &mut Dice, host: u64) -> TreeBuilder {
    let (mut tree, mut names): (_, Vec<Vec<u8>>) = (TreeBuilder::new(), Vec::new());
    for n in 0..30 {
        let mut name = format!("{}/{n}", dice.below(3)).into_bytes();
        if dice.below(4) == 0 {
            name.extend(b" \xff\n");
        }
        let size = *dice.pick(&SIZES).expect("a size");
        tree = match dice.below(8) {
            0 if !names.is_empty() => tree.hard_link(dice.pick(&names).expect("a name"), &name),
            // No other file has this size.
            1 => tree.seeded(&name, n, 1000 + 100 * host + n),
            _ => {
                let at = *dice.pick(&[0, size.saturating_sub(1)]).expect("an offset");
                let variant = u8::try_from(dice.below(4)).expect("small");
                tree.differing(&name, 1, size, at, variant)
            }
        };
        names.push(name);
    }
    tree
}

/// The central promise: nothing is left to compare, all answers are true, and no byte is read in vain.
#[test]
fn after_some_rounds_hosts_know_as_much_of_each_other_as_if_they_had_read_all_files() {
    let (mut copied, mut nowhere, mut total) = (0, 0, Totals::default());
    for seed in 0..12 {
        let mut dice = Dice::new(seed);
        let fleet = Hosts::new((0..3).map(|host| random_tree(&mut dice, host)));
        let min_size = [1, 700, 8193][(seed % 3) as usize];
        let expected: Vec<Totals> = (0..3).map(|host| needed(&fleet, host, min_size)).collect();
        let totals = fleet.converge(&["--min-size", &min_size.to_string()]);
        assert_eq!(totals, expected, "seed {seed}");
        for host in &totals {
            total.add(host);
        }

        let answers = exported(&fleet.export("surveyed", None), min_size);
        let seed = format!("seed {seed}");
        assert_same_answers(&answers, &true_answers(&fleet, min_size), &seed);
        let all = exported(&fleet.export("all digests", Some("--hash-all")), min_size);
        assert_same_answers(&answers, &all, &seed);
        let found: Vec<&Elsewhere> = answers.iter().flat_map(|host| host.values()).collect();
        copied += found.iter().filter(|found| matches!(found, Elsewhere::Copied(_))).count();
        nowhere += found.iter().filter(|found| matches!(found, Elsewhere::Nowhere)).count();
    }
    assert!(copied > 100 && nowhere > 100, "{copied} copied, {nowhere} nowhere");
    assert!(total.heads > 10 && total.files > 100, "{total:?}");
}

#[test]
fn a_survey_of_hosts_with_nothing_in_common_reads_nothing() {
    let tree = |host: u64| {
        (0..20).fold(TreeBuilder::new(), |tree, n| tree.seeded(format!("{n}"), n, 2 * n + host))
    };
    let fleet = Hosts::new([tree(10_000), tree(10_001)]);
    let totals = fleet.converge(&["--min-size", "1"]);
    assert_eq!(totals, [Totals::default(); 2]);
    let answers = exported(&fleet.export("out", None), 1);
    assert!(answers.iter().flat_map(|host| host.values()).all(|it| *it == Elsewhere::Nowhere));
}

#[test]
fn files_of_at_least_one_mebibyte_take_part() {
    const MIB: u64 = 1 << 20;
    let tree = TreeBuilder::new()
        .seeded("just large enough", 1, MIB)
        .seeded("too small", 2, MIB - 1)
        .file("empty", "");
    let fleet = Hosts::new([tree.clone(), tree]);
    let first = fleet.survey(0, &[]);
    assert_eq!(first["sizes_listed"], 1);
    assert_eq!(fleet.converge(&[]), [Totals { heads: 1, files: 1, bytes: MIB + 8192 }; 2]);
    // Smaller files are read when they are asked for, and the large ones are not read again.
    let small = Totals { heads: 1, files: 1, bytes: MIB - 1 + 8192 };
    assert_eq!(fleet.converge(&["--min-size", "0"]), [small; 2]);
    assert_eq!(fleet.survey(0, &["--min-size", "0"])["sizes_listed"], 2);
    assert_all_known(&fleet, "out");
}

#[test]
fn a_host_that_is_away_costs_digests_but_no_answer_is_wrong() {
    let mut away_later = 0;
    for seed in 20..26 {
        let mut dice = Dice::new(seed);
        let fleet = Hosts::new((0..3).map(|host| random_tree(&mut dice, host)));
        let away = (seed % 3) as usize;
        let is_here = |host: &usize| *host != away;
        let args = ["--min-size", "1"];
        fleet.converge_some(&[0, 1, 2].into_iter().filter(is_here).collect::<Vec<_>>(), &args);
        let truth = true_answers(&fleet, 1);
        let answers = exported(&fleet.export("without one", None), 1);
        for (host, answers) in answers.iter().enumerate() {
            for (names, answer) in answers {
                let is_unknown = *answer == Elsewhere::Unknown;
                assert!(is_unknown || *answer == truth[host][names], "{answer:?}");
                away_later += u32::from(is_unknown);
            }
        }
        fleet.converge(&args);
        assert_same_answers(&exported(&fleet.export("with all", None), 1), &truth, "with all");
        // Its lists may also be lost once it has been compared.
        fs::remove_dir_all(fleet.folder(away)).expect("removed");
        fleet.converge_some(&[0, 1, 2].into_iter().filter(is_here).collect::<Vec<_>>(), &args);
        assert_same_answers(&exported(&fleet.export("then", None), 1), &truth, "then without");
    }
    assert!(away_later > 20, "{away_later} files were unknown");
}

#[test]
fn nothing_is_read_or_written_again_until_something_changes() {
    let mut dice = Dice::new(31);
    let fleet = Hosts::new((0..2).map(|host| random_tree(&mut dice, host)));
    let args = ["--min-size", "1"];
    fleet.converge(&args);
    let before = fleet.files();
    for host in 0..2 {
        let output = fleet.command(host, &args).run();
        let said = output.success().stdout_str();
        assert!(said.starts_with("0 heads and 0 files read, 0 B\n"), "{said}");
        assert!(said.contains(" listed, 0 B written\ncompared with "), "{said}");
        assert_eq!(output.stderr_str(), "");
    }
    assert!(fleet.answer().hosts.iter().all(|host| host.bytes == 0));
    assert!(fleet.files() == before, "a file was written");
    // A scan reads nothing of what the survey has read.
    for lop in &fleet.hosts {
        lop.scan_figures(["."]).assert_nothing_read();
    }
}

#[test]
fn after_one_new_file_only_its_numbers_are_written() {
    let tree = |host: &str| {
        (0..600).fold(TreeBuilder::new(), |tree, n| tree.seeded(format!("{host} {n}"), n, 1 + n))
    };
    let fleet = Hosts::new([tree("a").seeded("lone", 7, 50_000), tree("b")]);
    let args = ["--min-size", "1"];
    fleet.converge(&args);
    let whole: u64 = fleet.files().iter().map(|(_, bytes, _)| bytes.len() as u64).sum();
    fleet.hosts[1].add(&TreeBuilder::new().seeded("new", 7, 50_000));
    fleet.hosts[1].remember(["."]);
    let mut read = Totals::default();
    for _ in 0..5 {
        for host in 0..2 {
            let summary = fleet.survey(host, &args);
            let written = summary["bytes_written"].as_u64().expect("a number");
            // The first line and the digest of a list take most of it.
            assert!(written < 300, "{written} of {whole} bytes");
            read.add(&Totals::of(&summary));
        }
        fleet.answer();
    }
    assert_eq!(read, Totals { heads: 2, files: 2, bytes: 2 * (50_000 + 8192) });
    assert_all_known(&fleet, "out");
}

#[test]
fn keyed_surveys_agree_if_the_key_is_the_same() {
    let mut dice = Dice::new(41);
    let fleet = Hosts::new((0..3).map(|host| random_tree(&mut dice, host)));
    let key = fleet.dir.join("key");
    fs::write(&key, [7; 32]).expect("written");
    let args = ["--min-size", "1", "--key", key.to_str().expect("UTF-8")];
    let expected: Vec<Totals> = (0..3).map(|host| needed(&fleet, host, 1)).collect();
    assert_eq!(fleet.converge(&args), expected);
    assert_all_known(&fleet, "out");
}

/// Lists the keys of the heads of a host through the library, and returns the bytes of the list.
fn listed_heads(
    fleet: &Hosts,
    folder: &str,
    listed: Option<&Key>,
    hashed: Option<&Key>,
) -> Vec<u8> {
    let out = fleet.dir.join(folder);
    let survey = HostSurvey::open(&out, "h0", listed).expect("opens");
    let bytes = fs::read(fleet.hosts[0].path("a")).expect("readable");
    let head = content::head_of(&bytes[..8192]);
    survey.publish(Kind::Heads, &[key_of(9000, head, hashed)]).expect("listed");
    fs::read(out.join("h0/_survey/heads-0.list")).expect("a list")
}

#[test]
fn a_keyed_list_shows_neither_heads_nor_what_is_made_of_them_without_the_key() {
    let tree = TreeBuilder::new().seeded("a", 1, 9000);
    let fleet = Hosts::new([tree.clone(), tree]);
    let path = fleet.dir.join("key");
    fs::write(&path, [7; 32]).expect("written");
    let args = ["--min-size", "1", "--key", path.to_str().expect("UTF-8")];
    fleet.converge(&args);
    let key = Key::new(&[7; 32]).expect("long enough");
    let list = fs::read(fleet.folder(0).join("heads-0.list")).expect("a list");
    assert_eq!(list, listed_heads(&fleet, "keyed", Some(&key), Some(&key)));
    // The comparison can fail.
    assert_ne!(list, listed_heads(&fleet, "forgotten", Some(&key), None));
    let database = fleet.hosts[0].database();
    let sql = "SELECT f.head, c.digest FROM file f JOIN content c ON c.id = f.content";
    let row = database.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)));
    let (head, digest): (i64, [u8; 32]) = row.expect("a file that was read");
    let key_number = key_of(
        9000,
        content::head_of(&fs::read(fleet.hosts[0].path("a")).expect("readable")[..8192]),
        None,
    );
    let hidden: [Vec<u8>; 5] = [
        head.to_le_bytes().into(),
        head.to_be_bytes().into(),
        key_number.to_le_bytes()[..6].into(),
        digest.into(),
        digest[..8].into(),
    ];
    for (name, bytes, _) in fleet.files() {
        for part in &hidden {
            assert!(!bytes.windows(part.len()).any(|window| window == part), "{}", name.display());
        }
    }
}

#[test]
fn hosts_with_different_keys_are_refused_until_they_use_the_same() {
    let tree = TreeBuilder::new().seeded("a", 1, 9000);
    let fleet = Hosts::new([tree.clone(), tree]);
    let keys = ["one", "two"].map(|name| {
        let path = fleet.dir.join(name);
        fs::write(&path, [name.as_bytes()[0]; 16]).expect("written");
        path.to_str().expect("UTF-8").to_owned()
    });
    let plain = vec!["--min-size", "1"];
    let [one, two] = keys.each_ref().map(|key| [&plain[..], &["--key", key]].concat());
    for [first, second] in [[&one, &two], [&plain, &two], [&one, &plain]] {
        fleet.survey(0, first);
        fleet.survey(1, second);
        let error = survey::answer(&fleet.out(), &runtime::Progress::default());
        let error = error.expect_err("the keys differ").to_string();
        let expected = "the surveys of h0 and h1 have different keys and cannot be compared";
        assert!(error.contains(expected), "{error}");
        // The same key on both hosts replaces all lists.
        fleet.survey(0, second);
        fleet.converge(second);
    }
    let read = fleet.hosts.iter().map(Lop::database);
    let digests = read.map(|database| {
        let sql = "SELECT hex(digest) FROM content";
        database.query_row(sql, [], |row| row.get::<_, String>(0)).expect("a digest")
    });
    assert_eq!(digests.collect::<BTreeSet<_>>().len(), 1, "both have read the file");
}

/// Like `lop scan --hash-all`: reading so many zeros would take hours.
#[test]
fn files_of_more_than_a_tebibyte_of_holes_are_not_read_to_their_end() {
    let tree = TreeBuilder::new().sparse("holes", 3 << 40, &[(0, b"image")]).seeded("a", 1, 9000);
    let fleet = Hosts::new([tree.clone(), tree]);
    let both = Totals { heads: 2, files: 1, bytes: 2 * 8192 + 9000 };
    assert_eq!(fleet.converge(&["--min-size", "1"]), [both; 2]);
    let answers = exported(&fleet.export("out", None), 1);
    let unknown = answers[0].values().filter(|answer| **answer == Elsewhere::Unknown);
    assert_eq!(unknown.count(), 1);
}

/// They have contents, because the scan has compared them, but no digests.
#[test]
fn files_that_differ_only_at_their_ends_are_read_if_another_host_may_have_them() {
    let tree = |variants: [u8; 2]| {
        variants.iter().fold(TreeBuilder::new(), |tree, &variant| {
            tree.differing(format!("{variant}"), 1, 400_000, 399_999, variant)
        })
    };
    let fleet = Hosts::new([tree([1, 2]), tree([2, 3])]);
    let sql = "SELECT count(*) FROM file WHERE content IS NULL";
    let without = fleet.hosts[0].database().query_row(sql, [], |row| row.get::<_, u32>(0));
    assert_eq!(without, Ok(0), "the scan has compared the files");
    let expected = [needed(&fleet, 0, 1), needed(&fleet, 1, 1)];
    assert_eq!(fleet.converge(&["--min-size", "1"]), expected);
    assert_all_known(&fleet, "out");
}

/// Times of files that are as recent as the scan are not relied on.
#[test]
fn files_that_were_written_during_the_scan_are_compared_after_another_scan() {
    let tree = TreeBuilder::new().seeded("a", 1, 9000).seeded("b", 1, 9000);
    let fleet = Hosts::new([tree.clone(), tree]);
    for lop in &fleet.hosts {
        let database = lop.database();
        let sql = "UPDATE file SET head = NULL";
        assert_eq!(database.execute(sql, []).expect("changed"), 2, "as a scan stores recent files");
    }
    let args = ["--min-size", "1"];
    assert_eq!(fleet.converge(&args), [Totals::default(); 2], "the content may be outdated");
    settle();
    for lop in &fleet.hosts {
        lop.remember(["."]);
    }
    assert_eq!(fleet.converge(&args), [Totals::default(); 2], "the scan has read both files");
    assert_all_known(&fleet, "out");
}
