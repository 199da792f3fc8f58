//! Linux and macOS.

use sweep::bindings::Context;
use sweep::rule::variable::Variable;
use testkit::TreeBuilder;

use super::{bound, bound_with, dirs, paths, profiles, systems};

const PASSWD: &str = "root:x:0:0:root:/root:/bin/bash\n\
    daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n\
    anna:x:1000:1000:Anna:/home/anna:/bin/bash\n\
    eve:x:1001:1001:Eve:/srv/people/eve:/bin/bash\n\
    odd:x:1002:1002::/:/bin/sh\n\
    gone:x:1003:1003::/home/gone:/bin/sh\n";

fn linux() -> TreeBuilder {
    let names = ["tmp", "var/tmp", "home/lost+found", "root/.cache", "srv/people/eve/.cache"];
    dirs(TreeBuilder::new(), "", &names)
        .file("etc/passwd", PASSWD)
        .file("usr/lib/os-release", "ID=example\nPRETTY_NAME=\"Example Linux 12\"\n")
        .dir("home/anna/.cache")
        .dir("home/anna/.config")
        .dir("home/anna/.local/share")
        .symlink("home/link", "anna")
        .symlink("home/bob/.cache", "../anna/.cache")
}

#[test]
fn a_linux_disk_is_bound_with_the_homes_of_its_users() {
    let found = bound(&linux());
    assert_eq!(systems(&found), [(String::new(), "Example Linux 12")]);
    assert_eq!(profiles(&found), ["home/anna", "home/bob", "root", "srv/people/eve"]);
    assert_eq!(
        paths(&found, Variable::Cache),
        ["home/anna/.cache", "root/.cache", "srv/people/eve/.cache"]
    );
    assert_eq!(paths(&found, Variable::Config), ["home/anna/.config"]);
    assert_eq!(paths(&found, Variable::Data), ["home/anna/.local/share"]);
    assert_eq!(paths(&found, Variable::Temp), ["tmp", "var/tmp"]);
    assert_eq!(paths(&found, Variable::Root), [""]);
    assert!(!found.folds && !found.systems[0].is_live);
}

#[test]
fn homes_on_the_running_system_come_from_the_caller() {
    let homes = ["srv/people/eve", "", "usr", "home/gone", "home/link"];
    let homes = homes.map(|home| home.as_bytes().to_vec()).to_vec();
    let found = bound_with(&linux(), &Context { homes, is_live_root: true });
    assert_eq!(profiles(&found), ["home/anna", "home/bob", "root", "srv/people/eve"]);
    assert!(found.systems[0].is_live);
    let found = bound_with(&linux(), &Context { homes: Vec::new(), is_live_root: true });
    assert_eq!(profiles(&found), ["home/anna", "home/bob", "root"]);
}

#[test]
fn a_home_directory_can_be_the_target() {
    for marker in [".config", ".cache", ".local"] {
        let found = bound(&TreeBuilder::new().dir(marker));
        assert_eq!(paths(&found, Variable::Home), [""], "{marker}");
    }
    for marker in [".bashrc", ".profile"] {
        let found = bound(&TreeBuilder::new().file(marker, "").dir("Public/x"));
        assert_eq!(paths(&found, Variable::Home), [""], "{marker}");
    }
    let known = Context { homes: vec![Vec::new()], is_live_root: false };
    let found = bound_with(&TreeBuilder::new().dir("Music"), &known);
    assert_eq!(paths(&found, Variable::Home), [""]);
    assert_eq!(paths(&found, Variable::Profile), [""; 0], "a profile is a home of Windows");
}

#[test]
fn a_macos_disk_is_bound() {
    let names = [
        "System/Library",
        "private/tmp",
        "Users/anna/Library/Caches",
        "Users/anna/Library/Preferences",
        "Users/anna/.config",
        "Users/anna/Library/Application Support",
        "Users/Shared/x",
    ];
    let found = bound(&dirs(TreeBuilder::new(), "", &names));
    assert_eq!(systems(&found), [(String::new(), "macOS")]);
    assert_eq!(profiles(&found), ["Users/anna"]);
    assert_eq!(paths(&found, Variable::Library), ["Users/anna/Library"]);
    assert_eq!(paths(&found, Variable::Cache), ["Users/anna/Library/Caches"]);
    assert_eq!(paths(&found, Variable::Config), ["Users/anna/.config"]);
    assert_eq!(paths(&found, Variable::Data), ["Users/anna/Library/Application Support"]);
    assert_eq!(paths(&found, Variable::Temp), ["private/tmp"]);
    assert!(!found.folds);
}
