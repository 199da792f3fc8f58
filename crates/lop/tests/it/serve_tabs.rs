//! `lop serve` in two windows at once.

use browser::{Browser, Options};
use testkit::TreeBuilder;

use crate::concurrency::Holder;
use crate::jobs::keep_all_by;
use crate::lop::Lop;
use crate::serve_pages::{assert_accessible, start};
use crate::serving::Server;

/// A folder and its backup.
fn tree(number: u64) -> TreeBuilder {
    (0..number).fold(TreeBuilder::new(), |tree, n| {
        let path = |above: &str| format!("nas/{above}/IMG_{n:04}.jpg");
        tree.seeded(path("photos"), n, 9000 + n).seeded(path("backup"), n, 9000 + n)
    })
}

/// Returns a server and two browsers.
fn start_two(lop: &Lop) -> Option<(Server, Browser, Browser)> {
    let (server, first) = start(lop)?;
    let second = Browser::start(Options::default())?;
    for browser in [&first, &second] {
        browser.open(&server.url());
    }
    Some((server, first, second))
}

/// Returns the paths that stay according to the decision about a single group.
fn kept(lop: &Lop) -> String {
    let sql = "SELECT value FROM decision WHERE scope = 'group'";
    let value: Vec<u8> = lop.database().query_row(sql, [], |row| row.get(0)).expect("a row");
    String::from_utf8(value).expect("UTF-8")
}

#[test]
fn a_choice_on_an_old_page_does_not_overwrite_the_decision_of_another_window() {
    let lop = Lop::with(&tree(2));
    lop.remember(["nas"]);
    let Some((server, first, mut second)) = start_two(&lop) else { return };
    for browser in [&first, &second] {
        browser.open(&server.page("/groups"));
        browser.wait_for("tr[data-ordinal]");
    }
    first.press("1");
    first.wait_for_text("#totals", "1 decided");
    let decided = kept(&lop);

    second.expect("409");
    second.press("2");
    second.wait_for_text("#alert", "Another window has changed this decision");
    second.wait_for_text("#totals", "1 decided");
    second.wait_for("tr[data-ordinal=\"0\"] .fate.keep");
    assert_eq!(kept(&lop), decided, "the first decision stays");
    assert_accessible(&mut second);
    // The page now shows the decision, so it can be changed.
    second.press("2");
    second.wait_for("tr[data-ordinal=\"1\"] .fate.keep");
    assert_ne!(kept(&lop), decided);
    // Other groups were never affected.
    second.press("j");
    second.wait_for("tr[data-ordinal]");
    second.wait_for_text("p.outcome", "Undecided");
    second.press("x");
    second.wait_for_text("#totals", "1 left alone");
    first.finish();
    second.finish();
}

#[test]
fn a_choice_on_a_page_from_before_a_scan_is_refused_and_the_page_loads_again() {
    let lop = Lop::with(&tree(2));
    lop.remember(["nas"]);
    let Some((server, first, mut second)) = start_two(&lop) else { return };
    second.open(&server.page("/groups"));
    second.wait_for("tr[data-ordinal]");
    lop.add(&TreeBuilder::new().seeded("nas/new/a", 77, 90_000).seeded("nas/new/b", 77, 90_000));
    first.type_text("#scan-form [name=path]", lop.path("nas").to_str().expect("UTF-8"));
    first.click("#scan-form button[type=submit]");
    first.wait_for_text("#outcome", "3 groups of identical files");
    second.expect("409");
    second.press("1");
    second.wait_for_text("#alert", "The catalog has changed since this page was loaded");
    second.wait_for_text("#totals", "3 groups");
    second.wait_for_text("#totals", "0 decided");
    first.finish();
    second.finish();
}

#[test]
fn a_running_apply_shows_in_the_other_window_where_a_second_one_is_refused() {
    let lop = Lop::with(&tree(5).fifo("list"));
    lop.remember(["nas"]);
    keep_all_by(&lop, "shortest-path");
    let Some((server, first, mut second)) = start_two(&lop) else { return };
    first.open(&server.page("/plan"));
    first.click("#plan-form button[type=submit]");
    first.wait_for("button[data-dialog=apply-dialog]");
    second.open(&server.page("/plan"));
    second.wait_for("button[data-dialog=apply-dialog]");
    let apply = |browser: &Browser| {
        browser.click("button[data-dialog=apply-dialog]");
        browser.click("#apply-dialog button[value=ok]");
    };

    // The run waits for the catalog.
    let holder = Holder::start(&lop);
    apply(&first);
    first.wait_for_text("#jobs", "Applying the plan");
    second.expect("409");
    apply(&second);
    second.wait_for_text("#alert", "Applying the plan is still running");
    second.wait_for_text("#jobs", "Applying the plan");
    assert_accessible(&mut second);
    second.click("#alert a");
    second.wait_until("location.pathname === '/runs'");
    second.wait_for_text("#jobs", "Applying the plan");
    second.wait_for("#running:not([hidden])");
    assert_accessible(&mut second);
    holder.finish(b"");
    for browser in [&first, &second] {
        browser.wait_for_text("#outcome", "5 files moved to quarantine");
    }
    let history = lop.json(["history"]);
    assert_eq!(history["runs"].as_array().map(Vec::len), Some(1), "{history}");
    first.finish();
    second.finish();
}

#[test]
fn a_page_offers_to_load_what_another_process_has_scanned() {
    let lop = Lop::with(&tree(2));
    lop.remember(["nas"]);
    let Some((server, mut first, second)) = start_two(&lop) else { return };
    second.open(&server.page("/runs"));
    // A page asks when it becomes visible, and every ten seconds.
    let ask = "document.dispatchEvent(new Event('visibilitychange'))";
    let is_hidden = |browser: &Browser| browser.attribute("#news", "hidden").is_some();
    assert!(is_hidden(&first) && is_hidden(&second));
    lop.add(&TreeBuilder::new().seeded("nas/new/a", 77, 90_000).seeded("nas/new/b", 77, 90_000));
    lop.remember(["nas"]);
    for browser in [&first, &second] {
        browser.run(ask);
        browser.wait_for("#news:not([hidden])");
    }
    assert_accessible(&mut first);
    first.click("#news button");
    first.wait_for_text(".cards", "3 groups");
    first.run(ask);
    assert!(is_hidden(&first));
    first.finish();
    second.finish();
}
