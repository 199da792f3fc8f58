//! `lop-fleet collect`: surveys hosts over ssh and collects their exports, or collects exports from an object store.

mod host;
mod store;

use std::error::Error;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use runtime::Progress;
use runtime::quantity::{count, counted, size};
use serde::Serialize;
use survey::answer;

use self::host::{Exported, Host, Surveyed};
use crate::Exit;
use crate::args::CollectArgs;
use crate::output::{Output, complain, shown};
use crate::stores::{Store, is_url};
use crate::table::table;

/// Number of hosts to which lop-fleet talks at the same time.
const MOST_HOSTS: usize = 16;

/// In the first round, hosts list sizes, in the second one heads. In the third one, they read whole files.
const ROUNDS: usize = 3;

/// Runs the command.
pub(crate) fn run(args: &CollectArgs, output: Output) -> Result<Exit, Box<dyn Error>> {
    let (urls, hosts): (Vec<&String>, Vec<&String>) =
        args.sources.iter().partition(|source| is_url(source));
    let stores = urls.iter().map(|url| Store::open(url)).collect::<Result<Vec<_>, _>>()?;
    let hosts = hosts.iter().map(|typed| Host::new(typed, args)).collect::<Result<_, _>>()?;
    let mut collection = Collection::new(hosts)?;
    fsops::create_dir_private(&args.dir)?;
    let mut has_problems = false;
    if !args.no_survey {
        has_problems = collection.survey(args, output)?;
    }
    collection.each(|state| {
        state.exported = Some(state.host.export()?);
        Ok(())
    });
    let mut document =
        Document { hosts: collection.states.iter().map(HostDocument::from).collect() };
    for store in &stores {
        has_problems |= store::collect(store, &args.dir, &mut document.hosts);
    }
    output.print(&document, text(&document.hosts).as_bytes())?;
    let failed = document.hosts.iter().filter(|host| host.error.is_some()).count();
    Ok(Exit::of_hosts(document.hosts.len(), failed, has_problems))
}

/// The hosts, and what is known about each.
struct Collection<'a> {
    states: Vec<State<'a>>,
}

struct State<'a> {
    host: Host<'a>,
    /// The sums over all rounds.
    read: Surveyed,
    /// True if the last round of the survey read or listed something.
    is_moving: bool,
    exported: Option<Exported>,
    /// The reason why the host was left out.
    error: Option<String>,
}

impl<'a> Collection<'a> {
    fn new(hosts: Vec<Host<'a>>) -> Result<Collection<'a>, Box<dyn Error>> {
        let mut names: Vec<&str> = hosts.iter().map(|host| host.name.as_str()).collect();
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            let name = twice[0];
            return Err(format!("two hosts have the name {name}; use NAME=HOST").into());
        }
        let state = |host| State {
            host,
            read: Surveyed::default(),
            is_moving: true,
            exported: None,
            error: None,
        };
        Ok(Collection { states: hosts.into_iter().map(state).collect() })
    }

    /// Runs the rounds of the survey. Returns whether a host in the collection could not be answered.
    fn survey(&mut self, args: &CollectArgs, output: Output) -> Result<bool, Box<dyn Error>> {
        let mut has_problems = false;
        for round in 1..=ROUNDS {
            self.each(|state| state.survey(output));
            if round == ROUNDS || self.states.iter().all(|state| state.error.is_some()) {
                break;
            }
            let answered = answer(&args.dir, &Progress::default())?;
            has_problems = !answered.problems.is_empty();
            for problem in answered.problems.iter().filter(|_| round == 1) {
                complain(problem);
            }
            let has_new_answers = answered.hosts.iter().any(|host| host.bytes > 0);
            self.each(|state| state.host.send_answers());
            let has_moved =
                self.states.iter().any(|state| state.is_moving && state.error.is_none());
            if !has_moved && !has_new_answers {
                break;
            }
        }
        Ok(has_problems)
    }

