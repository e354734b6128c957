/** Deployments to a branch. */

import { join } from "node:path";
import { loadFlights } from "../harness/flights.ts";
import type { Sandbox } from "../harness/sandbox.ts";
import { interleave, type Line, median, milliseconds } from "./figures.ts";
import { FEATURES_PER_CLASS, largeProject } from "./generate-project.ts";

const FEATURES = 1_000;
const DATA = join(import.meta.dir, "../../dist/flights.db");

/**
 * `svc apply --branch` of the example and of a large generated project, each to a branch of its
 * own, with everything that a machine keeps warm.
 */
export async function measureApply(sandbox: Sandbox, rounds: number): Promise<readonly Line[]> {
  await loadFlights(DATA);
  await sandbox.startServer({ FLIGHTS_SQLITE_PATH: DATA });
  const example = await sandbox.project("flights");
  const generated = await sandbox.write(largeProject(FEATURES), "generated");

  const apply = async (project: string, branch: string): Promise<number> => {
    const started = performance.now();
    const outcome = await sandbox.svc(["apply", "--branch", branch, "--force", "--await"], {
      cwd: project,
      env: { FLIGHTS_SQLITE_PATH: DATA },
    });
    if (outcome.exitCode !== 0) throw new Error(`apply of ${project}: ${outcome.stdout.slice(-2_000)}${outcome.stderr.slice(-2_000)}`);
    return performance.now() - started;
  };
  const first = { example: await apply(example, "example"), generated: await apply(generated, "generated") };
  const count = await sandbox.json<{ features?: unknown[] } | unknown[]>(["features", "list", "--branch", "generated"], { cwd: generated });
  const deployed = Array.isArray(count) ? count.length : (count.features?.length ?? 0);
  if (deployed !== FEATURES) throw new Error(`${deployed} features were deployed instead of ${FEATURES}`);

  const times = await interleave(rounds, {
    example: () => apply(example, "example"),
    generated: () => apply(generated, "generated"),
  });
  const anchor = median(times.example);
  return [
    { what: "example project, again", value: milliseconds(anchor) },
    {
      what: `${FEATURES} features, ${FEATURES / FEATURES_PER_CLASS} classes, ${FEATURES / 2} resolvers, again`,
      value: milliseconds(median(times.generated)),
      ratio: median(times.generated) / anchor,
      anchor: "of the example",
    },
    {
      what: "example project, the first time",
      value: milliseconds(first.example),
      ratio: first.example / anchor,
      anchor: "of the example again",
    },
    {
      what: `${FEATURES} features, the first time`,
      value: milliseconds(first.generated),
      ratio: first.generated / anchor,
      anchor: "of the example again",
    },
  ];
}
