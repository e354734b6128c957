/**
 * Requests to the compiled server that pretend: forged tokens, foreign hosts, two readings of one
 * message, paths that climb, numbers that no number is.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { connect } from "node:net";
import { join } from "node:path";
import { loadServerKeys } from "../../src/server/access/keys.ts";
import { eventually } from "../harness/eventually.ts";
import { sendBytes, statusesOf } from "../harness/raw-request.ts";
import { Sandbox } from "../harness/sandbox.ts";
import { residentMiB, watching } from "../harness/server-watch.ts";

const PROJECT = {
  "svc.yaml": "project: door\nenvironments:\n  default: {}\n",
  "features.py": `from svc.features import _, features


@features
class User:
    id: int
    name: str
    ratio: float
    same: int = _.id
    twice: float = _.ratio * 2.0
    echo: str = _.name
`,
};

let sandbox: Sandbox;
let token = "";
let pid = 0;
let host = "";

beforeAll(async () => {
  sandbox = new Sandbox();
  await sandbox.startServer();
  host = new URL(sandbox.url).host;
  const project = await sandbox.write(PROJECT);
  await sandbox.json(["apply", "--force", "--await"], { cwd: project });
  token = await sandbox.accessToken();
  pid = ((await Bun.file(join(sandbox.home, ".svc/data/server.json")).json()) as { pid: number }).pid;
}, 300_000);
afterAll(() => sandbox[Symbol.asyncDispose]());

const authorized = () => ({ authorization: `Bearer ${token}`, "content-type": "application/json" });

/** On a connection of its own: one kept from before may be closed as idle just when it is used. */
async function online(body: string): Promise<{ status: number; text: string }> {
  const response = await fetch(`${sandbox.url}/v1/query/online`, { method: "POST", headers: authorized(), body, keepalive: false });
  return { status: response.status, text: await response.text() };
}

const answersStill = async () => expect((await online('{"inputs":{"user.id":7},"outputs":["user.same"]}')).status).toBe(200);

describe("a token", () => {
  const encode = (value: unknown) =>
    new TextEncoder()
      .encode(typeof value === "string" ? value : JSON.stringify(value))
      .toBase64({ alphabet: "base64url", omitPadding: true });
  const key = () => loadServerKeys(join(sandbox.home, ".svc/data/server.key")).tokens[0]?.secret ?? new Uint8Array();
  const signed = (header: object, claims: unknown, by: Uint8Array | string, hash = "sha256") => {
    const text = `${encode(header)}.${encode(claims)}`;
    return `${text}.${createHmac(hash, by).update(text).digest("base64url")}`;
  };
  const parts = () => token.split(".") as [string, string, string];
  const claims = () => JSON.parse(Buffer.from(parts()[1], "base64url").toString()) as Record<string, unknown>;
  const HS256 = { alg: "HS256", typ: "JWT" };
  const flipped = (text: string, at: number) => `${text.slice(0, at)}${text[at] === "A" ? "B" : "A"}${text.slice(at + 1)}`;

  /** Those that are signed with the right key are wrong in what they say. */
  const FORGERIES: Readonly<Record<string, () => string>> = {
    "without a signature": () => `${encode({ alg: "none", typ: "JWT" })}.${parts()[1]}.`,
    "without a signature, in other letters": () => `${encode({ alg: "nOnE" })}.${parts()[1]}.`,
    "of no algorithm with the signature of another": () => `${encode({ alg: "none" })}.${parts()[1]}.${parts()[2]}`,
    "signed with an empty key": () => signed(HS256, claims(), ""),
    "signed with 32 zeros": () => signed(HS256, claims(), new Uint8Array(32)),
    "signed with another key": () => signed(HS256, claims(), "secret"),
    "signed with the server's key itself": () => signed(HS256, claims(), key().toHex()),
    "of another client": () => `${parts()[0]}.${encode({ ...claims(), sub: "client_other" })}.${parts()[2]}`,
    "of a client that is not there, rightly signed": () => signed(HS256, { ...claims(), sub: "client_other" }, key()),
    "of a longer life": () => `${parts()[0]}.${encode({ ...claims(), exp: 99_999_999_999 })}.${parts()[2]}`,
    "with the address of a key set": () => signed({ ...HS256, jku: "http://127.0.0.1:9/keys", kid: "x" }, claims(), "secret"),
    "with a key in its header": () => signed({ ...HS256, jwk: { kty: "oct", k: encode("secret") } }, claims(), "secret"),
    "with a path as the name of its key": () => signed({ ...HS256, kid: "../../../../dev/null" }, claims(), ""),
    "with a critical extension": () => signed({ ...HS256, crit: ["x"], x: 1 }, claims(), key()),
    "of another algorithm, rightly signed": () => signed({ alg: "HS512", typ: "JWT" }, claims(), key(), "sha512"),
    "that says RS256": () => signed({ alg: "RS256", typ: "JWT" }, claims(), key()),
    "of another audience, rightly signed": () => signed(HS256, { ...claims(), aud: "other" }, key()),
    "of another issuer, rightly signed": () => signed(HS256, { ...claims(), iss: "other" }, key()),
    "that never ends, rightly signed": () => signed(HS256, { ...claims(), exp: undefined }, key()),
    "that ended, rightly signed": () => signed(HS256, { ...claims(), exp: 1 }, key()),
    "that is not valid yet, rightly signed": () => signed(HS256, { ...claims(), nbf: 99_999_999_999 }, key()),
    "whose claims are a list": () => signed(HS256, [1], key()),
    "that is cut": () => token.slice(0, -10),
    "of two parts": () => parts().slice(0, 2).join("."),
    "with a letter of the signature changed": () => flipped(token, token.length - 10),
    "with a letter of the claims changed": () => flipped(token, parts()[0].length + 20),
    twice: () => `${token}.${token}`,
    "of a megabyte of dots": () => ".".repeat(8_000),
  };
  const DOORS = ["/svc.v1.AuthService/WhoAmI", "/svc.v1.QueryService/Query", "/v1/query/online", "/v1/who-am-i"];
  const statuses = (bearer: string) =>
    Promise.all(
      DOORS.map(async (path) => {
        const headers = { authorization: bearer, "content-type": "application/json" };
        const method = path.endsWith("who-am-i") ? "GET" : "POST";
        const response = await fetch(sandbox.url + path, { method, headers, ...(method === "POST" ? { body: "{}" } : {}) });
        await response.text();
        return response.status;
      }),
    );

  test("of the server is taken, also one that is signed here with its key: the others are refused for what they are", async () => {
    for (const good of [token, signed(HS256, claims(), key())])
      for (const status of await statuses(`Bearer ${good}`)) expect(status).not.toBe(401);
  });
  test.each(Object.entries(FORGERIES))("%s is refused at every door", async (_, make) => {
    expect(await statuses(`Bearer ${make()}`)).toEqual(DOORS.map(() => 401));
  });
  test.each(["", "Bearer", "Bearer ", "Basic x", "bearer\t"])("in a header of %j is none", async (header) => {
    expect(await statuses(header)).toEqual(DOORS.map(() => 401));
  });
});

