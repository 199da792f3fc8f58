//! The tables in `docs/fleet.md` are those of the exports.

use std::collections::BTreeMap;

use export::TABLES;

/// A column: name, type, and whether it may be NULL.
type Column = (String, String, bool);

/// Returns the columns of each table of the page.
fn documented() -> BTreeMap<String, Vec<Column>> {
    let page = include_str!("../../../../docs/fleet.md");
    let (_, rest) = page.split_once("\n## Tables\n").expect("the section of the tables");
    let (tables, _) = rest.split_once("\n## ").expect("the next section");
    let section = |text: &str| {
        let (name, text) = text.split_once('\n').expect("a heading");
        let rows = text.lines().filter_map(|line| line.strip_prefix("| `")).map(column);
        (name.to_owned(), rows.collect())
    };
    tables.split("\n### ").skip(1).map(section).collect()
}

/// Returns the column in a row of a table.
fn column(row: &str) -> Column {
    let cells: Vec<&str> = row.splitn(4, '|').map(str::trim).collect();
    let [name, kind, null, meaning] = cells[..] else { panic!("four cells: {row}") };
    assert!(!meaning.trim_matches(['|', ' ']).is_empty(), "no meaning: {row}");
    let optional = match null {
        "yes" => true,
        "" => false,
        _ => panic!("NULL is yes or nothing: {row}"),
    };
    (name.trim_matches('`').to_owned(), kind.to_owned(), optional)
}

#[test]
fn every_table_and_column_is_documented() {
    let kind = |kind: String| match kind.as_str() {
        "Int32" => "INT32",
        "Int64" => "INT64",
        "Bytes" => "BINARY",
        "Text" => "UTF8",
        _ => panic!("docs/fleet.md has no word for {kind}"),
    };
    let exported = TABLES.map(|table| {
        let columns = table.columns.iter().map(|column| {
            (column.name.to_owned(), kind(format!("{:?}", column.kind)).to_owned(), column.optional)
        });
        (table.name.to_owned(), columns.collect())
    });
    assert_eq!(documented(), BTreeMap::from(exported));
}
