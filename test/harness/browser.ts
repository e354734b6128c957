/** Debian's chromium, driven by playwright-core; it talks to loopback only. */

import { type Browser, chromium } from "playwright-core";
import { lacks, programPath } from "./needs.ts";

const BROWSER = ["chromium", "chromium-browser", "google-chrome"].map(programPath).find((path) => path !== undefined);

/** Whether the browser is absent: see `lacks`. */
export const lacksBrowser = (): boolean => lacks("chromium", BROWSER !== undefined);

/** Starts a browser with an empty profile. */
export async function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: BROWSER ?? "",
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
