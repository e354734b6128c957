/** Cold start of the binary, and of a server. */

import { join } from "node:path";
import type { Sandbox } from "../harness/sandbox.ts";
import { bootOnce } from "./boot.ts";
import { interleave, type Line, median, milliseconds } from "./figures.ts";

const STARTS_PER_ROUND = 10;

/**
 * `svc version`, `svc --version`, `svc --help`, a command that asks a server once, and the start of
 * a server up to its first answer, against a binary that prints one line.
 */
export async function measureStart(sandbox: Sandbox, rounds: number): Promise<readonly Line[]> {
  const source = join(sandbox.root, "hello.ts");
  const hello = join(sandbox.root, "hello");
  await Bun.write(source, 'console.log("hello");\n');
  const built = await Bun.build({
    entrypoints: [source],
    target: "bun",
    format: "esm",
    minify: true,
    bytecode: true,
    compile: { outfile: hello },
  });
  if (!built.success) throw new AggregateError(built.logs, "hello world was not built");

  const run = (...argv: string[]): Promise<number> => {
    const started = performance.now();
    const child = Bun.spawnSync(argv, { cwd: sandbox.work, env: sandbox.env, stdio: ["ignore", "ignore", "ignore"] });
    if (!child.success) throw new Error(`${argv.join(" ")}: exit ${child.exitCode}`);
    return Promise.resolve(performance.now() - started);
  };
  await sandbox.startServer();
  await run(sandbox.binary, "user");
  const subjects = {
    "hello world of the same runtime": () => run(hello),
    "svc version": () => run(sandbox.binary, "version"),
    "svc --version": () => run(sandbox.binary, "--version"),
    "svc --help": () => run(sandbox.binary, "--help"),
    "svc user, which asks a server": () => run(sandbox.binary, "user"),
    "svc server start, to its first answer": () => bootOnce(sandbox),
  };
  await interleave(2, subjects);
  const times = await interleave(rounds * STARTS_PER_ROUND, subjects);
  const [[name, anchors], ...others] = Object.entries(times) as [[string, number[]], ...[string, number[]][]];
  const anchor = median(anchors);
  return [
    { what: name, value: milliseconds(anchor) },
    ...others.map(([what, taken]) => ({
      what,
      value: milliseconds(median(taken)),
      ratio: median(taken) / anchor,
      anchor: "of hello world",
    })),
  ];
}
