/** The conformance table by curl: what the JSON API itself says, without a client of ours. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { exchange } from "../../harness/browser-session.ts";
import type { Outcome, Request } from "./requests.ts";
import { apiText } from "./values.ts";

/** The server and the credentials for it. */
export interface Address {
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

interface Received {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: JSON of any shape, which the test looks into
  readonly body: any;
}

/** The outcomes of a table; bodies are sent and answers taken in gzip. `folder` is for the bodies. */
export async function runByCurl(table: readonly Request[], address: Address, folder: string): Promise<Outcome[]> {
  const token = await exchange(address.url, address.clientId, address.clientSecret);
  const outcomes: Outcome[] = [];
  for (const request of table) outcomes.push(await outcomeOf(request, address, token, folder));
  return outcomes;
}

const PATHS = { query: "/v1/query/online", bulk: "/v1/query/bulk", upload: "/v1/features/upload", multi: "/v1/query/multi" } as const;

async function outcomeOf(request: Request, { clientId, url }: Address, token: string, folder: string): Promise<Outcome> {
  const { call, client = {} } = request;
  if (client.client_secret !== undefined) {
    const body = JSON.stringify({ client_id: clientId, client_secret: client.client_secret, grant_type: "client_credentials" });
    return (await send(`${url}/v1/oauth/token`, body, {}, folder))?.status === 401 ? { refused: "authentication" } : {};
  }
  const headers: Record<string, string> = { authorization: `Bearer ${token}` };
  if (client.branch) headers["svc-branch"] = client.branch;
  if (client.environment) headers["svc-environment"] = client.environment;
  if (client.timeout_ms) headers["connect-timeout-ms"] = String(client.timeout_ms);
  const received = await send(`${client.api_server ?? url}${PATHS[call]}`, bodyOf(request), headers, folder);
  if (!received) return { refused: "unreachable" };
  const { body, status } = received;
  if (call === "multi" && status === 200)
    return {
      // biome-ignore lint/suspicious/noExplicitAny: as above
      outcomes: body.outcomes.map((outcome: any) => outcomeIn({ status: outcome.code === undefined ? 200 : 400, body: outcome }, "query")),
    };
  return outcomeIn(received, call);
}

function outcomeIn({ body, status }: Received, call: Request["call"]): Outcome {
  // biome-ignore lint/suspicious/noExplicitAny: as above
  const errors = (body.errors ?? []).map(({ exception, ...error }: any) => ({ ...error, ...(exception && { kind: exception.kind }) }));
  if (status !== 200) return { refused: status === 401 ? "authentication" : "query", errors };
  if (call === "upload") return { stored: [body.rows, body.online_values, body.offline_values] };
  const { explain_output, inferred_outputs = [], trace_id, types } = body.meta;
  const said = { errors, inferred: inferred_outputs, explained: explain_output !== undefined, traced: trace_id !== undefined };
  const names = Object.keys(types);
  if (call === "bulk") return { ...said, columns: Object.fromEntries(names.map((name) => [name, body.data[name].map(plain)])) };
  return {
    ...said,
    // biome-ignore lint/suspicious/noExplicitAny: as above
    values: Object.fromEntries(body.data.map(({ field, value }: any) => [field, plain(value)])),
    // biome-ignore lint/suspicious/noExplicitAny: as above
    hits: Object.fromEntries(body.data.filter(({ meta }: any) => meta).map(({ field, meta }: any) => [field, meta.cache_hit])),
  };
}

/** A value with its tagged floats as texts. */
function plain(value: unknown): unknown {
  if (value !== null && typeof value === "object" && "$float" in value) return value.$float;
  return Object.is(value, -0) ? "-0" : value;
}

function bodyOf({ call, client, dry_run, inputs, options = {}, outputs = [], queries = [] }: Request): string {
  if (call === "multi") return `{"queries":[${queries.map(bodyOf).join(",")}]}`;
  const columns = `{${Object.entries(inputs)
    .map(([name, value]) => `${JSON.stringify(name)}:${apiText(value)}`)
    .join(",")}}`;
  if (call === "upload") return `{"columns":${columns},"dry_run":${dry_run ?? false}}`;
  const { tags, ...others } = options;
  const more = {
    outputs,
    ...others,
    ...(tags && { context: { tags } }),
    ...(client?.deployment_id && { deployment_id: client.deployment_id }),
  };
  return `{"inputs":${columns},${JSON.stringify(more).slice(1)}`;
}

/** undefined when nobody is there. */
async function send(url: string, body: string, headers: Readonly<Record<string, string>>, folder: string): Promise<Received | undefined> {
  const file = join(folder, "body");
  // The token exchange takes bodies as they are.
  const isPacked = headers.authorization !== undefined;
  writeFileSync(file, isPacked ? Bun.gzipSync(Buffer.from(body)) : body);
  const all = { "content-type": "application/json", ...(isPacked && { "content-encoding": "gzip" }), ...headers };
  const lines = Object.entries(all).flatMap(([name, value]) => ["-H", `${name}: ${value}`]);
  const child = Bun.spawn(
    ["curl", "-sS", "--noproxy", "*", "--compressed", "-w", "\n%{http_code}", ...lines, "--data-binary", `@${file}`, url],
    {
      stdout: "pipe",
      stderr: "ignore",
    },
  );
  const said = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) return undefined;
  const end = said.lastIndexOf("\n");
  return { status: Number(said.slice(end + 1)), body: JSON.parse(said.slice(0, end)) };
}
