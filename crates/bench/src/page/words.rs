//! Scenarios and kinds of races in words, and text made safe for Markdown.

use crate::race::KINDS;
use crate::scenario::{Cache, Order, Scenario, Work};

use super::comparison::Comparison;
use super::figures::{count, size};
use crate::stats::float;

/// Returns what a kind of race is about, as a title.
pub(super) fn title(kind: &str) -> String {
    match KINDS.iter().find(|known| known.name == kind) {
        Some(known) => capital(known.about),
        None => format!("Race `{kind}`"),
    }
}

/// Returns all that makes a scenario what it is.
pub(super) fn heading(scenario: &Scenario) -> String {
    let (names, bytes) = (count(scenario.names), size(float(scenario.bytes)));
    let tree = tree(scenario);
    let order = order(scenario.order);
    let device = scenario.device;
    let cache = cache(scenario.cache);
    format!("{tree}: {names} names, {bytes}, {order}, {device}, {cache}")
}

/// Returns what is done with which tree.
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
    };
    if (scenario.scale - 1.0).abs() < 1e-9 {
        return done;
    }
    format!("{done} at scale {}", scenario.scale)
}

/// Returns what is done with which tree, for a chart that is seen without its section.
pub(super) fn chart_title(scenario: &Scenario) -> String {
    match scenario.work {
        Work::Find => format!("Finding duplicates in {}", tree(scenario)),
        _ => tree(scenario),
    }
}

/// Returns where the tree is and what is in memory, for the second line of a chart.
pub(super) fn conditions(scenario: &Scenario) -> String {
    let order = order(scenario.order);
    format!("{}, {}, {order}", scenario.device, cache(scenario.cache))
}

/// Returns what the figure that counts is.
pub(super) fn measure(scenario: &Scenario) -> &'static str {
    if scenario.counts_disk_time() { "Seconds the simulated disk was busy" } else { "Seconds" }
}

fn order(order: Order) -> &'static str {
    match order {
        Order::Created => "written directory by directory",
        Order::Shuffled => "written in shuffled order",
    }
}

fn cache(cache: Cache) -> &'static str {
    match cache {
        Cache::Warm => "warm caches",
        Cache::Cold => "cold caches",
    }
}

/// Returns text for a line or a table's cell: on one line, with nothing that means something.
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

/// Returns text with every run of white space as one space.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns words as a sentence: with a capital and a full stop.
pub(super) fn sentence(words: &str) -> String {
    let words = one_line(words);
    let stop = if words.is_empty() || words.ends_with('.') { "" } else { "." };
    capital(&words) + stop
}

/// Returns words with a capital at the beginning.
fn capital(words: &str) -> String {
    let mut chars = words.chars();
    let first = chars.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(chars).collect()
}

/// Returns the name of a comparison in links and names of files.
pub(super) fn slug(kind: &str, id: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
    format!("{kind}-{id}").to_lowercase().chars().map(safe).collect()
}

/// Returns a link to a comparison's section.
pub(super) fn link(comparison: &Comparison) -> String {
    format!(
        "[{}](#{})",
        heading(comparison.scenario),
        slug(comparison.kind, &comparison.scenario.id)
    )
}

/// Returns the words for a number of things.
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
    fn a_heading_says_all_that_matters() {
        let words = "server2018 at scale 0.3: 154,205 names, 1.50 GiB, written in shuffled order, \
                     on a loop image of XFS, cold caches";
        assert_eq!(heading(&scenario()), words);
    }

    #[test]
    fn the_published_scale_goes_without_saying() {
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
    fn names_of_files_are_tame() {
        assert_eq!(slug("find", "Server 2018/warm"), "find-server-2018-warm");
    }
}
