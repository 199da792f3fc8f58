//! Windows Vista and later.

use fsops::Dir;
use sweep::bindings::{Context, bind};
use sweep::rule::variable::Variable;
use testkit::{TempTree, TreeBuilder};

use super::{bound, dirs, paths, profiles, systems, vista_profile, windows_10};

#[test]
fn windows_10_is_bound_and_its_junctions_are_not() {
    let found = bound(&windows_10(TreeBuilder::new(), ""));
    assert_eq!(systems(&found), [(String::new(), "Windows 10 or later")]);
    let accounts =
        ["Windows/ServiceProfiles/LocalService", "Windows/System32/config/systemprofile"];
    assert_eq!(profiles(&found)[..3], ["Users/Default", "Users/anna", "Users/bob"]);
    assert_eq!(profiles(&found)[3..], accounts);
    assert_eq!(paths(&found, Variable::Home), profiles(&found));
    assert_eq!(paths(&found, Variable::Profile), profiles(&found));
    assert_eq!(
        paths(&found, Variable::Local),
        [
            "Users/Default/AppData/Local",
            "Users/anna/AppData/Local",
            "Users/bob/AppData/Local",
            "Windows/ServiceProfiles/LocalService/AppData/Local",
            "Windows/System32/config/systemprofile/AppData/Local",
        ]
    );
    let of_anna = |variable| {
        let mut paths = paths(&found, variable);
        paths.retain(|path| path.starts_with("Users/anna/"));
        paths
    };
    assert_eq!(of_anna(Variable::Roaming), ["Users/anna/AppData/Roaming"]);
    assert_eq!(of_anna(Variable::LocalLow), ["Users/anna/AppData/LocalLow"]);
    let local = "Users/anna/AppData/Local/Microsoft/Windows";
    assert_eq!(of_anna(Variable::InetCache), [format!("{local}/INetCache")]);
    assert_eq!(of_anna(Variable::InetCookies), [format!("{local}/INetCookies")]);
    assert_eq!(of_anna(Variable::Recent), ["Users/anna/AppData/Roaming/Microsoft/Windows/Recent"]);
    assert_eq!(of_anna(Variable::Documents), ["Users/anna/Documents"]);
    assert_eq!(of_anna(Variable::Temp), ["Users/anna/AppData/Local/Temp"]);
    assert!(paths(&found, Variable::Temp).contains(&"Windows/Temp".to_owned()));
    assert_eq!(paths(&found, Variable::ProgramData), ["ProgramData"]);
    assert_eq!(paths(&found, Variable::Public), ["Users/Public"]);
    assert_eq!(paths(&found, Variable::ProgramFiles), ["Program Files", "Program Files (x86)"]);
    assert_eq!(paths(&found, Variable::Windows), ["Windows"]);
    assert_eq!(paths(&found, Variable::Drive), [""]);
    assert_eq!(paths(&found, Variable::Top), [""]);
    assert!(found.folds);
    assert_eq!(found.remarks, [""; 0]);
}

#[test]
fn every_binding_of_a_profile_names_the_profile() {
    let found = bound(&windows_10(TreeBuilder::new(), ""));
    for binding in &found.bound {
        let owner = found.profiles.iter().position(|profile| {
            let below = binding.path.strip_prefix(&profile.path[..]);
            below.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
        });
        assert_eq!(binding.profile, owner, "{binding:?}");
    }
    let order: Vec<_> = found.bound.iter().map(|b| (b.variable, b.path.clone())).collect();
    assert!(order.is_sorted());
}

#[test]
fn windows_old_is_a_system_of_its_own() {
    let tree = windows_10(windows_10(TreeBuilder::new(), ""), "Windows.old/");
    let tree = vista_profile(tree, "Windows.old.000/Users/", "carl").dir("windows.old notes/Users");
    let found = bound(&tree);
    let names: Vec<String> = systems(&found).into_iter().map(|(path, _)| path).collect();
    assert_eq!(names, ["", "Windows.old", "Windows.old.000"]);
    assert_eq!(paths(&found, Variable::Drive), names);
    assert_eq!(paths(&found, Variable::Windows), ["Windows", "Windows.old/Windows"]);
    let local = paths(&found, Variable::Local);
    assert!(local.contains(&"Windows.old/Users/anna/AppData/Local".to_owned()));
    let carl = found.profiles.iter().find(|p| p.path.ends_with(b"carl")).expect("a profile");
    assert_eq!(carl.system, Some(2));
    let counts = found.counts();
    let of_local = counts.iter().find(|count| count.variable == Variable::Local).expect("bound");
    assert_eq!((of_local.directories, of_local.profiles, of_local.old_profiles), (11, 11, 6));
}

