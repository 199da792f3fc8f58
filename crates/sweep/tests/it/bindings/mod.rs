//! The directories that are bound on disks of each generation of each system.
//!
//! Symbolic links stand for junctions, as they do on a mounted NTFS.

mod older;
mod unix;
mod windows;

use fsops::Dir;
use sweep::bindings::{Bindings, Context, bind};
use sweep::rule::variable::Variable;
use testkit::{TempTree, TreeBuilder};

/// Binds the variables on a tree whose description needs no context.
pub(super) fn bound(tree: &TreeBuilder) -> Bindings {
    bound_with(tree, &Context::default())
}

pub(super) fn bound_with(tree: &TreeBuilder, context: &Context) -> Bindings {
    let temp = TempTree::new();
    let made = tree.make(temp.path());
    let target = Dir::open(&made.root).expect("the tree");
    bind(&target, context).expect("bindings")
}

/// Returns the paths of a variable, in their order.
pub(super) fn paths(bindings: &Bindings, variable: Variable) -> Vec<String> {
    let text = |path: &[u8]| String::from_utf8_lossy(path).into_owned();
    bindings.of(variable).map(|binding| text(&binding.path)).collect()
}

pub(super) fn profiles(bindings: &Bindings) -> Vec<String> {
    let text = |path: &[u8]| String::from_utf8_lossy(path).into_owned();
    bindings.profiles.iter().map(|profile| text(&profile.path)).collect()
}

pub(super) fn systems(bindings: &Bindings) -> Vec<(String, &str)> {
    let text = |path: &[u8]| String::from_utf8_lossy(path).into_owned();
    bindings.systems.iter().map(|system| (text(&system.path), &system.name[..])).collect()
}

/// Adds directories below `base`.
pub(super) fn dirs(tree: TreeBuilder, base: &str, names: &[&str]) -> TreeBuilder {
    names.iter().fold(tree, |tree, name| tree.dir(format!("{base}{name}")))
}

/// Windows 10 below `base`, with the profiles `anna` and `bob`, and the junctions that Windows
/// creates.
pub(super) fn windows_10(tree: TreeBuilder, base: &str) -> TreeBuilder {
    let names = [
        "Windows/System32/config/systemprofile/AppData/Local",
        "Windows/SystemApps",
        "Windows/Temp",
        "Windows/ServiceProfiles/LocalService/AppData/Local/Temp",
        "Program Files",
        "Program Files (x86)",
        "ProgramData",
        "Users/Public/Documents",
    ];
    let tree = dirs(tree, base, &names)
        .symlink(format!("{base}Documents and Settings"), "Users")
        .symlink(format!("{base}ProgramData/Application Data"), "../ProgramData")
        .symlink(format!("{base}Users/All Users"), "../ProgramData")
        .symlink(format!("{base}Users/Default User"), "Default");
    let users = format!("{base}Users/");
    ["anna", "bob", "Default"].iter().fold(tree, |tree, name| vista_profile(tree, &users, name))
}

pub(super) fn vista_profile(tree: TreeBuilder, users: &str, name: &str) -> TreeBuilder {
    let base = format!("{users}{name}/");
    let names = [
        "AppData/Roaming/Microsoft/Windows/Recent",
        "AppData/LocalLow",
        "AppData/Local/Temp",
        "AppData/Local/Microsoft/Windows/INetCache",
        "AppData/Local/Microsoft/Windows/INetCookies",
        "Documents",
    ];
    dirs(tree, &base, &names)
        .file(format!("{base}NTUSER.DAT"), "regf")
        .symlink(format!("{base}Application Data"), "AppData/Roaming")
        .symlink(format!("{base}Local Settings"), "AppData/Local")
        .symlink(format!("{base}AppData/Local/Application Data"), ".")
        .symlink(
            format!("{base}AppData/Local/Temporary Internet Files"),
            "Microsoft/Windows/INetCache",
        )
        .symlink(
            format!("{base}AppData/Local/Microsoft/Windows/Temporary Internet Files"),
            "INetCache",
        )
        .symlink(format!("{base}Cookies"), "AppData/Local/Microsoft/Windows/INetCookies")
        .symlink(format!("{base}Recent"), "AppData/Roaming/Microsoft/Windows/Recent")
        .symlink(format!("{base}My Documents"), "Documents")
}

#[test]
fn a_data_disk_has_only_a_top() {
    let names = ["Windows/notes", "Users/anna/AppData/Local", "Public/x", "temp", "Program Files"];
    let found = bound(&dirs(TreeBuilder::new(), "", &names).file("default/NTUSER.DAT.txt", ""));
    assert_eq!(found.bound.len(), 1);
    assert_eq!(paths(&found, Variable::Top), [""]);
    assert!(found.systems.is_empty() && found.profiles.is_empty() && !found.folds);
}

#[test]
fn a_profile_that_cannot_be_read_leads_to_a_remark() {
    if testkit::is_root() {
        return testkit::skipped("root can read every directory");
    }
    let found = bound(&windows_10(TreeBuilder::new(), "").mode("Users/bob", 0o000));
    assert!(!profiles(&found).contains(&"Users/bob".to_owned()));
    assert!(found.remarks.iter().any(|remark| remark.contains("Users/bob")), "{:?}", found.remarks);
}
