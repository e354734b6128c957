/**
 * A tab of a browser that writes down everything a page must not do: errors on its console,
 * violations of its content security policy, requests to other hosts.
 */

import type { Browser, BrowserContext, Page } from "playwright-core";
import { makeEntry } from "../harness/browser-session.ts";

/** A tab, and what its pages did wrong. */
export interface Tab extends AsyncDisposable {
  readonly page: Page;
  readonly context: BrowserContext;
  /** In words; empty as long as nothing is wrong. Answers with an error status are not among it. */
  readonly complaints: string[];
}

/** Options of a tab. */
export interface TabOptions {
  readonly width?: number;
  readonly theme?: "light" | "dark";
}

/** Height of a tab in pixels. */
const HEIGHT = 800;

/** Opens a tab of a browser with an empty profile, which is not logged in. */
export async function openTab(browser: Browser, origin: string, { width = 1280, theme = "light" }: TabOptions = {}): Promise<Tab> {
  const context = await browser.newContext({ viewport: { width, height: HEIGHT }, colorScheme: theme, timezoneId: "Asia/Kolkata" });
  const complaints: string[] = [];
  context.on("weberror", (error) => complaints.push(`error: ${error.error().message}`));
  context.on("console", (message) => {
    const isAnswer = message.text().startsWith("Failed to load resource");
    if (message.type() === "error" && !isAnswer) complaints.push(`console: ${message.text()}`);
    if (/content security policy|trusted ?type/i.test(message.text())) complaints.push(`policy: ${message.text()}`);
  });
  context.on("request", (request) => {
    const url = new URL(request.url());
    if (url.origin !== origin && url.protocol !== "data:") complaints.push(`foreign: ${url}`);
  });
  return { page: await context.newPage(), context, complaints, [Symbol.asyncDispose]: () => context.close() };
}

/** Logs a tab in as the client of a token, and goes to a page of the server. */
export async function logIn(
  { page }: Tab,
  server: { readonly url: string },
  token: string,
  path = "/",
  options: { readonly readOnly?: boolean } = {},
): Promise<void> {
  const code = await makeEntry(server.url, token, { path, ...options });
  await page.goto(`${server.url}/enter#code=${code}&to=${encodeURIComponent(path)}`);
  await page.waitForFunction(() => !location.pathname.startsWith("/enter"));
}

/** Waits until the page shows its heading and nothing is on its way. */
export async function settled(page: Page): Promise<void> {
  await page.locator("main h1").first().waitFor();
  await page.waitForFunction(() => [...document.querySelectorAll("main .skeleton")].every((one) => one.closest(".example") !== null));
}
