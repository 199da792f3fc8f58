//! Growth of run times: comparisons that differ only in the number of names.

use crate::record::{Role, Tool};
use crate::scenario::{Cache, Device, Order, Scenario, Work};
use crate::stats::float;

use super::comparison::Comparison;
use super::figures::{count, number, ratio};
use super::words::{conditions, inline, tree};

/// Comparisons sorted by number of names, and the medians of every tool in them.
struct Series<'a> {
    /// The smallest comparison.
    first: &'a Comparison<'a>,
    /// The numbers of names in ascending order; at least two.
    names: Vec<u64>,
    /// The tools with a figure at any size. The tool that is fastest at the largest size comes
    /// first.
    curves: Vec<Curve<'a>>,
}

/// The medians of a tool, in the order of [`Series::names`].
struct Curve<'a> {
    tool: &'a Tool,
    medians: Vec<Option<f64>>,
}

/// Returns the series among some comparisons.
fn series<'a>(comparisons: &[&'a Comparison<'a>]) -> Vec<Series<'a>> {
    let mut groups: Vec<Vec<&Comparison>> = Vec::new();
    for comparison in comparisons {
        let same = |group: &&mut Vec<&Comparison>| key(group[0]) == key(comparison);
        match groups.iter_mut().find(same) {
            Some(group) => group.push(comparison),
            None => groups.push(vec![comparison]),
        }
    }
    groups.into_iter().filter_map(one_series).collect()
}

/// Returns everything that comparisons of one series share.
fn key<'a>(comparison: &'a Comparison) -> (&'a str, Work, &'a str, f64, Order, Device, Cache) {
    let Scenario { work, ref corpus, scale, order, device, cache, .. } = *comparison.scenario;
    (comparison.kind, work, corpus, scale, order, device, cache)
}

fn one_series<'a>(mut group: Vec<&'a Comparison<'a>>) -> Option<Series<'a>> {
    group.sort_by_key(|comparison| comparison.scenario.names);
    group.dedup_by_key(|comparison| comparison.scenario.names);
    let mut curves: Vec<Curve> = Vec::new();
    for (at, comparison) in group.iter().enumerate() {
        for row in comparison.rows() {
            let known = curves.iter().position(|curve| curve.tool.name == row.tool.name);
            let known = known.unwrap_or_else(|| {
                curves.push(Curve { tool: row.tool, medians: vec![None; group.len()] });
                curves.len() - 1
            });
            curves[known].medians[at] = Some(row.figure.median);
        }
    }
    let backwards = |curve: &Curve| -> Vec<f64> {
        curve.medians.iter().rev().map(|median| median.unwrap_or(f64::INFINITY)).collect()
    };
    curves.sort_by(|a, b| backwards(a).partial_cmp(&backwards(b)).expect("no median is NaN"));
    let names: Vec<u64> = group.iter().map(|comparison| comparison.scenario.names).collect();
    (names.len() > 1).then(|| Series { first: group[0], names, curves })
}

impl Series<'_> {
    /// Returns the indices of the two sizes that show the growth: the largest, and the one nearest
    /// to a tenth of it.
    fn compared(&self) -> (usize, usize) {
        let last = self.names.len() - 1;
        let off = |at: usize| (float(self.names[last]) / float(self.names[at]) / 10.0).ln().abs();
        let tenth = (0..last).min_by(|a, b| off(*a).total_cmp(&off(*b))).unwrap_or(0);
        (tenth, last)
    }
}

