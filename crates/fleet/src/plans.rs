//! Plans for the redundant files of one host, made from its export.

use std::collections::BTreeSet;

use action::plan::{Kind, Member, Plan, Rule, Target, Version, plan};
use content::Digest;
use export::{Error, Stored, StoredInode};
use fsops::{Stat, Time};

/// Returns plans for all files of at least `min_size` bytes that are equal to another file of the same host. The rules
/// choose the file that stays, as for `lop dedupe`.
///
/// A plan is a proposal: `lop dedupe --plan` on the host checks each file again before it acts. The export does not
/// tell owners and modes, so the plans have no warnings about them.
///
/// # Errors
///
/// Fails if the export cannot be read or is damaged. Returns no plans for an export without plain names.
pub fn plan_host(
    export: &Stored,
    kind: Kind,
    rules: &[Rule],
    min_size: u64,
) -> Result<Vec<Plan>, Error> {
    let mut groups: Vec<Vec<StoredInode>> = Vec::new();
    export.each_redundant(min_size.max(1), |same| groups.push(same.to_vec()))?;
    let inodes: BTreeSet<i64> = groups.iter().flatten().map(|inode| inode.inode_id).collect();
    let mut paths = export.paths(&inodes)?;
    let mut plans = Vec::new();
    for group in groups {
        // A keyed digest is not the digest of the content.
        let digest = export.key_id.is_none().then(|| Digest(group[0].digest));
        let members = group.iter().flat_map(|inode| {
            let paths = paths.remove(&inode.inode_id).unwrap_or_default();
            let stat = stat(inode, paths.len());
            paths.into_iter().map(move |path| member(path, inode, stat))
        });
        let planned = plan(members.collect(), kind, rules);
        plans.extend(planned.into_iter().map(|plan| Plan { digest, ..plan }));
    }
    Ok(plans)
}

fn member(path: Vec<u8>, inode: &StoredInode, stat: Stat) -> Member {
    let &StoredInode { device, inode, size, mtime_ns, ctime_ns, .. } = inode;
    let version = Version { device, inode, size, mtime_ns, ctime_ns };
    Member::new(Target { path, version, tag: u32::MAX }, stat)
}

/// Returns the metadata of a file, as far as the export has it.
fn stat(inode: &StoredInode, names: usize) -> Stat {
    let &StoredInode { device, inode, size, mtime_ns, ctime_ns, allocated, .. } = inode;
    Stat {
        device,
        inode,
        mount: 0,
        kind: fsops::Kind::File,
        size,
        allocated,
        links: u32::try_from(names).unwrap_or(u32::MAX),
        mtime: Time::from_ns(mtime_ns),
        ctime_ns,
        atime: Time::default(),
        mode: 0,
        uid: 0,
        gid: 0,
        born_ns: 0,
        special: 0,
    }
}
