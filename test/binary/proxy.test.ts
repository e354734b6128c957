/**
 * Proxies: which requests of the binary go through one, what a proxy sees, and what is said when it
 * stands in the way.
 */

import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { WhoAmIResponseSchema } from "../../gen/svc/v1/auth_pb.ts";
import { type FakeServer, fakeServer, protoAnswer } from "../client/fake-server.ts";
import { lacksAirGap } from "../harness/air-gap.ts";
import { type CountingProxy, type ProxyMode, startCountingProxy } from "../harness/counting-proxy.ts";
import { lacksProgram } from "../harness/needs.ts";
import { Sandbox } from "../harness/sandbox.ts";
import type { Route, Routed } from "./proxy-routes.ts";

const SECRET = "c4nary-of-the-client";
const VARIABLES = ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];
const call = () => protoAnswer(WhoAmIResponseSchema, { userId: "user_1", environmentId: "env_1", teamId: "team_1" });

let sandbox: Sandbox;
let plain: FakeServer;
let secure: FakeServer | undefined;
let authority = "";
const proxies: CountingProxy[] = [];

beforeAll(async () => {
  sandbox = new Sandbox();
  plain = fakeServer({ call });
  if (!lacksProgram("openssl")) {
    authority = join(sandbox.root, "cert.pem");
    const key = join(sandbox.root, "key.pem");
    const made = Bun.spawnSync(
      ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=svc.example.test"].concat([
        ...["-addext", "subjectAltName=DNS:svc.example.test", "-keyout", key, "-out", authority],
      ]),
      { stderr: "pipe" },
    );
    if (!made.success) throw new Error(made.stderr.toString());
    secure = fakeServer({ call, tls: { key: await Bun.file(key).text(), cert: await Bun.file(authority).text() } });
  }
});
afterEach(async () => {
  for (const proxy of proxies.splice(0)) await proxy.stop();
});
afterAll(async () => {
  await Promise.all([plain.stop(), secure?.stop(), sandbox[Symbol.asyncDispose]()]);
});

async function startProxy(manner?: ProxyMode): Promise<CountingProxy> {
  const ports = {
    "svc.example.test:80": Number(new URL(plain.url).port),
    "svc.example.test:443": Number(new URL(secure?.url ?? plain.url).port),
  };
  const proxy = await startCountingProxy(ports, manner);
  proxies.push(proxy);
  return proxy;
}

/** Asks who the client is, with a token exchange. */
async function ask(server: string, env: Record<string, string>) {
  rmSync(join(sandbox.home, ".svc/cache"), { recursive: true, force: true });
  return await sandbox.svc(["user", "-vv", "--client-id=id", `--client-secret=${SECRET}`, "--api-host", server], { env });
}

describe("a server on this machine", () => {
  test("is asked past every proxy, which gets neither the request nor the secret", async () => {
    const proxy = await startProxy();
    const { port } = new URL(plain.url);
    for (const host of ["127.0.0.1", "localhost"]) {
      const before = plain.requests.length;
      const said = await ask(`http://${host}:${port}`, Object.fromEntries(VARIABLES.map((name) => [name, proxy.url])));
      expect([host, said.exitCode, said.stderr.includes("proxy")]).toEqual([host, 0, false]);
      expect(plain.requests.length - before).toBe(2);
    }
    expect(proxy.requests).toEqual([]);
  });

  test("is asked past each one alone, whatever NO_PROXY says, and past one that svc cannot use", async () => {
    const proxy = await startProxy();
    for (const name of VARIABLES)
      for (const list of [undefined, "", "localhost", "example.test"]) {
        const said = await ask(plain.url, { [name]: proxy.url, ...(list === undefined ? {} : { NO_PROXY: list }) });
        expect([name, list, said.exitCode]).toEqual([name, list, 0]);
      }
    expect((await ask(plain.url, { ALL_PROXY: "socks5://127.0.0.1:9" })).exitCode).toBe(0);
    expect(proxy.requests).toEqual([]);
    expect(proxy.seen()).not.toContain(SECRET);
  }, 300_000);

  test("checks itself past every proxy", async () => {
    const proxy = await startProxy();
    await using machine = new Sandbox(Object.fromEntries(VARIABLES.map((name) => [name, proxy.url])));
    await machine.startServer();
    const checks = await machine.json<{ checks: { name: string; status: string }[] }>(["healthcheck"]);
    expect(JSON.stringify(checks)).toContain("Query");
    expect(proxy.requests).toEqual([]);
  }, 300_000);
});

