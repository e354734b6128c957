/** OpenTelemetry's own Python packages, as the other side of what the server says by OTLP. */

import { lacks } from "../../harness/needs.ts";

/** Whether the SDK and its exporters are absent. */
export function lacksOpenTelemetry(): boolean {
  const check = "import opentelemetry.sdk.trace, opentelemetry.exporter.otlp.proto.http, opentelemetry.proto";
  return lacks("opentelemetry-exporter-otlp-proto-http", Bun.spawnSync(["python3", "-c", check], { stderr: "ignore" }).success);
}

/** Runs a Python program, beside servers of this process; what it printed. */
export async function python(script: string, env: Readonly<Record<string, string>> = {}, input = ""): Promise<string> {
  const child = Bun.spawn(["python3", "-c", script], {
    env: { ...process.env, ...env },
    stdin: Buffer.from(input),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [said, failed, code] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text(), child.exited]);
  if (code !== 0) throw new Error(`python ended with ${code}:\n${failed}`);
  return said + failed;
}

const PARSER = `
import base64, json, sys
from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest as traces
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest as logs
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest as metrics
for line in sys.stdin:
    signal, body = line.split()
    message = globals()[signal]()
    message.ParseFromString(base64.b64decode(body))
    print(json.dumps(MessageToDict(message)))
`;

/** Requests as the official parser reads them: by protobuf's JSON, so ids are in base64. */
export async function parsedRequests(
  requests: readonly { readonly signal: string; readonly body: Uint8Array }[],
): Promise<Record<string, unknown>[]> {
  const input = requests.map(({ signal, body }) => `${signal} ${body.toBase64()}\n`).join("");
  const said = await python(PARSER, {}, input);
  return said
    .trim()
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** An attribute as protobuf's JSON has it. */
export interface JsonAttribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

/** Values of attributes by name. */
export function valuesOf(attributes: readonly JsonAttribute[] = []): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
