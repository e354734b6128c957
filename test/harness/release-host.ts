/**
 * A release host: a folder served over http, or over https with a certificate of the tests' own
 * authority. It records the files that it serves and can inject faults.
 */

import { createReadStream, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer as createPlainServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { lacksProgram } from "./needs.ts";

/** A faulty handler of a request. */
export type Fault = (response: ServerResponse, request: IncomingMessage) => void;

/** Faults by the request's path; the first that matches is used. */
export type Faults = readonly (readonly [path: RegExp, fault: Fault])[];

/** Options of a host. */
export interface ReleaseHostOptions {
  readonly faults?: Faults;
  /** Over https, by a certificate of this authority. Default: over http. */
  readonly authority?: TestAuthority;
}

/** A file that a host has sent. */
export interface Served {
  readonly path: string;
  /** Bytes of the body; 0 for a fault's response. */
  readonly bytes: number;
}

/** The authority of every host's certificate; a program trusts it through `env`. */
export class TestAuthority implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), "svc-ca-"));
  readonly certificate = join(this.folder, "localhost.crt");
  readonly key = join(this.folder, "localhost.key");
  /** Makes curl, GNU wget, openssl and Bun trust it. */
  readonly env: Readonly<Record<string, string>>;

  /** The authority; undefined where there is no openssl to make it. */
  static make(): TestAuthority | undefined {
    return lacksProgram("openssl") ? undefined : new TestAuthority();
  }

  private constructor() {
    const wget = join(this.folder, "wgetrc");
    const made = Bun.spawnSync(
      [
        ...["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"],
        ...["-addext", "subjectAltName=DNS:localhost", "-keyout", this.key, "-out", this.certificate],
      ],
      { stderr: "pipe" },
    );
    if (!made.success) throw new Error(`openssl: ${made.stderr}`);
    writeFileSync(wget, `ca_certificate = ${this.certificate}\n`);
    Bun.spawnSync(["chmod", "-R", "a+rX", this.folder]);
    this.env = {
      CURL_CA_BUNDLE: this.certificate,
      SSL_CERT_FILE: this.certificate,
      NODE_EXTRA_CA_CERTS: this.certificate,
      WGETRC: wget,
    };
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A host on a free port of loopback. */
export class ReleaseHost implements AsyncDisposable {
  /** Requested paths. */
  readonly requests: string[] = [];
  /** Responses, of files and of faults. */
  readonly served: Served[] = [];
  /** Faults, to which more can be added. */
  readonly faults: Faults[number][];
  private readonly server: Server;

  private constructor(
    private readonly folder: string,
    private readonly options: ReleaseHostOptions,
  ) {
    this.faults = [...(options.faults ?? [])];
    const answer = (request: IncomingMessage, response: ServerResponse) => this.answer(request, response);
    this.server = options.authority
      ? createServer({ cert: readFileSync(options.authority.certificate), key: readFileSync(options.authority.key) }, answer)
      : createPlainServer(answer);
  }

  /** Serves a folder. */
  static async serve(folder: string, options: ReleaseHostOptions = {}): Promise<ReleaseHost> {
    const host = new ReleaseHost(folder, options);
    await new Promise<void>((resolve) => host.server.listen(0, "127.0.0.1", resolve));
    return host;
  }

  get url(): string {
    const { port } = this.server.address() as AddressInfo;
    return this.options.authority ? `https://localhost:${port}` : `http://127.0.0.1:${port}`;
  }

  /** Bytes of all the files that were sent. */
  get bytes(): number {
    return this.served.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    const path = decodeURIComponent(request.url ?? "/");
    this.requests.push(path);
    const fault = this.faults.find(([pattern]) => pattern.test(path))?.[1];
    const file = join(this.folder, path);
    if (fault) {
      this.served.push({ path, bytes: 0 });
      fault(response, request);
    } else if (existsSync(file) && statSync(file).isFile()) {
      const bytes = statSync(file).size;
      this.served.push({ path, bytes });
      response.writeHead(200, { "content-length": bytes });
      createReadStream(file).pipe(response);
    } else response.writeHead(404).end("not here\n");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

/** Sends a text. */
export const answers =
  (body: string | Uint8Array, status = 200, headers: Readonly<Record<string, string>> = { "content-type": "text/html" }): Fault =>
  (response) =>
    response.writeHead(status, headers).end(body);

/** Redirects the client. */
export const redirects =
  (location: string | ((path: string) => string)): Fault =>
  (response, request) =>
    response.writeHead(302, { location: typeof location === "string" ? location : location(request.url ?? "/") }).end();

/** Announces more bytes than it sends, and closes the connection. */
export const hangsUp =
  (promised = 100_000, sent = 5000): Fault =>
  (response) => {
    response.writeHead(200, { "content-length": promised });
    response.write("x".repeat(sent), () => response.destroy());
  };

/** Starts a response, and then sends nothing more. */
export const stalls =
  (promised = 100_000, sent = 50): Fault =>
  (response) => {
    response.writeHead(200, { "content-length": promised });
    response.write("x".repeat(sent));
  };

/** Sends a body without end. */
export const neverEnds: Fault = (response) => {
  response.writeHead(200);
  const more = () => {
    while (!response.destroyed && response.write("x".repeat(65_536)));
  };
  response.on("drain", more);
  more();
};
