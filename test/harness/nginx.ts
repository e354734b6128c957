/**
 * A real nginx in front of a server, on free ports of 127.0.0.2, an address that is not the
 * server's own.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./free-port.ts";
import { lacksProgram, programPath } from "./needs.ts";

/** Whether nginx is absent, or openssl, which makes its certificate: see `lacksProgram`. */
export const lacksNginx = (): boolean => lacksProgram("nginx", "openssl");

/** Address on which the proxy listens. */
export const PROXY_ADDRESS = "127.0.0.2";

/** Ports of the proxy, one for each configuration. */
export interface ProxyPorts {
  /** Passes requests on with nginx's own headers: the Host is the server's. */
  readonly plain: number;
  /** Passes the Host on. */
  readonly named: number;
  /** Passes the Host on, over TLS, with `X-Forwarded-Proto`. */
  readonly tls: number;
}

/** Free ports for a proxy, chosen before the server starts, because its options name them. */
export async function proxyPorts(): Promise<ProxyPorts> {
  const [plain, named, tls] = await Promise.all([freePort(PROXY_ADDRESS), freePort(PROXY_ADDRESS), freePort(PROXY_ADDRESS)]);
  return { plain, named, tls };
}

/** A running nginx. It is stopped, and its folder removed, with the test. */
export class Nginx implements AsyncDisposable {
  private constructor(
    private readonly folder: string,
    private readonly child: Bun.Subprocess,
  ) {}

  /** Starts it in front of the server at `upstream`, and waits until it answers. */
  static async start(upstream: string, ports: ProxyPorts): Promise<Nginx> {
    const folder = mkdtempSync(join(tmpdir(), "svc-nginx-"));
    const subject = ["-subj", "/CN=svc", "-addext", `subjectAltName=IP:${PROXY_ADDRESS}`];
    const made = Bun.spawnSync(
      ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", "key.pem", "-out", "cert.pem", ...subject],
      { cwd: folder, stderr: "pipe" },
    );
    if (!made.success) throw new Error(made.stderr.toString());
    const server = (listen: string, headers: readonly string[]) =>
      `server { listen ${PROXY_ADDRESS}:${listen}; location / { ${headers.map((header) => `proxy_set_header ${header};`).join(" ")} proxy_pass ${upstream}; } }`;
    const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path ${folder}/${name};`);
    await Bun.write(
      join(folder, "nginx.conf"),
      [
        "daemon off; master_process off; worker_processes 1;",
        `pid ${folder}/nginx.pid; error_log ${folder}/error.log;`,
        "events { worker_connections 64; }",
        `http { access_log off; ${temporary.join(" ")} ssl_certificate ${folder}/cert.pem; ssl_certificate_key ${folder}/key.pem;`,
        server(String(ports.plain), []),
        server(String(ports.named), ["Host $http_host", "X-Forwarded-For $proxy_add_x_forwarded_for"]),
        server(`${ports.tls} ssl`, ["Host $http_host", "X-Forwarded-Proto $scheme", "X-Forwarded-For $proxy_add_x_forwarded_for"]),
        "}",
      ].join("\n"),
    );
    const argv = [programPath("nginx") ?? "", "-p", folder, "-c", join(folder, "nginx.conf"), "-e", join(folder, "error.log")];
    const child = Bun.spawn(argv, { stdin: "ignore", stdout: "ignore", stderr: "inherit" });
    const nginx = new Nginx(folder, child);
    for (let tries = 0; ; tries++) {
      const answers = await fetch(`http://${PROXY_ADDRESS}:${ports.plain}/health`).then(
        ({ ok }) => ok,
        () => false,
      );
      if (answers) return nginx;
      if (tries > 200 || child.exitCode !== null) {
        await nginx[Symbol.asyncDispose]();
        throw new Error("nginx does not answer");
      }
      await Bun.sleep(50);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill("SIGTERM");
    await this.child.exited;
    rmSync(this.folder, { recursive: true, force: true });
  }
}
