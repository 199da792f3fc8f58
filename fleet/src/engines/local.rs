//! Runs queries with `DataFusion`, in this process.
//!
//! `DataFusion` must not write parts of a query to disk, because releases of 2026 returned wrong rows after they had
//! done so. A query that needs more memory than it may use fails.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use datafusion::arrow::array::{ArrayRef, Int64Array, StringViewArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::catalog::TableProvider;
use datafusion::common::DataFusionError;
use datafusion::datasource::MemTable;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{
    ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl,
};
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::GreedyMemoryPool;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::logical_expr::LogicalPlan;
use datafusion::object_store::local::LocalFileSystem;
use datafusion::prelude::{SQLOptions, SessionConfig, SessionContext};
use datafusion::sql::parser::{DFParser, Statement};
use datafusion::sql::sqlparser::ast::Statement as SqlStatement;
use export::{Column, Kind};
use futures::StreamExt;
use runtime::quantity::size;

use super::tables::{Rows, Source, Tables, Value};
use super::{Job, Sink, Step, functions};

/// The URL that stands for the folder of the exports. Files have URLs below it, so the path of the folder can consist
/// of any bytes.
const STORE: &str = "exports://dir";

/// Stack size of a thread in bytes. Plans are trees, and `DataFusion` traverses them recursively.
const STACK: usize = 8 << 20;

/// Runs the queries of a job.
pub(super) fn run(job: &Job<'_>, sink: &mut Sink<'_>) -> Result<(), Box<dyn Error>> {
    let mut threads = tokio::runtime::Builder::new_multi_thread();
    let threads = threads.worker_threads(processors()).thread_stack_size(STACK).build()?;
    threads.block_on(async {
        let ended = run_all(job, sink).await;
        ended.map_err(|error| match error.downcast::<DataFusionError>() {
            Ok(error) => explained(&error, job.memory).into(),
            Err(error) => error,
        })
    })
}

fn processors() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

async fn run_all(job: &Job<'_>, sink: &mut Sink<'_>) -> Result<(), Box<dyn Error>> {
    let context = context(job.memory)?;
    register(&context, job.tables)?;
    for query in job.queries {
        check(query)?;
        let plan = context.state().create_logical_plan(query).await?;
        SQLOptions::new()
            .with_allow_ddl(false)
            .with_allow_dml(false)
            .with_allow_statements(false)
            .verify_plan(&plan)?;
        run_one(&context, plan, sink).await?;
    }
    Ok(())
}

async fn run_one(
    context: &SessionContext,
    plan: LogicalPlan,
    sink: &mut Sink<'_>,
) -> Result<(), Box<dyn Error>> {
    let mut rows = context.execute_logical_plan(plan).await?.execute_stream().await?;
    sink(Step::Begin(&rows.schema()))?;
    while let Some(batch) = rows.next().await {
        sink(Step::Rows(&batch?))?;
    }
    sink(Step::End)
}

/// Returns a session that uses at most `memory` bytes and no disk.
fn context(memory: u64) -> Result<SessionContext, DataFusionError> {
    let memory = usize::try_from(memory).unwrap_or(usize::MAX);
    let disk = DiskManagerBuilder::default().with_mode(DiskManagerMode::Disabled);
    let environment = RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(GreedyMemoryPool::new(memory)))
        .with_disk_manager_builder(disk)
        .build_arc()?;
    let mut config = SessionConfig::new()
        .with_information_schema(true)
        .with_default_catalog_and_schema("fleet", "newest")
        .with_target_partitions(processors());
    let options = config.options_mut();
    options.optimizer.prefer_hash_join = false;
    options.sql_parser.collect_spans = true;
    // A sort would otherwise reserve memory for reading back the parts that it wrote to disk.
    options.execution.sort_spill_reservation_bytes = 0;
    let context = SessionContext::new_with_config_rt(config, environment);
    for function in functions::all() {
        context.register_udf(function);
    }
    Ok(context)
}

fn register(context: &SessionContext, tables: &Tables) -> Result<(), Box<dyn Error>> {
    let store = ObjectStoreUrl::parse(STORE)?;
    let files = LocalFileSystem::new_with_prefix(&tables.dir)
        .map_err(|e| format!("cannot open {}: {e}", tables.dir.display()))?;
    context.register_object_store(store.as_ref(), Arc::new(files));
    for source in &tables.sources {
        context.register_table(source.name, table(source, &tables.dir)?)?;
    }
    Ok(())
}

fn table(source: &Source, dir: &Path) -> Result<Arc<dyn TableProvider>, Box<dyn Error>> {
    let schema = schema(&source.columns);
    let files = match &source.rows {
        Rows::Values(values) => {
            let rows = batch(&schema, values)?;
            return Ok(Arc::new(MemTable::try_new(schema, vec![vec![rows]])?));
        }
        Rows::Files(files) if files.is_empty() => {
            return Ok(Arc::new(MemTable::try_new(schema, vec![Vec::new()])?));
        }
        Rows::Files(files) => files,
    };
    let urls = files.iter().map(|file| {
        let below = file.strip_prefix(dir).ok().and_then(Path::to_str);
        let below = below.ok_or_else(|| format!("{}: not below the folder", file.display()))?;
        Ok(ListingTableUrl::parse(format!("{STORE}/{}", percent_encoded(below)))?)
    });
    let urls = urls.collect::<Result<Vec<_>, Box<dyn Error>>>()?;
    let options = ListingOptions::new(Arc::new(ParquetFormat::default()));
    let config = ListingTableConfig::new_with_multi_paths(urls)
        .with_listing_options(options)
        .with_schema(schema);
    Ok(Arc::new(ListingTable::try_new(config)?))
}

