//! Windows before Vista, whose directories have translated names.

use sweep::rule::variable::Variable;
use testkit::TreeBuilder;

use super::{bound, dirs, paths, profiles, systems};

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
    let found = bound(&tree.dir("Documents and Settings/anna/My Documents"));
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
        let found = bound(&windows_xp(users, data, local, programs));
        let base = format!("{users}/anna");
        assert_eq!(paths(&found, Variable::Roaming), [format!("{base}/{data}")]);
        assert_eq!(paths(&found, Variable::Local), [format!("{base}/{local}/{data}")]);
        assert!(paths(&found, Variable::Temp).contains(&format!("{base}/{local}/Temp")));
        assert_eq!(paths(&found, Variable::ProgramFiles), [programs]);
        assert_eq!(paths(&found, Variable::ProgramData), [format!("{users}/All Users/{data}")]);
    }
}

#[test]
fn windows_2000_upgraded_from_nt_keeps_its_profiles_in_winnt() {
    let users = "WINNT/Profiles/";
    let tree = dirs(TreeBuilder::new(), "", &["WINNT/system32", "Program Files", "TEMP"])
        .file(format!("{users}Administrator/NTUSER.DAT"), "regf")
        .dir(format!("{users}Administrator/Application Data"))
        .dir(format!("{users}Administrator/Local Settings/Temp"))
        .dir(format!("{users}All Users/Application Data"));
    let found = bound(&tree);
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
