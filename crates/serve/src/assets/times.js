// Shows the times of a page, which the server sends in UTC, in the time zone of the browser.

const two = (number) => String(number).padStart(2, "0");

function local(text) {
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) return undefined;
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}`;
}

function convert(node) {
  if (node.nodeType !== Node.ELEMENT_NODE) return;
  const times = node.matches("time[datetime]") ? [node] : node.querySelectorAll("time[datetime]");
  for (const time of times) {
    const text = local(time.dateTime);
    if (text && time.textContent !== text) time.textContent = text;
  }
}

/** Converts all times of the page, and those that are added later. */
export function showLocalTimes() {
  convert(document.body);
  new MutationObserver((changes) => {
    for (const { addedNodes } of changes) addedNodes.forEach(convert);
  }).observe(document.body, { childList: true, subtree: true });
}
