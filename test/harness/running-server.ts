/**
 * A real server on a free port with its own folder, and clients for its services. Everything it
 * opens is closed with it.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DescService } from "@bufbuild/protobuf";
import { type Client, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import type { Clock } from "../../src/context/clock.ts";
import { type InitialCredentials, type Server, type StartOptions, start } from "../../src/server/boot/start.ts";
import { openSession, type TestSession } from "./browser-session.ts";
import { sharedHome } from "./first-use.ts";

/** The system's clock, which a test can move forward. */
export class TestClock implements Clock {
  private offset = 0;
  now(): number {
    return Date.now() + this.offset;
  }
  /** Moves the clock forward. Sleepers are not woken. */
  advance(ms: number): void {
    this.offset += ms;
  }
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const timer = setTimeout(resolve, ms);
      signal?.addEventListener("abort", () => {
        clearTimeout(timer);
        reject(signal.reason);
      });
    });
  }
}

/** A folder that is removed with the test. */
export class TempFolder implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), "svc-server-"));
  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

/** Options of a test's server; `workers` is 1 by default, as most tests ask one thing at a time. */
export interface TestServerOptions extends Partial<Omit<StartOptions, "clock" | "log">> {
  readonly clock?: TestClock;
  readonly credentials?: InitialCredentials;
}

/** A started server. */
export class TestServer implements AsyncDisposable {
  private tokenPromise: Promise<string> | undefined;
  private sessionPromise: Promise<TestSession> | undefined;
  private constructor(
    readonly server: Server,
    readonly clock: TestClock,
    /** Lines of the log, parsed. */
    readonly log: Record<string, unknown>[],
    readonly credentials: InitialCredentials,
  ) {}

  /** Starts a server in a folder; `credentials` are those of an earlier start in it. */
  static async start(folder: string, options: TestServerOptions = {}): Promise<TestServer> {
    const { clock = new TestClock(), credentials, ...rest } = options;
    const log: Record<string, unknown>[] = [];
    const server = await start({
      port: 0,
      dataDir: join(folder, "data"),
      home: sharedHome(),
      clock,
      env: { PATH: process.env.PATH, HOME: process.env.HOME },
      version: "1.2.3-test",
      logLevel: "debug",
      workers: 1,
      log: (line) => log.push(JSON.parse(line) as Record<string, unknown>),
      ...rest,
    });
    const known = server.initialCredentials ?? credentials;
    if (!known) {
      await server.stop();
      throw new Error("the folder was used before: hand in its credentials");
    }
    return new TestServer(server, clock, log, known);
  }

  get url(): string {
    return this.server.url;
  }

  /** Exchanges credentials for a token. */
  async exchange(clientId: string, clientSecret: string): Promise<Response> {
    return fetch(`${this.url}/v1/oauth/token`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ client_id: clientId, client_secret: clientSecret, grant_type: "client_credentials" }),
    });
  }

  /** A token of the first client, exchanged once. */
  token(): Promise<string> {
    this.tokenPromise ??= this.exchange(this.credentials.clientId, this.credentials.clientSecret).then(async (response) => {
      const body = (await response.json()) as { access_token: string };
      return body.access_token;
    });
    return this.tokenPromise;
  }

  /** A browser session of the first client, opened once. */
  session(): Promise<TestSession> {
    this.sessionPromise ??= this.token().then((token) => openSession(this.url, token));
    return this.sessionPromise;
  }

  /** A page as a logged-in browser receives it. */
  async page(path: string): Promise<Response> {
    return fetch(new URL(path, this.url), { headers: (await this.session()).headers });
  }

  /** A client of a service. Without `token` it logs in as the first client; null sends none. */
  client<S extends DescService>(service: S, options: { token?: string | null; headers?: Record<string, string> } = {}): Client<S> {
    const transport = createConnectTransport({
      baseUrl: this.url,
      useBinaryFormat: true,
      interceptors: [
        (next) => async (request) => {
          const token = options.token === undefined ? await this.token() : options.token;
          if (token !== null) request.header.set("authorization", `Bearer ${token}`);
          for (const [name, value] of Object.entries(options.headers ?? {})) request.header.set(name, value);
          return next(request);
        },
      ],
    });
    return createClient(service, transport);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.stop();
  }
}
