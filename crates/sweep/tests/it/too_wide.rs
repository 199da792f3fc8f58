//! Rules that were too wide in the real world, and reasonable rules beside them.

use std::collections::BTreeSet;

use sweep::guard::{Guard, check};
use sweep::rule::{Extent, Risk, Rule};

use crate::world::rule;
use Extent::{Emptied, Files, Tree};

/// Returns the rule with a risk that does not lift any guard.
fn careless(takes: &[(&str, Extent)]) -> Rule {
    Rule { risk: Risk::Regenerates, ..rule("r", takes) }
}

fn guard_against(rule: &Rule) -> Option<Guard> {
    check(std::slice::from_ref(rule), &BTreeSet::new()).first().map(|refused| refused.guard)
}

#[test]
fn rules_that_lost_data_are_refused() {
    let table: &[&[(&str, Extent)]] = &[
        // 30 GB of a user's files in C:\temp.
        &[("{drive}/temp/**/*", Files)],
        &[("{drive}/temp/*", Tree)],
        &[("{drive}/temp", Tree)],
        &[("{drive}/*.tmp", Tree)],
        // Backups of an accounting program, searched for in the whole profile.
        &[("{profile}/**/*.gnucash.*.gnucash", Files)],
        &[("{profile}/*/*.gnucash.*.gnucash", Files)],
        &[("{windows}/*/LocalService/NTUSER.bak", Files)],
        &[("{programfiles}/Auslogics/BoostSpeed/*.dll", Files)],
        // A space in front of the wildcard.
        &[("{profile}/Analog */*.log", Files)],
        // A game's recorded videos and screenshots.
        &[("{programdata}/Xfire/videos/*", Tree)],
        &[("{roaming}/Xfire/screenshots/**/*", Files)],
        &[("{drive}/**/*.bak", Files), ("{drive}/**/*.old", Files)],
        &[("{drive}/**/*fix*.txt", Files)],
        &[("{drive}/*fix*.txt", Files)],
        &[("**/desktop.ini", Files)],
        &[("{drive}/**/desktop.ini", Files)],
        &[("{drive}/*.jpg", Files)],
        &[("{drive}/Intel", Tree)],
        &[("{drive}/Intel/*", Tree)],
        &[("{windows}/*.bmp", Files)],
        &[("{windows}/Web/Wallpaper/*", Files)],
        // The transaction logs of the registry of each profile.
        &[("{profile}/*.blf", Files)],
        &[("{profile}/**/*.blf", Files)],
        &[("**/*.blf", Files)],
        &[("{profile}/ntuser.dat.LOG1", Files)],
        &[("{top}/*", Tree)],
        &[("{top}/**/*", Files)],
        &[("{home}/*", Tree)],
        &[("{home}/Downloads/*", Tree)],
        &[("{documents}/My Program/*.log", Files)],
        &[("{profile}/**/*.log", Files)],
        &[("{local}/*", Tree)],
        &[("{local}/*/Cache/*", Tree)],
        &[("{local}/**/Cache/*", Tree)],
        &[("{roaming}/**", Emptied), ("{roaming}/**/*.tmp", Files)],
        &[("{windows}/System32", Tree)],
        &[("{windows}/System32/config/*", Files)],
        &[("{windows}/Sys*/**/*", Files)],
        &[("{drive}/Windows", Tree)],
        &[("{drive}/Win*/Sys*/*", Tree)],
        &[("{drive}/Users/*", Tree)],
        &[("{drive}/Users/user/AppData", Tree)],
        &[("{drive}/Documents and Settings/**/*", Files)],
        &[("{drive}/Windows.old", Tree)],
        &[("{root}/var/*", Tree)],
        &[("{root}/etc/fonts/cache/*", Tree)],
        &[("{root}/usr/share/app/*", Tree)],
        &[("{local}/Google/Chrome/User Data/*/History", Files)],
        &[("{local}/Google/Chrome/User Data/*/Login Data*", Files)],
        &[("{roaming}/Mozilla/Firefox/Profiles/*/places.sqlite", Files)],
        &[("{local}/Microsoft/Outlook/*.ost", Files)],
        &[("**/*", Tree)],
        &[("**/*", Files)],
        &[("**/*.*", Files)],
        &[("**/.git", Tree)],
        &[("{home}/.ssh/*", Files)],
        &[("{home}/.ssh/known_hosts", Files)],
        &[("{home}/.s*/**/*", Files)],
    ];
    for takes in table {
        let rule = careless(takes);
        assert!(guard_against(&rule).is_some(), "{takes:?} passed");
    }
}

#[test]
fn reasonable_rules_pass() {
    let table: &[&[(&str, Extent)]] = &[
        &[("{temp}/*", Tree)],
        &[("{inetcache}/*", Tree)],
        &[("{cache}/thumbnails/*", Tree)],
        &[("{local}/Google/Chrome/User Data/*/Cache/*", Tree)],
        &[("{local}/Google/Chrome/User Data/*/Service Worker/CacheStorage/*", Tree)],
        &[("{roaming}/Mozilla/Firefox/Crash Reports/*", Tree)],
        &[("{windows}/Prefetch/*.pf", Files)],
        &[("{windows}/Minidump/*.dmp", Files)],
        &[("{windows}/SoftwareDistribution/Download/*", Tree)],
        &[("{windows}/System32/LogFiles/**/*.log", Files)],
        &[("{windows}/MEMORY.DMP", Files)],
        &[("{programdata}/Microsoft/Windows/WER/ReportQueue/*", Tree)],
        &[("{programfiles}/Steam/logs/*.txt", Files)],
        &[("{home}/.thumbnails/*", Tree)],
        &[("{home}/.npm/_cacache/*", Tree)],
        &[("{home}/.cargo/registry/cache/*", Tree)],
        &[("{root}/var/cache/apt/archives/*.deb", Files)],
        &[("{root}/var/crash/*", Tree)],
        &[("{library}/Logs/DiagnosticReports/*", Tree)],
        &[("{profile}/AppData/Local/CrashDumps/*.dmp", Files)],
        &[("**/Thumbs.db", Files)],
        &[("**/.DS_Store", Files)],
        &[("**/node_modules", Tree)],
    ];
    for takes in table {
        let rule = careless(takes);
        let refused = check(std::slice::from_ref(&rule), &BTreeSet::new());
        assert!(refused.is_empty(), "{takes:?}: {refused:?}");
    }
}

#[test]
fn refused_rule_does_not_affect_others() {
    let rules = [careless(&[("{top}/*", Tree)]), careless(&[("{temp}/*", Tree)])];
    let refused = check(&rules, &BTreeSet::new());
    assert_eq!(refused.iter().map(|refused| refused.rule).collect::<Vec<_>>(), [0]);
}

#[test]
fn permission_lifts_only_the_guard_against_protected_entries() {
    let allow = BTreeSet::from(["r".to_string()]);
    let history = careless(&[("{local}/Google/Chrome/User Data/*/History", Files)]);
    assert!(check(&[history], &allow).is_empty());
    let wide = careless(&[("{top}/*", Tree)]);
    assert_eq!(check(&[wide], &allow).first().map(|refused| refused.guard), Some(Guard::Narrow));
}

#[test]
fn review_lets_a_rule_name_a_single_directory() {
    let takes = [("{drive}/MSOCache/*", Tree)];
    assert_eq!(guard_against(&careless(&takes)), Some(Guard::Narrow));
    assert_eq!(guard_against(&rule("r", &takes)), None);
    let common = rule("r", &[("{drive}/temp/*", Tree)]);
    assert_eq!(guard_against(&common), Some(Guard::Narrow));
}
