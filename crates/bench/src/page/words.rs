//! Descriptions of scenarios in words, and text made safe for Markdown.

use crate::scenario::{Cache, Device, Order, Scenario, Work};
use crate::stats::float;

use super::comparison::Comparison;
use super::figures::{count, number, size};
use super::job::Job;

/// Returns the full description of a scenario: work, tree, size, order, storage and caches.
pub(super) fn heading(scenario: &Scenario) -> String {
    let (names, bytes) = (count(scenario.names), size(float(scenario.bytes)));
    let (tree, entries) = (tree(scenario), entries(scenario));
    let order = order(scenario).map_or(String::new(), |order| format!("{order}, "));
    let (device, cache) = (scenario.device, cache(scenario.cache));
    format!("{tree}: {names} {entries}, {bytes}, {order}{device}, {cache}")
}

/// Returns the work and the tree.
pub(super) fn tree(scenario: &Scenario) -> String {
    let corpus = &scenario.corpus;
    let done = match scenario.work {
        Work::Find => corpus.clone(),
        Work::Link => format!("Hard linking the duplicates of {corpus}"),
        Work::Mirror | Work::Copy => format!("Copying the tree {corpus}"),
        Work::Again => format!("Copying the tree {corpus} again, with nothing to do"),
        Work::Push => format!("Copying the tree {corpus} to a host, through ssh"),
        Work::Pull => format!("Copying the tree {corpus} from a host, through ssh"),
        Work::Delete => format!("Deleting the tree {corpus}"),
        Work::Sweep => format!("Finding junk in {corpus} by rules"),
        Work::Anywhere => format!("Finding junk in {corpus} by rules that match anywhere"),
        Work::Load => format!("Loading rules for {corpus}, with nothing to find"),
        Work::Apply => format!("Taking the junk out of {corpus}"),
        Work::Space => format!("Showing the disk space of {corpus}"),
        Work::Review => format!("Reviewing the duplicates of {corpus} in a browser"),
        Work::Serve | Work::Throttle => format!("Serving the files of {corpus}"),
        Work::Export => format!("Exporting the catalog of {corpus}"),
        Work::Fleet => format!("Grouping the files of {corpus}"),
        Work::Spark => format!("Grouping the files of {corpus} on a Spark cluster"),
        Work::Survey => format!("Answering the lists of {corpus}"),
    };
    if (scenario.scale - 1.0).abs() < 1e-9 {
        return done;
    }
    format!("{done} at scale {}", scenario.scale)
}

/// Returns the work and the tree, for a chart that is shown without its section.
pub(super) fn chart_title(scenario: &Scenario) -> String {
    match scenario.work {
        Work::Find => format!("Finding duplicates in {}", tree(scenario)),
        _ => tree(scenario),
    }
}

/// Returns the storage, the caches and the order on disk, for the second line of a chart.
pub(super) fn conditions(scenario: &Scenario) -> String {
    let order = order(scenario).map_or(String::new(), |order| format!(", {order}"));
    format!("{}, {}{order}", scenario.device, cache(scenario.cache))
}

/// Returns the unit of a comparison's figure.
pub(super) fn measure(scenario: &Scenario) -> &'static str {
    if scenario.counts_disk_time() { "Seconds the simulated disk was busy" } else { "Seconds" }
}

/// Returns what [`Scenario::names`] counts.
pub(super) fn entries(scenario: &Scenario) -> &'static str {
    match scenario.work {
        Work::Fleet | Work::Spark => "inodes",
        Work::Survey => "heads",
        _ => "names",
    }
}

/// Returns the order on disk, or `None` if the scenario has no tree but the files of many hosts.
fn order(scenario: &Scenario) -> Option<&'static str> {
    (!matches!(scenario.work, Work::Fleet | Work::Spark | Work::Survey)).then_some(
        match scenario.order {
            Order::Created => "written directory by directory",
            Order::Shuffled => "written in shuffled order",
        },
    )
}

fn cache(cache: Cache) -> &'static str {
    match cache {
        Cache::Warm => "warm caches",
        Cache::Cold => "cold caches",
    }
}