describe("a request for another", () => {
  const ROUTES = ["/health", "/svc.v1.AuthService/WhoAmI", "/v1/query/online"];
  const own = () => `Host: ${host}`;
  const CASES: readonly (readonly [string, () => readonly string[], number])[] = [
    ["host", () => ["Host: evil.example"], 403],
    ["host on this port", () => [`Host: evil.example:${new URL(sandbox.url).port}`], 403],
    ["host that begins like this one", () => [`Host: 127.0.0.1.evil.example`], 403],
    ["host that ends like this one", () => ["Host: evil.example.localhost"], 403],
    ["host behind a name", () => [`Host: evil@${host}`], 403],
    ["address of this machine", () => ["Host: 0.0.0.0"], 403],
    ["writing of this address", () => ["Host: 2130706433"], 403],
    ["host with a dot at its end", () => ["Host: evil.example."], 403],
    ["host that is a path", () => ["Host: 127.0.0.1/evil"], 403],
    ["host that is nothing", () => ["Host:"], 403],
    ["origin", () => [own(), "Origin: http://evil.example"], 403],
    ["port's origin", () => [own(), "Origin: http://127.0.0.1:1"], 403],
    ["origin that is null", () => [own(), "Origin: null"], 403],
    ["origin that begins like this one", () => [own(), `Origin: http://${host}.evil.example`], 403],
    ["site", () => [own(), "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: cors"], 403],
    ["site, without a mode", () => [own(), "Sec-Fetch-Site: cross-site"], 403],
    ["port's page", () => [own(), "Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: no-cors"], 403],
  ];
  test.each(CASES)("%s is refused, whatever the token", async (_, headers, status) => {
    for (const path of ROUTES) {
      const method = path === "/health" ? "GET" : "POST";
      const lines = [
        `${method} ${path} HTTP/1.1`,
        ...headers(),
        `Authorization: Bearer ${token}`,
        "Content-Length: 0",
        "Connection: close",
      ];
      expect([
        path,
        statusesOf(await sendBytes(sandbox.url, `${lines.join("\r\n")}\r\n\r\n`, (text) => text.includes("\r\n\r\n"))),
      ]).toEqual([path, [status]]);
    }
  });
});

