//! A blocking session with the browser, on top of fantoccini.
//!
//! All calls run on a runtime that belongs to the session, so that tests need no `async`. Only this
//! module and [`keys`] know fantoccini.

use std::time::Duration;

use fantoccini::actions::{Actions, InputSource, KeyAction, KeyActions};
use fantoccini::elements::Element;
use fantoccini::error::CmdError;
use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Map, Value, json};
use tokio::runtime::Runtime;

use crate::driver::Driver;
use crate::keys;

/// How long a session waits for an element or for a condition.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// The text of a failed command.
pub(crate) type Outcome<T> = Result<T, String>;

pub(crate) struct Session {
    runtime: Runtime,
    client: Client,
}

impl Session {
    /// Starts the browser.
    pub(crate) fn start(driver: &Driver) -> Outcome<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|e| format!("no runtime: {e}"))?;
        let mut builder = ClientBuilder::new(HttpConnector::new());
        builder.capabilities(capabilities(driver));
        let client = runtime.block_on(builder.connect(&driver.url()));
        let client = client.map_err(|e| format!("chromium does not start: {e}"))?;
        Ok(Self { runtime, client })
    }

    /// Ends the browser.
    pub(crate) fn close(&self) {
        let _killed_anyway = self.runtime.block_on(self.client.clone().close());
    }

    pub(crate) fn open(&self, url: &str) -> Outcome<()> {
        self.wait_for(self.client.goto(url))
    }

    pub(crate) fn back(&self) -> Outcome<()> {
        self.wait_for(self.client.back())
    }

    pub(crate) fn reload(&self) -> Outcome<()> {
        self.wait_for(self.client.refresh())
    }

    pub(crate) fn url(&self) -> Outcome<String> {
        self.wait_for(self.client.current_url()).map(|url| url.to_string())
    }

    pub(crate) fn screenshot(&self) -> Outcome<Vec<u8>> {
        self.wait_for(self.client.screenshot())
    }

    /// Runs the body of a function in the page.
    pub(crate) fn run(&self, body: &str, arguments: Vec<Value>) -> Outcome<Value> {
        self.wait_for(self.client.execute(body, arguments))
    }

    pub(crate) fn click(&self, css: &str) -> Outcome<()> {
        let element = self.element(css)?;
        self.wait_for(element.click())
    }

    pub(crate) fn clear(&self, css: &str) -> Outcome<()> {
        let element = self.element(css)?;
        self.wait_for(element.clear())
    }

    pub(crate) fn type_text(&self, css: &str, text: &str) -> Outcome<()> {
        let element = self.element(css)?;
        self.wait_for(element.send_keys(text))
    }

    /// Returns the first element that matches, as soon as one exists.
    fn element(&self, css: &str) -> Outcome<Element> {
        let wait = self.client.wait().at_most(PATIENCE);
        self.wait_for(wait.for_element(Locator::Css(css))).map_err(|e| format!("{css}: {e}"))
    }

    /// Presses a key, with modifiers before it, as in `Shift+Tab`.
    pub(crate) fn press(&self, combination: &str) -> Outcome<()> {
        let keys = keys::parse(combination)?;
        let down = keys.iter().map(|&value| KeyAction::Down { value });
        let up = keys.iter().rev().map(|&value| KeyAction::Up { value });
        let sequence = KeyActions::new("keyboard".into());
        let sequence = down.chain(up).fold(sequence, InputSource::then);
        self.wait_for(self.client.perform_actions(Actions::from(sequence)))
    }

    /// Executes a command of the Chrome `DevTools` protocol.
    pub(crate) fn cdp(&self, command: &str, params: &Value) -> Outcome<Value> {
        let body = json!({ "cmd": command, "params": params });
        self.extension("goog/cdp/execute", body).map_err(|e| format!("{command}: {e}"))
    }

    /// Returns a metric of the page, as `Performance.getMetrics` names it.
    pub(crate) fn metric(&self, name: &str) -> Outcome<f64> {
        self.cdp("Performance.enable", &json!({}))?;
        let answer = self.cdp("Performance.getMetrics", &json!({}))?;
        let mut metrics = answer["metrics"].as_array().into_iter().flatten();
        let metric = metrics.find(|metric| metric["name"] == name);
        metric.and_then(|metric| metric["value"].as_f64()).ok_or(format!("no metric {name}"))
    }

    /// Returns the new entries of the console's log.
    pub(crate) fn console(&self) -> Outcome<Vec<Value>> {
        let entries = self.extension("se/log", json!({ "type": "browser" }))?;
        Ok(entries.as_array().cloned().unwrap_or_default())
    }

    fn extension(&self, path: &'static str, body: Value) -> Outcome<Value> {
        self.wait_for(self.client.issue_cmd(Extension { path, body }))
    }

    fn wait_for<T>(&self, command: impl Future<Output = Result<T, CmdError>>) -> Outcome<T> {
        self.runtime.block_on(command).map_err(|e| e.to_string())
    }
}

/// A command of chromedriver that the W3C protocol does not have.
#[derive(Debug)]
struct Extension {
    path: &'static str,
    body: Value,
}

impl WebDriverCompatibleCommand for Extension {
    fn endpoint(
        &self,
        base: &url::Url,
        session: Option<&str>,
    ) -> Result<url::Url, url::ParseError> {
        base.join(&format!("session/{}/{}", session.unwrap_or_default(), self.path))
    }

    fn method_and_body(&self, _url: &url::Url) -> (http::Method, Option<String>) {
        (http::Method::POST, Some(self.body.to_string()))
    }
}

fn capabilities(driver: &Driver) -> Map<String, Value> {
    let profile = format!("--user-data-dir={}", driver.home().join("profile").display());
    // The sandbox does not work as root. /dev/shm is too small in containers.
    let arguments = json!([
        "--headless=new",
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--disable-gpu",
        "--force-device-scale-factor=1",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        profile,
    ]);
    let capabilities = json!({
        "goog:chromeOptions": { "args": arguments },
        "goog:loggingPrefs": { "browser": "ALL" },
    });
    capabilities.as_object().cloned().expect("an object")
}
