/**
 * The script of every page but the entrance. A page is loaded as a shell without data; the script
 * requests the same address with the page key, and shows the answer in place. The browser parses
 * the answer as a document in which no script runs.
 */

export {};

const KEY = "svc-page-key";

function part(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the shell has no part ${id}`);
  return found;
}

type State = "loading" | "shown" | "locked" | "failed";

/**
 * Shows one of the states; the content of an earlier answer is removed unless the state is `shown`.
 */
function enter(state: State): void {
  for (const name of ["loading", "locked", "failed"] as const) part(name).hidden = name !== state;
  part("account").hidden = state !== "shown";
  const main = document.querySelector("main");
  if (main && state !== "shown") main.replaceChildren();
}

/** A word for a command line, quoted where the shell would interpret it. */
function shellWord(text: string): string {
  return /^[\w/.,:=@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

function lock(): void {
  document.title = "Log in - svc";
  const provider = document.getElementById("provider");
  if (provider instanceof HTMLAnchorElement)
    provider.href = `/login/oidc?${new URLSearchParams({ to: location.pathname + location.search + location.hash }).toString()}`;
  part("command").textContent = `svc dashboard ${shellWord(location.pathname + location.search)}`;
  enter("locked");
}

/** Number of requests sent; only the answer to the latest one is shown. */
let requests = 0;

function requestPage(method: string, address: string, body?: URLSearchParams): void {
  const key = localStorage.getItem(KEY);
  requests++;
  if (key === null) {
    lock();
    return;
  }
  const own = requests;
  const request = new XMLHttpRequest();
  request.open(method, address);
  request.responseType = "document";
  request.setRequestHeader(KEY, key);
  request.onerror = () => {
    if (own === requests) enter("failed");
  };
  request.onload = () => {
    if (own !== requests) return;
    const main = request.responseXML?.querySelector("main");
    if (request.status === 401) lock();
    else if (!request.responseXML || !main) enter("failed");
    else show(request.responseXML.title, main, decodeURIComponent(request.getResponseHeader("svc-client") ?? ""));
  };
  request.send(body);
}

function show(title: string, main: Element, client: string): void {
  document.title = title;
  document.querySelector("main")?.replaceWith(document.adoptNode(main));
  part("client").textContent = client;
  enter("shown");
  if (location.hash.length > 1) document.getElementById(location.hash.slice(1))?.scrollIntoView();
}

function load(): void {
  requestPage("GET", location.pathname + location.search);
}

async function logOut(): Promise<void> {
  const headers = { "content-type": "application/json", [KEY]: localStorage.getItem(KEY) ?? "" };
  await fetch("/svc.v1.AuthService/EndSession", { method: "POST", headers, body: "{}" }).catch(() => undefined);
  localStorage.removeItem(KEY);
  requests++;
  lock();
}

document.addEventListener("submit", (event) => {
  event.preventDefault();
  if (!(event.target instanceof HTMLFormElement)) return;
  const fields = new URLSearchParams();
  for (const [name, value] of new FormData(event.target, event.submitter)) fields.append(name, String(value));
  requestPage("POST", event.target.action, fields);
});
part("logout").addEventListener("click", () => void logOut());
part("retry").addEventListener("click", () => {
  enter("loading");
  load();
});
part("copy").addEventListener("click", () => void navigator.clipboard?.writeText(part("command").textContent ?? ""));
window.addEventListener("storage", ({ key }) => {
  if (key === KEY || key === null) load();
});
window.addEventListener("pageshow", ({ persisted }) => {
  if (persisted) load();
});
load();
