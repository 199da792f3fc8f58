//! An example request for each route, and the routes in the source of the server.

use std::collections::BTreeSet;
use std::path::Path;

use axum::http::Method;
use space::DirId;

use super::table::ROUTES;
use crate::app::spaces::key;
use crate::assets;
use crate::testing::TestServer;

/// A route with an example.
pub(super) struct Route {
    pub(super) method: Method,
    pub(super) uri: String,
    pub(super) body: String,
    pub(super) changes: bool,
}

/// Returns the examples for a server. Those about a group are about the one of `file`.
pub(super) fn of(served: &TestServer, file: &str) -> Vec<Route> {
    let number = served.number(file).to_string();
    let dir = key_of_tree(served);
    let address = served.address(file);
    let asset = assets::path("app.css");
    let example = |(method, pattern, rest, changes): (&str, &str, &str, bool)| {
        let path = match pattern {
            "/assets/{version}/{name}" => asset.clone(),
            _ => pattern.replace("/file/{number}/{key}", &address).replace("{number}", &number),
        };
        let path =
            ["{job}", "{run}", "{id}"].iter().fold(path, |path, name| path.replace(name, "1"));
        let rest = rest.replace("NUMBER", &number).replace("DIR", &dir);
        let is_get = method == "GET";
        let uri = if is_get && !rest.is_empty() { format!("{path}?{rest}") } else { path };
        let body = if is_get { String::new() } else { rest };
        let method = if is_get { Method::GET } else { Method::POST };
        Route { method, uri, body, changes }
    };
    ROUTES.into_iter().map(example).collect()
}

/// Returns the key of the scanned directory.
fn key_of_tree(served: &TestServer) -> String {
    let sizes = served.app.sizes().expect("sizes");
    let path = served.tree.path().as_os_str().as_encoded_bytes();
    let dir = (0..sizes.space.len()).map(DirId).find(|dir| sizes.space.path(*dir) == path);
    key(&sizes.space, dir.expect("a directory"))
}

/// Returns method and pattern of each route in the table.
pub(super) fn in_table() -> BTreeSet<(String, String)> {
    ROUTES.iter().map(|(method, pattern, ..)| ((*method).into(), (*pattern).into())).collect()
}

/// Returns method and pattern of each route that the source adds to a router.
pub(super) fn in_source() -> BTreeSet<(String, String)> {
    let mut routes = BTreeSet::new();
    add_routes_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut routes);
    routes
}

fn add_routes_in(dir: &Path, routes: &mut BTreeSet<(String, String)>) {
    for entry in std::fs::read_dir(dir).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            add_routes_in(&path, routes);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            add_routes_of(&std::fs::read_to_string(&path).expect("a source"), routes);
        }
    }
}

fn add_routes_of(source: &str, routes: &mut BTreeSet<(String, String)>) {
    // Pieces are joined here, so that this source contains none of them.
    let begin = |name: &str| format!(".{name}(");
    for other in ["nest", "route_service", "nest_service", "fallback_service"] {
        assert!(!source.contains(&begin(other)), "the test does not know .{other}()");
    }
    for route in source.split(&begin("route")).skip(1) {
        let mut parts = route.split('"');
        let pattern = parts.nth(1).expect("a literal");
        let handlers = parts.next().expect("a handler").trim_start_matches([',', ' ', '\n']);
        let method = handlers.split('(').next().expect("a method").to_uppercase();
        let line = route.lines().next().expect("a line");
        assert!(
            !line.contains(").get(") && !line.contains(").post("),
            "one method a route: {line}"
        );
        routes.insert((method, pattern.to_owned()));
    }
}
