/**
 * OpenTelemetry's own collector, built of `collector/main.go`: it takes OTLP over HTTP on a free
 * port and sends all on to an endpoint, one record after another, stopped by its process id.
 */

import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "./eventually.ts";
import { freePort } from "./free-port.ts";
import { lacks } from "./needs.ts";

/** Where `.ci/install` puts the program. */
const PROGRAM = process.env.SVC_TEST_OTELCOL ?? join(process.env.HOME ?? "", ".cache/svc-test/otelcol");

/** A running collector. */
export interface TestCollector {
  /** Its endpoint, for OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly url: string;
  /** What it has said of its work so far. */
  said(): string;
  /** Sends what it still has, and stops. */
  stop(): Promise<void>;
}

/** Where a collector sends to. */
export interface CollectorTarget {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly encoding: "proto" | "json";
}

/** Whether the collector is absent: see `lacks`. */
export const lacksCollector = (): boolean => lacks("otelcol", existsSync(PROGRAM));

/** Starts a collector. */
export async function startCollector({ url, headers, encoding }: CollectorTarget): Promise<TestCollector> {
  const root = mkdtempSync(join(tmpdir(), "svc-collector-"));
  const port = await freePort();
  const pipeline = { receivers: ["otlp"], exporters: ["otlphttp"] };
  const settings = {
    receivers: { otlp: { protocols: { http: { endpoint: `127.0.0.1:${port}` } } } },
    exporters: { otlphttp: { endpoint: url, headers, encoding, tls: { insecure: true } } },
    service: {
      pipelines: { traces: pipeline, logs: pipeline, metrics: pipeline },
      telemetry: { metrics: { level: "none" } },
    },
  };
  const file = join(root, "config.yaml");
  // JSON is YAML.
  writeFileSync(file, JSON.stringify(settings), { mode: 0o600 });
  const child = Bun.spawn([PROGRAM, "--config", `file:${file}`], { stdin: "ignore", stdout: "ignore", stderr: "pipe", cwd: root });
  let said = "";
  const reading = (async () => {
    for await (const part of child.stderr.pipeThrough(new TextDecoderStream())) said += part;
  })();
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    await child.exited;
    await reading;
    rmSync(root, { recursive: true, force: true });
  };
  try {
    await eventually(() => {
      if (child.exitCode !== null) throw new Error(`the collector has ended:\n${said}`);
      return said.includes("Everything is ready");
    }, "the collector is ready");
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: `http://127.0.0.1:${port}`, said: () => said, stop };
}
