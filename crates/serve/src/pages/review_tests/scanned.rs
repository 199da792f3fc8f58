//! A scanned tree, and requests to a server for its catalog.

use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use serde_json::Value;
use testkit::{TempTree, TreeBuilder};
use tower::ServiceExt;

use crate::app::App;
use crate::options::Options;
use crate::pages::routes;
use crate::pages::scan::scan;

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
        scan(self.tree.path(), &self.catalog());
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
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
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
