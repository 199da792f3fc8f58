//! A server for the tests of pages: a server without a socket, whose jobs run a script instead of lop.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use rusqlite::Connection;
use serde_json::Value;
use testkit::{TempTree, TreeBuilder};
use tower::ServiceExt;

use crate::app::App;
use crate::gate::{Gate, Hosts, Secret};
use crate::jobs::{Job, JobId};
use crate::options::Options;
use crate::server::router;

/// A script in place of lop. It is part of the source tree because a program that is open for writing, here
/// or in a child, cannot be started.
pub(crate) const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/testing/lop.sh");

/// The tables of a catalog.
const SCHEMA: [&str; 3] = [
    include_str!("../../catalog/src/schema/v1.sql"),
    include_str!("../../catalog/src/schema/v2.sql"),
    include_str!("../../catalog/src/schema/v3.sql"),
];

/// The rows of a small catalog, and the marks of a catalog of format 3.
const ROWS: &str = "
    INSERT INTO volume VALUES (1, 61267, 77, 9);
    INSERT INTO scan VALUES (1, 0, 1782108000000, '--one-file-system', 3, 11000, 0, 1);
    INSERT INTO root VALUES (CAST('/pictures' AS BLOB), 1);
    INSERT INTO dir VALUES (2, 1, CAST('pictures' AS BLOB));
    INSERT INTO content VALUES (1, 5000, NULL, 2, 8192);
    INSERT INTO file (dir, name, volume, inode, size, mtime_ns, ctime_ns, content) VALUES
        (2, CAST('a' AS BLOB), 1, 1, 5000, 0, 0, 1),
        (2, CAST('b' AS BLOB), 1, 2, 5000, 0, 0, 1),
        (2, CAST('c' AS BLOB), 1, 3, 1000, 0, 0, NULL);
    PRAGMA application_id = 0x6c6f7031; PRAGMA user_version = 3;";

/// A server for one test.
pub(crate) struct TestServer {
    pub(crate) app: Arc<App>,
    router: Router,
    token: String,
    tree: TempTree,
    runtime: tokio::runtime::Runtime,
}

impl TestServer {
    /// Returns a server with an empty folder of its own.
    pub(crate) fn new(allow_actions: bool) -> TestServer {
        TestServer::with(&TreeBuilder::new(), allow_actions)
    }

    /// Returns a server whose folder has the files of a tree.
    pub(crate) fn with(tree: &TreeBuilder, allow_actions: bool) -> TestServer {
        let tree = tree.make_temp();
        let options = Options {
            catalog: tree.path().join("catalog.db"),
            listen: ([127, 0, 0, 1], 0).into(),
            hosts: Vec::new(),
            allow_actions,
            token_file: None,
            certificate: None,
            program: PROGRAM.into(),
        };
        let token = Secret::random().expect("random");
        let gate =
            Gate::new(Hosts::new([127, 0, 0, 1].into(), &[]), 1, token, false).expect("random");
        let (token, gate) = (gate.token().to_owned(), Arc::new(gate));
        let app = Arc::new(App::new(options, gate.csrf().to_owned()));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("runtime");
        TestServer { router: router(gate, Arc::clone(&app)), app, token, tree, runtime }
    }

    /// Creates a catalog with one group of two files, which was scanned below `/pictures`. Call it before
    /// the first request.
    pub(crate) fn make_catalog(&self) {
        let made = Connection::open(self.path("catalog.db")).expect("opens");
        let schema = SCHEMA.concat();
        made.execute_batch(&format!("{schema}{ROWS}")).expect("runs");
    }

    /// Returns the path of a file in the folder of the server.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.tree.path().join(name)
    }

    /// Creates a file in the folder of the server.
    pub(crate) fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        let file = std::fs::File::create(self.path(name));
        file.and_then(|mut file| file.write_all(content.as_ref())).expect("written");
    }

    /// Returns the content of a file in the folder of the server; empty if it does not exist.
    pub(crate) fn content(&self, name: impl AsRef<Path>) -> String {
        let bytes = std::fs::read(self.tree.path().join(name)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Sends a request and returns the response.
    pub(crate) fn send(&self, method: &str, path: &str, body: &str) -> axum::response::Response {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "localhost")
            .header("authorization", format!("Bearer {}", self.token))
            .body(Body::from(body.to_owned()))
            .expect("request");
        self.runtime.block_on(self.router.clone().oneshot(request)).expect("infallible")
    }

    /// Returns the body of a response.
    pub(crate) fn body(&self, response: axum::response::Response) -> Vec<u8> {
        let bytes = self.runtime.block_on(to_bytes(response.into_body(), 64 << 20));
        bytes.expect("complete").to_vec()
    }

    /// Returns a page, and fails if there is none.
    pub(crate) fn get(&self, path: &str) -> String {
        let response = self.send("GET", path, "");
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        String::from_utf8(self.body(response)).expect("UTF-8")
    }

    /// Sends a change. Returns the status and the JSON answer.
    pub(crate) fn post(&self, path: &str, body: &str) -> (StatusCode, Value) {
        let response = self.send("POST", path, body);
        let status = response.status();
        (status, serde_json::from_slice(&self.body(response)).expect("JSON"))
    }

    /// Starts a job and waits until it has ended.
    pub(crate) fn run(&self, path: &str, body: &str) -> Arc<Job> {
        let (status, answer) = self.post(path, body);
        assert_eq!(status, StatusCode::OK, "{answer}");
        self.wait(answer["job"].as_u64().expect("a number"))
    }

    /// Waits until a job has ended.
    pub(crate) fn wait(&self, job: u64) -> Arc<Job> {
        let job = self.app.jobs.wait(JobId(job), Duration::from_secs(60)).expect("known");
        assert!(!job.is_running(), "it ends");
        job
    }
}
