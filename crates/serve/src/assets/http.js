// Requests to the server. A request that fails throws `Failed`; `post` also shows the error to the user.

const csrf = document.querySelector('meta[name="lop-csrf"]').content;

/** Time for which a message stays, in milliseconds: enough to read the longest one twice. */
const MESSAGE_TIME = 30000;

let hiding;

/**
 * Shows a message that the user has to notice. It stays until the next change is sent, but at most for MESSAGE_TIME.
 * `link` leads to the page that helps.
 */
export function alertUser(text, link) {
  const box = document.getElementById("alert");
  clearTimeout(hiding);
  box.textContent = text;
  if (link) {
    const anchor = document.createElement("a");
    Object.assign(anchor, { href: link, textContent: text });
    box.replaceChildren(anchor);
  }
  if (text) hiding = setTimeout(() => (box.textContent = ""), MESSAGE_TIME);
}

/** Tells screen readers what changed. */
export function announce(text) {
  document.getElementById("live").textContent = text;
}

/**
 * A failed request. `status` is the HTTP status, or 0 without a connection. `isOvertaken` if another window has changed
 * a decision.
 */
export class Failed extends Error {
  constructor(status, message, link, isOvertaken) {
    super(message);
    Object.assign(this, { status, link, isOvertaken });
  }
}

async function answer(request) {
  let response;
  try {
    response = await request;
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failed(0, "lop serve does not answer. Is it still running?");
  }
  if (response.ok) return response;
  // Only something between the browser and lop serve, such as a proxy, answers without a reason.
  const said = await response.json().catch(() => ({ error: `The server answered ${response.status}` }));
  throw new Failed(response.status, [`${said.error}.`, said.advice].filter(Boolean).join(" "), said.link, said.overtaken);
}

/** Returns the text of a page or a part of one. */
export async function getText(url, signal) {
  return (await answer(fetch(url, { signal }))).text();
}

/** Returns a JSON answer. */
export async function getJson(url, signal) {
  return (await answer(fetch(url, { signal }))).json();
}

/** Sends a change and returns the JSON answer. Shows an error and throws it again. */
export async function post(url, body = {}) {
  alertUser("");
  try {
    const headers = { "content-type": "application/json", "x-lop-csrf": csrf };
    return await (await answer(fetch(url, { method: "POST", headers, body: JSON.stringify(body) }))).json();
  } catch (error) {
    alertUser(error.message, error.link);
    throw error;
  }
}
