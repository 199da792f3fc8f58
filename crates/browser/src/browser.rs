//! The browser as tests use it: the actions of a user, and questions about the page.
//!
//! Actions wait until their element exists. An action that fails panics, after it has saved a
//! screenshot. CSS selectors name the elements.

use std::cell::{Cell, RefCell};
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::axe::{self, Violation};
use crate::driver::Driver;
use crate::findings::Findings;
use crate::session::{Outcome, PATIENCE, Session};

/// The script that watches the pages.
const OBSERVERS: &str = include_str!("observers.js");

/// The pause between two looks at a condition.
const PAUSE: Duration = Duration::from_millis(20);

/// The size and the preferences of the browser, and the limits of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// The size of the page in CSS pixels.
    pub viewport: (u32, u32),
    /// Whether the user prefers dark colours.
    pub is_dark: bool,
    /// Whether the user prefers few animations.
    pub has_reduced_motion: bool,
    /// The longest tolerated task on the main thread. The browser reports none below 50 ms. A task
    /// that used less processor time is tolerated, however long it took, because the tests share the
    /// processors.
    pub longest_task: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            viewport: (1280, 800),
            is_dark: false,
            has_reduced_motion: false,
            longest_task: Duration::from_secs(2),
        }
    }
}

/// A browser with one tab.
#[must_use = "a test ends with `finish`"]
pub struct Browser {
    session: Session,
    /// Dropped after the session.
    driver: Driver,
    options: Options,
    expected: Vec<String>,
    findings: RefCell<Findings>,
    /// The processor time of the main thread of the page when the log was last read.
    thread_time: Cell<Duration>,
}

impl Browser {
    /// Starts a browser. If that fails, prints the reason and returns `None`.
    pub fn start(options: Options) -> Option<Self> {
        Self::try_start(options).map_err(testkit::skipped).ok()
    }

    fn try_start(options: Options) -> Outcome<Self> {
        let driver = Driver::start()?;
        let session = Session::start(&driver)?;
        let (expected, findings) = (Vec::new(), RefCell::default());
        let thread_time = Cell::default();
        let browser = Self { session, driver, options, expected, findings, thread_time };
        browser.cdp("Page.addScriptToEvaluateOnNewDocument", &json!({ "source": OBSERVERS }));
        browser.set_viewport(options.viewport.0, options.viewport.1);
        browser.set_preferences(options.is_dark, options.has_reduced_motion);
        Ok(browser)
    }

    /// Tolerates complaints of the browser that contain a text, such as `409`.
    pub fn expect(&mut self, part: &str) {
        self.expected.push(part.to_owned());
    }

    /// Opens a page and waits until it is loaded.
    pub fn open(&self, url: &str) {
        self.read_log();
        self.done(self.session.open(url));
    }

    /// Goes back to the previous page.
    pub fn back(&self) {
        self.read_log();
        self.done(self.session.back());
    }

    /// Loads the page again.
    pub fn reload(&self) {
        self.read_log();
        self.done(self.session.reload());
    }

    /// Returns the address of the page.
    pub fn url(&self) -> String {
        self.done(self.session.url())
    }

    /// Clicks on the first element that matches.
    pub fn click(&self, css: &str) {
        self.done(self.session.click(css));
    }

    /// Types a text into an element, after the text that it contains.
    pub fn type_text(&self, css: &str, text: &str) {
        self.done(self.session.type_text(css, text));
    }

    /// Removes the text of an input element.
    pub fn clear(&self, css: &str) {
        self.done(self.session.clear(css));
    }

    /// Presses a key as `KeyboardEvent.key` names it, with modifiers before it: `j`, `Enter`,
    /// `ArrowDown`, `Shift+Tab`, `Control+a`. The element that has the focus receives it.
    pub fn press(&self, combination: &str) {
        self.done(self.session.press(combination));
    }

