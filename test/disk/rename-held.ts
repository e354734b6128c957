/**
 * Renames over a file that is open: let go of after a moment, and never. Prints what came of it as
 * JSON. Run by tests on a Windows machine.
 */

import { closeSync, mkdtempSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { renameInPlace, renameInPlaceSync } from "../../src/disk/rename.ts";

const HELD_MS = 200;
const folder = mkdtempSync(join(tmpdir(), "rename-"));
const [fresh, target] = [join(folder, "fresh"), join(folder, "target")];
const codeOf = (error: unknown) => (error instanceof Error && "code" in error ? String(error.code) : String(error));

writeFileSync(target, "old");
writeFileSync(fresh, "new");
const held = openSync(target, "r");
let began = performance.now();
setTimeout(() => closeSync(held), HELD_MS);
const afterwards = await renameInPlace(fresh, target).then(() => readFileSync(target, "utf8"), codeOf);
const waited = performance.now() - began;

writeFileSync(fresh, "newer");
const kept = openSync(target, "r");
began = performance.now();
let refusal = "none";
try {
  renameInPlaceSync(fresh, target);
} catch (error) {
  refusal = codeOf(error);
}
const patience = performance.now() - began;
closeSync(kept);
console.log(JSON.stringify({ afterwards, waited, refusal, patience, content: readFileSync(target, "utf8") }));