/// Writes the table of each series.
pub(super) fn write(page: &mut String, comparisons: &[&Comparison]) {
    for series in series(comparisons) {
        let scenario = series.first.scenario;
        let (tree, conditions) = (inline(&tree(scenario)), conditions(scenario));
        page.push_str(&format!(
            "## Time by size: {tree}, {conditions}\n\n{} The column with a colon compares the largest \
             tree with a tree of about a tenth of its size. 1.00x is linear growth, and higher \
             values are worse.",
            match scenario.work {
                Work::Fleet => "Microseconds per inode. Here, a tree means the exports of all hosts.",
                _ => "Microseconds per name in the tree.",
            }
        ));
        if extrapolates(&series) {
            page.push_str(
                " The last column is an extrapolation to a billion names with a least-squares line \
                 through the times. No run here deleted that many names. The published time for a \
                 billion empty files on ext4 on another machine is 18,647 s (5.18 h) with rm.",
            );
        }
        page.push_str("\n\n");
        write_table(page, &series);
    }
}

/// Returns true if the table extrapolates to a billion names.
///
/// Deleting visits every name once, regardless of their number. Other work is slower per name once
/// the tree does not fit into memory, so its times cannot be extrapolated.
fn extrapolates(series: &Series) -> bool {
    series.first.scenario.work == Work::Delete
}

fn write_table(page: &mut String, series: &Series) {
    let (tenth, last) = series.compared();
    let titles: Vec<String> = series.names.iter().map(|names| count(*names)).collect();
    page.push_str(&format!("| tool | {} ", titles.join(" | ")));
    page.push_str(&format!("| {} : {} |", titles[last], titles[tenth]));
    page.push_str(if extrapolates(series) { " a billion, extrapolated |\n" } else { "\n" });
    let columns = titles.len() + 1 + usize::from(extrapolates(series));
    page.push_str(&format!("|---|{}\n", "---:|".repeat(columns)));
    for curve in &series.curves {
        let mark = match curve.tool.role {
            Role::Ours => "**",
            Role::Peer => "",
            Role::Aside => "*",
        };
        let per_name: Vec<Option<f64>> = curve
            .medians
            .iter()
            .zip(&series.names)
            .map(|(median, names)| median.map(|median| median * 1e6 / float(*names)))
            .collect();
        let growth = per_name[last].zip(per_name[tenth]).map(|(last, tenth)| ratio(last / tenth));
        let cells: Vec<String> =
            per_name.iter().map(|each| each.map_or("-".into(), number)).collect();
        let name = inline(&curve.tool.name);
        let growth = growth.map_or("-".into(), |growth| format!("{mark}{growth}{mark}"));
        page.push_str(&format!("| {mark}{name}{mark} | {} | {growth} |", cells.join(" | ")));
        if extrapolates(series) {
            let seconds = by_line(&series.names, &curve.medians, 1e9);
            let hours = seconds.map(|seconds| format!("{} h", number(seconds / 3600.0)));
            page.push_str(&format!(" {} |", hours.unwrap_or_else(|| "-".into())));
        }
        page.push('\n');
    }
    page.push('\n');
}

/// Fits a line to the times by least squares, and returns its value at `at` names. Returns `None`
/// if there are fewer than two times.
fn by_line(names: &[u64], times: &[Option<f64>], at: f64) -> Option<f64> {
    let points: Vec<(f64, f64)> = names
        .iter()
        .zip(times)
        .filter_map(|(&names, time)| Some((float(names), (*time)?)))
        .collect();
    let mean = |of: fn(&(f64, f64)) -> f64| {
        points.iter().map(of).sum::<f64>() / float(points.len() as u64)
    };
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let covariance: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    let variance: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    (points.len() > 1).then(|| y + covariance / variance * (at - x))
}

#[cfg(test)]
mod tests {
    use super::by_line;

    #[test]
    fn a_line_is_extended_straight() {
        let exact = by_line(&[1, 10, 100], &[Some(5.0), Some(14.0), Some(104.0)], 1000.0);
        assert!((exact.expect("a line") - 1004.0).abs() < 1e-9);
        let near = by_line(&[0, 10, 20], &[Some(1.0), Some(0.0), Some(2.0)], 10.0);
        assert!((near.expect("a line") - 1.0).abs() < 1e-9);
        assert_eq!(by_line(&[1, 10], &[None, Some(1.0)], 100.0), None);
    }
}
