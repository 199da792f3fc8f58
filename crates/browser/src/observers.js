// Runs in every page before the page's own scripts. Reports long tasks and violations of the
// content security policy to the console's log, which outlasts the page.
(() => {
  const log = console.debug.bind(console);
  let quiet = false;
  let last = -1;
  const report = (entries) => {
    for (const entry of entries) {
      // A page that is shown again from the cache receives its old entries again.
      if (entry.startTime <= last) continue;
      last = entry.startTime;
      if (quiet) continue;
      log(`lop-browser longtask ${Math.round(entry.duration)} at ${Math.round(entry.startTime)} ms in ${location.pathname}`);
    }
  };
  const observer = new PerformanceObserver((list) => report(list.getEntries()));
  observer.observe({ type: "longtask", buffered: true });
  document.addEventListener("securitypolicyviolation", (event) => {
    log(`lop-browser csp ${event.effectiveDirective} blocks ${event.blockedURI} in ${location.pathname}`);
  });
  Object.defineProperty(window, "lopBrowser", {
    value: {
      // Reports what happened until now.
      flush: () => report(observer.takeRecords()),
      // Ignores long tasks that the test itself causes.
      pause: () => { report(observer.takeRecords()); quiet = true; },
      resume: () => { report(observer.takeRecords()); quiet = false; },
    },
  });
})();
