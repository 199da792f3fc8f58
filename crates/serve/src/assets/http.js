// Requests to the server. A request that fails throws `Failed`; `post` also shows the error to the user.

const csrf = document.querySelector('meta[name="lop-csrf"]').content;

/** Shows a message that the user has to notice. It stays until the next action. `link` leads to the page that helps. */
export function alertUser(text, link) {
  const box = document.getElementById("alert");
  box.textContent = text;
  if (link) {
    const anchor = document.createElement("a");
    Object.assign(anchor, { href: link, textContent: text });
    box.replaceChildren(anchor);
  }
  if (text) setTimeout(() => box.textContent === text && (box.textContent = ""), 12000);
}

/** Tells screen readers what changed. */
export function announce(text) {
  document.getElementById("live").textContent = text;
}

/** A failed request. `status` is the HTTP status, or 0 without a connection. */
export class Failed extends Error {
  constructor(status, message, link) {
    super(message);
    Object.assign(this, { status, link });
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
  const text = await response.text();
  let [message, link] = [`The server answered ${response.status}.`];
  try {
    const said = JSON.parse(text);
    message = said.advice ? `${said.error}. ${said.advice}` : said.error;
    link = said.link;
  } catch {
    const page = new DOMParser().parseFromString(text, "text/html");
    message = page.querySelector("main")?.innerText.trim() || message;
  }
  throw new Failed(response.status, message, link);
}

/** Returns the text of a page or a part of one. */
export async function getText(url, signal) {
  return (await answer(fetch(url, { signal, headers: { "x-lop-part": "1" } }))).text();
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
