/**
 * What every part that asks a server needs: a project on a server, requests to it, and the load
 * client.
 */

import { join } from "node:path";
import type { Sandbox } from "../harness/sandbox.ts";
import type { Latencies, Load } from "./load.ts";

const LOAD_TIMEOUT_MS = 120_000;

/** Where requests go and what they carry; a load without its numbers. */
export type Requests = Omit<Load, "requests" | "concurrency">;

/** A server with a project on it. */
export interface Served {
  readonly host: string;
  readonly port: number;
  /** The header of a token that may query. */
  readonly authorization: string;
  /** Requests of the JSON API to a path, one for each body in turn. */
  json(path: string, bodies: readonly unknown[]): Requests;
}

/**
 * Starts the server of a sandbox and applies a project to it. `env` is both the server's and the
 * command line's.
 */
export async function serve(sandbox: Sandbox, files: Record<string, string>, env: Record<string, string> = {}): Promise<Served> {
  const url = new URL(await sandbox.startServer(env));
  const cwd = await sandbox.write(files);
  const applied = await sandbox.svc(["apply", "--force", "--await"], { cwd, env });
  if (applied.exitCode !== 0) throw new Error(`apply: ${applied.stdout}${applied.stderr}`);
  const { authorization } = await sandbox.authorized();
  const place = { host: url.hostname, port: Number(url.port) };
  return {
    ...place,
    authorization,
    json: (path, bodies) => ({
      ...place,
      path,
      headers: { authorization, "content-type": "application/json" },
      bodies: encodeBodies(bodies.map((body) => JSON.stringify(body))),
    }),
  };
}

/** Bodies as a `Load` has them. */
export function encodeBodies(bodies: readonly (Uint8Array | string)[]): string[] {
  return bodies.map((body) => Buffer.from(body as string).toString("base64"));
}

/** Runs the load client as a process of its own, or that for gRPC. */
export async function send(load: Load, program: "load.ts" | "grpc-load.ts" = "load.ts"): Promise<Latencies> {
  const client = Bun.spawn([process.execPath, join(import.meta.dir, program)], {
    stdin: Buffer.from(JSON.stringify(load)),
    stdout: "pipe",
    stderr: "pipe",
    timeout: LOAD_TIMEOUT_MS,
  });
  const [stdout, stderr, exitCode] = await Promise.all([
    new Response(client.stdout).text(),
    new Response(client.stderr).text(),
    client.exited,
  ]);
  if (exitCode !== 0) throw new Error(`the load client failed (${exitCode}): ${stderr}`);
  return JSON.parse(stdout) as Latencies;
}

/** The first answer's body as text. */
export function sampleText({ sample }: Latencies): string {
  return Buffer.from(sample, "base64").toString();
}

/** The first line that a process prints. */
export async function firstLine(stream: ReadableStream<Uint8Array>): Promise<string> {
  let text = "";
  for await (const chunk of stream) {
    text += new TextDecoder().decode(chunk);
    if (text.includes("\n")) break;
  }
  return text.split("\n")[0] ?? "";
}
