/** Bulk queries over HTTP. */

import type { Sandbox } from "../harness/sandbox.ts";
import { type Requests, sampleText, send, serve } from "./client.ts";
import { computeProject } from "./compute-project.ts";
import { interleave, type Line, median, milliseconds } from "./figures.ts";
import { queryProject, STORED_FEATURES } from "./generate-project.ts";
import type { Latencies } from "./load.ts";

const SIZES = { 1000: 12, 10000: 3 } as const;
const SINGLES = 2_000;
const LARGEST = 10_000;

interface Subject {
  readonly name: string;
  readonly key: string;
  readonly outputs: readonly string[];
}

const SUBJECTS: readonly Subject[] = [
  { name: "20 stored", key: "profile.id", outputs: STORED_FEATURES.map((name) => `profile.${name}`) },
  { name: "one of arithmetic", key: "profile.id", outputs: ["profile.live"] },
  { name: "one in Python", key: "node.id", outputs: ["node.top"] },
  { name: "a diamond of ten in Python", key: "node.id", outputs: ["node.bottom"] },
];

/**
 * Rows of a bulk query, each against a query for that row alone. Queries follow each other at once:
 * what one leaves to be written slows the next.
 */
export async function measureBulk(sandbox: Sandbox, rounds: number): Promise<readonly Line[]> {
  const { "shop.py": _shop, "txn.svc.sql": _sql, ...diamond } = computeProject();
  const served = await serve(sandbox, { ...queryProject(), ...diamond });
  const ids = Array.from({ length: LARGEST }, (_, index) => index + 1);
  const single = ({ key, outputs }: Subject): Requests =>
    served.json(
      "/v1/query/online",
      ids.slice(0, SINGLES).map((id) => ({ inputs: { [key]: id }, outputs })),
    );
  const bulk = ({ key, outputs }: Subject, rows: number): Requests =>
    served.json("/v1/query/bulk", [{ inputs: { [key]: ids.slice(0, rows) }, outputs }]);

  for (const subject of SUBJECTS) {
    const answer = JSON.parse(sampleText(await send({ ...bulk(subject, LARGEST), requests: 2, concurrency: 1 }))) as {
      data: Record<string, unknown[]>;
      errors?: unknown[];
    };
    const values = subject.outputs.flatMap((output) => answer.data[output] ?? []).filter((value) => value !== null);
    if (values.length !== LARGEST * subject.outputs.length || answer.errors?.length) throw new Error(`${subject.name}: rows are missing`);
    await send({ ...single(subject), requests: SINGLES, concurrency: 1 });
  }
  const sizes = Object.entries(SIZES).map(([rows, requests]) => ({ rows: Number(rows), requests }));
  const measured = await interleave<string, Latencies>(
    rounds,
    Object.fromEntries(
      SUBJECTS.flatMap((subject) => [
        [subject.name, () => send({ ...single(subject), requests: SINGLES, concurrency: 1 })],
        ...sizes.map(({ rows, requests }) => [`${subject.name} ${rows}`, () => send({ ...bulk(subject, rows), requests, concurrency: 1 })]),
      ]),
    ),
  );
  const of = (name: string, figure: "p50" | "engineP50"): number => median((measured[name] ?? []).map((latencies) => latencies[figure]));
  return SUBJECTS.flatMap(({ name }) => [
    { what: `${name}, one query`, value: milliseconds(of(name, "p50")) },
    ...sizes.flatMap(({ rows }) => [
      {
        what: `${name}, ${rows} rows, per row`,
        value: microseconds(of(`${name} ${rows}`, "p50") / rows),
        ratio: of(`${name} ${rows}`, "p50") / rows / of(name, "p50"),
        anchor: "of one query",
      },
      {
        what: `${name}, ${rows} rows, in the engine`,
        value: milliseconds(of(`${name} ${rows}`, "engineP50")),
        ratio: of(`${name} ${rows}`, "engineP50") / of(`${name} ${rows}`, "p50"),
        anchor: "of the client's time",
      },
    ]),
  ]);
}

function microseconds(ms: number): string {
  return `${(ms * 1_000).toFixed(2)} us`;
}
