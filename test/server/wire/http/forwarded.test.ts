import { describe, expect, test } from "bun:test";
import { request } from "node:http";
import { networkInterfaces } from "node:os";
import { clientAddress, dropForeignClaims, isEncrypted } from "../../../../src/server/wire/http/forwarded.ts";
import { createGuard } from "../../../../src/server/wire/http/guard.ts";
import { TempFolder, TestServer } from "../../../harness/running-server.ts";

const claims = () => new Headers({ "x-forwarded-proto": "https", "x-forwarded-for": "203.0.113.1, 198.51.100.7" });

describe("what a proxy says", () => {
  test.each(["127.0.0.1", "::1", "::ffff:127.0.0.1"])("is believed of %s", (peer) => {
    const headers = claims();
    dropForeignClaims(headers, { peer: () => peer });
    expect([isEncrypted(headers), clientAddress(headers, () => peer)]).toEqual([true, "198.51.100.7"]);
  });

  test.each(["192.0.2.1", "::ffff:192.0.2.1", "unknown"])("is taken from %s", (peer) => {
    const headers = claims();
    dropForeignClaims(headers, { peer: () => peer });
    expect([isEncrypted(headers), clientAddress(headers, () => peer)]).toEqual([false, peer.replace("::ffff:", "")]);
  });

  test.each(["127.0.0.1", "192.0.2.1"])("of the scheme counts for nothing when %s speaks TLS to the server itself", (peer) => {
    for (const claim of [undefined, "http"]) {
      const headers = new Headers(claim === undefined ? {} : { "x-forwarded-proto": claim });
      dropForeignClaims(headers, { peer: () => peer, encrypted: true });
      expect(isEncrypted(headers)).toBe(true);
    }
  });
});

const OUTSIDE = Object.values(networkInterfaces())
  .flat()
  .find((one) => one?.family === "IPv4" && !one.internal)?.address;

test.skipIf(OUTSIDE === undefined)(
  "another machine has the rights that its credentials have, and is shown by its own address whatever it claims",
  async () => {
    using folder = new TempFolder();
    await using server = await TestServer.start(folder.path, { host: "0.0.0.0", remote: true, allowedHosts: ["svc.example.com"] });
    const { headers } = await server.session();
    const ask = (method: string, path: string, given: Record<string, string>, body = "") =>
      new Promise<{ status: number; text: string }>((resolve, reject) => {
        const outgoing = request(
          {
            ...{ host: OUTSIDE, localAddress: OUTSIDE, port: server.server.port, method, path, agent: false },
            headers: { host: "svc.example.com", "content-length": body.length, ...given },
          },
          async (response) => {
            let text = "";
            for await (const chunk of response) text += chunk;
            resolve({ status: response.statusCode ?? 0, text });
          },
        );
        outgoing.on("error", reject).end(body);
      });
    const claim = { "x-forwarded-for": "127.0.0.1", "x-forwarded-proto": "https" };
    const created = await ask(
      "POST",
      "/svc.v1.AuthService/CreateLoginSession",
      { "content-type": "application/json", ...claim },
      '{"deviceName":"elsewhere"}',
    );
    const { url } = JSON.parse(created.text) as { url: string };
    expect(url).toStartWith("http://svc.example.com/cli/login_");
    const path = new URL(url).pathname;
    expect((await ask("GET", path, claim)).text).not.toContain("elsewhere");
    expect((await ask("GET", path, { ...headers, cookie: "" })).status).toBe(401);
    const page = await ask("GET", path, { ...headers, ...claim });
    expect([page.status, page.text.includes(`<dd>${OUTSIDE}</dd>`)]).toEqual([200, true]);
    expect((await ask("GET", "/", { host: "evil.example.com" })).status).toBe(403);
  },
);

test("an allowed host stands for itself without a port, with the server's, or with its own", () => {
  const guard = createGuard({
    host: "127.0.0.1",
    port: 5757,
    allowedHosts: ["svc.example.com", "other.example.com:8443", "tls.example.com:443"],
  });
  const refused = (host: string, origin?: string) => guard(new Headers({ host, ...(origin ? { origin } : {}) })) !== undefined;
  for (const host of ["svc.example.com", "SVC.example.com:5757", "other.example.com:8443", "tls.example.com", "tls.example.com:443"])
    expect([host, refused(host)]).toEqual([host, false]);
  for (const host of ["svc.example.com:1", "other.example.com", "tls.example.com:5757", "example.com", "evil-svc.example.com"])
    expect([host, refused(host)]).toEqual([host, true]);
  expect(refused("svc.example.com", "https://svc.example.com")).toBe(false);
  expect(refused("svc.example.com", "https://svc.example.com:8443")).toBe(true);
  expect(refused("svc.example.com", "https://other.example.com:8443")).toBe(true);
});
