/** A download of the script that breaks off: whatever arrived of it does nothing. */

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { lacksProgram } from "../harness/needs.ts";
import { builtFeed } from "../harness/release-feed.ts";
import { InstallMachine } from "./machine.ts";

/** Bytes between two cuts. */
const STEP = 50;
const SHELLS: readonly (readonly string[])[] = [["dash"], ["bash"], ["busybox", "ash"], ["mksh"]];

const feed = await builtFeed();
const script = readFileSync(join(feed.dir, "install.sh"));

test("the whole script ends with its one call", () => {
  expect(script.toString().endsWith('\n}\n\nmain "$@"\n')).toBe(true);
  const outside = script
    .toString()
    .replaceAll(/^[a-z_]+\(\) [({]\n[\s\S]*?^[)}]$/gm, "")
    .replaceAll(/^[a-z_]+\(\) [({].*[)}]$/gm, "")
    .replaceAll(/^#.*$/gm, "");
  const lines = outside.match(/^\S.*$/gm)?.filter((line) => !/^([a-zA-Z_]+=(\S*) ?)+$|^'$/.test(line));
  expect(lines).toEqual([expect.stringMatching(/^\{ # /), "}", 'main "$@"']);
});

for (const shell of SHELLS)
  test.skipIf(lacksProgram(shell[0] ?? ""))(`cut off, under ${shell.join(" ")}`, async () => {
    const end = script.length;
    const step = shell[0] === "dash" ? STEP : STEP * 20;
    const inNames = [...script.toString("latin1").matchAll(/^[a-z_]+\(\)/gm)].map(({ index }) => index + 1);
    const cuts = [
      ...(shell[0] === "dash" ? inNames : []),
      ...Array.from({ length: Math.ceil(end / step) }, (_, index) => index * step),
      ...Array.from({ length: 30 }, (_, index) => end - 2 - index),
    ];
    const worker = async () => {
      using machine = new InstallMachine(feed);
      for (let cut = cuts.shift(); cut !== undefined; cut = cuts.shift()) {
        const outcome = await machine.install(["--from", feed.dir], { shell, script: script.subarray(0, cut).toString() });
        expect({ cut, files: machine.files(), stdout: outcome.stdout }).toEqual({ cut, files: [], stdout: "" });
      }
    };
    await Promise.all([worker(), worker(), worker()]);
  });

test.skipIf(lacksProgram("openssl"))("with its last line break missing it is whole", async () => {
  using machine = new InstallMachine(feed);
  const outcome = await machine.install(["--from", feed.dir, "--quiet"], { script: script.toString().trimEnd() });
  expect(outcome).toEqual({ exitCode: 0, stdout: "", stderr: "" });
  expect(machine.version()).toBe("v0.3.0");
});
