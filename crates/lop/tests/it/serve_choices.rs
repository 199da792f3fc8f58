//! Choices in a browser that follow each other faster than the server answers.

use browser::Browser;
use serde_json::json;
use testkit::TreeBuilder;

use crate::lop::Lop;
use crate::serve_pages::start;

/// Three equal files, and two others.
fn tree() -> TreeBuilder {
    let tree = ["a", "b", "c"].into_iter().fold(TreeBuilder::new(), |tree, dir| {
        tree.seeded(format!("nas/{dir}/IMG_0001.jpg"), 1, 90_000)
    });
    tree.seeded("nas/a/other.jpg", 2, 5_000).seeded("nas/b/other.jpg", 2, 5_000)
}

/// Delays all answers of the server.
fn delay(browser: &Browser, latency_ms: u32) {
    browser.cdp("Network.enable", &json!({}));
    let conditions = json!({
        "offline": false, "latency": latency_ms, "downloadThroughput": -1, "uploadThroughput": -1,
    });
    browser.cdp("Network.emulateNetworkConditions", &conditions);
}

/// Waits until the page shows these fates of the files of a group, and nothing else.
fn wait_for_fates(browser: &Browser, fates: &[&str]) {
    let shown = "[...document.querySelectorAll('tr[data-ordinal] .fate')].map((fate) => fate.classList[1]).join()";
    browser.wait_until(&format!("{shown} === '{}'", fates.join(",")));
}

#[test]
fn quick_choices_are_all_made_in_their_order() {
    let lop = Lop::with(&tree());
    lop.remember(["nas"]);
    let Some((server, browser)) = start(&lop) else { return };
    browser.open(&server.url());
    browser.open(&server.page("/groups"));
    browser.wait_for("tr[data-ordinal=\"2\"]");
    delay(&browser, 250);
    for key in [" ", "ArrowRight", " "] {
        browser.press(key);
    }
    wait_for_fates(&browser, &["remove", "remove", "keep"]);
    // The same key twice takes a choice back, before the first answer.
    for key in [" ", " ", "ArrowLeft", " "] {
        browser.press(key);
    }
    wait_for_fates(&browser, &["keep", "remove", "keep"]);
    // Going on to the next group does not drop the choices.
    for key in ["ArrowRight", " ", "ArrowRight", " ", "j"] {
        browser.press(key);
    }
    browser.wait_for_text("h2", "other.jpg");
    delay(&browser, 0);
    browser.press("k");
    wait_for_fates(&browser, &["keep", "keep", "remove"]);
    assert_eq!(browser.text("#alert"), "");
    browser.finish();
}
