import { signal } from "@preact/signals";

const TICK_MS = 10_000;

/** The time in milliseconds, to within ten seconds; it stands still while the tab is hidden. */
export const now = signal(Date.now());

setInterval(() => {
  if (!document.hidden) now.value = Date.now();
}, TICK_MS);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) now.value = Date.now();
});
