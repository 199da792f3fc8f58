//! Records with medians chosen so that every part of the pages has something to show.

use bench::record::{Count, Dated, Ending, Fact, Reading, Record, Role, Run, Tool, Unit};
use bench::scenario::{Cache, Device, Order, Scenario, Work};

/// The times of rounds 1 to 5 as multiples of the median.
const ROUNDS: [f64; 5] = [1.0, 0.97, 1.04, 1.01, 0.99];

/// Returns one record of each kind.
pub(super) fn all() -> Vec<Dated> {
    let dated = |kind: &str, folder: &str, record| Dated {
        kind: kind.to_owned(),
        folder: folder.to_owned(),
        record,
    };
    vec![
        dated("hdd", "2026-07-19-hdd", hdd()),
        dated("delete", "2026-07-20-delete", delete()),
        dated("find", "2026-07-18.2-find", find()),
        dated("growth", "2026-07-19-growth", growth()),
        dated("mirror", "2026-07-20-mirror", mirror()),
    ]
}

/// Returns searches on the machine's disk. lop loses one, duff is stopped, and jdupes fails once.
pub(super) fn find() -> Record {
    let mut record = empty(&[finders(), vec![tool("bare scan|aside")]].concat());
    let shuffled =
        |id, cache, device| Scenario { order: Order::Shuffled, ..tree(id, device, cache) };
    let warm = shuffled("server2018-warm", Cache::Warm, Device::AsIs);
    let medians = [0.61, 1.53, 2.66, 2.92, 2.94, 5.57, 3.74, 0.203, 0.48];
    record.race(&warm, &medians);
    record.spoil("server2018-warm", "jdupes", 1, Ending::Failed);
    let cold = shuffled("server2018-cold", Cache::Cold, Device::AsIs);
    record.race(&cold, &[3.9, 4.9, 7.8, 14.9, 16.5, 12.5, 15.2, 2.2]);
    let corpus = "samesize".to_owned();
    let same = tree("samesize-warm", Device::AsIs, Cache::Warm);
    let same = Scenario { corpus, names: 100_000, bytes: 1_638_400_000, ..same };
    record.race(&same, &[0.7, 0.57, 1.43, 1.35, 1.33, 3.84, 90.7, 0.31]);
    record.spoil("samesize-warm", "rdfind", 3, Ending::Failed);
    let xfs = shuffled("server2018-xfs-cold", Cache::Cold, Device::Xfs);
    let xfs = Scenario { scale: 0.3, bytes: 1_610_612_736, ..xfs };
    record.race(&xfs, &[2.31, 2.312, 5.1, 9.5, 9.9, 8.8, 9.3, 1.4]);
    record.stop("server2018-xfs-cold", "duff", 600.0);
    record
}

/// Returns searches on a hard disk.
pub(super) fn hdd() -> Record {
    let mut record = empty(&finders()[..6]);
    let shuffled = |id, cache| Scenario { order: Order::Shuffled, ..tree(id, Device::Hdd, cache) };
    let cold = shuffled("server2018-hdd-cold", Cache::Cold);
    record.race(&cold, &[61.0, 965.0, 130.0, 1228.0, 193.0, 98.0]);
    record.race(&shuffled("server2018-hdd-warm", Cache::Warm), &[0.6, 1.5, 2.7, 2.9, 2.9, 5.6]);
    record
}

/// Returns searches in four sizes of one tree. duff is stopped at the largest size.
pub(super) fn growth() -> Record {
    let mut record = empty(&finders()[..7]);
    let us_per_file = [4.0, 9.9, 17.0, 19.0, 19.2, 36.0, 24.0];
    for (power, names) in (3_i32..).zip([1_000, 10_000, 100_000, 1_000_000]) {
        let id = format!("growth-{names}");
        let scenario = tree(&id, Device::AsIs, Cache::Warm);
        let scenario = Scenario { names, bytes: names * 32_000, scale: 0.1, ..scenario };
        let start = 0.004;
        let worse = 1.06_f64.powi(power - 3);
        let seconds = us_per_file.map(|us| start + us * 1e-6 * 10.0_f64.powi(power) * worse);
        record.race(&scenario, &seconds);
    }
    record.stop("growth-1000000", "duff", 600.0);
    record
}

