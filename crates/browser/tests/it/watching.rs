//! Complaints of the browser fail a test.

use std::time::Duration;

use browser::{Browser, Findings, Options};

use crate::server::{GOOD, SLOW, Server};

/// Opens a page and returns the complaints. Without a browser, returns `None`.
fn findings(page: &'static str, script: &'static str) -> Option<Findings> {
    let server = Server::new([("/", page), ("/page.js", script), ("/good", GOOD)]);
    let browser = Browser::start(Options::default())?;
    browser.open(&server.url("/"));
    browser.wait_until("document.readyState === 'complete'");
    // The complaints about a page outlast it.
    browser.open(&server.url("/good"));
    Some(browser.findings())
}

const SCRIPTED: &str = "<!doctype html><html lang=en><title>page</title>\
    <link rel=icon href='data:,'><main><h1>page</h1></main><script src=/page.js></script></html>";

#[test]
fn a_good_page_passes() {
    let server = Server::new([("/", GOOD)]);
    let Some(browser) = Browser::start(Options::default()) else { return };
    browser.open(&server.url("/"));
    if let Some(violations) = browser.axe() {
        assert_eq!(violations, []);
    }
    browser.finish();
}

#[test]
fn an_error_in_the_console_is_found() {
    let Some(found) = findings(SCRIPTED, "console.error('this is wrong')") else { return };
    assert!(found.console.len() == 1 && found.console[0].contains("this is wrong"), "{found}");
    assert!(found.csp.is_empty());
}

#[test]
fn an_uncaught_exception_is_found() {
    let script = "Promise.reject(new Error('lost')); setTimeout(() => missing(), 0)";
    let Some(found) = findings(SCRIPTED, script) else { return };
    assert!(found.console.iter().any(|text| text.contains("missing")), "{found}");
    assert!(found.console.iter().any(|text| text.contains("lost")), "{found}");
}

#[test]
fn a_missing_file_is_found() {
    let page = "<!doctype html><title>page</title><link rel=icon href='data:,'>\
                <img src=/none.png alt=none>";
    let Some(found) = findings(page, "") else { return };
    assert!(found.console.iter().any(|text| text.contains("none.png")), "{found}");
}

#[test]
fn a_violation_of_the_policy_is_found() {
    let page = "<!doctype html><title>page</title><link rel=icon href='data:,'>\
                <script>alert(1)</script><p style='color: red'>text</p>";
    let Some(found) = findings(page, "") else { return };
    let reported = |directive: &str| found.csp.iter().any(|text| text.starts_with(directive));
    assert!(reported("script-src-elem blocks inline"), "{found}");
    assert!(reported("style-src-attr blocks inline"), "{found}");
}

/// A task that takes several 100 ms of processor time.
const WORK: &str = "setTimeout(() => { let sum = 1; \
    for (let i = 0; i < 1e9; i++) sum = Math.imul(sum, i | 1); \
    window.sum = sum; window.isDone = true; }, 0)";

/// A task that blocks on a synchronous request for one second.
const WAIT: &str = "setTimeout(() => { const request = new XMLHttpRequest(); \
    request.open('GET', '/slow', false); request.send(); window.isDone = true; }, 0)";

/// Opens a page with a task, and waits for its end.
fn with_task(task: &'static str, longest_task: Duration) -> Option<Browser> {
    let server = Server::new([("/", SCRIPTED), ("/page.js", task), (SLOW, "late")]);
    let mut browser = Browser::start(Options { longest_task, ..Options::default() })?;
    browser.expect("Synchronous XMLHttpRequest");
    browser.open(&server.url("/"));
    browser.wait_until("window.isDone");
    Some(browser)
}

#[test]
#[should_panic(expected = "long task: ")]
fn a_long_task_is_found() {
    let Some(browser) = with_task(WORK, Duration::from_millis(100)) else {
        panic!("long task: skipped")
    };
    browser.finish();
}

#[test]
fn long_tasks_are_tolerated_up_to_a_limit() {
    let Some(browser) = with_task(WORK, Duration::from_secs(3600)) else { return };
    browser.finish();
}

#[test]
fn a_long_task_that_waits_is_tolerated() {
    let limit = Duration::from_millis(900);
    let Some(browser) = with_task(WAIT, limit) else { return };
    browser.finish();
    let Some(browser) = with_task(WAIT, Duration::ZERO) else { return };
    let tasks = browser.findings().long_tasks;
    assert!(tasks.iter().any(|task| task.duration > limit), "{tasks:?}");
}

#[test]
fn the_long_tasks_of_axe_are_not_those_of_the_page() {
    let server = Server::new([("/", GOOD)]);
    let Some(browser) = Browser::start(Options::default()) else { return };
    browser.open(&server.url("/"));
    browser.run("lopBrowser.pause()");
    browser.run(
        "return new Promise(done => setTimeout(() => { const end = performance.now() + 2500; \
         while (performance.now() < end); setTimeout(done, 100); }, 0))",
    );
    browser.run("lopBrowser.resume()");
    browser.finish();
}

#[test]
fn expected_complaints_are_tolerated() {
    let server = Server::new([("/", SCRIPTED), ("/page.js", "console.error('error 409')")]);
    let Some(mut browser) = Browser::start(Options::default()) else { return };
    browser.expect("409");
    browser.open(&server.url("/"));
    browser.finish();
}

#[test]
#[should_panic(expected = "this is wrong")]
fn a_test_with_complaints_fails() {
    let server = Server::new([("/", SCRIPTED), ("/page.js", "console.warn('this is wrong')")]);
    let Some(browser) = Browser::start(Options::default()) else { panic!("this is wrong") };
    browser.open(&server.url("/"));
    browser.finish();
}

#[test]
fn inaccessible_elements_are_found() {
    let page = "<!doctype html><html lang=en><title>page</title><link rel=icon href='data:,'>\
                <main><h1>page</h1><img src='data:,'><button></button></main></html>";
    let server = Server::new([("/", page)]);
    let Some(browser) = Browser::start(Options::default()) else { return };
    browser.open(&server.url("/"));
    let Some(violations) = browser.axe() else { return };
    let mut rules: Vec<&str> = violations.iter().map(|v| v.rule.as_str()).collect();
    rules.sort_unstable();
    assert_eq!(rules, ["button-name", "image-alt"]);
    assert!(violations.iter().all(|violation| violation.elements.len() == 1));
    browser.finish();
}
