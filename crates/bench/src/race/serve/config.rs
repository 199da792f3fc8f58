//! The configurations of nginx and lighttpd.
//!
//! `nginx-defaults` has the settings of Debian's package that apply to files, with its log of
//! requests. The tuned ones have one worker, no log, connections that are never closed, and a cache
//! of open files that is checked each second. All of them send files as they are.

use std::fs;
use std::path::Path;

use super::loads::RATE;
use crate::Failure;

/// The number of connections that servers accept.
const CONNECTIONS: u64 = 11_000;
/// The number of open files in the cache of nginx, if there are enough descriptors.
const CACHED_FILES: u64 = 200_000;

/// Writes all configurations for a tree and a port into a folder. A server may have so many
/// descriptors.
///
/// # Errors
///
/// The folder cannot be written.
pub(super) fn write(
    folder: &Path,
    root: &Path,
    port: u16,
    descriptors: u64,
) -> Result<(), Failure> {
    // Some descriptors are left for logs, events and listening sockets.
    let cached = CACHED_FILES.min(descriptors.saturating_sub(CONNECTIONS + 100)).max(2_000);
    let cache = format!(
        "open_file_cache max={cached} inactive=60s; open_file_cache_valid 1s; \
                 open_file_cache_min_uses 1; open_file_cache_errors on;"
    );
    let tuned = format!("access_log off; keepalive_requests 1000000000; {cache}");
    let one = format!("worker_processes 1; worker_rlimit_nofile {descriptors};");
    let events = format!("worker_connections {CONNECTIONS};");
    let (one, events) = (&*one, &*events);
    let nginx = |workers: &str, events: &str, http: &str| nginx(root, port, workers, events, http);
    let defaults = "access_log access.log; sendfile on; tcp_nopush on; types_hash_max_size 2048;";
    let files = [
        (
            "nginx-defaults.conf",
            nginx("worker_processes auto;", "worker_connections 768;", defaults),
        ),
        (
            "nginx-sendfile.conf",
            nginx(one, events, &format!("sendfile on; tcp_nopush on; {tuned}")),
        ),
        ("nginx-copy.conf", nginx(one, events, &format!("sendfile off; {tuned}"))),
        (
            "nginx-limit.conf",
            nginx(one, events, &format!("sendfile on; tcp_nopush on; {tuned} limit_rate {RATE};")),
        ),
        ("lighttpd.conf", lighttpd(root, port, descriptors)),
    ];
    fs::create_dir_all(folder.join("temp")).map_err(|e| Failure::at(folder, e))?;
    for (name, text) in files {
        let path = folder.join(name);
        fs::write(&path, text).map_err(|e| Failure::at(&path, e))?;
    }
    Ok(())
}

fn nginx(root: &Path, port: u16, workers: &str, events: &str, http: &str) -> String {
    // Started by root, nginx would become another user, who may not read the store.
    let user = if testkit::is_root() { "user root;\n" } else { "" };
    let temp = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("{kind}_temp_path temp/{kind};"))
        .join(" ");
    format!(
        "{user}daemon off;\n{workers}\npid nginx.pid;\nevents {{ {events} }}\n\
         http {{\n  {http}\n  {temp}\n  default_type application/octet-stream;\n  \
         server {{ listen 127.0.0.1:{port}; root {}; }}\n}}\n",
        root.display()
    )
}

fn lighttpd(root: &Path, port: u16, descriptors: u64) -> String {
    format!(
        "server.document-root = \"{}\"\nserver.port = {port}\nserver.bind = \"127.0.0.1\"\n\
         server.max-fds = {descriptors}\nserver.max-connections = {CONNECTIONS}\n\
         server.max-keep-alive-requests = 1000000000\nserver.max-keep-alive-idle = 60\n\
         mimetype.assign = ( \"\" => \"application/octet-stream\" )\n",
        root.display()
    )
}
