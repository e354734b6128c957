/** Online queries over HTTP. */

import { join } from "node:path";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { QueryRequestSchema, QueryResponseSchema } from "../../gen/svc/v1/query_pb.ts";
import { ValueSchema } from "../../gen/svc/v1/value_pb.ts";
import type { Sandbox } from "../harness/sandbox.ts";
import { interleave, type Line, median, milliseconds } from "./figures.ts";
import { queryProject, STORED_FEATURES } from "./generate-project.ts";
import type { Latencies, Load } from "./load.ts";

const ROWS = 1_000;
const CONCURRENCIES = [1, 16] as const;
const REQUESTS = { 1: 3_000, 16: 12_000 } as const;

const STORED = STORED_FEATURES.map((name) => `profile.${name}`);
const WITH_LIVE = [...STORED.slice(1), "profile.live"];

/** Twenty stored features, and nineteen with one that Python computes, through the JSON API and through Connect, against a bare server. */
export async function measureQueries(sandbox: Sandbox, rounds: number): Promise<readonly Line[]> {
  const url = new URL(await sandbox.startServer());
  const project = await sandbox.write(queryProject());
  const applied = await sandbox.svc(["apply", "--force", "--await"], { cwd: project });
  if (applied.exitCode !== 0) throw new Error(`apply: ${applied.stdout}${applied.stderr}`);
  const authorization = `Bearer ${await accessToken(sandbox, url, project)}`;

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
    const server = { host: url.hostname, port: Number(url.port) };
    const cases: Record<string, Omit<Load, "requests" | "concurrency">> = {
      "bare Bun.serve and SQLite": { host: "127.0.0.1", port: barePort, ...json, bodies: bodies((id) => jsonBody(id, STORED)) },
      "JSON API, 20 stored": { ...server, ...json, bodies: bodies((id) => jsonBody(id, STORED)) },
      "Connect, 20 stored": { ...server, ...connect, bodies: bodies((id) => connectBody(id, STORED)) },
      "JSON API, 19 stored + Python": { ...server, ...json, bodies: bodies((id) => jsonBody(id, WITH_LIVE)) },
      "Connect, 19 stored + Python": { ...server, ...connect, bodies: bodies((id) => connectBody(id, WITH_LIVE)) },
    };
    for (const [name, load] of Object.entries(cases)) checkAnswer(name, await send({ ...load, requests: ROWS * 2, concurrency: 4 }));

    const subjects: Record<string, () => Promise<Latencies>> = {};
    for (const concurrency of CONCURRENCIES)
      for (const [name, load] of Object.entries(cases))
        subjects[`c=${String(concurrency).padEnd(2)} ${name}`] = () => send({ ...load, requests: REQUESTS[concurrency], concurrency });
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

/** Runs the load client as a process of its own. */
async function send(load: Load): Promise<Latencies> {
  const client = Bun.spawn([process.execPath, join(import.meta.dir, "load.ts")], {
    stdin: Buffer.from(JSON.stringify(load)),
    stdout: "pipe",
    stderr: "pipe",
    timeout: 120_000,
  });
  const [stdout, stderr, exitCode] = await Promise.all([
    new Response(client.stdout).text(),
    new Response(client.stderr).text(),
    client.exited,
  ]);
  if (exitCode !== 0) throw new Error(`the load client failed (${exitCode}): ${stderr}`);
  return JSON.parse(stdout) as Latencies;
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
  return Array.from({ length: ROWS }, (_, index) => Buffer.from(make(index + 1) as string).toString("base64"));
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

/** A token for the credentials that the first start gave the command line. */
async function accessToken(sandbox: Sandbox, url: URL, cwd: string): Promise<string> {
  const shown = await sandbox.svc(["config", "--format", "env"], { cwd });
  const settings = new Map(
    shown.stdout.split("\n").map((line) => [line.split("=")[0] ?? "", line.slice(line.indexOf("=") + 1).replace(/^['"]|['"]$/g, "")]),
  );
  const answer = await fetch(new URL("/v1/oauth/token", url), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      client_id: settings.get("SVC_CLIENT_ID"),
      client_secret: settings.get("SVC_CLIENT_SECRET"),
      grant_type: "client_credentials",
    }),
  });
  if (!answer.ok) throw new Error(`no token: ${answer.status} ${await answer.text()}`);
  return ((await answer.json()) as { access_token: string }).access_token;
}

async function firstLine(stream: ReadableStream<Uint8Array>): Promise<string> {
  let text = "";
  for await (const chunk of stream) {
    text += new TextDecoder().decode(chunk);
    if (text.includes("\n")) break;
  }
  return text.split("\n")[0] ?? "";
}
