//! The tables that queries read. Their rows come from the files and the manifests of the newest exports.
//!
//! The columns are those that lop writes, even if a file contains others. An engine gets a list of all files, because
//! an engine that lists folders would guess columns from their names.

use std::path::PathBuf;

use export::{Column, Kind, Names, Stored, TABLES};

/// A value in the rows of a table that has no files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Null,
    Int64(i64),
    Text(String),
}

/// The rows of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Rows {
    /// Parquet files.
    Files(Vec<PathBuf>),
    Values(Vec<Vec<Value>>),
}

/// A table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) name: &'static str,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Rows,
}

/// All tables, and the folder of the exports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tables {
    pub(crate) dir: PathBuf,
    pub(crate) sources: Vec<Source>,
}

const HOSTS: [Column; 6] = [
    column("host", Kind::Text),
    column("export_id", Kind::Text),
    column("created_ms", Kind::Int64),
    column("lop", Kind::Text),
    column("names", Kind::Text),
    Column { name: "key_id", kind: Kind::Text, optional: true },
];

const VOLUMES: [Column; 5] = [
    column("host", Kind::Text),
    column("export_id", Kind::Text),
    column("volume_id", Kind::Int64),
    column("magic", Kind::Int64),
    column("fsid", Kind::Int64),
];

const fn column(name: &'static str, kind: Kind) -> Column {
    Column { name, kind, optional: false }
}

impl Tables {
    /// Returns the tables of some exports below `dir`.
    pub(crate) fn new(dir: PathBuf, exports: &[Stored]) -> Tables {
        let files = TABLES.iter().map(|table| Source {
            name: table.name,
            columns: table.columns.to_vec(),
            rows: Rows::Files(files(exports, table.name)),
        });
        let hosts = exports.iter().map(host).collect();
        let volumes = exports.iter().flat_map(volumes).collect();
        let values = [
            Source { name: "hosts", columns: HOSTS.to_vec(), rows: Rows::Values(hosts) },
            Source { name: "volumes", columns: VOLUMES.to_vec(), rows: Rows::Values(volumes) },
        ];
        Tables { dir, sources: files.chain(values).collect() }
    }
}

fn files(exports: &[Stored], table: &str) -> Vec<PathBuf> {
    exports.iter().flat_map(|export| export.files(table)).map(|file| file.path).collect()
}

fn host(export: &Stored) -> Vec<Value> {
    let names = match export.names {
        Names::Plain => "plain",
        Names::Keyed => "keyed",
        Names::None => "none",
    };
    vec![
        Value::Text(export.host.clone()),
        Value::Text(export.export_id.clone()),
        Value::Int64(export.created_ms),
        Value::Text(export.lop.clone()),
        Value::Text(names.to_owned()),
        export.key_id.clone().map_or(Value::Null, Value::Text),
    ]
}

fn volumes(export: &Stored) -> Vec<Vec<Value>> {
    let row = |(id, volume): (i64, fsops::Volume)| {
        vec![
            Value::Text(export.host.clone()),
            Value::Text(export.export_id.clone()),
            Value::Int64(id),
            Value::Int64(volume.magic.cast_signed()),
            Value::Int64(volume.fsid.cast_signed()),
        ]
    };
    export.volumes().map(row).collect()
}