    /// Calls `work` for each host that has not failed, for several hosts at the same time.
    fn each(&mut self, work: impl Fn(&mut State<'a>) -> Result<(), String> + Sync) {
        let next = AtomicUsize::new(0);
        let threads = self.states.len().min(MOST_HOSTS);
        let states: Vec<Mutex<&mut State<'a>>> = self.states.iter_mut().map(Mutex::new).collect();
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    while let Some(state) = states.get(next.fetch_add(1, Relaxed)) {
                        let mut state = state.lock().expect("only one thread uses a host");
                        if state.error.is_some() {
                            continue;
                        }
                        if let Err(reason) = work(&mut state) {
                            let text = format!("{}: {reason}", state.host.name);
                            complain(&*Box::<dyn Error>::from(text));
                            state.error = Some(reason);
                        }
                    }
                });
            }
        });
    }
}

impl State<'_> {
    /// Runs one round of the survey.
    fn survey(&mut self, output: Output) -> Result<(), String> {
        let surveyed = self.host.survey()?;
        if surveyed.heads_read + surveyed.files_read > 0 {
            output.note(&format!(
                "{}: {} and {} read, {}",
                self.host.name,
                counted(surveyed.heads_read, "head", "heads"),
                counted(surveyed.files_read, "file", "files"),
                size(surveyed.bytes_read)
            ));
        }
        self.is_moving = surveyed.bytes_written + surveyed.bytes_read > 0;
        self.read.heads_read += surveyed.heads_read;
        self.read.files_read += surveyed.files_read;
        self.read.bytes_read += surveyed.bytes_read;
        self.read.unread = surveyed.unread;
        Ok(())
    }
}

#[derive(Serialize)]
struct Document {
    hosts: Vec<HostDocument>,
}

#[derive(Serialize)]
struct HostDocument {
    #[serde(rename = "host")]
    name: String,
    heads_read: u64,
    files_read: u64,
    bytes_read: u64,
    unread: u64,
    fetched_bytes: u64,
    files: Option<u64>,
    export_id: Option<String>,
    error: Option<String>,
    /// True if the export comes from an object store.
    #[serde(skip)]
    is_of_store: bool,
}

impl From<&State<'_>> for HostDocument {
    fn from(state: &State<'_>) -> HostDocument {
        let export_id = |exported: &Exported| {
            exported.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
        };
        HostDocument {
            name: state.host.name.clone(),
            heads_read: state.read.heads_read,
            files_read: state.read.files_read,
            bytes_read: state.read.bytes_read,
            unread: state.read.unread,
            fetched_bytes: 0,
            files: state.exported.as_ref().map(|exported| exported.files),
            export_id: state.exported.as_ref().map(export_id),
            error: state.error.clone(),
            is_of_store: false,
        }
    }
}

fn text(hosts: &[HostDocument]) -> String {
    let columns = columns(hosts);
    let mut rows = vec![columns.iter().map(|(name, _)| (*name).to_owned()).collect()];
    for host in hosts {
        rows.push(columns.iter().map(|(_, cell)| cell(host)).collect());
    }
    table(&rows)
}

type Column = (&'static str, fn(&HostDocument) -> String);

/// Returns the columns of the table. Hosts behind ssh have read files; exports from a store were fetched.
fn columns(hosts: &[HostDocument]) -> Vec<Column> {
    let surveyed: [Column; 3] = [
        ("HEADS READ", |host| count(host.heads_read)),
        ("FILES READ", |host| count(host.files_read)),
        ("BYTES READ", |host| size(host.bytes_read)),
    ];
    let fetched: [Column; 1] = [("FETCHED", |host| size(host.fetched_bytes))];
    let mut columns: Vec<Column> = vec![("HOST", |host| shown(&host.name))];
    if hosts.iter().any(|host| !host.is_of_store) {
        columns.extend(surveyed);
    }
    if hosts.iter().any(|host| host.is_of_store) {
        columns.extend(fetched);
    }
    columns.push(("FILES", |host| host.files.map_or_else(String::new, count)));
    columns.push(("EXPORT", |host| shown(host.export_id.as_deref().unwrap_or("failed"))));
    columns
}
