//! The page *Groups* in a browser: its first rows, its bytes, and scrolling.

use browser::Browser;
use serde_json::{Value, json};

use crate::Failure;
use crate::stats::float;

/// Notes the time at which the first row is in the document, from the start of the navigation.
const NOTICE_FIRST_ROW: &str = r#"
    new MutationObserver((_, observer) => {
      if (!document.querySelector('.row[data-rank="0"]')) return;
      window.lopFirstRow = performance.now();
      observer.disconnect();
    }).observe(document, { childList: true, subtree: true });
"#;

/// The rows on the screen and the details of the first group are there.
const IS_COMPLETE: &str =
    "!document.querySelector('.chunk.loading') && document.querySelector('tr[data-ordinal]')";

/// The bytes of the page and of everything that it loaded, without previews of the user's files.
const TRANSFERRED: &str = r#"
    const loaded = ["navigation", "resource"].flatMap((type) => performance.getEntriesByType(type));
    const own = loaded.filter(({ name }) => !new URL(name).pathname.startsWith("/file/"));
    return own.reduce((sum, { transferSize }) => sum + transferSize, 0);
"#;

/// Scrolls through a part of the list, one step for each frame. The arguments are replaced.
const SCROLL: &str = r#"
    const box = document.getElementById("list");
    const range = box.scrollHeight - box.clientHeight;
    return new Promise((resolve) => {
      let step = 0;
      const next = () => {
        step += 1;
        box.scrollTop = (range * (PART + step / FRAMES)) / PARTS;
        if (step < FRAMES) requestAnimationFrame(next); else resolve(true);
      };
      requestAnimationFrame(next);
    });
"#;

/// The browser scrolls the list from top to bottom this many times.
const PASSES: u32 = 3;

/// A pass stops this many times, until the rows there are loaded.
const PARTS: u32 = 10;

/// The number of frames between two stops.
const FRAMES: u32 = 24;

/// The time of a scroll, and the memory that it left behind.
pub(super) struct Scrolled {
    /// 0 if no task took more than 50 ms.
    pub(super) longest_task_ms: f64,
    /// Bytes of live JavaScript objects before the first pass.
    pub(super) heap_before: f64,
    /// The same after the first pass.
    pub(super) heap_after_one: f64,
    /// The same after the last pass.
    pub(super) heap_after_all: f64,
}

/// A browser that notes when the first rows appear.
pub(super) struct Watched<'a> {
    browser: &'a Browser,
}

impl<'a> Watched<'a> {
    pub(super) fn new(browser: &'a Browser) -> Self {
        let source = json!({ "source": NOTICE_FIRST_ROW });
        browser.cdp("Page.addScriptToEvaluateOnNewDocument", &source);
        Self { browser }
    }

    /// Opens the page. Returns the milliseconds from the start of the navigation until the first row
    /// was in the document.
    pub(super) fn first_rows(&self, url: &str) -> Result<f64, Failure> {
        self.browser.open(url);
        self.browser.wait_until("window.lopFirstRow");
        number(&self.browser.run("return window.lopFirstRow"))
    }

    /// Returns the number of bytes that the open page needed, including HTTP headers.
    pub(super) fn transferred(&self) -> Result<f64, Failure> {
        self.browser.wait_until(IS_COMPLETE);
        number(&self.browser.run(TRANSFERRED))
    }

    /// Scrolls through all groups.
    pub(super) fn scroll(&self) -> Scrolled {
        self.browser.wait_until(IS_COMPLETE);
        let known = self.browser.findings().long_tasks.len();
        let heap = || float(self.browser.heap_bytes());
        let heap_before = heap();
        self.scroll_once();
        let heap_after_one = heap();
        (1..PASSES).for_each(|_| self.scroll_once());
        let heap_after_all = heap();
        let tasks = self.browser.findings().long_tasks;
        let tasks = tasks.iter().skip(known).map(|task| task.duration.as_secs_f64() * 1_000.0);
        let longest_task_ms = tasks.fold(0.0, f64::max);
        Scrolled { longest_task_ms, heap_before, heap_after_one, heap_after_all }
    }

    /// Scrolls from the top to the bottom, and jumps back to the top.
    fn scroll_once(&self) {
        for part in 0..PARTS {
            self.browser.run(&scroll_through(part));
            self.browser.wait_until(IS_COMPLETE);
        }
        self.browser.run("document.getElementById('list').scrollTop = 0");
        self.browser.wait_until(IS_COMPLETE);
    }
}

fn scroll_through(part: u32) -> String {
    let script = SCROLL.replace("PARTS", &PARTS.to_string());
    script.replace("PART", &part.to_string()).replace("FRAMES", &FRAMES.to_string())
}

fn number(value: &Value) -> Result<f64, Failure> {
    value.as_f64().ok_or_else(|| Failure::new(format!("the browser answers {value}")))
}
