/** The screenshots that reviewers look at, which each run leaves in `dist/screenshots`. */

import { describe, expect, test } from "bun:test";
import { readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { lacksBrowser } from "../harness/browser.ts";
import { takeShots } from "./screenshots.ts";

const FOLDER = join(import.meta.dir, "../../dist/screenshots");
/** Bytes of the smallest file that shows a page. */
const LEAST_BYTES = 5_000;

describe.skipIf(lacksBrowser())("screenshots", () => {
  test("of what reviewers look at are kept, in both themes", async () => {
    rmSync(FOLDER, { recursive: true, force: true });
    await takeShots(FOLDER, { isKept: true });
    const files = readdirSync(FOLDER);
    expect(files.length).toBeGreaterThanOrEqual(44);
    expect(files.filter((file) => statSync(join(FOLDER, file)).size < LEAST_BYTES)).toEqual([]);
    for (const file of files) expect(files).toContain(file.replace("-light-", "-dark-"));
  }, 600_000);
});
