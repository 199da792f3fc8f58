//! The style sheet, the scripts and the icon, embedded in the program.
//!
//! The path of an asset contains a hash of its bytes, so browsers may keep it forever. The modules
//! import each other by relative paths, so all of them share one hash, which covers all assets.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};

use crate::hash::fnv1a;

/// Name, media type and bytes of each asset.
const ASSETS: [(&str, &str, &[u8]); 18] = [
    ("app.css", "text/css; charset=utf-8", include_bytes!("assets/app.css")),
    ("app.js", "text/javascript; charset=utf-8", include_bytes!("assets/app.js")),
    ("folder-sets.js", "text/javascript; charset=utf-8", include_bytes!("assets/folder-sets.js")),
    ("groups.js", "text/javascript; charset=utf-8", include_bytes!("assets/groups.js")),
    ("http.js", "text/javascript; charset=utf-8", include_bytes!("assets/http.js")),
    ("keys.js", "text/javascript; charset=utf-8", include_bytes!("assets/keys.js")),
    ("list.js", "text/javascript; charset=utf-8", include_bytes!("assets/list.js")),
    ("news.js", "text/javascript; charset=utf-8", include_bytes!("assets/news.js")),
    ("review.js", "text/javascript; charset=utf-8", include_bytes!("assets/review.js")),
    ("rules.js", "text/javascript; charset=utf-8", include_bytes!("assets/rules.js")),
    ("jobs.js", "text/javascript; charset=utf-8", include_bytes!("assets/jobs.js")),
    ("plan.js", "text/javascript; charset=utf-8", include_bytes!("assets/plan.js")),
    ("runs.js", "text/javascript; charset=utf-8", include_bytes!("assets/runs.js")),
    ("start.js", "text/javascript; charset=utf-8", include_bytes!("assets/start.js")),
    ("space.js", "text/javascript; charset=utf-8", include_bytes!("assets/space.js")),
    ("folders.js", "text/javascript; charset=utf-8", include_bytes!("assets/folders.js")),
    ("times.js", "text/javascript; charset=utf-8", include_bytes!("assets/times.js")),
    ("icon.svg", "image/svg+xml", include_bytes!("assets/icon.svg")),
];

/// Hash of all assets.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let bytes = ASSETS.iter().flat_map(|(_, _, bytes)| bytes.iter().copied());
    format!("{:016x}", fnv1a(bytes))
});

/// Returns the path of an asset.
pub(crate) fn path(name: &str) -> String {
    format!("/assets/{}/{name}", *VERSION)
}

/// Answers a request for an asset. Old versions are answered with the current one, because a page that
/// was loaded before an update may still ask for them.
pub(crate) async fn get(Path((_version, name)): Path<(String, String)>) -> Response {
    match ASSETS.iter().find(|(known, ..)| *known == name) {
        Some((_, media_type, bytes)) => {
            let forever = "private, max-age=31536000, immutable";
            ([(CONTENT_TYPE, *media_type), (CACHE_CONTROL, forever)], *bytes).into_response()
        }
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

/// Returns the compressed size of some assets in bytes.
#[cfg(test)]
pub(crate) fn size(names: &[&str]) -> usize {
    use crate::compress::gzip;

    let wanted = ASSETS.iter().filter(|(name, ..)| names.contains(name));
    wanted.map(|(_, _, bytes)| gzip(bytes).len()).sum()
}
