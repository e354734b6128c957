/** Cold start of the binary. */

import { join } from "node:path";
import type { Sandbox } from "../harness/sandbox.ts";
import { interleave, type Line, median, milliseconds } from "./figures.ts";

const STARTS_PER_ROUND = 10;

/** `svc version`, `svc --version` and `svc --help` against a binary that prints one line. */
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
  const subjects = {
    hello: () => run(hello),
    "svc version": () => run(sandbox.binary, "version"),
    "svc --version": () => run(sandbox.binary, "--version"),
    "svc --help": () => run(sandbox.binary, "--help"),
  };
  await interleave(2, subjects);
  const times = await interleave(rounds * STARTS_PER_ROUND, subjects);
  const anchor = median(times.hello);
  return [
    { what: "hello world of the same runtime", value: milliseconds(anchor) },
    ...(["svc version", "svc --version", "svc --help"] as const).map((name) => ({
      what: name,
      value: milliseconds(median(times[name])),
      ratio: median(times[name]) / anchor,
      anchor: "of hello world",
    })),
  ];
}
