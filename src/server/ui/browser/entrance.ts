/**
 * The script of the entrance `/enter#code=...&to=PATH`: exchanges the code for a session, keeps its
 * page key, and goes on to the page.
 */

export {};

const KEY = "svc-page-key";

/**
 * A path of this server, normalized; undefined when it would lead to another host, as `/.//host`
 * does once it is normalized to `//host`.
 */
function ownPath(given: string | null): string | undefined {
  if (given === null || !URL.canParse(given, location.origin)) return undefined;
  const url = new URL(given, location.origin);
  return url.origin === location.origin && !url.pathname.startsWith("//") ? url.pathname + url.search + url.hash : undefined;
}

function refuse(message: string): void {
  const refused = document.getElementById("refused");
  const reason = document.getElementById("reason");
  if (refused && reason) {
    reason.textContent = message;
    refused.hidden = false;
  }
  document.getElementById("loading")?.remove();
}

async function redeem(code: string, to: string | undefined): Promise<void> {
  const response = await fetch("/svc.v1.AuthService/RedeemEntry", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code }),
  });
  const answer: { pageKey?: string; path?: string; message?: string } = await response.json();
  if (!response.ok || !answer.pageKey) {
    refuse(answer.message ?? `The server answered ${response.status}.`);
    return;
  }
  localStorage.setItem(KEY, answer.pageKey);
  location.replace(to ?? ownPath(answer.path ?? null) ?? "/");
}

const fragment = new URLSearchParams(location.hash.slice(1));
history.replaceState(null, "", location.pathname);
const code = fragment.get("code");
if (code !== null) redeem(code, ownPath(fragment.get("to"))).catch((error: unknown) => refuse(String(error)));
else if (localStorage.getItem(KEY) !== null) location.replace("/");
else refuse("The address has no code.");
