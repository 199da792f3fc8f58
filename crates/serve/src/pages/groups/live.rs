//! Compares the files of a displayed group with the state on disk, without following links.

use std::collections::BTreeMap;
use std::io;

use fsops::{Kind, Stat};
use futures_util::future::join_all;
use review::{Condition, Member};
use serde_json::{Value, json};
use walk::PathOpener;

use crate::app::disks::{ANSWER_TIMEOUT, Disks};
use crate::open_problem::OpenProblem;
use crate::pages::review_parts::MOST_FILES;

/// Number of directories that are kept open while files are examined.
const OPEN_DIRS: usize = 16;

/// Returns what is different from the scan, and facts that the catalog does not have, for each file
/// that the page shows. `size` is the size of each file.
pub(super) async fn check(disks: &Disks, size: u64, members: Vec<Member>) -> Value {
    let shown = members.len().min(MOST_FILES);
    // A disk that does not answer leaves only its own files unexamined.
    let mut by_disk: BTreeMap<u64, Vec<(usize, Member)>> = BTreeMap::new();
    for (ordinal, member) in members.into_iter().enumerate().take(MOST_FILES) {
        by_disk.entry(member.device).or_default().push((ordinal, member));
    }
    let checks = by_disk.into_iter().map(async |(disk, members)| {
        let work = move || check_disk(size, &members);
        disks.run(disk, ANSWER_TIMEOUT, work).await.unwrap_or_default()
    });
    let mut files = vec![json!({ "text": "the disk does not answer", "warn": true }); shown];
    for (ordinal, found) in join_all(checks).await.into_iter().flatten() {
        files[ordinal] = found;
    }
    json!({ "files": files })
}

/// Returns what was found about files of one disk, with their ordinals.
fn check_disk(size: u64, members: &[(usize, Member)]) -> Vec<(usize, Value)> {
    let (mut opener, users) = (PathOpener::new(OPEN_DIRS), Users::read());
    let files = members.iter().map(|(ordinal, member)| {
        if member.condition == Condition::Offline {
            return (*ordinal, json!({ "text": "offline", "warn": true }));
        }
        let found = match opener.stat(&member.path) {
            Ok(now) => facts(size, member, &now, &users),
            Err(error) => json!({ "text": problem(&error), "warn": true }),
        };
        (*ordinal, found)
    });
    files.collect()
}

fn facts(size: u64, member: &Member, now: &Stat, users: &Users) -> Value {
    let is_same = now.kind == Kind::File
        && (now.size, now.mtime_ns(), now.ctime_ns) == (size, member.mtime_ns, member.ctime_ns)
        && now.inode == member.inode;
    let text = if is_same { "unchanged" } else { "changed since the scan" };
    json!({ "text": text, "warn": !is_same, "owner": users.name(now.uid), "links": now.links })
}

fn problem(error: &io::Error) -> String {
    match OpenProblem::of(error) {
        OpenProblem::Gone => "gone".into(),
        OpenProblem::Forbidden => "lop has no permission to read it".into(),
        OpenProblem::Replaced => "changed since the scan".into(),
        OpenProblem::Other => fsops::io_text(error),
    }
}

/// The names of the users of this machine.
struct Users(Vec<(u32, String)>);

impl Users {
    /// Reads the names. Users in a directory service keep their numbers.
    fn read() -> Users {
        let text = std::fs::read("/etc/passwd").unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let users = text.lines().filter_map(|line| {
            let mut fields = line.split(':');
            let (name, id) = (fields.next()?, fields.nth(1)?);
            Some((id.parse().ok()?, name.to_owned()))
        });
        Users(users.collect())
    }

    fn name(&self, id: u32) -> String {
        let known = self.0.iter().find(|(known, _)| *known == id);
        known.map_or_else(|| id.to_string(), |(_, name)| name.clone())
    }
}