describe("a server elsewhere", () => {
  for (const name of ["http_proxy", "all_proxy", "ALL_PROXY"])
    test(`over http, through ${name}`, async () => {
      const proxy = await startProxy();
      const said = await ask("http://svc.example.test", { [name]: proxy.url });
      expect([said.exitCode, said.stderr.includes(`through the proxy ${proxy.url} (environment variable ${name})`)]).toEqual([0, true]);
      expect(proxy.requests).toEqual([
        "POST http://svc.example.test/v1/oauth/token HTTP/1.1",
        "POST http://svc.example.test/svc.v1.AuthService/WhoAmI HTTP/1.1",
      ]);
    });

  for (const name of ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"])
    test.skipIf(lacksProgram("openssl"))(`over https, through a tunnel of ${name}`, async () => {
      const proxy = await startProxy();
      const said = await ask("https://svc.example.test", { [name]: proxy.url, NODE_EXTRA_CA_CERTS: authority });
      expect([said.exitCode, said.stderr]).toEqual([0, expect.stringContaining(name)]);
      expect([...new Set(proxy.requests)]).toEqual(["CONNECT svc.example.test:443 HTTP/1.1"]);
      expect(proxy.seen()).not.toContain(SECRET);
    });

  test("with the user and password that the variable has, which no message shows", async () => {
    const proxy = await startProxy();
    const said = await ask("http://svc.example.test", { http_proxy: proxy.url.replace("//", "//person:c4nary-of-the-proxy@") });
    expect(said.exitCode).toBe(0);
    expect(proxy.seen()).toContain(`Basic ${Buffer.from("person:c4nary-of-the-proxy").toString("base64")}`);
    expect(said.stdout + said.stderr).not.toContain("c4nary");
  });

  for (const scheme of ["http", "https"] as const) {
    const faults: [ProxyMode, RegExp][] = [
      [
        "credentials",
        /^Error: the proxy PROXY did not let the request to SERVER .* through: 407 Proxy Authentication Required\n.*USER:PASSWORD.*NO_PROXY/m,
      ],
      [
        "page",
        scheme === "https"
          ? /^Error: the proxy PROXY did not let the request to SERVER .* through: 403 Forbidden\n.*NO_PROXY/m
          : /^Error: SERVER .* through the proxy PROXY answered with something else .* a web page \("Blocked by policy"\)\nIt may be the proxy.*NO_PROXY/m,
      ],
      ["close", /^Error: the connection to SERVER .* through the proxy PROXY was closed before/m],
    ];
    for (const [manner, pattern] of faults)
      test(`a proxy for ${scheme} in the way (${manner}) is named`, async () => {
        const proxy = await startProxy(manner);
        const said = await ask(`${scheme}://svc.example.test`, { [`${scheme}_proxy`]: proxy.url });
        const named = `${proxy.url} (environment variable ${scheme}_proxy)`;
        expect(said.exitCode).toBe(1);
        expect(said.stderr.replaceAll(named, "PROXY").replaceAll(`${scheme}://svc.example.test`, "SERVER")).toMatch(pattern);
      });

    test(`a dead proxy for ${scheme} is named, and one of another kind`, async () => {
      const dead = await startProxy();
      await proxies.pop()?.stop();
      const refused = await ask(`${scheme}://svc.example.test`, { ALL_PROXY: dead.url });
      expect([refused.exitCode, refused.stderr]).toEqual([
        1,
        expect.stringContaining(`Error: the proxy ${dead.url} (environment variable ALL_PROXY) on the way to ${scheme}://svc.example.test`),
      ]);
      const other = await ask(`${scheme}://svc.example.test`, { ALL_PROXY: "socks5://127.0.0.1:9" });
      expect([other.exitCode, other.stderr]).toEqual([1, expect.stringContaining("ALL_PROXY names a proxy of the kind 'socks5'")]);
    });
  }
});

test.skipIf(lacksAirGap())(
  "NO_PROXY decides between the two ways to another address",
  async () => {
    const address = "10.77.0.1";
    const direct = ["*", address, `${address}:PORT`, "10.77.0.0/16", "0.0.0.0/0", `a.test, ${address}`, `a.test ${address}`].map(
      (list) => ({ list, host: address }),
    );
    const through = [
      ...["", "localhost", "10.77.0.2", `${address}:1`, "10.78.0.0/16", "fd00::/8", "0.77.0.1"].map((list) => ({ list, host: address })),
      ...["xample.test", "a.svc.example.test", "example.test:1"].map((list) => ({ list, host: "svc.example.test" })),
    ];
    const both = (name: string, { list, host }: { list: string; host: string }): Route[] =>
      ["NO_PROXY", "no_proxy"].map((exempt) => ({ env: { [name]: "PROXY", [exempt]: list }, host }));
    const cases = [
      ...direct.map((one) => ({ ways: [...both("http_proxy", one), ...both("ALL_PROXY", one)], served: 2, proxied: 0 })),
      ...through.map((one) => ({ ways: both("http_proxy", one), served: 2, proxied: 2 })),
      { ways: [{ env: { HTTP_PROXY: "PROXY" }, host: address }], served: 2, proxied: 0 },
      { ways: [{ env: { https_proxy: "PROXY", HTTPS_PROXY: "PROXY" }, host: address }], served: 2, proxied: 0 },
    ];
    const script = 'ip link set lo up && ip addr add 10.77.0.1/24 dev lo && exec "$@"';
    const child = Bun.spawn(
      [
        "unshare",
        "-rn",
        "sh",
        "-c",
        script,
        "sh",
        process.execPath,
        join(import.meta.dir, "proxy-routes.ts"),
        sandbox.binary,
        sandbox.root,
      ],
      { stdin: new Blob([JSON.stringify(cases.flatMap(({ ways }) => ways))]), stdout: "pipe", stderr: "inherit" },
    );
    const routed = (await new Response(child.stdout).json()) as Routed[];
    expect(routed.map(({ env, host, exitCode, served, proxied }) => ({ env, host, exitCode, served, proxied }))).toEqual(
      cases.flatMap(({ ways, served, proxied }) => ways.map((way) => ({ ...way, exitCode: 0, served, proxied }))),
    );
  },
  300_000,
);
