//! A tree, its catalog, and a server without a socket, for tests of pages.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode};
use catalog::Catalog;
use review::Member;
use testkit::TempTree;
use tower::ServiceExt;

use crate::app::App;
use crate::app::reviews::Loaded;
use crate::gate::{Gate, Hosts, Secret};
use crate::options::Options;
use crate::pages::file::Address;
use crate::pages::scan::scan;
use crate::server::router;
use crate::testing::PROGRAM;

/// A tree behind a server.
pub(crate) struct Served {
    pub(crate) tree: TempTree,
    /// The directory of the catalog.
    pub(crate) state: TempTree,
    catalog: PathBuf,
    pub(crate) gate: Arc<Gate>,
    pub(crate) app: Arc<App>,
    pub(crate) router: Router,
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

impl Served {
    /// Scans a tree as if all its files were old, and starts a server that may change files.
    pub(crate) fn new(tree: TempTree) -> Served {
        let state = TempTree::new();
        let catalog = state.join("lop.db");
        scan(tree.path(), &catalog);
        let address = ([127, 0, 0, 1], 8080).into();
        let options = Options {
            catalog: catalog.clone(),
            listen: address,
            hosts: Vec::new(),
            allow_actions: true,
            token_file: None,
            certificate: None,
            program: PROGRAM.into(),
        };
        let token = Secret::random().expect("random");
        let gate =
            Gate::new(Hosts::new(address.ip(), &[]), address.port(), token, false).expect("random");
        let gate = Arc::new(gate);
        let app = Arc::new(App::new(options, gate.csrf().to_owned()));
        let router = router(Arc::clone(&gate), Arc::clone(&app));
        Served { tree, state, catalog, router, gate, app }
    }

    /// Scans the tree again.
    pub(crate) fn scan_again(&self) {
        scan(self.tree.path(), &self.catalog);
    }

    /// Returns the content number of a file.
    pub(crate) fn number(&self, relative: &str) -> i64 {
        let path = self.tree.join(relative);
        let bytes = |path: &Path| path.as_os_str().as_encoded_bytes().to_vec();
        let dir = bytes(path.parent().expect("a directory"));
        let name = path.file_name().expect("a name").as_encoded_bytes();
        let catalog = Catalog::open(&self.catalog).expect("opens");
        let entry = catalog.file(&dir, name).expect("a catalog").expect("remembered");
        entry.content.expect("compared")
    }

    /// Returns the address of a file.
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

    pub(crate) fn get(&self, uri: &str) -> Answer {
        self.ask(Method::GET, uri, &[])
    }

    /// Sends a request with further headers.
    pub(crate) fn ask(&self, method: Method, uri: &str, headers: &[(&str, &str)]) -> Answer {
        let mut request = Request::builder().method(method).uri(uri).header("host", "localhost");
        request = request.header("authorization", format!("Bearer {}", self.gate.token()));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::empty()).expect("a request");
        run(async {
            let response = self.router.clone().oneshot(request).await.expect("never fails");
            let (head, body) = response.into_parts();
            let body = to_bytes(body, usize::MAX).await.unwrap_or_default().to_vec();
            Answer { status: head.status, headers: head.headers, body }
        })
    }

    /// Runs requests on a runtime.
    pub(crate) fn run<T>(&self, requests: impl Future<Output = T>) -> T {
        run(requests)
    }

    /// Waits until no job runs.
    pub(crate) fn wait_for_jobs(&self) {
        for job in self.app.jobs.list() {
            self.app.jobs.wait(job.id, Duration::from_secs(60)).expect("known");
        }
    }

    /// Returns the response, of which no byte has been read, and the runtime that it needs.
    pub(crate) fn begin(&self, uri: &str) -> (Body, tokio::runtime::Runtime) {
        let request = Request::get(uri).header("host", "localhost");
        let request = request.header("authorization", format!("Bearer {}", self.gate.token()));
        let request = request.body(Body::empty()).expect("a request");
        let runtime = runtime();
        let response = runtime.block_on(self.router.clone().oneshot(request));
        (response.expect("never fails").into_body(), runtime)
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

fn run<T>(work: impl Future<Output = T>) -> T {
    runtime().block_on(work)
}
