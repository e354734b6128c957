/** The process of a shell with pipes: what it no longer reads is taken all the same. */

import { expect, test } from "bun:test";
import { startShellProcess } from "../../../src/server/shells/shell-process.ts";

test("input for a program that has closed its own is taken, and ends nothing", async () => {
  const said = Promise.withResolvers<void>();
  let taken = 0;
  const shell = startShellProcess({
    ...{ argv: ["sh", "-c", "exec 0<&-; echo closed; sleep 600"], cwd: "/", env: { PATH: process.env.PATH ?? "" } },
    terminal: undefined,
    onOutput: () => said.resolve(),
    onTaken: (bytes) => {
      taken += bytes;
    },
  });
  await said.promise;
  for (let round = 0; round < 3; round++) {
    shell.write(new Uint8Array(10));
    await Bun.sleep(0);
  }
  shell.endInput();
  await shell.kill();
  expect([taken, await shell.ended]).toEqual([30, 129]);
}, 60_000);