    /// Waits until an element matches.
    pub fn wait_for(&self, css: &str) {
        self.wait_until(&format!("document.querySelector({}) !== null", json!(css)));
    }

    /// Waits until no element matches.
    pub fn wait_for_no(&self, css: &str) {
        self.wait_until(&format!("document.querySelector({}) === null", json!(css)));
    }

    /// Waits until the text of the first element that matches contains `part`.
    pub fn wait_for_text(&self, css: &str, part: &str) {
        let (css, part) = (json!(css), json!(part));
        self.wait_until(&format!("document.querySelector({css})?.innerText.includes({part})"));
    }

    /// Waits until a JavaScript expression is true.
    pub fn wait_until(&self, expression: &str) {
        let deadline = Instant::now() + PATIENCE;
        let body = format!("return !!({expression})");
        // A page that is being replaced cannot answer, so an error is no reason to stop.
        while self.session.run(&body, Vec::new()) != Ok(Value::Bool(true)) {
            if Instant::now() >= deadline {
                self.fail(&format!("still not true after {PATIENCE:?}: {expression}"));
            }
            thread::sleep(PAUSE);
        }
    }

    /// Returns the visible text of the first element that matches.
    pub fn text(&self, css: &str) -> String {
        self.wait_for(css);
        self.texts(css).swap_remove(0)
    }

    /// Returns the visible texts of all elements that match.
    pub fn texts(&self, css: &str) -> Vec<String> {
        let body = "return [...document.querySelectorAll(arguments[0])].map(e => e.innerText)";
        let texts = self.done(self.session.run(body, vec![json!(css)]));
        let texts = texts.as_array().into_iter().flatten();
        texts.map(|text| text.as_str().unwrap_or_default().to_owned()).collect()
    }

    /// Returns the number of elements that match.
    pub fn count(&self, css: &str) -> usize {
        self.texts(css).len()
    }

    /// Returns an attribute of the first element that matches.
    pub fn attribute(&self, css: &str, name: &str) -> Option<String> {
        self.wait_for(css);
        let body = "return document.querySelector(arguments[0]).getAttribute(arguments[1])";
        let value = self.done(self.session.run(body, vec![json!(css), json!(name)]));
        value.as_str().map(str::to_owned)
    }

    /// Runs the body of a JavaScript function in the page and returns its result. It may return a
    /// promise.
    pub fn run(&self, body: &str) -> Value {
        self.done(self.session.run(body, Vec::new()))
    }

    /// Executes a command of the Chrome `DevTools` protocol.
    pub fn cdp(&self, command: &str, params: &Value) -> Value {
        self.done(self.session.cdp(command, params))
    }