#[test]
fn virtual_store_belongs_to_the_variables_that_it_redirects() {
    let store = "Users/anna/AppData/Local/VirtualStore/";
    let names = ["Program Files (x86)", "ProgramData", "WINDOWS", "Games"];
    let found = bound(&dirs(windows_10(TreeBuilder::new(), ""), store, &names));
    assert_eq!(
        paths(&found, Variable::ProgramFiles),
        ["Program Files", "Program Files (x86)", &format!("{store}Program Files (x86)")]
    );
    assert_eq!(
        paths(&found, Variable::ProgramData),
        ["ProgramData", &format!("{store}ProgramData")]
    );
    assert_eq!(paths(&found, Variable::Windows), [&format!("{store}WINDOWS"), "Windows"]);
    let anna = found.profiles.iter().position(|p| p.path.ends_with(b"anna"));
    let stored: Vec<_> =
        found.bound.iter().filter(|b| b.path.starts_with(store.as_bytes())).collect();
    assert!(anna.is_some() && stored.len() == 3 && stored.iter().all(|b| b.profile == anna));
}

#[test]
fn translated_program_directories_are_the_users_own_since_vista() {
    let found = bound(&windows_10(TreeBuilder::new(), "").dir("Programme"));
    assert_eq!(paths(&found, Variable::ProgramFiles), ["Program Files", "Program Files (x86)"]);
}

#[test]
fn case_of_windows_names_does_not_matter() {
    let tree = dirs(TreeBuilder::new(), "", &["WINDOWS/system32", "PROGRAM FILES", "programdata"])
        .file("users/anna/ntuser.dat", "regf")
        .dir("users/anna/appdata/LOCAL/temp");
    let found = bound(&tree);
    assert_eq!(paths(&found, Variable::Temp), ["users/anna/appdata/LOCAL/temp"]);
    assert_eq!(paths(&found, Variable::ProgramFiles), ["PROGRAM FILES"]);
    assert_eq!(paths(&found, Variable::ProgramData), ["programdata"]);
}

#[test]
fn a_directory_without_the_hive_of_a_user_is_no_profile() {
    let tree = windows_10(TreeBuilder::new(), "")
        .dir("Users/copy/AppData/Local")
        .symlink("Users/fake/NTUSER.DAT", "../anna/NTUSER.DAT")
        .symlink("Users/link", "anna");
    let found = bound(&tree);
    assert_eq!(profiles(&found).iter().filter(|path| path.starts_with("Users/")).count(), 3);
}

#[test]
fn a_system_behind_links_is_not_found() {
    let tree = windows_10(TreeBuilder::new(), "real/")
        .symlink("Windows", "real/Windows")
        .symlink("Users", "real/Users")
        .symlink("Windows.old", "real");
    let found = bound(&tree);
    assert!(found.systems.is_empty() && found.profiles.is_empty());
    assert_eq!(found.bound.len(), 1, "only the target itself");
    assert!(!found.folds);
}

#[test]
fn a_profile_can_be_the_target() {
    let temp = TempTree::new();
    let made = vista_profile(TreeBuilder::new(), "", "anna").make(temp.path());
    let target = Dir::open(&made.path("anna")).expect("the profile");
    let found = bind(&target, &Context::default()).expect("bindings");
    assert_eq!(profiles(&found), [""]);
    assert_eq!(paths(&found, Variable::Profile), [""]);
    assert_eq!(paths(&found, Variable::Local), ["AppData/Local"]);
    assert_eq!(paths(&found, Variable::Drive), [""; 0]);
    assert!(found.systems.is_empty() && found.folds);
}

#[test]
fn the_directory_with_the_profiles_can_be_the_target() {
    let temp = TempTree::new();
    let made = windows_10(TreeBuilder::new(), "").make(temp.path());
    let target = Dir::open(&made.path("Users")).expect("the directory");
    let found = bind(&target, &Context::default()).expect("bindings");
    assert_eq!(profiles(&found), ["Default", "anna", "bob"]);
    assert_eq!(paths(&found, Variable::Public), ["Public"]);
    assert!(found.systems.is_empty() && found.folds);
}