/// Returns a path in the encoding of URLs.
fn percent_encoded(path: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
            char::from(byte).to_string()
        }
        other => format!("%{other:02X}"),
    };
    path.bytes().map(byte).collect()
}

/// Returns the columns for `DataFusion`. All of them are nullable, as in files that Spark has rewritten.
fn schema(columns: &[Column]) -> SchemaRef {
    let field = |column: &Column| {
        let kind = match column.kind {
            Kind::Int32 => DataType::Int32,
            Kind::Int64 => DataType::Int64,
            Kind::Bytes => DataType::BinaryView,
            Kind::Text => DataType::Utf8View,
        };
        Field::new(column.name, kind, true)
    };
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

/// Returns values in the form that `DataFusion` reads.
fn batch(schema: &SchemaRef, rows: &[Vec<Value>]) -> Result<RecordBatch, DataFusionError> {
    let column = |(number, field): (usize, &Arc<Field>)| -> ArrayRef {
        let values = rows.iter().map(|row| &row[number]);
        if field.data_type() == &DataType::Int64 {
            let number = |value: &Value| match value {
                Value::Int64(number) => Some(*number),
                Value::Null | Value::Text(_) => None,
            };
            return Arc::new(values.map(number).collect::<Int64Array>());
        }
        let text = |value: &'_ Value| match value {
            Value::Text(text) => Some(text.clone()),
            Value::Null | Value::Int64(_) => None,
        };
        Arc::new(values.map(text).collect::<StringViewArray>())
    };
    let columns = schema.fields().iter().enumerate().map(column).collect();
    Ok(RecordBatch::try_new(Arc::clone(schema), columns)?)
}

/// Checks that a text is a single query, which changes nothing.
fn check(query: &str) -> Result<(), Box<dyn Error>> {
    let statements = DFParser::parse_sql(query)?;
    if statements.len() > 1 {
        return Err(format!("{} statements instead of one query", statements.len()).into());
    }
    let is_query = match statements.front() {
        Some(Statement::Explain(explain)) => is_query(&explain.statement),
        Some(statement) => is_query(statement),
        None => return Err("the query is empty".into()),
    };
    if is_query {
        return Ok(());
    }
    Err("only a query is allowed: SELECT, WITH, VALUES or EXPLAIN".into())
}

fn is_query(statement: &Statement) -> bool {
    use SqlStatement::{Explain, ExplainTable, Query, ShowColumns, ShowTables};
    let Statement::Statement(statement) = statement else { return false };
    matches!(
        **statement,
        Query(_) | Explain { .. } | ExplainTable { .. } | ShowColumns { .. } | ShowTables { .. }
    )
}

/// Returns the reason for a failure, in one line.
fn explained(error: &DataFusionError, memory: u64) -> String {
    let text = match error.find_root() {
        DataFusionError::ResourcesExhausted(_) => {
            return format!(
                "the query needs more than {} of memory; raise --memory, or query some buckets at a time, \
                 for example WHERE bucket BETWEEN 0 AND 63",
                size(memory)
            );
        }
        DataFusionError::SQL(error, _) => parser_message(&error.to_string()),
        other => other.strip_backtrace(),
    };
    let place = error.diagnostic().and_then(|diagnostic| diagnostic.span).map(|span| span.start);
    let place = place.map(|place| format!("line {}, column {}: ", place.line, place.column));
    let words: Vec<&str> = text.split_whitespace().collect();
    format!("the query failed: {}{}", place.unwrap_or_default(), words.join(" "))
}

/// Returns a message of the parser, with the position in the query moved to the beginning.
fn parser_message(message: &str) -> String {
    let message = message.strip_prefix("sql parser error: ").unwrap_or(message);
    let Some((reason, place)) = message.rsplit_once(" at Line: ") else {
        return message.to_owned();
    };
    format!("line {}: {reason}", place.replace("Column: ", "column "))
}

#[cfg(test)]
mod tests {
    use super::{parser_message, percent_encoded};

    #[test]
    fn messages_of_the_parser_begin_with_the_place() {
        let message = "sql parser error: Expected: BY, found: host at Line: 3, Column: 7";
        assert_eq!(parser_message(message), "line 3, column 7: Expected: BY, found: host");
        assert_eq!(parser_message("sql parser error: recursion"), "recursion");
    }

    #[test]
    fn paths_are_encoded_for_urls() {
        assert_eq!(percent_encoded("a=1/b %#?é/c.parquet"), "a%3D1/b%20%25%23%3F%C3%A9/c.parquet");
    }
}
