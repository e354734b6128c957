/**
 * Opening an address in the browser. Every user of the machine can read the arguments of a running
 * program, and those of a browser stay as long as it runs: an address with a secret therefore goes
 * through a private file that redirects the browser.
 */

import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { writePrivateFile } from "../disk/private-file.ts";
import type { Surroundings } from "./machine.ts";

/** Milliseconds after which such a file is useless, and is removed when the next one is written. */
const FILE_LIFETIME_MS = 120_000;

/** The program that opens a URL, or undefined without a graphical display. */
function opener({ env, platform }: Pick<Surroundings, "env" | "platform">): readonly string[] | undefined {
  if (platform === "darwin") return ["open"];
  if (platform === "win32") return ["rundll32", "url.dll,FileProtocolHandler"];
  if (env.BROWSER) return [env.BROWSER];
  return env.DISPLAY || env.WAYLAND_DISPLAY || env.WSL_DISTRO_NAME ? ["xdg-open"] : undefined;
}

/**
 * Opens an address; false when it is not a web address, or there is no browser.
 * @param which first match of a program on PATH
 * @param folder private folder for the file that hides an address with a secret; undefined opens
 * the address directly
 */
export async function openUrl(
  url: string,
  surroundings: Pick<Surroundings, "env" | "platform">,
  which: (name: string) => string | undefined,
  folder?: string,
): Promise<boolean> {
  if (!/^https?:\/\//.test(url)) return false;
  const [program, ...rest] = opener(surroundings) ?? [];
  const path = program && which(program);
  if (!path) return false;
  const target = folder === undefined ? url : await forwardingFile(folder, url);
  const child = Bun.spawn([path, ...rest, target], { stdin: "ignore", stdout: "ignore", stderr: "ignore", env: surroundings.env });
  child.unref();
  const soon = new Promise<number>((resolve) => setTimeout(() => resolve(0), 1_000).unref());
  return (await Promise.race([child.exited, soon])) === 0;
}

async function forwardingFile(folder: string, url: string): Promise<string> {
  for (const name of await readdir(folder).catch(() => [] as string[])) {
    const path = join(folder, name);
    const written = await stat(path).catch(() => undefined);
    if (written && Date.now() - written.mtimeMs > FILE_LIFETIME_MS) await rm(path, { force: true });
  }
  const path = join(folder, `${crypto.randomUUID()}.html`);
  const address = url.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");
  writePrivateFile(
    path,
    `<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0; url=${address}"><title>svc</title>\n`,
    { durable: false },
  );
  return path;
}
