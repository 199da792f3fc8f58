//! The actions of a user, and questions about the page.

use std::fs;
use std::path::Path;

use browser::{Browser, Options};

use crate::server::{GOOD, Server};

const PAGE: &str = "<!doctype html><html lang=en><title>page</title><link rel=icon href='data:,'>\
    <main><h1>page</h1><label>name <input id=name></label><button id=add>add</button>\
    <ul></ul><p id=keys></p><a href=/good>next</a></main><script src=/page.js></script></html>";

const SCRIPT: &str = "
    const one = (css) => document.querySelector(css);
    one('#add').addEventListener('click', () => {
        const item = document.createElement('li');
        item.textContent = one('#name').value;
        item.dataset.kind = 'item';
        setTimeout(() => one('ul').append(item), 100);
    });
    document.addEventListener('keydown', (event) => {
        const shift = event.shiftKey ? 'Shift+' : '';
        one('#keys').textContent += `${shift}${event.key} `;
    });";

fn browser(options: Options) -> Option<(Server, Browser)> {
    let server = Server::new([("/", PAGE), ("/page.js", SCRIPT), ("/good", GOOD)]);
    let browser = Browser::start(options)?;
    browser.open(&server.url("/"));
    Some((server, browser))
}

#[test]
fn clicks_and_texts_reach_the_page() {
    let Some((_server, browser)) = browser(Options::default()) else { return };
    browser.type_text("#name", "first");
    browser.click("#add");
    assert_eq!(browser.text("li"), "first");
    browser.clear("#name");
    browser.type_text("#name", "second");
    browser.click("#add");
    browser.wait_for_text("li + li", "second");
    assert_eq!(browser.texts("li"), ["first", "second"]);
    assert_eq!(browser.count("li"), 2);
    assert_eq!(browser.attribute("li", "data-kind").as_deref(), Some("item"));
    assert_eq!(browser.attribute("li", "data-none"), None);
    browser.finish();
}

#[test]
fn keys_reach_the_page() {
    let Some((_server, browser)) = browser(Options::default()) else { return };
    for key in ["j", "ArrowDown", "Escape", "Shift+ArrowUp", "+"] {
        browser.press(key);
    }
    assert_eq!(browser.text("#keys"), "j ArrowDown Escape Shift+Shift Shift+ArrowUp Shift++");
    browser.finish();
}

#[test]
fn pages_follow_each_other() {
    let Some((server, browser)) = browser(Options::default()) else { return };
    browser.click("a");
    browser.wait_for_text("h1", "good");
    assert_eq!(browser.url(), server.url("/good"));
    browser.back();
    browser.wait_for("#add");
    browser.run("document.querySelector('#add').remove()");
    browser.wait_for_no("#add");
    browser.reload();
    browser.wait_for("#add");
    browser.finish();
}

#[test]
fn the_page_has_the_size_and_the_preferences_of_the_user() {
    let options = Options { is_dark: true, ..Options::default() };
    let Some((_server, browser)) = browser(options) else { return };
    let prefers = |feature: &str| browser.run(&format!("return matchMedia('({feature})').matches"));
    assert_eq!(prefers("prefers-color-scheme: dark"), true);
    assert_eq!(prefers("prefers-reduced-motion: reduce"), false);
    assert_eq!(browser.run("return [innerWidth, innerHeight].join()"), "1280,800");
    browser.set_viewport(360, 740);
    browser.set_preferences(false, true);
    assert_eq!(prefers("prefers-color-scheme: dark"), false);
    assert_eq!(prefers("prefers-reduced-motion: reduce"), true);
    assert_eq!(browser.run("return [innerWidth, innerHeight].join()"), "360,740");
    browser.open(&browser.url());
    assert_eq!(browser.run("return [innerWidth, innerHeight].join()"), "360,740");
    browser.finish();
}

#[test]
fn the_heap_grows_with_what_the_page_keeps() {
    let Some((_server, browser)) = browser(Options::default()) else { return };
    let before = browser.heap_bytes();
    browser.run("window.kept = Array.from({ length: 100000 }, (_, i) => ({ i }))");
    assert!(browser.heap_bytes() > before + 1_000_000);
    browser.run("window.kept = null");
    assert!(browser.heap_bytes() < before + 1_000_000);
}

#[test]
fn a_screenshot_is_a_png() {
    let Some((_server, browser)) = browser(Options::default()) else { return };
    let path = browser.screenshot("harness");
    assert!(path.ends_with("screenshots/harness.png"));
    assert_eq!(fs::read(path).expect("saved")[..4], *b"\x89PNG");
}

#[test]
fn no_process_and_no_file_remain() {
    let Some((_server, browser)) = browser(Options::default()) else { return };
    let home = browser.home().to_owned();
    assert!(processes_of(&home) > 0, "the browser runs");
    browser.finish();
    assert_eq!(processes_of(&home), 0, "the browser has ended");
    assert!(!home.exists());
}

/// Returns the number of processes whose arguments contain a path.
fn processes_of(path: &Path) -> usize {
    let processes = fs::read_dir("/proc").expect("mounted");
    let arguments = processes.filter_map(|entry| fs::read(entry.ok()?.path().join("cmdline")).ok());
    let path = path.as_os_str().as_encoded_bytes();
    arguments.filter(|bytes| bytes.windows(path.len()).any(|window| window == path)).count()
}
