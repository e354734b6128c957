/** Observations that land as they come in service, and how long the event loop stands still. */

import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Observations, OfflineStore } from "../../src/server/stores/offline/store.ts";
import type { Sandbox } from "../harness/sandbox.ts";
import { openEmbedded } from "../server/stores/offline/drivers.ts";
import { dtypeOf, featureVersion } from "../server/stores/offline/versions.ts";
import { interleave, type Line, median, milliseconds } from "./figures.ts";
import { processorMsOfAll } from "./processor-time.ts";

const ROWS_PER_SECOND = 50_000;
const SECONDS = Number(process.env.SVC_BENCH_SECONDS ?? 20);
/** Features of an append, and rows of each. */
const FEATURES = 10;
const ROWS = 100;
const FLOAT64 = dtypeOf("FLOAT64");
/** Milliseconds after which the event loop is to look at the clock again. */
const LOOK_MS = 2;

/** What landing came to; times in milliseconds. */
interface Landed {
  readonly rowsPerSecond: number;
  /** Time of all processors for a thousand rows, with their making and their moves. */
  readonly processor: number;
  /** Longest time between two looks at the clock, and that of one in a hundred. */
  readonly stall: number;
  readonly stall99: number;
  /** Time until an append of one in a hundred was acknowledged. */
  readonly acknowledged99: number;
  /** Most rows that were not acknowledged yet. */
  readonly waiting: number;
}

/** Appends at the rate, whatever has been acknowledged, to a store; undefined = to none. */
async function land(store: Pick<OfflineStore, "append"> | undefined): Promise<Landed> {
  const gaps: number[] = [];
  const times: number[] = [];
  const under = new Set<Promise<unknown>>();
  const perAppend = FEATURES * ROWS;
  let [appended, acknowledged, waiting] = [0, 0, 0];
  const before = processorMsOfAll(process.pid);
  const began = performance.now();
  for (let last = began; last - began < SECONDS * 1_000; ) {
    while (appended < ((last - began) / 1_000) * ROWS_PER_SECOND) {
      const from = performance.now();
      const done: Promise<unknown> = Promise.resolve(store?.append(observed(appended))).then((refusals) => {
        if (refusals && refusals.length > 0) throw new Error(refusals[0]?.reason);
        acknowledged += perAppend;
        times.push(performance.now() - from);
        under.delete(done);
      });
      under.add(done);
      appended += perAppend;
      waiting = Math.max(waiting, appended - acknowledged);
    }
    await Bun.sleep(LOOK_MS);
    const now = performance.now();
    gaps.push(now - last - LOOK_MS);
    last = now;
  }
  await Promise.all(under);
  return {
    processor: (processorMsOfAll(process.pid) - before) / (appended / 1_000),
    rowsPerSecond: (appended / (performance.now() - began)) * 1_000,
    stall: Math.max(...gaps),
    stall99: of99(gaps),
    acknowledged99: of99(times),
    waiting,
  };
}

/** The observations of an append, the first of which has a number. */
function observed(first: number): Observations[] {
  const keys = Array.from({ length: ROWS }, (_, row) => `i:${(first * 7 + row * 131) % 100_000}`);
  const observedAt = keys.map((_, row) => 1.7e12 + first + row);
  return Array.from({ length: FEATURES }, (_, feature) => ({
    version: featureVersion(feature + 1, { dtype: FLOAT64 }),
    deploymentId: "dpl_1",
    resolver: "m.f",
    op: "query",
    keys,
    observedAt,
    values: keys.map((_, row) => row * feature),
  }));
}

function of99(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * 0.99)] ?? Number.NaN;
}

/** Landing at a rate, with the moves that it brings, against the same without a store. */
export async function measureLanding(sandbox: Pick<Sandbox, "work">, rounds: number): Promise<readonly Line[]> {
  const folder = join(sandbox.work, "landing");
  const taken = await interleave<"none" | "svc", Landed>(Math.min(rounds, 3), {
    none: () => land(undefined),
    svc: async () => {
      rmSync(folder, { recursive: true, force: true });
      mkdirSync(folder, { recursive: true });
      const store = openEmbedded(folder);
      try {
        return await land(store);
      } finally {
        await store.close();
      }
    },
  });
  const of = (who: "none" | "svc", figure: keyof Landed): number => median(taken[who].map((one) => one[figure]));
  const both = (what: string, figure: "stall" | "stall99"): Line[] => [
    { what: `${what}, without a store`, value: milliseconds(of("none", figure)) },
    { what, value: milliseconds(of("svc", figure)), ratio: of("svc", figure) / of("none", figure), anchor: "without a store" },
  ];
  return [
    { what: `landing ${ROWS_PER_SECOND} rows/s for ${SECONDS} s`, value: `${Math.round(of("svc", "rowsPerSecond"))} rows/s` },
    ...both("longest stall of the event loop", "stall"),
    ...both("stall of one look in a hundred", "stall99"),
    {
      what: "time of all processors for 1,000 rows, with moves and without their making",
      value: milliseconds(of("svc", "processor") - of("none", "processor")),
    },
    { what: "acknowledged, one append in a hundred after", value: milliseconds(of("svc", "acknowledged99")) },
    { what: "most rows not acknowledged yet", value: `${of("svc", "waiting")}` },
  ];
}
