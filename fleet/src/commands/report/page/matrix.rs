//! The bytes that each pair of hosts shares.

use std::cmp::Reverse;

use maud::{Markup, html};
use runtime::quantity::{count, size};

use super::{Host, name, thousandths};

/// Returns the matrix of the hosts. If it would have more than `most` hosts, returns the matrix of the `most` hosts
/// that share most with another host.
pub(super) fn of(hosts: &[Host], shared: impl Fn(usize, usize) -> u64, most: usize) -> Markup {
    if hosts.len() < 2 {
        return html! {};
    }
    let of = |one: usize, other: usize| if one == other { 0 } else { shared(one, other) };
    let chosen = chosen(hosts.len(), of, most);
    html! {
        section aria-labelledby="matrix" {
            h2 #matrix { "Shared bytes" }
            p.dim {
                "Each cell shows which part of the files of the host on the left the host at the top has as well, in \
                 percent of their size. Each content counts once, however many copies the hosts have."
                @if chosen.len() < hosts.len() {
                    " The matrix shows the " (count(chosen.len() as u64)) " hosts that share most."
                }
            }
            div.scroll tabindex="0" role="region" aria-label="Matrix" {
                table.matrix {
                    thead {
                        tr {
                            td {}
                            @for &column in &chosen {
                                th scope="col" { span { (name(&hosts[column].name)) } }
                            }
                        }
                    }
                    tbody {
                        @for &row in &chosen {
                            tr {
                                th scope="row" { (name(&hosts[row].name)) }
                                @for &column in &chosen {
                                    (cell(of(row, column), hosts[row].all.bytes, row == column))
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Returns the indexes of the `most` hosts that share most with another host, in ascending order.
fn chosen(hosts: usize, shared: impl Fn(usize, usize) -> u64, most: usize) -> Vec<usize> {
    let mut chosen: Vec<usize> = (0..hosts).collect();
    if hosts > most {
        chosen.sort_by_cached_key(|&one| Reverse((0..hosts).map(|other| shared(one, other)).max()));
        chosen.truncate(most);
        chosen.sort_unstable();
    }
    chosen
}

/// Returns a cell with one of ten shades.
fn cell(bytes: u64, all: u64, is_same: bool) -> Markup {
    let thousandths = thousandths(bytes, all);
    let shade = thousandths.div_ceil(100).min(10);
    html! {
        @if is_same {
            td.same { span.hidden { "same host" } }
        } @else if bytes == 0 {
            td { span.dim { "–" } }
        } @else {
            td class=(format!("s{shade}")) title=(size(bytes)) {
                @if thousandths < 10 { "<1" } @else { (thousandths / 10) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::chosen;

    #[test]
    fn the_hosts_that_share_most_are_chosen() {
        // Hosts 1 and 3 share the most bytes.
        let shared = |one: usize, other: usize| {
            if [one.min(other), one.max(other)] == [1, 3] { 9 } else { 1 }
        };
        assert_eq!(chosen(5, shared, 2), [1, 3]);
        assert_eq!(chosen(3, shared, 3), [0, 1, 2]);
    }
}
