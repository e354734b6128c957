/** Online queries over HTTP. */

import { join } from "node:path";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { QueryRequestSchema, QueryResponseSchema } from "../../gen/svc/v1/query_pb.ts";
import { ValueSchema } from "../../gen/svc/v1/value_pb.ts";
import type { Sandbox } from "../harness/sandbox.ts";
import { encodeBodies, firstLine, type Requests, send, serve } from "./client.ts";
import { interleave, type Line, median, milliseconds } from "./figures.ts";
import { queryProject, STORED_FEATURES } from "./generate-project.ts";
import type { Latencies } from "./load.ts";
import { onOneCpu } from "./one-cpu.ts";

const ROWS = 1_000;
const CONCURRENCIES = [1, 16] as const;
const REQUESTS = { 1: 3_000, 16: 12_000 } as const;

const STORED = STORED_FEATURES.map((name) => `profile.${name}`);
const WITH_LIVE = [...STORED.slice(1), "profile.live"];

/**
 * Twenty stored features, and nineteen with one that Python computes, through the JSON API and
 * through Connect, against a bare server. One request at a time is measured with client and servers
 * on one CPU.
 */
export async function measureQueries(sandbox: Sandbox, rounds: number): Promise<readonly Line[]> {
  const { authorization, host, port } = await serve(sandbox, queryProject());
  const { pid } = await sandbox.json<{ pid: number }>(["server", "status"]);

  const bare = Bun.spawn([process.execPath, join(import.meta.dir, "bare-server.ts"), join(sandbox.root, "bare.db"), String(ROWS)], {
    stdout: "pipe",
  });
  try {
    const barePort = Number(await firstLine(bare.stdout));
    const json = { path: "/v1/query/online", headers: { authorization, "content-type": "application/json" } };
    const connect = {
      path: "/svc.v1.QueryService/Query",
      headers: { authorization, "content-type": "application/proto", "connect-protocol-version": "1" },
    };
    const cases: Record<string, Requests> = {
      "bare Bun.serve and SQLite": { host: "127.0.0.1", port: barePort, ...json, bodies: bodies((id) => jsonBody(id, STORED)) },
      "JSON API, 20 stored": { host, port, ...json, bodies: bodies((id) => jsonBody(id, STORED)) },
      "Connect, 20 stored": { host, port, ...connect, bodies: bodies((id) => connectBody(id, STORED)) },
      "JSON API, 19 stored + Python": { host, port, ...json, bodies: bodies((id) => jsonBody(id, WITH_LIVE)) },
      "Connect, 19 stored + Python": { host, port, ...connect, bodies: bodies((id) => connectBody(id, WITH_LIVE)) },
    };
    for (const [name, load] of Object.entries(cases)) checkAnswer(name, await send({ ...load, requests: ROWS * 2, concurrency: 4 }));

    const subjects: Record<string, () => Promise<Latencies>> = {};
    for (const concurrency of CONCURRENCIES)
      for (const [name, load] of Object.entries(cases))
        subjects[`c=${String(concurrency).padEnd(2)} ${name}`] = () => {
          const measure = () => send({ ...load, requests: REQUESTS[concurrency], concurrency });
          return concurrency === 1 ? onOneCpu([pid, bare.pid, process.pid], measure) : measure();
        };
    const measured = await interleave(rounds, subjects);
    return CONCURRENCIES.flatMap((concurrency) => lines(measured, `c=${String(concurrency).padEnd(2)} `));
  } finally {
    bare.kill();
    await bare.exited;
  }
}

function lines(measured: Record<string, Latencies[]>, prefix: string): Line[] {
  const names = Object.keys(measured).filter((name) => name.startsWith(prefix));
  const of = (name: string, figure: "p50" | "p99" | "perSecond"): number =>
    median((measured[name] ?? []).map((latencies) => latencies[figure]));
  const anchor = names[0] ?? "";
  return names.flatMap((name) => {
    const against = name === anchor ? {} : { anchor: "of bare" };
    const ratio = (figure: "p50" | "p99" | "perSecond") => (name === anchor ? {} : { ratio: of(name, figure) / of(anchor, figure) });
    return [
      { what: `${name}, p50`, value: milliseconds(of(name, "p50")), ...ratio("p50"), ...against },
      { what: `${name}, p99`, value: milliseconds(of(name, "p99")), ...ratio("p99"), ...against },
      { what: `${name}, rate`, value: `${Math.round(of(name, "perSecond"))}/s`, ...ratio("perSecond"), ...against },
    ];
  });
}

/** What is measured must be an answer: twenty values and no errors. */
function checkAnswer(name: string, { sample }: Latencies): void {
  const body = Buffer.from(sample, "base64");
  const answer = name.startsWith("Connect")
    ? fromBinary(QueryResponseSchema, body)
    : (JSON.parse(body.toString()) as { data: { value: unknown }[]; errors?: unknown[] });
  if (
    answer.data.length !== STORED.length ||
    (answer.errors ?? []).length > 0 ||
    answer.data.some(({ value }) => value === undefined || value === null)
  )
    throw new Error(`${name} gave no answer: ${body.toString()}`);
}

function bodies(make: (id: number) => Uint8Array | string): string[] {
  return encodeBodies(Array.from({ length: ROWS }, (_, index) => make(index + 1)));
}

function jsonBody(id: number, outputs: readonly string[]): string {
  return JSON.stringify({ inputs: { "profile.id": id }, outputs });
}

function connectBody(id: number, outputs: readonly string[]): Uint8Array {
  const value = create(ValueSchema, { kind: { case: "int64Value", value: BigInt(id) } });
  return toBinary(
    QueryRequestSchema,
    create(QueryRequestSchema, { inputs: [{ feature: "profile.id", value: { case: "typed", value } }], outputs: [...outputs] }),
  );
}
