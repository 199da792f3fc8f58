//! Checks that `docs/glossary.md` is short enough to be read. The terms are in tables with the
//! columns Term and Meaning.

use std::fs;
use std::io;
use std::path::Path;

const PAGE: &str = "docs/glossary.md";

/// Maximum number of terms. A longer glossary is a sign that the code invents words.
const MAX_TERMS: usize = 60;

pub(super) fn check(root: &Path) -> io::Result<Vec<String>> {
    match fs::read_to_string(root.join(PAGE)) {
        Ok(page) => Ok(of_page(&page)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(vec![format!("{PAGE} is missing")]),
        Err(e) => Err(e),
    }
}

fn of_page(page: &str) -> Vec<String> {
    let terms = terms(page);
    let mut complaints = Vec::new();
    if terms.is_empty() {
        complaints.push(format!("{PAGE} has no table with the columns Term and Meaning"));
    }
    if terms.len() > MAX_TERMS {
        complaints.push(format!("{PAGE}: {} terms, {MAX_TERMS} are the limit", terms.len()));
    }
    for (at, term) in terms.iter().enumerate() {
        if terms[..at].contains(term) {
            complaints.push(format!("{PAGE} explains {term} twice"));
        }
    }
    complaints
}

/// Returns the first cell of each row of the tables with the columns Term and Meaning.
fn terms(page: &str) -> Vec<&str> {
    let mut terms = Vec::new();
    let mut is_inside = false;
    for line in page.lines() {
        let Some(row) = line.strip_prefix('|') else {
            is_inside = false;
            continue;
        };
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let is_rule = cells[0].trim_matches([':', '-']).is_empty();
        if cells.starts_with(&["Term", "Meaning"]) {
            is_inside = true;
        } else if is_inside && !is_rule {
            terms.push(cells[0]);
        }
    }
    terms
}

#[cfg(test)]
mod tests {
    use super::{of_page, terms};

    #[test]
    fn only_rows_of_the_glossary_are_terms() {
        let page = "| Term | Meaning |\n|---|:--|\n| disk | a device |\n| pool | workers |\n\n| other | x |\n";
        assert_eq!(terms(page), ["disk", "pool"]);
        assert_eq!(of_page(page), [""; 0]);
    }

    #[test]
    fn too_many_terms_and_repeated_ones_are_refused() {
        let rows: Vec<String> = (0..61).map(|n| format!("| t{n} | x |")).collect();
        let rows = rows.join("\n");
        let page = format!("| Term | Meaning |\n|---|---|\n{rows}\n| t1 | y |\n");
        assert_eq!(of_page(&page).len(), 2);
        assert_eq!(of_page("# Glossary\n").len(), 1);
    }
}
