//! A tree, its catalog, and a server without a socket, for tests of pages.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode};
use catalog::{Catalog, CopyCount, ScanRecord, TreeMatch, Writer};
use content::{Digest, Fingerprints, head_length, head_of};
use testkit::TempTree;
use tower::ServiceExt;
use walk::{FileId, Tree};

use crate::app::App;
use crate::app::reviews::Loaded;
use crate::gate::{Gate, Hosts, Secret};
use crate::options::Options;
use crate::server::router;

/// A tree behind a server.
pub(crate) struct Served {
    pub(crate) tree: TempTree,
    /// The directory of the catalog.
    _state: TempTree,
    catalog: PathBuf,
    gate: Arc<Gate>,
    app: Arc<App>,
    router: Router,
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
            program: "/nonexistent/lop".into(),
        };
        let token = Secret::random().expect("random");
        let gate =
            Gate::new(Hosts::new(address.ip(), &[]), address.port(), token, false).expect("random");
        let gate = Arc::new(gate);
        let app = Arc::new(App::new(options, gate.csrf().to_owned()));
        let router = router(Arc::clone(&gate), Arc::clone(&app));
        Served { tree, _state: state, catalog, router, gate, app }
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

fn scan(root: &Path, catalog: &Path) {
    let options = walk::Options {
        filter: walk::Filter::default(),
        one_file_system: false,
        threads: device::Threads { first: 1, grows: false },
        disks: Arc::default(),
        open_dirs: 8,
        root_timeout: Duration::from_secs(60),
        own: walk::OwnFiles::default(),
    };
    let roots = [root.to_path_buf()];
    let mut tree =
        walk::walk(&roots, &options, None, &runtime::Progress::default()).expect("walks");
    let writer = Writer::open(catalog, |_| ()).expect("opens");
    let matched = if writer.is_new() {
        TreeMatch::empty(&tree)
    } else {
        writer.catalog().match_tree(&mut tree, true).expect("matches")
    };
    let copies = compare(&tree, &matched.fingerprints);
    let later = SystemTime::now() + Duration::from_secs(10);
    let later = later.duration_since(SystemTime::UNIX_EPOCH).expect("after 1970");
    let started_ms = i64::try_from(later.as_millis()).expect("soon");
    let record = ScanRecord {
        started_ms,
        finished_ms: started_ms,
        options: String::new(),
        files: 0,
        bytes: 0,
    };
    writer.commit(&tree, matched, copies.into_iter(), &[], &record, &[]).expect("commits");
}

/// Reads all files, and gives identical ones the same content number.
fn compare(tree: &Tree, fingerprints: &Fingerprints) -> Vec<CopyCount> {
    let mut same: HashMap<Vec<u8>, Vec<FileId>> = HashMap::new();
    for id in (0u32..).map(FileId).take(tree.files().len()) {
        use std::os::unix::ffi::OsStringExt;
        let path = std::ffi::OsString::from_vec(tree.absolute_path(id));
        let Ok(bytes) = std::fs::read(path) else { continue };
        let head = usize::try_from(head_length(bytes.len() as u64)).expect("small");
        fingerprints.set_head(id.0, head_of(&bytes[..head]));
        same.entry(bytes).or_default().push(id);
    }
    let mut copies = Vec::new();
    for (bytes, members) in same {
        if members.len() < 2 {
            continue;
        }
        let known = members.iter().find_map(|id| fingerprints.content(id.0));
        let content = known.unwrap_or_else(|| fingerprints.new_content(Some(Digest::of(&bytes))));
        for id in &members {
            fingerprints.set_content(id.0, content);
        }
        let inodes = u32::try_from(members.len()).expect("few");
        copies.push(CopyCount { content, inodes, reclaimable: 4096 * u64::from(inodes - 1) });
    }
    copies
}
