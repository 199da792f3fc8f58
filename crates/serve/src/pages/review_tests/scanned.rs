//! A scanned tree, and requests to a server for its catalog.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use catalog::{CopyCount, ScanRecord, TreeMatch, Writer};
use content::{Digest, Fingerprints, head_length, head_of};
use runtime::Progress;
use serde_json::Value;
use testkit::{TempTree, TreeBuilder};
use tower::ServiceExt;
use walk::{FileId, Filter, Tree};

use crate::app::App;
use crate::options::Options;
use crate::pages::routes;

/// A tree, its catalog, and a server.
pub(super) struct Scanned {
    pub(super) tree: TempTree,
    state: TempTree,
    pub(super) app: Arc<App>,
}

impl Scanned {
    /// Creates the tree and scans it.
    pub(super) fn new(tree: &TreeBuilder) -> Scanned {
        let scanned = Scanned::not_yet(tree);
        scanned.scan();
        scanned
    }

    /// Creates the tree without a catalog.
    pub(super) fn not_yet(tree: &TreeBuilder) -> Scanned {
        let (tree, state) = (tree.make_temp(), TempTree::new());
        let app = app(state.join("lop.db"));
        Scanned { tree, state, app }
    }

    fn catalog(&self) -> PathBuf {
        self.state.join("lop.db")
    }

    /// Starts the server again.
    pub(super) fn restart(&mut self) {
        self.app = app(self.catalog());
    }

    /// Scans the tree.
    pub(super) fn scan(&self) {
        let options = walk::Options {
            filter: Filter::default(),
            one_file_system: false,
            threads: device::Threads { first: 2, grows: true },
            disks: Arc::default(),
            open_dirs: 8,
            root_timeout: Duration::from_secs(60),
            own: walk::OwnFiles::default(),
        };
        let roots = [self.tree.path().to_path_buf()];
        let mut tree =
            walk::walk(&roots, &options, None, &Progress::default()).expect("not stopped");
        let writer = Writer::open(&self.catalog(), |_| ()).expect("opens");
        let matched = if writer.is_new() {
            TreeMatch::empty(&tree)
        } else {
            writer.catalog().match_tree(&mut tree, true).expect("matches")
        };
        let copies = compare(&tree, &matched.fingerprints);
        // All files are old enough to be trusted.
        let started = SystemTime::now() + Duration::from_secs(10);
        let started = started.duration_since(SystemTime::UNIX_EPOCH).expect("after 1970");
        let started_ms = i64::try_from(started.as_millis()).expect("a time");
        let record = ScanRecord {
            started_ms,
            finished_ms: started_ms,
            options: String::new(),
            files: 0,
            bytes: 0,
        };
        writer.commit(&tree, matched, copies.into_iter(), &[], &record, &[]).expect("commits");
    }

    /// Returns the answer to a request for a page.
    pub(super) fn get(&self, path: &str) -> (StatusCode, String) {
        self.send(Request::get(path).body(Body::empty()).expect("a request"))
    }

    /// Returns the page. It must be there.
    pub(super) fn page(&self, path: &str) -> String {
        let (status, body) = self.get(path);
        assert_eq!(status, StatusCode::OK, "{path}: {body}");
        body
    }

    /// Returns a JSON answer.
    pub(super) fn json(&self, path: &str) -> Value {
        serde_json::from_str(&self.page(path)).expect("JSON")
    }

    /// Returns the answer to a change.
    pub(super) fn post(&self, path: &str, body: &Value) -> (StatusCode, Value) {
        let request = Request::post(path).header("content-type", "application/json");
        let request = request.body(Body::from(body.to_string())).expect("a request");
        let (status, body) = self.send(request);
        (status, serde_json::from_str(&body).expect("JSON"))
    }

    fn send(&self, request: Request<Body>) -> (StatusCode, String) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let router: Router = routes().with_state(Arc::clone(&self.app));
        runtime.block_on(async {
            let response = router.oneshot(request).await.expect("infallible");
            let status = response.status();
            let body = to_bytes(response.into_body(), usize::MAX).await.expect("a body");
            (status, String::from_utf8(body.to_vec()).expect("UTF-8"))
        })
    }
}

fn app(catalog: PathBuf) -> Arc<App> {
    let options = Options {
        catalog,
        listen: ([127, 0, 0, 1], 0).into(),
        hosts: Vec::new(),
        allow_actions: false,
        token_file: None,
        certificate: None,
        program: PathBuf::from("/nonexistent"),
    };
    Arc::new(App::new(options, "secret".into()))
}

/// Gives identical files the same content number, the simplest possible way.
fn compare(tree: &Tree, fingerprints: &Fingerprints) -> Vec<CopyCount> {
    let files = (0..walk::to_u32(tree.files().len())).map(FileId);
    let mut same: HashMap<Digest, Vec<FileId>> = HashMap::new();
    for id in files {
        let path = PathBuf::from(OsString::from_vec(tree.absolute_path(id)));
        let Ok(bytes) = std::fs::read(path) else {
            fingerprints.drop_file(id.0);
            continue;
        };
        let head = usize::try_from(head_length(bytes.len() as u64)).expect("small");
        fingerprints.set_head(id.0, head_of(&bytes[..head]));
        same.entry(Digest::of(&bytes)).or_default().push(id);
    }
    let groups = same.into_iter().filter(|(_, files)| files.len() > 1);
    groups.map(|(digest, files)| number(tree, fingerprints, digest, &files)).collect()
}

fn number(tree: &Tree, fingerprints: &Fingerprints, digest: Digest, files: &[FileId]) -> CopyCount {
    let known = files.iter().find_map(|id| fingerprints.content(id.0));
    let content = known.unwrap_or_else(|| fingerprints.new_content(Some(digest)));
    fingerprints.set_digest(content, digest);
    let mut keys: Vec<_> = files.iter().map(|id| tree.key(*id)).collect();
    for id in files {
        fingerprints.set_content(id.0, content);
    }
    keys.sort_unstable_by_key(|key| (key.device, key.inode));
    keys.dedup();
    let inodes = walk::to_u32(keys.len());
    let size = tree.file(files[0]).size.next_multiple_of(4096);
    CopyCount { content, inodes, reclaimable: size * u64::from(inodes - 1) }
}
