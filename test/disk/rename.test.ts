import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { renameInPlace, renameInPlaceSync } from "../../src/disk/rename.ts";
import { lacksProgram } from "../harness/needs.ts";
import { TempFolder } from "../harness/running-server.ts";

test("a rename replaces what is there, and fails where it cannot", async () => {
  using folder = new TempFolder();
  const [from, to] = [join(folder.path, "from"), join(folder.path, "to")];
  for (const rename of [renameInPlace, renameInPlaceSync]) {
    writeFileSync(from, "new");
    writeFileSync(to, "old");
    await rename(from, to);
    expect([readFileSync(to, "utf8"), existsSync(from)]).toEqual(["new", false]);
    mkdirSync(join(folder.path, "full", "x"), { recursive: true });
    const refused = await (async () => rename(to, join(folder.path, "full")))().then(
      () => undefined,
      (error: NodeJS.ErrnoException) => error.code,
    );
    expect(refused).toBe("EISDIR");
  }
});

test.skipIf(lacksProgram("strace"))("a rename is not tried again where waiting would not help", () => {
  using folder = new TempFolder();
  const [from, to, trace] = [join(folder.path, "from"), join(folder.path, "to"), join(folder.path, "trace")];
  writeFileSync(from, "new");
  mkdirSync(join(to, "x"), { recursive: true });
  for (const rename of ["await renameInPlace", "renameInPlaceSync"]) {
    const script = `import { renameInPlace, renameInPlaceSync } from ${JSON.stringify(join(import.meta.dir, "../../src/disk/rename.ts"))};
      try { ${rename}(${JSON.stringify(from)}, ${JSON.stringify(to)}); } catch (error) { console.log(error.code); }`;
    const traced = ["strace", "-f", "-qq", "-e", "trace=rename,renameat,renameat2", "-o", trace];
    const { stdout } = Bun.spawnSync([...traced, process.execPath, "-e", script]);
    const tries = readFileSync(trace, "utf8").match(/rename.*= -1 EISDIR/g);
    expect([rename, stdout.toString(), tries?.length]).toEqual([rename, "EISDIR\n", 1]);
  }
});
