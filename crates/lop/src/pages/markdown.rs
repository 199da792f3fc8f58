//! Man pages of section 7, converted from the documents in Markdown.
//!
//! The converter supports only the syntax that the documents use: headings, paragraphs, tables, lists, code blocks,
//! links, bold text, and code.

use clap_mangen::roff::{Inline, Roff, bold, roman};

use super::begin;

/// Returns the page of section 7 about a topic.
pub(super) fn page(topic: &str, about: &str, text: &str) -> String {
    let mut roff = begin(&format!("lop-{topic}"), "7", about);
    // Drops the title, because the page already has a name.
    let body: Vec<&str> = text.lines().skip_while(|line| line.starts_with('#')).collect();
    if body.iter().find(|line| !line.is_empty()).is_some_and(|line| !line.starts_with('#')) {
        roff.control("SH", ["DESCRIPTION"]);
    }
    let mut lines = body.as_slice();
    while let Some((line, rest)) = lines.split_first() {
        lines = match line {
            line if line.starts_with("```") => code(rest, &mut roff),
            line if line.starts_with('|') => table(lines, &mut roff),
            line if line.starts_with('#') => {
                heading(line, &mut roff);
                rest
            }
            line if line.trim().is_empty() => rest,
            _ => paragraph(lines, &mut roff),
        };
    }
    roff.render()
}

fn heading(line: &str, roff: &mut Roff) {
    let title = line.trim_start_matches('#').trim().replace('`', "");
    if line.starts_with("###") {
        roff.control("SS", [&*title]);
    } else {
        roff.control("SH", [&*title.to_uppercase()]);
    }
}

/// Formats lines verbatim up to the end of a code block. Returns the lines after it.
fn code<'l, 't>(lines: &'l [&'t str], roff: &mut Roff) -> &'l [&'t str] {
    let end = lines.iter().position(|line| line.starts_with("```")).unwrap_or(lines.len());
    roff.control("PP", []).control("RS", ["4"]).control("nf", []);
    for line in &lines[..end] {
        roff.text([roman(*line)]);
    }
    roff.control("fi", []).control("RE", []);
    lines.get(end + 1..).unwrap_or_default()
}

/// Formats each row of a table as a term and its description. Returns the lines after the table.
fn table<'l, 't>(lines: &'l [&'t str], roff: &mut Roff) -> &'l [&'t str] {
    let end = lines.iter().position(|line| !line.starts_with('|')).unwrap_or(lines.len());
    let (rows, rest) = lines.split_at(end);
    // The first two lines are the headings and the rule below them.
    for row in rows.iter().skip(2) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let (term, said) = cells.split_first().expect("a split gives something");
        roff.control("TP", []).text(words(term));
        roff.text(words(&said.join("; ")));
    }
    rest
}

/// Formats a paragraph or a list item. Returns the lines after it.
fn paragraph<'l, 't>(lines: &'l [&'t str], roff: &mut Roff) -> &'l [&'t str] {
    let goes_on = |line: &&str| !(line.trim().is_empty() || begins_something(line));
    let end = 1 + lines[1..].iter().take_while(|line| goes_on(line)).count();
    let text = lines[..end].iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
    match entry_of(&text) {
        Some(("-", rest)) => roff.control("IP", ["\\(bu", "2"]).text(words(rest)),
        Some((number, rest)) => roff.control("IP", [number, "4"]).text(words(rest)),
        None => roff.control("PP", []).text(words(&text)),
    };
    &lines[end..]
}

fn begins_something(line: &str) -> bool {
    line.starts_with(['#', '|']) || line.starts_with("```") || entry_of(line).is_some()
}

/// Returns the marker and the text of a list item, or `None` for other lines.
fn entry_of(line: &str) -> Option<(&str, &str)> {
    let (mark, rest) = line.split_once(' ')?;
    let is_number = |mark: &str| mark.strip_suffix('.').is_some_and(|n| n.parse::<u32>().is_ok());
    (mark == "-" || is_number(mark)).then_some((mark, rest))
}

/// Parses inline markup. Code and bold text both become bold, and a link becomes its text.
fn words(text: &str) -> Vec<Inline> {
    let mut inlines = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['`', '*', '[']) {
        let (before, marked) = rest.split_at(at);
        let part = |open: &str, close: &str| marked.strip_prefix(open)?.split_once(close);
        let link = part("[", "](").and_then(|(said, after)| Some((said, after.split_once(')')?.1)));
        let (inline, after) = match (part("`", "`").or_else(|| part("**", "**")), link) {
            (Some((said, after)), _) => (vec![bold(said)], after),
            (None, Some((said, after))) => (words(said), after),
            (None, None) => (vec![roman(&marked[..1])], &marked[1..]),
        };
        inlines.push(roman(before));
        inlines.extend(inline);
        rest = after;
    }
    inlines.push(roman(rest));
    inlines
}

#[cfg(test)]
mod tests {
    use super::page;

    #[test]
    fn a_document_becomes_a_page() {
        let text = "# Title\n\nSome `code`, **bold** and [a link](x.md),\non two lines. 2 * 3\n\n## Part\n\
                    ### Below\n\n- one\n  more\n- two\n1. first\n\n```sh\n.lop  x\n```\n\n\
                    | code | |\n|---|---|\n| `0` | done |\n| 1 | a | b |\n";
        let page = page("topic", "what it is", text);
        let (_, body) = page.split_once("what it is\n").expect("a name");
        let expected = ".SH DESCRIPTION\n.PP\nSome \\fBcode\\fR, \\fBbold\\fR and a link, on two lines. 2 * 3\n\
                        .SH PART\n.SS Below\n.IP \\(bu 2\none more\n.IP \\(bu 2\ntwo\n.IP 1. 4\nfirst\n\
                        .PP\n.RS 4\n.nf\n\\&.lop  x\n.fi\n.RE\n.TP\n\\fB0\\fR\ndone\n.TP\n1\na; b\n";
        assert_eq!(body, expected);
    }
}
