/**
 * The browser's session, as far as a page knows it: the page key, which is one of its two halves.
 * The other half is a cookie that no script can read. Tabs share the key, so that all of them are
 * logged in and out together.
 */

import { signal } from "@preact/signals";

/** Name of the key in the storage of this origin, and of the header that carries it. */
const KEY = "svc-page-key";

/** Whether this browser has a session, as far as the last answer told. */
export const isLoggedIn = signal(localStorage.getItem(KEY) !== null);

/** The header of a call that carries the page key; none without a session. */
export function sessionHeader(): Record<string, string> {
  const key = localStorage.getItem(KEY);
  return key === null ? {} : { [KEY]: key };
}

/** Notes that the server refused the session. */
export function sessionRefused(): void {
  isLoggedIn.value = false;
}

/** Forgets the key, which logs out every tab. */
export function forgetSession(): void {
  localStorage.removeItem(KEY);
  isLoggedIn.value = false;
}

window.addEventListener("storage", ({ key, newValue }) => {
  if (key === KEY || key === null) isLoggedIn.value = newValue !== null;
});