/// Returns copies with hard links, and repeated copies.
pub(super) fn mirror() -> Record {
    let tools = ["lop mirror|ours", "rsync|peer", "cp -a|peer", "xcp|peer"].map(tool);
    let mut record = empty(&tools);
    let links = tree("links-first", Device::Ext4, Cache::Warm);
    let links = Scenario { work: Work::Mirror, corpus: "links20".into(), names: 655_340, ..links };
    let again = Scenario { id: "links-again".into(), work: Work::Again, ..links.clone() };
    record.race(&links, &[4.4, 14.6, 9.9, 8.1]);
    record.race(&again, &[0.81, 6.1, 9.2, 8.8]);
    record.stop("links-again", "xcp", 120.0);
    record
}

/// Returns deletions in which the data of a peer is on storage before that of lop.
pub(super) fn delete() -> Record {
    let tools = ["lop purge|ours", "rm -rf|peer", "find -delete|peer", "rmz|peer"].map(tool);
    let mut record = empty(&tools);
    let flat = tree("flat-warm", Device::Ext4, Cache::Warm);
    let flat = Scenario { work: Work::Delete, corpus: "million".into(), names: 1_000_000, ..flat };
    record.race(&flat, &[5.1, 12.8, 12.5, 6.0]);
    for run in record.runs.iter_mut().filter(|run| run.tool == "rmz") {
        run.settled_s = Some(6.05);
    }
    record
}

/// Returns sweeps, with one run of each tool: its seconds, and its peak memory in KiB.
pub(super) fn sweep() -> Record {
    let names = ["lop|ours", "script (substitution)|peer", "bleachbit|peer", "find|peer"];
    let asides = [
        "bare walk",
        "bare walk and statx",
        "lop, 10 patterns",
        "lop, and 10 patterns",
        "lop, no rules",
    ];
    let more =
        ["lop, and 17,681 patterns", "lop, and 17,681 patterns that match nothing", "lop purge"];
    let more = more.into_iter().chain(asides);
    let more: Vec<String> = more.map(|name| format!("{name}|aside")).collect();
    let mut record = empty(
        &names.into_iter().chain(more.iter().map(String::as_str)).map(tool).collect::<Vec<_>>(),
    );
    let mut race = |id: &str, work, runs: &[(&str, f64, u64)]| {
        let scenario = Scenario { work, ..tree(id, Device::AsIs, Cache::Warm) };
        for &(tool, seconds, peak_kib) in runs {
            record.runs.push(Run { peak_kib, ..run(&scenario, tool, 1, seconds, 1) });
        }
        record.scenarios.push(scenario);
    };
    race(
        "sweep",
        Work::Sweep,
        &[
            ("lop", 0.13, 1),
            ("bare walk", 0.1, 1),
            ("bare walk and statx", 0.125, 1),
            ("lop, 10 patterns", 0.065, 1),
            ("script (substitution)", 2.6, 1),
            ("bleachbit", 1.625, 1),
        ],
    );
    race(
        "anywhere",
        Work::Anywhere,
        &[
            ("lop", 0.255, 1),
            ("bare walk", 0.25, 1),
            ("find", 0.9, 1),
            ("lop, and 10 patterns", 0.25, 1),
            ("lop, and 17,681 patterns", 0.26, 1),
            ("lop, and 17,681 patterns that match nothing", 0.2775, 1),
        ],
    );
    race("load", Work::Load, &[("lop", 0.027, 20_000), ("lop, no rules", 0.002, 10_000)]);
    race("apply", Work::Apply, &[("lop", 1.6, 50_000), ("lop purge", 1.0, 8_000)]);
    let counts = [
        ("statx", 1_000),
        ("statx without rules", 20),
        ("matches", 1_000),
        ("entries taken", 1_050),
    ];
    record.counts = counts
        .map(|(what, count)| Count {
            scenario: "sweep".into(),
            tool: "lop".into(),
            what: what.into(),
            count,
        })
        .to_vec();
    record
}