describe("a message that may be read in two ways", () => {
  /**
   * What a second reader would take for a request of its own: it deletes nothing, and its answer
   * would show.
   */
  const SMUGGLED = () => `GET /health HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
  const post = (...lines: string[]) => `POST /v1/query/online HTTP/1.1\r\nHost: ${host}\r\n${lines.join("\r\n")}\r\n\r\n`;
  const hex = (text: string) => text.length.toString(16);
  const CASES: Readonly<Record<string, () => string>> = {
    "two hosts": () => `GET /health HTTP/1.1\r\nHost: ${host}\r\nHost: evil.example\r\n\r\n`,
    "two hosts, the foreign first": () => `GET /health HTTP/1.1\r\nHost: evil.example\r\nHost: ${host}\r\n\r\n`,
    "a length and chunks": () => `${post("Content-Length: 5", "Transfer-Encoding: chunked")}0\r\n\r\n${SMUGGLED()}`,
    "chunks and a length": () => `${post("Transfer-Encoding: chunked", "Content-Length: 5")}0\r\n\r\n${SMUGGLED()}`,
    "two lengths": () => `${post("Content-Length: 0", `Content-Length: ${SMUGGLED().length}`)}${SMUGGLED()}`,
    "two lengths in one header": () => `${post(`Content-Length: 0, ${SMUGGLED().length}`)}${SMUGGLED()}`,
    "a length below zero": () => `${post("Content-Length: -1")}${SMUGGLED()}`,
    "a length with a sign": () => `${post("Content-Length: +0")}${SMUGGLED()}`,
    "a length in hexadecimal": () => `${post("Content-Length: 0x0")}${SMUGGLED()}`,
    "chunks of a kind that is not known": () => `${post("Transfer-Encoding: xchunked")}0\r\n\r\n${SMUGGLED()}`,
    "chunks that are not the last coding": () => `${post("Transfer-Encoding: chunked, gzip")}0\r\n\r\n${SMUGGLED()}`,
    "a chunk with a length that is none": () => `${post("Transfer-Encoding: chunked")}g\r\n\r\n${SMUGGLED()}`,
    "a chunk of 2^64 bytes": () => `${post("Transfer-Encoding: chunked")}10000000000000000\r\n${SMUGGLED()}`,
    "a space before the colon": () => `${post(`Content-Length : ${hex("")}`)}${SMUGGLED()}`,
    "a NUL in a header": () => `GET /health HTTP/1.1\r\nHost: ${host}\r\nX: a\0b\r\n\r\n`,
    "another version": () => `GET /health HTTP/9.9\r\nHost: ${host}\r\n\r\n`,
    "no host": () => "GET /health HTTP/1.1\r\n\r\n",
    TLS: () => `\u0016\u0003\u0001\u0002\u0000${"x".repeat(200)}`,
  };
  test.each(Object.entries(CASES))(
    "%s: refused or closed, and nothing behind it is answered",
    async (_, make) => {
      const statuses = statusesOf(await sendBytes(sandbox.url, make()));
      expect(statuses.filter((status) => status < 400)).toEqual([]);
      await answersStill();
    },
    300_000,
  );

  test("50 requests without a pause are answered in their order", async () => {
    const body = (id: number) => `{"inputs":{"user.id":${id}},"outputs":["user.same"]}`;
    const requests = Array.from({ length: 50 }, (_, id) => {
      const lines = ["POST /v1/query/online HTTP/1.1", `Host: ${host}`, `Authorization: Bearer ${token}`, "Content-Type: application/json"];
      return `${lines.join("\r\n")}\r\nContent-Length: ${body(id).length}\r\n\r\n${body(id)}`;
    });
    const values = (text: string) => [...text.matchAll(/"value": ?(\d+)[,}]/g)].map((match) => Number(match[1]));
    const text = await sendBytes(sandbox.url, requests.join(""), (text) => values(text).length === 50);
    expect(statusesOf(text)).toEqual(Array(50).fill(200));
    expect(values(text)).toEqual(Array.from({ length: 50 }, (_, id) => id));
  });
});

test.each([
  "/../../../../etc/passwd",
  "/..%2f..%2f..%2fetc/passwd",
  "/%2e%2e/%2e%2e/etc/passwd",
  "/%252e%252e/etc/passwd",
  "/..\\..\\etc\\passwd",
  "/..%5c..%5cetc%5cpasswd",
  "/assets/../meta.db",
  "/assets/..%2fserver.key",
  "/assets/%00style.css",
  "/v1/objects/../server.key",
  "/v1/objects/..%2f..%2fserver.key",
  "/v1/objects/%2e%2e%2fserver.key?op=get&expires=9999999999&signature=x",
  "/environments/..%2f..%2fserver.key",
  "//evil.example/",
  "/releases/../server.key",
])("the path %s leads to no file", async (path) => {
  const request = `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\nConnection: close\r\n\r\n`;
  const text = await sendBytes(sandbox.url, request);
  const isShell = /<script type="module" (crossorigin )?src="\/[\w/-]+\.js"><\/script>/.test(text);
  expect([[], [400], [403], [404], [405], ...(isShell ? [[200]] : [])]).toContainEqual(statusesOf(text));
  expect(text).not.toMatch(/root:|SQLite format|location:/i);
});

describe("a value in JSON", () => {
  const value = (text: string) => /"value": ?("(?:[^"\\]|\\.)*"|[^,}]*)/.exec(text)?.[1];
  test.each(["9007199254740993", "-9007199254740993", "9223372036854775807", "-9223372036854775808"])(
    "%s comes back as it was",
    async (id) => {
      const { status, text } = await online(`{"inputs":{"user.id":${id}},"outputs":["user.same"]}`);
      expect([status, value(text)?.replaceAll('"', "")]).toEqual([200, id]);
    },
  );
  test.each([
    "9223372036854775808",
    "1e400",
    "-1e400",
    "NaN",
    "Infinity",
    "0x10",
    "01",
    "+1",
    "1.",
    "'1'",
    "1.5",
    "true",
    "{}",
    "[1]",
    '"x"',
    "1e-1",
  ])("%s is no integer: said, not rounded", async (id) => {
    const { status, text } = await online(`{"inputs":{"user.id":${id}},"outputs":["user.same"]}`);
    expect([status === 200 || status === 400, text]).toEqual([true, expect.stringMatching(/"errors": ?\[|"code"/)]);
    expect(text).not.toMatch(/"value": ?"?-?\d/);
  });
  test.each(["1e400", "-1e400"])("%s is beyond all floats, which is marked", async (ratio) => {
    const { status, text } = await online(`{"inputs":{"user.ratio":${ratio}},"outputs":["user.twice"]}`);
    const { data } = JSON.parse(text) as { data: { value: unknown }[] };
    expect([status, data[0]?.value]).toEqual([200, { $float: ratio.startsWith("-") ? "-Infinity" : "Infinity" }]);
  });
  test.each(["__proto__", "constructor", "toString", "'; drop table online; --", '" or 1=1 --', "%s%n", "\u0000", "../../x"])(
    "%j is text as a value, and no feature as a name",
    async (text) => {
      const quoted = JSON.stringify(text);
      const back = await online(`{"inputs":{"user.name":${quoted}},"outputs":["user.echo"]}`);
      expect([back.status, JSON.parse(back.text) as object]).toEqual([
        200,
        expect.objectContaining({ data: [expect.objectContaining({ value: text })] }),
      ]);
      for (const body of [`{"inputs":{${quoted}:1},"outputs":["user.same"]}`, `{"inputs":{"user.id":1},"outputs":[${quoted}]}`])
        expect((await online(body)).status).toBe(400);
      await online(`{${quoted}:{"polluted":true},"inputs":{"user.id":1},"outputs":["user.same"]}`);
      await answersStill();
    },
  );
});

test("400 sockets that say nothing and 400 that say a little are closed in the end, and nobody waits for them", async () => {
  const before = await residentMiB(pid);
  const begin = ["", "GET / HTTP/1.1\r\nHost: ", `POST /v1/query/online HTTP/1.1\r\nHost: ${host}\r\n`];
  let open = 0;
  const sockets = Array.from({ length: 800 }, (_, i) => {
    const socket = connect(Number(new URL(sandbox.url).port), "127.0.0.1", () => {
      open++;
      const text = i < 400 ? "" : (begin[i % begin.length] ?? "");
      if (text !== "") socket.write(text);
    });
    socket.on("error", () => undefined);
    socket.on("close", () => open--);
    return socket;
  });
  let answered = 0;
  const { peakMiB } = await watching(sandbox.url, pid, async () => {
    await eventually(() => open === 800, "800 connections");
    for (answered = 0; open > 0; answered++) {
      await answersStill();
      await Bun.sleep(500);
    }
  });
  for (const socket of sockets) socket.destroy();
  expect(answered).toBeGreaterThan(1);
  expect(peakMiB - before).toBeLessThan(100);
}, 300_000);
