/** What a process of tests removes at its end. */

import { rmSync } from "node:fs";

const folders: string[] = [];

/** Removes a folder, with all that is in it, at the end of this process, unless that is killed. */
export function removeAtEnd(folder: string): void {
  folders.push(folder);
}

/** The end. `preload.ts` calls it after the last test: Bun's test runner emits no `exit`. */
export function end(): void {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
}

process.once("exit", end);
