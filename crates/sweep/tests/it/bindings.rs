//! The directories that are bound on disks of each generation of each system.
//!
//! Symbolic links stand for junctions, as they do on a mounted NTFS.

use fsops::Dir;
use sweep::bindings::{Bindings, Context, bind};
use sweep::rule::variable::Variable;
use testkit::{TempTree, TreeBuilder};

/// Binds the variables on a tree whose description needs no context.
fn bound(tree: TreeBuilder) -> Bindings {
    bound_with(tree, &Context::default())
}

fn bound_with(tree: TreeBuilder, context: &Context) -> Bindings {
    let temp = TempTree::new();
    let made = tree.make(temp.path());
    let target = Dir::open(&made.root).expect("the tree");
    bind(&target, context).expect("bindings")
}

/// Returns the paths of a variable, in their order.
fn paths(bindings: &Bindings, variable: Variable) -> Vec<String> {
    let text = |path: &[u8]| String::from_utf8_lossy(path).into_owned();
    bindings.of(variable).map(|binding| text(&binding.path)).collect()
}

fn profiles(bindings: &Bindings) -> Vec<String> {
    let text = |path: &[u8]| String::from_utf8_lossy(path).into_owned();
    bindings.profiles.iter().map(|profile| text(&profile.path)).collect()
}

fn systems(bindings: &Bindings) -> Vec<(String, &str)> {
    let text = |path: &[u8]| String::from_utf8_lossy(path).into_owned();
    bindings.systems.iter().map(|system| (text(&system.path), &system.name[..])).collect()
}

/// Adds directories below `base`.
fn dirs(tree: TreeBuilder, base: &str, names: &[&str]) -> TreeBuilder {
    names.iter().fold(tree, |tree, name| tree.dir(format!("{base}{name}")))
}

