/** The opening of a file that somebody else has just made. */

import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { TempFolder } from "../../../harness/running-server.ts";

test("waits for another that is about to write to the new file", async () => {
  using folder = new TempFolder();
  const path = join(folder.path, "new.db");
  using other = new Database(path, { create: true });
  other.run("begin immediate");
  const opener = Bun.spawn([process.execPath, join(import.meta.dir, "open-database.ts"), path], { stdout: "pipe", stderr: "pipe" });
  const lines = opener.stdout.pipeThrough(new TextDecoderStream()).getReader();
  expect([(await lines.read()).value]).toEqual(["waits\n"]);
  other.run("commit");
  expect([(await lines.read()).value, await new Response(opener.stderr).text()]).toEqual(["opened\n", ""]);
});
