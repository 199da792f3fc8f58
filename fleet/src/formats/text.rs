//! A table of text. Numbers are aligned on the right, everything else on the left, and NULL is left empty.

use std::error::Error;
use std::io::{self, Write};

use datafusion::arrow::datatypes::Schema;
use datafusion::arrow::record_batch::RecordBatch;

use super::{Cells, is_number};
use crate::output::shown;

/// Number of rows that determine the widths of the columns. Later rows with longer values are not aligned.
const MEASURED_ROWS: usize = 10_000;

/// The result of a query as a table.
pub(super) struct Table {
    /// For each column, true if it contains numbers.
    numbers: Vec<bool>,
    /// True for the plan of a query, whose lines are printed unchanged.
    is_plan: bool,
    widths: Vec<usize>,
    /// Rows that are not written yet. `None` once the widths are fixed.
    waiting: Option<Vec<Vec<String>>>,
}

impl Table {
    pub(super) fn new(schema: &Schema) -> Table {
        let fields = schema.fields();
        let heading: Vec<String> = fields.iter().map(|field| shown(field.name())).collect();
        let is_plan = heading == ["plan_type", "plan"];
        Table {
            numbers: fields.iter().map(|field| is_number(field.data_type())).collect(),
            is_plan,
            widths: vec![0; fields.len()],
            waiting: Some(if is_plan { Vec::new() } else { vec![heading] }),
        }
    }

    /// Adds some rows, and writes rows as soon as the widths are fixed.
    pub(super) fn add(
        &mut self,
        rows: &RecordBatch,
        out: &mut impl Write,
    ) -> Result<(), Box<dyn Error>> {
        let cells = Cells::new(rows)?;
        for row in 0..rows.num_rows() {
            let values = (0..rows.num_columns()).map(|column| cells.get(row, column));
            let values = values.map(|value| Ok(value?.unwrap_or_default()));
            let values: Vec<String> = values.collect::<Result<_, Box<dyn Error>>>()?;
            if self.is_plan {
                writeln!(out, "{}:\n{}", values[0], values[1].trim_end())?;
                continue;
            }
            self.add_row(values.iter().map(|value| shown(value)).collect(), out)?;
        }
        Ok(())
    }

    /// Writes the remaining rows.
    pub(super) fn end(mut self, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
        Ok(self.write_waiting(out)?)
    }

    fn add_row(&mut self, row: Vec<String>, out: &mut impl Write) -> io::Result<()> {
        let Some(waiting) = &mut self.waiting else { return self.write(&row, out) };
        waiting.push(row);
        if waiting.len() > MEASURED_ROWS { self.write_waiting(out) } else { Ok(()) }
    }

    fn write_waiting(&mut self, out: &mut impl Write) -> io::Result<()> {
        let waiting = self.waiting.take().unwrap_or_default();
        for row in &waiting {
            for (width, cell) in self.widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        waiting.iter().try_for_each(|row| self.write(row, out))
    }

    fn write(&self, row: &[String], out: &mut impl Write) -> io::Result<()> {
        let cells = row.iter().zip(&self.widths).zip(&self.numbers);
        let cells = cells.map(|((cell, &width), is_number)| match is_number {
            true => format!("{cell:>width$}"),
            false => format!("{cell:<width$}"),
        });
        writeln!(out, "{}", cells.collect::<Vec<_>>().join("  ").trim_end_matches(' '))
    }
}
