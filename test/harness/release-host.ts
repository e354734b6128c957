/** A release host: a folder served over https, by a certificate of the tests' own authority, with faults where a test wants them. */

import { createReadStream, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer as createPlainServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Answers a request in its own way. */
export type Fault = (response: ServerResponse, request: IncomingMessage) => void;

/** Answers by the request's path, the first that fits. */
export type Faults = readonly (readonly [path: RegExp, fault: Fault])[];

/** How a host is made. */
export interface ReleaseHostOptions {
  readonly faults?: Faults;
  /** Over http. */
  readonly plain?: boolean;
}

/** The authority that every host's certificate is of; a program trusts it by the environment below. */
export class TestAuthority implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), "svc-ca-"));
  readonly certificate = join(this.folder, "localhost.crt");
  readonly key = join(this.folder, "localhost.key");
  /** Makes curl, GNU wget, openssl and Bun trust it. */
  readonly env: Readonly<Record<string, string>>;

  constructor() {
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
  private constructor(
    private readonly server: Server,
    readonly url: string,
    /** Paths that were asked for. */
    readonly requests: readonly string[],
  ) {}

  /** Serves a folder. */
  static async serve(
    folder: string,
    authority: TestAuthority,
    { faults = [], plain = false }: ReleaseHostOptions = {},
  ): Promise<ReleaseHost> {
    const requests: string[] = [];
    const answer = (request: IncomingMessage, response: ServerResponse) => {
      const path = decodeURIComponent(request.url ?? "/");
      requests.push(path);
      const fault = faults.find(([pattern]) => pattern.test(path))?.[1];
      if (fault) fault(response, request);
      else sendFile(join(folder, path), response);
    };
    const tls = () => ({ cert: readFileSync(authority.certificate), key: readFileSync(authority.key) });
    const server = plain ? createPlainServer(answer) : createServer(tls(), answer);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new ReleaseHost(server, `${plain ? "http" : "https"}://localhost:${(server.address() as AddressInfo).port}`, requests);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

function sendFile(path: string, response: ServerResponse): void {
  if (!existsSync(path) || !statSync(path).isFile()) {
    response.writeHead(404).end("not here\n");
    return;
  }
  response.writeHead(200, { "content-length": statSync(path).size });
  createReadStream(path).pipe(response);
}

/** Sends a text. */
export const answers =
  (body: string | Uint8Array, status = 200): Fault =>
  (response) =>
    response.writeHead(status, { "content-type": "text/html" }).end(body);

/** Sends the client on. */
export const redirects =
  (location: string | ((path: string) => string)): Fault =>
  (response, request) =>
    response.writeHead(302, { location: typeof location === "string" ? location : location(request.url ?? "/") }).end();

/** Promises more than it sends, and hangs up. */
export const hangsUp: Fault = (response) => {
  response.writeHead(200, { "content-length": 100_000 });
  response.write("x".repeat(5000), () => response.destroy());
};

/** Begins, and then is silent. */
export const stalls: Fault = (response) => {
  response.writeHead(200, { "content-length": 100_000 });
  response.write("x".repeat(50));
};

/** Never ends. */
export const neverEnds: Fault = (response) => {
  response.writeHead(200);
  const more = () => {
    while (!response.destroyed && response.write("x".repeat(65_536)));
  };
  response.on("drain", more);
  more();
};
