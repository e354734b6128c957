/** `svc.http` in a resolver, over TLS; what it refuses is in `unit/test_http.py`. */

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { Authority } from "../harness/authority.ts";
import { lacksProgram } from "../harness/needs.ts";
import { PythonWorld } from "../server/query/python-world.ts";
import { valuesOf } from "../server/query/worlds.ts";

setDefaultTimeout(300_000);

describe.skipIf(lacksProgram("openssl"))("over TLS", () => {
  let authority: Authority;
  let server: Bun.Server<undefined>;
  let world: PythonWorld;

  beforeAll(async () => {
    authority = new Authority();
    const tls = authority.sign("localhost");
    server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      tls,
      fetch: async (request) => {
        const given = new URL(request.url).searchParams.get("of");
        return Response.json({ rate: 1.25, of: given ?? (await request.json()) });
      },
    });
    const url = `https://localhost:${server.port}`;
    world = await PythonWorld.start({
      "project.py": `
import os
from svc import online
from svc.features import features
from svc.http import http_get, http_post

@features
class Order:
    id: int
    rate: float
    posted: str
    trusted: str
    private: str

def allow(hosts: str, authority: str) -> None:
    os.environ["SVC_HTTP_ALLOWED_HOSTS"] = hosts
    os.environ["SSL_CERT_FILE"] = authority

@online
def rate(id: Order.id) -> Order.rate:
    allow("localhost", ${JSON.stringify(authority.certificate)})
    return http_get("${url}/latest", params={"of": id}, timeout=60).json()["rate"]

@online
def posted(id: Order.id) -> Order.posted:
    allow("localhost", ${JSON.stringify(authority.certificate)})
    return str(http_post("${url}/", json={"id": id}, timeout=60).json()["of"])

@online
def trusted(id: Order.id) -> Order.trusted:
    allow("localhost", os.devnull)
    return http_get("${url}/?of=1", timeout=60).text

@online
def private(id: Order.id) -> Order.private:
    allow("", "")
    return http_get("${url}/?of=1", timeout=60).text
`,
    });
  });

  afterAll(async () => {
    await world?.close();
    await server?.stop(true);
    authority?.[Symbol.dispose]();
  });

  test("a resolver calls a host that may be called", async () => {
    const answer = await world.ask({ "order.id": 7 }, ["order.rate", "order.posted"]);
    expect(answer.failures.map(({ message }) => message)).toEqual([]);
    expect(valuesOf(answer)).toEqual({ "order.rate": 1.25, "order.posted": "{'id': 7}" });
  });

  test.each([
    ["trusted", "raised SSLCertVerificationError"],
    ["private", "which is not public: name it in SVC_HTTP_ALLOWED_HOSTS"],
  ])("%s: %s", async (feature, message) => {
    const { failures } = await world.ask({ "order.id": 7 }, [`order.${feature}`]);
    expect(failures.map((failure) => failure.message).join()).toContain(message);
  });
});
