//! The pages of `lop serve` in a real browser: a person's way from the first scan to the undo.

use browser::{Browser, Options};
use testkit::{Compare, Snapshot, TreeBuilder, assert_same};

use crate::lop::Lop;
use crate::serving::Server;

/// A tree as on a NAS: photos, a backup of them, and downloads. Some names are hostile.
fn tree() -> TreeBuilder {
    let mut tree = TreeBuilder::new();
    for n in 0..60u64 {
        let (year, name) = (2019 + n % 4, format!("IMG_{n:04}.jpg"));
        for above in ["photos", "backup/photos"] {
            tree = tree.seeded(format!("nas/{above}/{year}/{name}"), n, 9000 + n);
        }
    }
    for (n, name) in (0u64..).zip(HOSTILE) {
        for above in ["downloads", "old"] {
            let path = [format!("nas/{above}/").as_bytes(), name].concat();
            tree = tree.seeded(path, 900 + n, 5000 + n);
        }
    }
    tree
}

/// Names that a page must show without becoming part of it.
const HOSTILE: [&[u8]; 6] = [
    b"<script>document.title='owned'<\xe2\x81\x84script>",
    b"\"><img src=x onerror=document.title='owned'>",
    b"line\nbreak.txt",
    b"not \xff UTF-8",
    "right\u{202e}gpj.exe".as_bytes(),
    b"' onmouseover='document.title=1",
];

/// Starts a server that may change files, and a browser.
pub(crate) fn start(lop: &Lop) -> Option<(Server, Browser)> {
    let browser = Browser::start(Options::default())?;
    Some((Server::start(lop, &["--allow-actions"]), browser))
}

/// Fails if a rule of axe is violated on the page.
pub(crate) fn assert_accessible(browser: &mut Browser) {
    if let Some(violations) = browser.axe() {
        assert_eq!(violations, [], "at {}", browser.url());
    }
}

#[test]
fn a_person_scans_decides_by_folder_applies_and_undoes() {
    let lop = Lop::with(&tree());
    let Some((server, mut browser)) = start(&lop) else { return };
    let before = Snapshot::of(lop.path("nas"));

    browser.open(&server.url());
    browser.type_text("#scan-form [name=path]", lop.path("nas").to_str().expect("UTF-8"));
    assert_accessible(&mut browser);
    browser.click("#scan-form button[type=submit]");
    browser.wait_for_text("#outcome", "66 groups of identical files");
    browser.screenshot("serve-start");

    browser.open(&server.page("/same-folders"));
    browser.wait_for_text("main", "60 groups");
    browser.wait_for("[data-act=only]");
    browser.press("1");
    browser.wait_for_text("main", "60 decided");
    assert_accessible(&mut browser);
    browser.screenshot("serve-same-folders");

    browser.open(&server.page("/plan"));
    browser.click("#plan-form button[type=submit]");
    browser.wait_for("[data-dialog=apply-dialog]");
    assert_accessible(&mut browser);
    browser.screenshot("serve-plan");
    browser.click("[data-dialog=apply-dialog]");
    browser.click("#apply-dialog button[value=ok]");
    browser.wait_for_text("#outcome", "60 files moved to quarantine");
    assert!(Snapshot::of(lop.path("nas")) != before, "files were moved to quarantine");
    browser.finish();

    // The tab was closed. Another browser finds the run and undoes it.
    let Some(mut browser) = Browser::start(Options::default()) else { return };
    browser.open(&server.url());
    browser.open(&server.page("/runs/1"));
    assert_accessible(&mut browser);
    browser.screenshot("serve-run");
    browser.click("[data-dialog=undo-dialog]");
    browser.click("#undo-dialog button[value=ok]");
    browser.wait_for_text("#outcome", "60 files restored");
    browser.finish();
    assert_same(&before, &Snapshot::of(lop.path("nas")), Compare::VISIBLE);
}

