/**
 * Takes screenshots of the dashboard to look at: `bun test/browser/shots.ts FOLDER [NAME]`, in both
 * themes and widths, of those whose names have a part `NAME`.
 */

import { resolve } from "node:path";
import { takeShots } from "./screenshots.ts";

const [, , folder = "shots", name = ""] = process.argv;
await takeShots(resolve(folder), { name });
console.log(`Screenshots in ${resolve(folder)}`);
