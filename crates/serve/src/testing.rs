//! A server for the tests of pages. It has no socket, and its jobs run a script instead of lop.

mod scan;

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, Request, Response, StatusCode};
use catalog::Catalog;
use review::Member;
use rusqlite::Connection;
use serde_json::Value;
use testkit::{TempTree, TreeBuilder};
use tokio::runtime::Runtime;
use tower::ServiceExt;

use crate::app::App;
use crate::app::reviews::Loaded;
use httpd::hosts::Hosts;
use httpd::secret::Secret;

use crate::gate::Gate;
use crate::jobs::{Job, JobId};
use crate::options::{Options, RateLimits};
use crate::pages::file::Address;
use crate::server::router;

/// A script in place of lop. It is part of the source tree because a program that is open for writing, here
/// or in a child, cannot be started.
pub(crate) const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/testing/lop.sh");

/// The tables of a catalog.
const SCHEMA: &str = include_str!("../../catalog/src/schema/current.sql");

/// The rows of a small catalog, and the marks of a catalog of format 4.
const ROWS: &str = "
    INSERT INTO volume VALUES (1, 61267, 77, 9);
    INSERT INTO scan VALUES (1, 0, 1782108000000, '--one-file-system', 3, 11000, 0, 1);
    INSERT INTO root (path, scan) VALUES (CAST('/pictures' AS BLOB), 1);
    INSERT INTO dir VALUES (2, 1, CAST('pictures' AS BLOB));
    INSERT INTO content VALUES (1, 5000, NULL, 2, 8192);
    INSERT INTO file (dir, name, volume, inode, size, mtime_ns, ctime_ns, content) VALUES
        (2, CAST('a' AS BLOB), 1, 1, 5000, 0, 0, 1),
        (2, CAST('b' AS BLOB), 1, 2, 5000, 0, 0, 1),
        (2, CAST('c' AS BLOB), 1, 3, 1000, 0, 0, NULL);
    PRAGMA application_id = 0x6c6f7031; PRAGMA user_version = 4;";

/// A server for one test, the tree that it is about, and a folder for the catalog and for the files of
/// the script.
pub(crate) struct TestServer {
    pub(crate) tree: TempTree,
    pub(crate) app: Arc<App>,
    pub(crate) runtime: Runtime,
    pub(crate) router: Router,
    pub(crate) gate: Arc<Gate>,
    pub(crate) state: TempTree,
}

/// An answer of the server.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("ASCII"))
    }
}

impl TestServer {
    /// Returns a server with an empty tree and no catalog.
    pub(crate) fn new(allow_actions: bool) -> TestServer {
        TestServer::with(&TreeBuilder::new(), allow_actions)
    }

    /// Returns a server with a tree that has not been scanned.
    pub(crate) fn with(tree: &TreeBuilder, allow_actions: bool) -> TestServer {
        let (tree, state) = (tree.make_temp(), TempTree::new());
        let (app, router, gate) = start(options(&state, allow_actions, RateLimits::default()));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        TestServer { tree, app, runtime: runtime.expect("a runtime"), router, gate, state }
    }

    /// Returns a server with a tree that has been scanned. It may change files.
    pub(crate) fn scanned(tree: &TreeBuilder) -> TestServer {
        let server = TestServer::with(tree, true);
        server.scan();
        server
    }

    /// Scans the tree as if all its files were old.
    pub(crate) fn scan(&self) {
        scan::scan(self.tree.path(), self.app.catalog_path());
    }

    /// Starts the server again.
    pub(crate) fn restart(&mut self) {
        self.restart_with(RateLimits::default());
    }

    /// Starts the server again, with limits of the rate.
    pub(crate) fn restart_with(&mut self, rates: RateLimits) {
        let options = options(&self.state, self.app.allows_actions(), rates);
        (self.app, self.router, self.gate) = start(options);
    }

    /// Creates a catalog with one group of two files, which was scanned below `/pictures`. Call it before
    /// the first request.
    pub(crate) fn make_catalog(&self) {
        let made = Connection::open(self.path("catalog.db")).expect("opens");
        made.execute_batch(&format!("{SCHEMA}{ROWS}")).expect("runs");
    }