/// Returns text for a line or a cell of a table: on one line, with Markdown characters escaped.
pub(super) fn inline(text: &str) -> String {
    let mut escaped = String::new();
    for c in one_line(text).chars() {
        if matches!(c, '\\' | '|' | '<' | '*' | '`' | '[' | ']') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// Returns text with each run of white space replaced by a single space.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns words as a sentence, with a capital letter and a full stop.
pub(super) fn sentence(words: &str) -> String {
    let words = one_line(words);
    let stop = if words.is_empty() || words.ends_with('.') { "" } else { "." };
    capital(&words) + stop
}

/// Returns words with their first letter in upper case.
fn capital(words: &str) -> String {
    let mut chars = words.chars();
    let first = chars.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(chars).collect()
}

/// Returns the name of a comparison for use in links.
pub(super) fn slug(kind: &str, id: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
    format!("{kind}-{id}").to_lowercase().chars().map(safe).collect()
}

/// Returns a link from the summary page to a comparison, with the tree as its text.
pub(super) fn link(comparison: &Comparison) -> String {
    let scenario = comparison.scenario;
    let (page, slug) = (Job::of(scenario).slug(), slug(comparison.kind, &scenario.id));
    format!("[{}](benchmarks/{page}.md#{slug})", short_tree(scenario))
}

/// Returns the tree, and how the work differs from the usual work of the job.
fn short_tree(scenario: &Scenario) -> String {
    let work = match scenario.work {
        Work::Find | Work::Link | Work::Mirror | Work::Copy | Work::Delete => "",
        Work::Again => ", nothing to do",
        Work::Sweep => ", rules",
        Work::Anywhere => ", rules that match anywhere",
        Work::Load => ", nothing to find",
        Work::Apply => ", moved away",
        Work::Space => ", disk space",
        Work::Review => ", in a browser",
        Work::Serve => ", over HTTP",
        Work::Throttle => ", over HTTP at a limited rate",
        Work::Export => ", exported",
        Work::Fleet => ", grouped",
        Work::Spark => ", grouped with Spark",
        Work::Survey => ", answered",
        Work::Push => ", push",
        Work::Pull => ", pull",
    };
    format!("{}{work}", inline(&scenario.corpus))
}

/// Returns the storage and the caches in a few words, for a table.
pub(super) fn storage(scenario: &Scenario) -> String {
    let device = match scenario.device {
        Device::AsIs => "own disk",
        Device::Hdd => "hard disk",
        Device::Ext4 => "ext4",
        Device::Xfs => "XFS",
        Device::Btrfs => "btrfs",
    };
    let cache = match scenario.cache {
        Cache::Warm => "warm",
        Cache::Cold => "cold",
    };
    format!("{device}, {cache}")
}

/// Returns the alternative text of a bar chart.
pub(super) fn alternative(comparison: &Comparison) -> String {
    let bars = comparison.rows();
    let bars = bars.map(|row| format!("{} {}", row.tool.name, number(row.figure.median)));
    let out = comparison.out.iter().map(|out| format!("{} {}", out.tool.name, out.why));
    let all = bars.chain(out).collect::<Vec<_>>().join("; ");
    let (title, measure) = (chart_title(comparison.scenario), measure(comparison.scenario));
    inline(&format!("Bar chart. {title}. {measure}: {all}"))
}

/// Returns a number with the singular or plural form of its noun.
pub(super) fn plural(number: usize, one: &str, more: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {more}") }
}

#[cfg(test)]
mod tests {
    use super::{heading, inline, sentence, slug};
    use crate::scenario::{Cache, Device, Order, Scenario, Work};

    fn scenario() -> Scenario {
        Scenario {
            id: "x".into(),
            work: Work::Find,
            corpus: "server2018".into(),
            scale: 0.3,
            names: 154_205,
            bytes: 1_610_612_736,
            order: Order::Shuffled,
            device: Device::Xfs,
            cache: Cache::Cold,
            answers: String::new(),
        }
    }

    #[test]
    fn a_heading_has_every_condition() {
        let words = "server2018 at scale 0.3: 154,205 names, 1.50 GiB, written in shuffled order, \
                     on a loop image of XFS, cold caches";
        assert_eq!(heading(&scenario()), words);
    }

    #[test]
    fn the_published_scale_is_not_mentioned() {
        let published = Scenario { scale: 1.0, work: Work::Delete, ..scenario() };
        assert!(heading(&published).starts_with("Deleting the tree server2018: 154,205 names"));
    }

    #[test]
    fn text_cannot_break_a_table() {
        assert_eq!(inline("a | b\nc *d* <e>"), r"a \| b c \*d\* \<e>");
    }

    #[test]
    fn answers_are_sentences() {
        assert_eq!(sentence("each tree\nwas gone"), "Each tree was gone.");
        assert_eq!(sentence("7 tools agree."), "7 tools agree.");
        assert_eq!(sentence(" "), "");
    }

    #[test]
    fn names_in_links_are_plain() {
        assert_eq!(slug("find", "Server 2018/warm"), "find-server-2018-warm");
    }
}
