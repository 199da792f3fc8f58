//! Tests the pages about jobs, plans, runs and the quarantine through the router.

use std::os::unix::ffi::OsStrExt;

use axum::http::StatusCode;
use catalog::Catalog;

use crate::testing::Site;

/// A line of a saved plan.
fn line(path: &str, kept: &str) -> String {
    let version = r#"{"device":1,"inode":2,"size":5,"mtime_ns":0,"ctime_ns":0}"#;
    let (path, kept) = (serde_json::json!(path), serde_json::json!(kept));
    let line = r#"{"format_version":1,"action":"quarantine""#;
    format!("{line},\"path\":{path},\"kept\":{kept},\"why\":\"oldest\",\"was\":{version},\"kept_was\":{version}}}\n")
}

/// A server with an empty catalog, whose plans have these lines.
fn site_with_plan(lines: &[String], allow_actions: bool) -> Site {
    let site = Site::new(allow_actions);
    catalog::Writer::open(&site.path("catalog.db"), |_| ()).expect("a catalog").commit_empty();
    site.put("plan", lines.concat());
    site
}
