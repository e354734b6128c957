/**
 * The script of every page but the entrance. A page comes as a shell without data; this asks for
 * the same address with the page key, and shows the answer in place. The answer is parsed by the
 * browser as a document in which nothing runs.
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
 * Shows one of the states; what an earlier answer showed stays only while the same page is asked
 * for again.
 */
function enter(state: State): void {
  for (const name of ["loading", "locked", "failed"] as const) part(name).hidden = name !== state;
  part("account").hidden = state !== "shown";
  const main = document.querySelector("main");
  if (main && state !== "shown") main.replaceChildren();
}

/** A word for the shell, quoted where the shell would read it otherwise. */
function shellWord(text: string): string {
  return /^[\w/.,:=@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

function lock(): void {
  document.title = "Log in - svc";
  part("command").textContent = `svc dashboard ${shellWord(location.pathname + location.search)}`;
  enter("locked");
}

/** Counts what was asked for: an answer that comes after a later question is not shown. */
let asked = 0;

function ask(method: string, address: string, body?: URLSearchParams): void {
  const key = localStorage.getItem(KEY);
  asked++;
  if (key === null) {
    lock();
    return;
  }
  const own = asked;
  const request = new XMLHttpRequest();
  request.open(method, address);
  request.responseType = "document";
  request.setRequestHeader(KEY, key);
  request.onerror = () => {
    if (own === asked) enter("failed");
  };
  request.onload = () => {
    if (own !== asked) return;
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
  ask("GET", location.pathname + location.search);
}

async function logOut(): Promise<void> {
  const headers = { "content-type": "application/json", [KEY]: localStorage.getItem(KEY) ?? "" };
  await fetch("/svc.v1.AuthService/EndSession", { method: "POST", headers, body: "{}" }).catch(() => undefined);
  localStorage.removeItem(KEY);
  asked++;
  lock();
}

document.addEventListener("submit", (event) => {
  event.preventDefault();
  if (!(event.target instanceof HTMLFormElement)) return;
  const fields = new URLSearchParams();
  for (const [name, value] of new FormData(event.target, event.submitter)) fields.append(name, String(value));
  ask("POST", event.target.action, fields);
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
