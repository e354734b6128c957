import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { renameInPlace, renameInPlaceSync } from "../../src/disk/rename.ts";
import { TempFolder } from "../server/running-server.ts";

test("a rename replaces what is there, and fails at once where waiting would not help", async () => {
  using folder = new TempFolder();
  const [from, to] = [join(folder.path, "from"), join(folder.path, "to")];
  for (const rename of [renameInPlace, renameInPlaceSync]) {
    writeFileSync(from, "new");
    writeFileSync(to, "old");
    await rename(from, to);
    expect([readFileSync(to, "utf8"), existsSync(from)]).toEqual(["new", false]);
    mkdirSync(join(folder.path, "full", "x"), { recursive: true });
    const began = performance.now();
    const refused = await (async () => rename(to, join(folder.path, "full")))().then(
      () => undefined,
      (error: NodeJS.ErrnoException) => error.code,
    );
    expect(refused).toBe("EISDIR");
    expect(performance.now() - began).toBeLessThan(1_000);
  }
});
