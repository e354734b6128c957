/** The example orchestrator of `test/fixtures`, as a process of this machine, and webhooks for it. */

import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { INTERPRETERS } from "../sdk/interpreters.ts";

/** Its folder. */
export const ORCHESTRATOR = join(import.meta.dir, "../fixtures/orchestrator");
/** The source's secret, by which webhooks are signed. */
export const WEBHOOK_SECRET = "of-the-source";

/** A row of `/agents`. */
export interface AgentRow {
  readonly id: string;
  readonly webhook_event: string;
  readonly repo: string;
  readonly prompt: string;
  readonly status: string;
  readonly session_id: string | null;
  readonly task_id: string | null;
  readonly created_at: string;
  readonly updated_at: string;
}

/** A webhook as the source sends it. */
export interface RecordedWebhook {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** A webhook that was recorded. */
export function recorded(name: string): RecordedWebhook {
  return JSON.parse(readFileSync(join(ORCHESTRATOR, `webhooks/${name}.json`), "utf8")) as RecordedWebhook;
}

/** Posts a webhook, signed. */
export function post(url: string, { body, headers }: RecordedWebhook): Promise<Response> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const signature = `sha256=${createHmac("sha256", WEBHOOK_SECRET).update(text).digest("hex")}`;
  return fetch(`${url}/webhook`, { method: "POST", headers: { "x-hub-signature-256": signature, ...headers }, body: text });
}

/** Agents as `/agents` lists them. */
export async function agentsOf(url: string, query = ""): Promise<AgentRow[]> {
  return (await (await fetch(`${url}/agents${query}`)).json()) as AgentRow[];
}

/** A process of it. */
export interface OrchestratorProcess extends AsyncDisposable {
  readonly url: string;
  /** Ends it with a signal, and waits until it is gone. Returns its exit code. */
  end(signal: "SIGKILL" | "SIGTERM"): Promise<number>;
}

/** Starts a process that answers. */
export async function startOrchestrator(
  database: string,
  controller: string,
  env: Record<string, string> = {},
): Promise<OrchestratorProcess> {
  const child = spawnOrchestrator({ DB_PATH: database, CONTROLLER_URL: controller, ...SECRETS, PORT: "0", ...env });
  const port = await portOf(child.stdout);
  const end = async (signal: "SIGKILL" | "SIGTERM"): Promise<number> => {
    child.kill(signal);
    return child.exited;
  };
  return { url: `http://127.0.0.1:${port}`, end, [Symbol.asyncDispose]: async () => void (await end("SIGKILL")) };
}

/** What it needs beside the controller's address. */
export const SECRETS = { MODEL_API_KEY: "of-the-model", SOURCE_WEBHOOK_SECRET: WEBHOOK_SECRET, CONTROLLER_API_KEY: "of-the-controller" };

/** Starts its program. */
export function spawnOrchestrator(env: Record<string, string>): Bun.Subprocess<"ignore", "pipe", "pipe"> {
  const python = INTERPRETERS.at(-1)?.path ?? "python3";
  return Bun.spawn([python, "-B", "-X", "utf8", "-W", "error", join(ORCHESTRATOR, "app")], {
    env,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
}

async function portOf(stdout: ReadableStream<Uint8Array>): Promise<number> {
  const reader = stdout.getReader();
  let said = "";
  for (;;) {
    const { value, done } = await reader.read();
    said += new TextDecoder().decode(value);
    const port = /on port (\d+)\./.exec(said)?.[1];
    if (port !== undefined) {
      // What it says later is read too, or a full pipe would stop it.
      void drain(reader);
      return Number(port);
    }
    if (done) throw new Error(`the orchestrator ended: ${said}`);
  }
}

async function drain(reader: { read(): Promise<{ readonly done: boolean }> }): Promise<void> {
  while (!(await reader.read()).done);
}