    /// Changes the size of the page.
    pub fn set_viewport(&self, width: u32, height: u32) {
        let params = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false,
        });
        self.cdp("Emulation.setDeviceMetricsOverride", &params);
    }

    /// Changes what the user prefers.
    pub fn set_preferences(&self, is_dark: bool, has_reduced_motion: bool) {
        let scheme = if is_dark { "dark" } else { "light" };
        let motion = if has_reduced_motion { "reduce" } else { "no-preference" };
        let features = json!([
            { "name": "prefers-color-scheme", "value": scheme },
            { "name": "prefers-reduced-motion", "value": motion },
        ]);
        self.cdp("Emulation.setEmulatedMedia", &json!({ "features": features }));
    }

    /// Returns the size of all live JavaScript objects in bytes. Collects garbage first.
    pub fn heap_bytes(&self) -> u64 {
        self.cdp("HeapProfiler.collectGarbage", &json!({}));
        let used = self.done(self.session.metric("JSHeapUsedSize"));
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bytes")]
        {
            used as u64
        }
    }

    /// Saves a picture of the page as `NAME.png`, in the folder that the environment variable
    /// `LOP_SCREENSHOTS` names, or in `screenshots` in the target directory.
    pub fn screenshot(&self, name: &str) -> PathBuf {
        self.done(self.save_picture(name))
    }

    fn save_picture(&self, name: &str) -> Outcome<PathBuf> {
        let picture = self.session.screenshot()?;
        let chosen = std::env::var_os("LOP_SCREENSHOTS").map(PathBuf::from);
        let folder = chosen.unwrap_or_else(|| crate::target_directory().join("screenshots"));
        let path = folder.join(format!("{name}.png"));
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, picture));
        written.map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(path)
    }

    /// Returns the temporary directory of the browser. It contains the profile, and is removed
    /// when the browser ends.
    pub fn home(&self) -> &Path {
        self.driver.home()
    }

    /// Returns the accessibility rules that the page violates. Without axe-core, prints the reason
    /// and returns `None`.
    pub fn axe(&self) -> Option<Vec<Violation>> {
        let script = axe::script().map_err(testkit::skipped).ok()?;
        self.run("lopBrowser.pause()");
        self.evaluate(script);
        let json = self.evaluate(axe::RUN);
        self.run("lopBrowser.resume()");
        Some(self.done(Violation::parse(json.as_str().unwrap_or_default())))
    }

    /// Evaluates an expression. The content security policy of the page does not apply to it.
    fn evaluate(&self, expression: &str) -> Value {
        let params = json!({
            "expression": expression, "awaitPromise": true, "returnByValue": true,
        });
        let answer = self.cdp("Runtime.evaluate", &params);
        if answer.get("exceptionDetails").is_some() {
            self.fail(&format!("an exception: {}", answer["exceptionDetails"]));
        }
        answer["result"]["value"].clone()
    }

    /// Returns what the browser complained about so far, except for what the test expects.
    pub fn findings(&self) -> Findings {
        self.read_log();
        self.findings.borrow().clone().without(&self.expected, self.options.longest_task)
    }

    /// Ends the test.
    ///
    /// # Panics
    ///
    /// Panics if the browser complained about something that the test does not expect.
    pub fn finish(self) {
        let findings = self.findings();
        if !findings.is_empty() {
            self.fail(&format!("the browser complains:\n{findings}"));
        }
    }

    /// Makes the page report the tasks that have ended, and reads the log.
    fn read_log(&self) {
        let _unwatched = self.session.run("window.lopBrowser?.flush()", Vec::new());
        let entries = self.done(self.session.console());
        let used = self.processor_time();
        for entry in entries {
            self.findings.borrow_mut().add(&entry, used);
        }
    }

    /// Returns the processor time of the main thread of the page since the last call, and the
    /// maximum if the browser does not report it.
    fn processor_time(&self) -> Duration {
        let Ok(seconds) = self.session.metric("ThreadTime") else { return Duration::MAX };
        let now = Duration::from_secs_f64(seconds.max(0.0));
        // After a page in another process, the time starts again at zero.
        now.checked_sub(self.thread_time.replace(now)).unwrap_or(now)
    }

    fn done<T>(&self, outcome: Outcome<T>) -> T {
        outcome.unwrap_or_else(|reason| self.fail(&reason))
    }

    /// Panics with the reason and what is known about the page.
    fn fail(&self, reason: &str) -> ! {
        let url = self.session.url().unwrap_or_default();
        panic!("{reason}\npage: {url}");
    }

    /// Saves a picture of the page of a failed test, and prints the log of the console.
    #[expect(clippy::print_stderr, reason = "the harness shows it with the failed test")]
    fn explain(&self) {
        let test = thread::current().name().unwrap_or("test").replace("::", "-");
        if let Ok(path) = self.save_picture(&format!("failed-{test}")) {
            eprintln!("screenshot: {}", path.display());
        }
        if let Ok(findings) = self.findings.try_borrow() {
            eprint!("{findings}");
        }
        for entry in self.session.console().unwrap_or_default() {
            eprintln!("console: {}", entry["message"].as_str().unwrap_or_default());
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if thread::panicking() {
            self.explain();
        }
        self.session.close();
    }
}