#[test]
fn hostile_names_stay_text_on_every_page() {
    let lop = Lop::with(&tree());
    lop.remember(["nas"]);
    let Some((server, mut browser)) = start(&lop) else { return };
    browser.open(&server.url());
    for page in
        ["/groups?filter=old", "/same-folders", "/space", "/folders", "/plan", "/quarantine"]
    {
        browser.open(&server.page(page));
        browser.wait_for("main h1, main .list, main form, main table");
        let title = browser.run("return document.title");
        assert!(title.as_str().is_some_and(|title| title.ends_with("lop")), "{page}: {title}");
        assert_eq!(browser.count("main script, main img[src=x], main [onmouseover]"), 0, "{page}");
        assert_accessible(&mut browser);
    }
    browser.finish();
}

#[test]
fn groups_are_decided_with_the_keyboard_alone_also_on_a_phone() {
    let lop = Lop::with(&tree());
    lop.remember(["nas"]);
    let Some((server, mut browser)) = start(&lop) else { return };
    browser.open(&server.url());
    browser.open(&server.page("/groups"));
    browser.wait_for(".row[data-rank=\"0\"]");
    browser.wait_for("tr[data-ordinal]");
    browser.press("1");
    browser.wait_for_text("main", "1 decided");
    browser.press("j");
    // The page ignores the key until it shows the next group.
    browser.wait_for_text("p.outcome", "Undecided");
    browser.press("x");
    browser.wait_for_text("main", "1 left alone");
    browser.press("/");
    browser.type_text("input[type=search]", "ext:jpg !backup");
    browser.wait_for_text("main", "0 groups");
    browser.clear("input[type=search]");
    browser.screenshot("serve-groups");
    browser.set_viewport(360, 740);
    browser.screenshot("serve-groups-phone");
    let is_wide = browser.run("return document.documentElement.scrollWidth > 360");
    assert_eq!(is_wide.as_bool(), Some(false), "the page fits a phone");
    assert_accessible(&mut browser);
    browser.set_preferences(true, true);
    assert_accessible(&mut browser);
    browser.screenshot("serve-groups-phone-dark");
    browser.finish();
}

#[test]
fn a_decision_about_folders_that_were_compared_before_a_scan_is_refused() {
    let lop = Lop::with(&tree());
    lop.remember(["nas"]);
    let Some((server, mut browser)) = start(&lop) else { return };
    browser.open(&server.url());
    browser.open(&server.page("/folders"));
    browser.click("#compare");
    browser.wait_for("button[data-set]");
    lop.remember(["nas"]);
    browser.expect("409");
    browser.click("button[data-set]");
    browser.wait_for_text("#alert", "Compare them again");
    browser.click("#alert a");
    browser.wait_for("#compare");
    browser.finish();
}

#[test]
fn arrow_keys_choose_a_rule_and_enter_decides() {
    let lop = Lop::with(&tree());
    lop.remember(["nas"]);
    let Some((server, mut browser)) = start(&lop) else { return };
    browser.open(&server.url());
    browser.open(&server.page("/groups"));
    browser.wait_for("tr[data-ordinal]");
    browser.run("document.getElementById('rule').focus()");
    for _ in 0..3 {
        browser.press("ArrowDown");
    }
    browser.wait_until("document.getElementById('rule').value === 'oldest'");
    assert!(browser.text("#totals").contains("0 decided"), "nothing is decided yet");
    assert!(browser.text(".outcome").contains("Undecided"));
    browser.press("Enter");
    browser.wait_for_text("#totals", "1 decided");
    browser.wait_for_text(".outcome", "keep by oldest");
    assert_eq!(browser.text("#alert"), "", "Enter decides once");
    browser.wait_until("document.activeElement.id === 'rule'");
    browser.press("ArrowDown");
    browser.press("Tab");
    browser.press("Enter");
    browser.wait_for_text(".outcome", "keep by tidy");
    assert_accessible(&mut browser);
    browser.finish();
}
