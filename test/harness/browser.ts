/** Debian's chromium, driven by playwright-core; it talks to loopback only. */

import { type Browser, chromium } from "playwright-core";

/** Path of the browser, or undefined when none is installed. */
export const CHROMIUM = ["chromium", "chromium-browser", "google-chrome"].map((name) => Bun.which(name)).find((path) => path !== null);

/** Starts a browser with an empty profile. */
export async function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: CHROMIUM ?? "",
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}
