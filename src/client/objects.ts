/**
 * Signed addresses, the server's health report, and the check of credentials before they are
 * stored.
 */

import { describeSource } from "../config/resolve.ts";
import { CliError } from "../errors/cli-error.ts";
import type { ServerHealth, Session } from "./api.ts";
import type { Connection } from "./connection.ts";
import { exchangeToken } from "./exchange.ts";
import { CallError, callError, failureOf, transientCall, wrongContent } from "./failure.ts";
import { type Endpoint, readBody, transientNetwork } from "./fetch.ts";
import { plainFetch } from "./plain.ts";

const TRANSFER_TIMEOUT_MS = 300_000;
/** Longest download from a signed address: no bundle is larger. */
const MAX_DOWNLOAD_BYTES = 128 * 1024 * 1024;
const PING_TIMEOUT_MS = 5_000;
const CHUNK_BYTES = 256 * 1024;

/** GETs a signed address. The signature is the permission, so no token is sent. */
export async function download(connection: Connection, url: string): Promise<Uint8Array> {
  const endpoint = await objectEndpoint(connection, url);
  return connection.retry.run(
    true,
    async () => {
      const request = {
        method: "GET",
        url: endpoint.address,
        headers: new Headers(),
        timeoutMs: TRANSFER_TIMEOUT_MS,
        followRedirects: true,
      } as const;
      const response = await plainFetch(connection.fetch, endpoint, request);
      const body = await readBody(response, endpoint, request, MAX_DOWNLOAD_BYTES);
      if (!response.ok) throw refusal(response, body, endpoint, connection, "download");
      return body;
    },
    (error) => transientNetwork(error) ?? transientCall(error),
  );
}

/**
 * PUTs bytes to a signed address. Repeating the PUT changes nothing, so it is retried when the
 * connection breaks.
 * @param onSent gets the number of bytes handed to the network so far
 */
export async function upload(
  connection: Connection,
  url: string,
  bytes: Uint8Array,
  onSent: (bytes: number) => void = () => undefined,
): Promise<void> {
  const endpoint = await objectEndpoint(connection, url);
  await connection.retry.run(
    true,
    async () => {
      const request = {
        method: "PUT",
        url: endpoint.address,
        headers: new Headers({ "content-type": "application/octet-stream", "content-length": String(bytes.length) }),
        body: counted(bytes, onSent),
        timeoutMs: TRANSFER_TIMEOUT_MS,
      } as const;
      const response = await plainFetch(connection.fetch, endpoint, request);
      const body = await readBody(response, endpoint, request, 1024 * 1024);
      if (!response.ok) throw refusal(response, body, endpoint, connection, "upload");
    },
    (error) => transientNetwork(error) ?? transientCall(error),
  );
}

/** Bytes as a stream that reports how many of them were consumed. */
function counted(bytes: Uint8Array, onTaken: (bytes: number) => void): ReadableStream<Uint8Array> {
  let taken = 0;
  return new ReadableStream({
    pull(controller) {
      if (taken === bytes.length) return controller.close();
      const chunk = bytes.subarray(taken, taken + CHUNK_BYTES);
      taken += chunk.length;
      onTaken(taken);
      controller.enqueue(chunk);
    },
  });
}

/** `GET /health` of the API server, or of the server at another address. */
export async function ping(connection: Connection, server?: string): Promise<ServerHealth> {
  const endpoint = await endpointOf(connection, server);
  const request = {
    method: "GET",
    url: `${endpoint.url}/health`,
    headers: new Headers({ accept: "application/json" }),
    timeoutMs: PING_TIMEOUT_MS,
  } as const;
  const response = await plainFetch(connection.fetch, endpoint, request);
  const body = await readBody(response, endpoint, request, 1024 * 1024);
  try {
    const report: unknown = JSON.parse(new TextDecoder().decode(body));
    if (response.ok && report !== null && typeof report === "object" && "status" in report) {
      return {
        status: String(report.status),
        version: "version" in report ? String(report.version) : "",
        pid: "pid" in report && typeof report.pid === "number" ? report.pid : undefined,
        time: Date.parse(response.headers.get("date") ?? "") || undefined,
      };
    }
  } catch {}
  throw wrongContent(response, body, endpoint, connection);
}

/** Exchanges credentials, bypassing the cache. */
export async function checkCredentials(connection: Connection, clientId: string, clientSecret: string, server?: string): Promise<Session> {
  const settings = await connection.host.settings();
  const endpoint = await endpointOf(connection, server);
  const from = settings.clientSecret.value === clientSecret ? describeSource(settings.clientSecret.source) : "the login";
  const exchanged = await exchangeToken({ ...connection, clock: connection.host.clock }, endpoint, {
    id: clientId,
    secret: clientSecret,
    from,
  });
  const expiresAt = connection.host.clock.now() + exchanged.expiresIn * 1000;
  return {
    accessToken: exchanged.accessToken,
    primaryEnvironment: exchanged.primaryEnvironment,
    engines: exchanged.engines,
    expiresAt,
    refreshAt: expiresAt,
  };
}

async function endpointOf(connection: Connection, server: string | undefined): Promise<Endpoint> {
  return server === undefined ? connection.endpoint("api") : { url: server, what: "embedded server", source: { kind: "service" } };
}

/** The server of a signed address, and the address in full. */
export async function objectEndpoint(connection: Connection, url: string): Promise<Endpoint & { address: string }> {
  const api = await connection.endpoint("api");
  if (url.startsWith("/")) return { ...api, address: new URL(api.url).origin + url };
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new CliError(`${api.url} named an address that is none for a file`, { code: "broken_answer" });
  }
  return { url: new URL(url).origin, what: "object store", source: { kind: "service" }, address: url };
}

/** Why a signed address was refused. */
export function refusal(response: Response, body: Uint8Array, endpoint: Endpoint, connection: Connection, what: string): CliError {
  const failure = failureOf(response, body, endpoint, connection.proxies, connection.host.clock.now());
  if (failure.code === "unavailable") return callError(failure, endpoint, connection.redactor);
  const reason = connection.redactor.text(failure.message);
  return new CallError(failure, `${endpoint.url} refused the ${what}: ${reason}`, {
    code: `${what}_refused`,
    ...(failure.code === "out_of_space" ? {} : { hint: "The signed address may have ended; run the command again." }),
  });
}