/// Returns a review in three rounds without an idle server, and the disk space of the same tree.
pub(super) fn review() -> Record {
    let mut record = empty(&["lop|ours", "du|aside"].map(tool));
    let of = |id: &str, work| {
        let corpus = "review".to_owned();
        let scenario = tree(id, Device::AsIs, Cache::Warm);
        Scenario { work, corpus, names: 1_000_000, ..scenario }
    };
    record.race(&of("space", Work::Space), &[0.15, 3.0]);
    record.scenarios.push(of("review", Work::Review));
    let mut read = |what: &str, unit, values: [f64; 4]| {
        for (round, value) in (0..).zip(values) {
            let (scenario, what) = ("review".to_owned(), what.to_owned());
            record.readings.push(Reading {
                scenario,
                what,
                round,
                unit,
                value,
                ..Reading::default()
            });
        }
    };
    let mebibyte = 1024.0 * 1024.0;
    read(
        "first rows, right after the server has started",
        Unit::Ms,
        [5_000.0, 350.0, 900.0, 340.0],
    );
    read("first rows, later", Unit::Ms, [900.0, 200.0, 350.0, 100.0]);
    read("bytes of the page with its first rows", Unit::Bytes, [45_000.0; 4]);
    read("longest task while scrolling", Unit::Ms, [300.0, 0.0, 0.0, 0.0]);
    read("heap before scrolling", Unit::Bytes, [2e6; 4]);
    read("heap after scrolling once", Unit::Bytes, [2.4e6; 4]);
    read("heap after scrolling three times", Unit::Bytes, [2.5e6; 4]);
    read("filter img_", Unit::Ms, [50.0; 4]);
    read("filter photos", Unit::Ms, [50.0, 250.0, 251.0, 249.0]);
    read("groups that one decision is about", Unit::Number, [24_000.0; 4]);
    read("decision by folder", Unit::Ms, [100.0; 4]);
    let peaks = [900.0, 150.0, 210.0, 180.0].map(|value| value * mebibyte);
    read("memory of the server, at most", Unit::Bytes, peaks);
    read("size of lop", Unit::Bytes, [20e6; 4]);
    record
}

/// Returns reports on the exports of two fleets, one of them also from Spark, the export of a catalog, and the
/// answers of a survey.
pub(super) fn fleet() -> Record {
    let of = |id: &str, work, names| {
        let scenario = tree(id, Device::AsIs, Cache::Warm);
        Scenario { work, corpus: "exports".to_owned(), names, ..scenario }
    };
    let mut record = empty(&["lop-fleet|ours", "DuckDB|peer"].map(tool));
    record.race(&of("small", Work::Fleet, 1_000_000), &[0.3, 0.5]);
    record.race(&of("large", Work::Fleet, 100_000_000), &[28.0, 32.0]);
    let mut export = empty(&["lop|ours", "lop, no names|aside"].map(tool));
    export.race(&of("export", Work::Export, 1_000_000), &[1.5, 1.2]);
    let mut spark = empty(&["lop-fleet, Spark|ours"].map(tool));
    spark.race(&of("spark", Work::Spark, 100_000_000), &[120.0]);
    let mut survey = empty(&["lop-fleet, answer|ours"].map(tool));
    survey.race(&of("survey", Work::Survey, 100_000_000), &[6.0]);
    for alone in [export, spark, survey] {
        record.tools.extend(alone.tools);
        record.scenarios.extend(alone.scenarios);
        record.runs.extend(alone.runs);
    }
    let counts = [
        ("export", "lop", "bytes of the tables", 95_000_000),
        ("export", "lop, no names", "bytes of the tables", 25_000_000),
        ("spark", "lop-fleet, Spark", "reports that differ", 1),
        ("survey", "lop-fleet, answer", "bytes of the list of heads of a host", 33_000_000),
        ("survey", "lop-fleet, answer", "bytes of the list of sizes of a host", 20_000_000),
        ("survey", "lop-fleet, answer", "bytes of the answers for a host", 1_250_000),
        ("survey", "lop-fleet, answer", "heads that are answered to be on another host", 5_100_000),
        ("survey", "lop-fleet, answer", "heads that are on another host", 5_000_000),
    ];
    for (scenario, tool, what, count) in counts {
        let [scenario, tool, what] = [scenario, tool, what].map(str::to_owned);
        record.counts.push(Count { scenario, tool, what, count });
    }
    record.readings.push(Reading {
        scenario: "export".to_owned(),
        what: "size of lop".to_owned(),
        round: 1,
        unit: Unit::Bytes,
        value: 18.5e6,
        ..Reading::default()
    });
    record
}

/// Fills and spoils records.
pub(super) trait Racing {
    /// Adds a scenario with one untimed and five timed runs of each tool, given the medians of the
    /// tools.
    fn race(&mut self, scenario: &Scenario, medians: &[f64]);
    /// Changes how the first timed runs of a tool ended.
    fn spoil(&mut self, scenario: &str, tool: &str, runs: u32, ending: Ending);
    /// Removes all runs of a tool except an untimed one, which was stopped.
    fn stop(&mut self, scenario: &str, tool: &str, after_s: f64);
}