    /// Returns the path of a file in the folder of the server.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.state.path().join(name)
    }

    /// Creates a file in the folder of the server.
    pub(crate) fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        let file = std::fs::File::create(self.path(name));
        file.and_then(|mut file| file.write_all(content.as_ref())).expect("written");
    }

    /// Returns the content of a file in the folder of the server; empty if it does not exist.
    pub(crate) fn content(&self, name: &str) -> String {
        let bytes = std::fs::read(self.path(name)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Returns the content number of a file of the tree.
    pub(crate) fn number(&self, relative: &str) -> i64 {
        let path = self.tree.join(relative).into_os_string().into_encoded_bytes();
        let (dir, name) = walk::split_path(&path);
        let catalog = Catalog::open(self.app.catalog_path()).expect("opens");
        let entry = catalog.file(dir, name).expect("a catalog").expect("remembered");
        entry.content.expect("compared")
    }

    /// Returns the address of a file of the tree that has copies.
    pub(crate) fn address(&self, relative: &str) -> String {
        let (number, path) = (self.number(relative), self.tree.join(relative));
        let address = self.with_groups(|loaded| {
            let index = loaded.review.index();
            let at = index.at(number).expect("a group");
            let mut members = (0u32..).zip(index.members(at));
            let is_it = |member: &Member| member.path == path.as_os_str().as_encoded_bytes();
            let (ordinal, member) = members.find(|(_, member)| is_it(member)).expect("a member");
            Address::of(&index.group(at), ordinal, &member)
        });
        format!("/file/{address}")
    }

    /// Calls `work` with the groups of the catalog.
    pub(crate) fn with_groups<T>(&self, work: impl FnOnce(Loaded<'_>) -> T) -> T {
        self.app.review(|loaded| Ok(work(loaded))).expect("loads")
    }

    /// Sends a request with further headers, and returns the response, of which no byte has been read.
    fn send(
        &self,
        method: Method,
        uri: &str,
        headers: &[(&str, &str)],
        body: String,
    ) -> Response<Body> {
        let mut request = Request::builder().method(method).uri(uri).header("host", "localhost");
        request = request.header("authorization", format!("Bearer {}", self.gate.token()));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::from(body)).expect("a request");
        self.runtime.block_on(self.router.clone().oneshot(request)).expect("infallible")
    }

    /// Returns the response to a GET request. No byte has been read.
    pub(crate) fn begin(&self, uri: &str) -> Response<Body> {
        self.send(Method::GET, uri, &[], String::new())
    }

    /// Sends a request with further headers.
    pub(crate) fn ask(&self, method: Method, uri: &str, headers: &[(&str, &str)]) -> Answer {
        self.read(self.send(method, uri, headers, String::new()))
    }

    fn read(&self, response: Response<Body>) -> Answer {
        let (head, body) = response.into_parts();
        let body = self.runtime.block_on(to_bytes(body, usize::MAX)).unwrap_or_default().to_vec();
        Answer { status: head.status, headers: head.headers, body }
    }

    /// Returns the answer to a GET request.
    pub(crate) fn get(&self, uri: &str) -> Answer {
        self.ask(Method::GET, uri, &[])
    }

    /// Returns a page, and fails if there is none.
    pub(crate) fn page(&self, uri: &str) -> String {
        let answer = self.get(uri);
        assert_eq!(answer.status, StatusCode::OK, "{uri}: {}", answer.text());
        String::from_utf8(answer.body).expect("UTF-8")
    }

    /// Returns a JSON document, and fails if there is none.
    pub(crate) fn json(&self, uri: &str) -> Value {
        serde_json::from_str(&self.page(uri)).expect("JSON")
    }

    /// Sends a change. Returns the status and the JSON answer.
    pub(crate) fn post(&self, uri: &str, body: &(impl ToString + ?Sized)) -> (StatusCode, Value) {
        let headers = [("content-type", "application/json")];
        let answer = self.read(self.send(Method::POST, uri, &headers, body.to_string()));
        (answer.status, serde_json::from_slice(&answer.body).expect("JSON"))
    }

    /// Starts a job and waits until it has ended.
    pub(crate) fn run(&self, uri: &str, body: &str) -> Arc<Job> {
        let (status, answer) = self.post(uri, body);
        assert_eq!(status, StatusCode::OK, "{answer}");
        self.wait(answer["job"].as_u64().expect("a number"))
    }

    /// Waits until no job runs.
    pub(crate) fn wait_for_jobs(&self) {
        for job in self.app.jobs.list() {
            self.app.jobs.wait(job.id, Duration::from_secs(60)).expect("known");
        }
    }

    /// Waits until a job has ended.
    pub(crate) fn wait(&self, job: u64) -> Arc<Job> {
        let job = self.app.jobs.wait(JobId(job), Duration::from_secs(60)).expect("known");
        assert!(!job.is_running(), "it ends");
        job
    }
}

/// Returns the options of a server for the catalog in a folder.
pub(crate) fn options(state: &TempTree, allow_actions: bool, rates: RateLimits) -> Options {
    Options {
        catalog: state.path().join("catalog.db"),
        listen: ([127, 0, 0, 1], 8080).into(),
        hosts: Vec::new(),
        allow_actions,
        token_file: None,
        certificate: None,
        rates,
        program: PROGRAM.into(),
    }
}

/// Starts a server. Returns its state, its router, and its gate.
fn start(options: Options) -> (Arc<App>, Router, Arc<Gate>) {
    let address = options.listen;
    let hosts = Hosts::new(address.ip(), &[]);
    let token = Secret::random().expect("random");
    let gate = Arc::new(Gate::new(hosts, address.port(), token, false).expect("random"));
    let app = Arc::new(App::new(options, gate.csrf().to_owned()));
    (Arc::clone(&app), router(Arc::clone(&gate), app), gate)
}
