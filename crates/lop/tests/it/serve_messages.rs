//! The messages that the pages of `lop serve` show in a browser after an error, and the pages on a phone.

use std::fs;

use testkit::TreeBuilder;

use crate::jobs::keep_all_by;
use crate::lop::Lop;
use crate::serve_pages::{assert_accessible, start};

/// Two pairs of equal files.
fn scanned() -> Lop {
    let tree = TreeBuilder::new().seeded("nas/a/one", 1, 9_000).seeded("nas/b/one", 1, 9_000);
    let lop = Lop::with(&tree.seeded("nas/a/two", 2, 5_000).seeded("nas/b/two", 2, 5_000));
    lop.remember(["nas"]);
    lop
}

#[test]
fn messages_are_sentences() {
    let lop = scanned();
    let Some((server, mut browser)) = start(&lop) else { return };
    browser.open(&server.url());
    browser.open(&server.page("/groups"));
    browser.wait_for(".row.active");
    browser.type_text("#filter", "size:<");
    browser.wait_for_text("#filter-error", "size:<: takes a comparison");
    browser.wait_for("#split.earlier");
    browser.wait_for("#decide-all:disabled");
    (0..6).for_each(|_| browser.press("Backspace"));
    browser.wait_for_no("#split.earlier");
    browser.wait_for_no("#decide-all:disabled");

    browser.wait_for("#list:not([hidden]) .row.active");
    browser.press("Escape");
    browser.press("?");
    browser.wait_for("#keys");
    let keys = browser.texts("#keys dd");
    let general = keys.iter().position(|text| text == "Show the keys of this page");
    assert_eq!(general, Some(keys.len() - 1), "those of the page come first: {keys:?}");
    browser.click("#keys button");

    fs::remove_file(lop.catalog()).expect("removed");
    browser.expect("500");
    browser.press("j");
    let path = lop.catalog();
    let expected = format!("no catalog at {}. Start a scan to create it.", path.display());
    browser.wait_for_text("#alert", &expected);
    browser.finish();
}

#[test]
fn a_plan_that_has_become_outdated_says_so_after_the_refusal() {
    let lop = scanned();
    keep_all_by(&lop, "oldest");
    let Some((server, mut browser)) = start(&lop) else { return };
    browser.open(&server.url());
    browser.open(&server.page("/plan"));
    browser.click("#plan-form button[type=submit]");
    browser.wait_for("button[data-dialog=apply-dialog]");
    keep_all_by(&lop, "newest");
    browser.expect("409");
    browser.click("button[data-dialog=apply-dialog]");
    browser.click("#apply-dialog button[value=ok]");
    browser.wait_for_text("main", "since this plan was made");
    browser.wait_for("button[data-dialog=apply-dialog]:disabled");
    browser.finish();
}

#[test]
fn a_phone_shows_all_pages_and_the_current_one() {
    let lop = scanned();
    let Some((server, mut browser)) = start(&lop) else { return };
    browser.set_viewport(360, 740);
    browser.open(&server.url());
    for path in ["/", "/same-folders", "/folders", "/plan", "/quarantine"] {
        browser.open(&server.page(path));
        browser.wait_for(&format!("nav a[aria-current][href='{path}']"));
        let hidden = "[...document.querySelectorAll('header nav a')].filter((link) => {
            const { left, right } = link.getBoundingClientRect();
            return left < 0 || right > innerWidth;
        }).length === 0";
        browser.wait_until(hidden);
        browser.wait_until("document.querySelector('header nav').clientHeight < 80");
        browser.wait_until("document.documentElement.scrollWidth <= innerWidth");
        assert_accessible(&mut browser);
    }
    browser.finish();
}