impl Racing for Record {
    fn race(&mut self, scenario: &Scenario, medians: &[f64]) {
        self.scenarios.push(scenario.clone());
        for (round, part) in (0..).zip([1.3].into_iter().chain(ROUNDS)) {
            for (at, (tool, median)) in (1..).zip(self.tools.iter().zip(medians)) {
                self.runs.push(run(scenario, &tool.name, round, median * part, at));
            }
        }
    }

    fn spoil(&mut self, scenario: &str, tool: &str, runs: u32, ending: Ending) {
        for run in &mut self.runs {
            if run.scenario == scenario && run.tool == tool && (1..=runs).contains(&run.round) {
                // So short that the run would win if it counted.
                (run.ending, run.wall_s) = (ending, 0.001);
            }
        }
    }

    fn stop(&mut self, scenario: &str, tool: &str, after_s: f64) {
        let of_both = |run: &Run| run.scenario == scenario && run.tool == tool;
        self.runs.retain(|run| !of_both(run) || run.round == 0);
        for run in self.runs.iter_mut().filter(|run| of_both(run)) {
            (run.ending, run.wall_s) = (Ending::Stopped, after_s);
        }
    }
}

/// Returns a run whose other figures are derived from its seconds and the number of the tool.
fn run(scenario: &Scenario, tool: &str, round: u32, seconds: f64, number: u64) -> Run {
    let counts_disk_time = scenario.counts_disk_time();
    let writes = matches!(scenario.work, Work::Link | Work::Mirror | Work::Again | Work::Delete);
    Run {
        scenario: scenario.id.clone(),
        tool: tool.into(),
        round,
        ending: Ending::Done,
        wall_s: if counts_disk_time { seconds * 0.05 } else { seconds },
        settled_s: writes.then_some(seconds + 1.2),
        user_s: seconds * 0.7,
        sys_s: seconds * 0.5,
        peak_kib: 30_000 + 9_500 * (number % 4) * number,
        read_bytes: scenario.bytes / (number + 1),
        storage_bytes: if scenario.cache == Cache::Cold {
            scenario.bytes / (number + 2)
        } else {
            0
        },
        disk_s: counts_disk_time.then_some(seconds),
        seeks: counts_disk_time.then_some(9_000 * number),
        disk_bytes: counts_disk_time.then_some(scenario.bytes / (number + 1) + 77_000_000),
    }
}

fn tree(id: &str, device: Device, cache: Cache) -> Scenario {
    let answers = "All tools give the same 13,828 groups; duff also lists 3 hard links.";
    Scenario {
        id: id.into(),
        work: Work::Find,
        corpus: "server2018".into(),
        scale: 1.0,
        names: 154_205,
        bytes: 5_261_334_937,
        order: Order::Created,
        device,
        cache,
        answers: answers.into(),
    }
}

fn finders() -> Vec<Tool> {
    let names = ["lop|ours", "yadf|peer", "fclones|peer", "jdupes|peer", "rdfind|peer"];
    let more = ["rmlint|peer", "duff|peer", "lop, again|aside"];
    names.into_iter().chain(more).map(tool).collect()
}

fn tool(name_and_role: &str) -> Tool {
    let (name, role) = name_and_role.split_once('|').expect("a name and a role");
    let role = match role {
        "ours" => Role::Ours,
        "peer" => Role::Peer,
        _ => Role::Aside,
    };
    let command = format!("{name} --quiet --hidden DIR | sort");
    Tool { name: name.into(), role, version: format!("{name} 1.2 | x86"), command }
}

fn empty(tools: &[Tool]) -> Record {
    let facts = [
        ("processor", "2 cores of an AMD EPYC 7B13"),
        ("memory", "7.8 GiB"),
        ("kernel", "Linux 6.1.0"),
        ("own disk", "ext4 on virtio, not rotational"),
    ];
    let fact = |(name, value): (&str, &str)| Fact { name: name.into(), value: value.into() };
    let machine = facts.map(fact).to_vec();
    Record {
        machine,
        tools: tools.to_vec(),
        scenarios: Vec::new(),
        runs: Vec::new(),
        counts: Vec::new(),
        readings: Vec::new(),
    }
}