/// Windows 10 below `base`, with the profiles `anna` and `bob`, and the junctions that Windows
/// creates.
fn windows_10(tree: TreeBuilder, base: &str) -> TreeBuilder {
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

fn vista_profile(tree: TreeBuilder, users: &str, name: &str) -> TreeBuilder {
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
fn windows_10_is_bound_and_its_junctions_are_not() {
    let found = bound(windows_10(TreeBuilder::new(), ""));
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
    let found = bound(windows_10(TreeBuilder::new(), ""));
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
    let found = bound(tree);
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
    let found = bound(dirs(windows_10(TreeBuilder::new(), ""), store, &names));
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

/// Windows XP with the given names of directories.
fn windows_xp(users: &str, data: &str, local: &str, programs: &str) -> TreeBuilder {
    let tree =
        dirs(TreeBuilder::new(), "", &["WINDOWS/system32", "WINDOWS/Temp", programs, "TEMP"]);
    let tree = dirs(tree, users, &["/All Users", "/LocalService"]);
    let tree = dirs(tree, &format!("{users}/All Users/"), &[data, "Documents"]);
    let base = format!("{users}/anna/");
    let tree = tree
        .file(format!("{base}ntuser.dat"), "regf")
        .file(format!("{users}/Default User/NTUSER.DAT"), "regf")
        .file(format!("{users}/All Users/NTUSER.DAT"), "regf");
    let tree = dirs(tree, &base, &[data, "Cookies", "Recent"]);
    let settings = format!("{base}{local}/");
    dirs(tree, &settings, &[data, "Temp", "Temporary Internet Files"])
}

#[test]
fn windows_xp_is_bound_in_english() {
    let users = "Documents and Settings";
    let tree = windows_xp(users, "Application Data", "Local Settings", "Program Files");
    let found = bound(tree.dir("Documents and Settings/anna/My Documents"));
    assert_eq!(systems(&found), [(String::new(), "Windows XP")]);
    let names = ["Default User", "LocalService", "anna"].map(|name| format!("{users}/{name}"));
    assert_eq!(profiles(&found), names);
    let anna = |rest: &str| [format!("{users}/anna/{rest}")];
    assert_eq!(paths(&found, Variable::Roaming), anna("Application Data"));
    assert_eq!(paths(&found, Variable::Local), anna("Local Settings/Application Data"));
    assert_eq!(paths(&found, Variable::LocalLow), [""; 0]);
    assert_eq!(paths(&found, Variable::InetCache), anna("Local Settings/Temporary Internet Files"));
    assert_eq!(paths(&found, Variable::InetCookies), anna("Cookies"));
    assert_eq!(paths(&found, Variable::Recent), anna("Recent"));
    assert_eq!(paths(&found, Variable::Documents), anna("My Documents"));
    // `C:\TEMP` is the user's own, except on Windows NT.
    assert_eq!(paths(&found, Variable::Temp), [&anna("Local Settings/Temp")[0], "WINDOWS/Temp"]);
    assert_eq!(paths(&found, Variable::Public), [format!("{users}/All Users")]);
    assert_eq!(
        paths(&found, Variable::ProgramData),
        [format!("{users}/All Users/Application Data")]
    );
}

#[test]
fn windows_xp_is_bound_in_other_languages() {
    let languages = [
        ("Dokumente und Einstellungen", "Anwendungsdaten", "Lokale Einstellungen", "Programme"),
        (
            "Documents and Settings",
            "Datos de programa",
            "Configuración local",
            "Archivos de programa",
        ),
        (
            "Documents and Settings",
            "Dados de aplicativos",
            "Configurações locais",
            "Arquivos de programas",
        ),
        ("Documents and Settings", "Dati applicazioni", "Impostazioni locali", "Programmi"),
        ("Documents and Settings", "Dane aplikacji", "Ustawienia lokalne", "Program Files"),
        ("Documents and Settings", "Application Data", "Lokala Inställningar", "Program"),
    ];
    for (users, data, local, programs) in languages {
        let found = bound(windows_xp(users, data, local, programs));
        let base = format!("{users}/anna");
        assert_eq!(paths(&found, Variable::Roaming), [format!("{base}/{data}")]);
        assert_eq!(paths(&found, Variable::Local), [format!("{base}/{local}/{data}")]);
        assert!(paths(&found, Variable::Temp).contains(&format!("{base}/{local}/Temp")));
        assert_eq!(paths(&found, Variable::ProgramFiles), [programs]);
        assert_eq!(paths(&found, Variable::ProgramData), [format!("{users}/All Users/{data}")]);
    }
}

#[test]
fn translated_program_directories_are_the_users_own_since_vista() {
    let found = bound(windows_10(TreeBuilder::new(), "").dir("Programme"));
    assert_eq!(paths(&found, Variable::ProgramFiles), ["Program Files", "Program Files (x86)"]);
}

#[test]
fn windows_2000_upgraded_from_nt_keeps_its_profiles_in_winnt() {
    let users = "WINNT/Profiles/";
    let tree = dirs(TreeBuilder::new(), "", &["WINNT/system32", "Program Files", "TEMP"])
        .file(format!("{users}Administrator/NTUSER.DAT"), "regf")
        .dir(format!("{users}Administrator/Application Data"))
        .dir(format!("{users}Administrator/Local Settings/Temp"))
        .dir(format!("{users}All Users/Application Data"));
    let found = bound(tree);
    assert_eq!(systems(&found), [(String::new(), "Windows NT or 2000")]);
    assert_eq!(profiles(&found), [format!("{users}Administrator")]);
    let roaming = format!("{users}Administrator/Application Data");
    assert_eq!(paths(&found, Variable::Roaming), [roaming]);
    let temp = format!("{users}Administrator/Local Settings/Temp");
    assert_eq!(paths(&found, Variable::Temp), ["TEMP", &temp]);
    assert_eq!(
        paths(&found, Variable::ProgramData),
        [format!("{users}All Users/Application Data")]
    );
}

#[test]
fn case_of_windows_names_does_not_matter() {
    let tree = dirs(TreeBuilder::new(), "", &["WINDOWS/system32", "PROGRAM FILES", "programdata"])
        .file("users/anna/ntuser.dat", "regf")
        .dir("users/anna/appdata/LOCAL/temp");
    let found = bound(tree);
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
    let found = bound(tree);
    assert_eq!(profiles(&found).iter().filter(|path| path.starts_with("Users/")).count(), 3);
}

#[test]
fn a_system_behind_links_is_not_found() {
    let tree = windows_10(TreeBuilder::new(), "real/")
        .symlink("Windows", "real/Windows")
        .symlink("Users", "real/Users")
        .symlink("Windows.old", "real");
    let found = bound(tree);
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
    let found = bound(linux());
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
    let found = bound_with(linux(), &Context { homes, is_live_root: true });
    assert_eq!(profiles(&found), ["home/anna", "home/bob", "root", "srv/people/eve"]);
    assert!(found.systems[0].is_live);
    let found = bound_with(linux(), &Context { homes: Vec::new(), is_live_root: true });
    assert_eq!(profiles(&found), ["home/anna", "home/bob", "root"]);
}

#[test]
fn a_home_directory_can_be_the_target() {
    for marker in [".config", ".cache", ".local"] {
        let found = bound(TreeBuilder::new().dir(marker));
        assert_eq!(paths(&found, Variable::Home), [""], "{marker}");
    }
    for marker in [".bashrc", ".profile"] {
        let found = bound(TreeBuilder::new().file(marker, "").dir("Public/x"));
        assert_eq!(paths(&found, Variable::Home), [""], "{marker}");
    }
    let known = Context { homes: vec![Vec::new()], is_live_root: false };
    let found = bound_with(TreeBuilder::new().dir("Music"), &known);
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
        "Users/anna/Library/Application Support",
        "Users/Shared/x",
    ];
    let found = bound(dirs(TreeBuilder::new(), "", &names));
    assert_eq!(systems(&found), [(String::new(), "macOS")]);
    assert_eq!(profiles(&found), ["Users/anna"]);
    assert_eq!(paths(&found, Variable::Library), ["Users/anna/Library"]);
    assert_eq!(paths(&found, Variable::Cache), ["Users/anna/Library/Caches"]);
    assert_eq!(paths(&found, Variable::Config), ["Users/anna/Library/Preferences"]);
    assert_eq!(paths(&found, Variable::Data), ["Users/anna/Library/Application Support"]);
    assert_eq!(paths(&found, Variable::Temp), ["private/tmp"]);
    assert!(!found.folds);
}

#[test]
fn a_data_disk_has_only_a_top() {
    let names = ["Windows/notes", "Users/anna/AppData/Local", "Public/x", "temp", "Program Files"];
    let found = bound(dirs(TreeBuilder::new(), "", &names).file("default/NTUSER.DAT.txt", ""));
    assert_eq!(found.bound.len(), 1);
    assert_eq!(paths(&found, Variable::Top), [""]);
    assert!(found.systems.is_empty() && found.profiles.is_empty() && !found.folds);
}

#[test]
fn a_profile_that_cannot_be_read_leads_to_a_remark() {
    if testkit::is_root() {
        return testkit::skipped("root can read every directory");
    }
    let found = bound(windows_10(TreeBuilder::new(), "").mode("Users/bob", 0o000));
    assert!(!profiles(&found).contains(&"Users/bob".to_owned()));
    assert!(found.remarks.iter().any(|remark| remark.contains("Users/bob")), "{:?}", found.remarks);
}
