/**
 * Bodies that mean harm, sent to the compiled binary: what they may cost the server is bounded, and
 * others are answered meanwhile.
 */

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { join } from "node:path";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { QueryBulkRequestSchema, QueryBulkResponseSchema, QueryRequestSchema } from "../../gen/svc/v1/query_pb.ts";
import { type RawResponse, sendRaw } from "../harness/raw-request.ts";
import { Sandbox } from "../harness/sandbox.ts";
import { residentMiB, type Watched, watching } from "../harness/server-watch.ts";

const PROJECT = {
  "svc.yaml": "project: door\nenvironments:\n  default: {}\n",
  "features.py": `from svc.features import _, feature, features


@features
class User:
    id: int
    twice: int = feature(expression=_.id + _.id)
`,
};

const MIB = 1024 * 1024;
/** Memory that the server may have at any time; a day's work leaves it below 150. */
const MAX_MIB = 400;
/** Memory that it may have while it answers a hundred thousand rows. */
const ROWS_MIB = 1_000;

let sandbox: Sandbox;
let token = "";
let pid = 0;

beforeAll(async () => {
  sandbox = new Sandbox();
  await sandbox.startServer();
  const project = await sandbox.write(PROJECT);
  await sandbox.json(["apply", "--force", "--await"], { cwd: project });
  token = await sandbox.accessToken();
  pid = await serverPid();
}, 300_000);
afterAll(() => sandbox[Symbol.asyncDispose]());

async function serverPid(): Promise<number> {
  return ((await Bun.file(join(sandbox.home, ".svc/data/server.json")).json()) as { pid: number }).pid;
}

/**
 * Begins with a server that has not yet grown by what other tests sent it: what they left is
 * collected in the runtime's own time.
 */
async function freshServer(): Promise<void> {
  await sandbox.svc(["server", "stop"]);
  await sandbox.startServer();
  pid = await serverPid();
}

/** Watches the server during `work`, says what was seen, and holds it against the bounds. */
async function bounded<T>(what: string, work: () => Promise<T>, maxMiB = MAX_MIB): Promise<T> {
  const before = await residentMiB(pid);
  const { result, peakMiB, slowestMs, answers }: Watched<T> = await watching(sandbox.url, pid, work);
  console.log(`${what}: ${before.toFixed(0)} -> ${peakMiB.toFixed(0)} MiB, slowest of ${answers} answers ${slowestMs.toFixed(0)} ms`);
  expect(peakMiB).toBeLessThan(maxMiB);
  return result;
}

const PROTO = "application/proto";
const JSON_TYPE = "application/json";
const DOORS = {
  Query: { path: "/svc.v1.QueryService/Query", type: PROTO },
  QueryBulk: { path: "/svc.v1.QueryService/QueryBulk", type: PROTO },
  WhoAmI: { path: "/svc.v1.AuthService/WhoAmI", type: PROTO },
  online: { path: "/v1/query/online", type: JSON_TYPE },
  bulk: { path: "/v1/query/bulk", type: JSON_TYPE },
} as const;
type Door = (typeof DOORS)[keyof typeof DOORS];

/** How often each status came. */
function tally(answers: readonly RawResponse[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

const credentials = () => ({ authorization: `Bearer ${token}` });

describe("100 bodies of 100 MB at once", () => {
  const flood = ({ path, type }: Door, byte: string, framing: "announced" | "chunked", headers: Record<string, string>) => {
    const chunk = new Uint8Array(64 * 1024).fill(byte === "zeros" ? 0 : byte.charCodeAt(0));
    const request = { path, headers: { "content-type": type, ...headers }, body: { chunk, bytes: 100 * MIB, framing } };
    return Promise.all(Array.from({ length: 100 }, () => sendRaw(sandbox.url, request)));
  };
  /** Who goes on sending may lose the answer to what the system says of the closed connection. */
  const CUT_OFF = 0;

  describe.each(Object.entries(DOORS))("to %s", (name, door) => {
    test.each([
      ["x", "announced"],
      ["x", "chunked"],
      ["zeros", "announced"],
      ["zeros", "chunked"],
    ] as const)(
      "of %s, %s: are refused unread without a token, and up to the bound with one",
      async (byte, framing) => {
        const strangers = await bounded(`${name}, ${byte}, ${framing}, no token`, () => flood(door, byte, framing, {}));
        expect(Object.keys(tally(strangers)).map(Number)).toBeOneOf([[401], [CUT_OFF], [CUT_OFF, 401]]);
        expect(strangers.reduce((sum, { sent }) => sum + sent, 0)).toBeLessThan(100 * 16 * MIB);
        const callers = await bounded(`${name}, ${byte}, ${framing}, token`, () => flood(door, byte, framing, credentials()));
        for (const status of Object.keys(tally(callers)).map(Number)) expect([CUT_OFF, 413, 503]).toContain(status);
      },
      300_000,
    );

    test("are answered for what their headers say", async () => {
      const announced = (headers: Record<string, string>) =>
        sendRaw(sandbox.url, { path: door.path, headers: { "content-type": door.type, "content-length": String(100 * MIB), ...headers } });
      const stranger = await announced({});
      expect([stranger.status, /^connection: close\r$/im.test(stranger.text)]).toEqual([401, true]);
      const caller = await announced(credentials());
      expect([caller.status, /^connection: close\r$/im.test(caller.text)]).toEqual([413, true]);
      expect(
        (await sendRaw(sandbox.url, { path: door.path, headers: { ...credentials(), "content-length": String(2 ** 31) } })).status,
      ).toBe(413);
    });
  });
});

describe("bodies as long as they may be, with a token", () => {
  beforeEach(freshServer, 60_000);
  const QUERY_BYTES = 8 * MIB;
  const BULK_BYTES = 32 * MIB;
  const BULK_JSON_BYTES = 16 * MIB;
  const again = (piece: string | readonly number[], bytes: number) => {
    const chunk = typeof piece === "string" ? new TextEncoder().encode(piece) : new Uint8Array(piece);
    const body = new Uint8Array(bytes);
    for (let at = 0; at + chunk.length <= bytes; at += chunk.length) body.set(chunk, at);
    return body.subarray(0, bytes - (bytes % chunk.length));
  };
  const around = (before: string, piece: string, after: string, bytes: number) =>
    new TextEncoder().encode(before + piece.repeat(Math.floor((bytes - before.length - after.length) / piece.length)) + after);
  /** A column of empty values, around which the length is right. */
  const column = () => {
    const values = again([0x12, 0x00], BULK_BYTES - 16);
    const length = [0, 7, 14, 21].map((shift) => ((values.length >>> shift) & 0x7f) | (shift < 21 ? 0x80 : 0));
    return new Uint8Array([0x12, ...length, ...values]);
  };
  const keys = (count: number) => `{"inputs":{${Array.from({ length: count }, (_, i) => `"k${i}":1`).join()}}}`;

  const CASES: readonly (readonly [string, keyof typeof DOORS, () => Uint8Array, RegExp])[] = [
    ["unknown fields", "Query", () => again([0xa0, 0x06, 0x00], QUERY_BYTES), /more than 500000 fields/],
    ["unknown fields", "QueryBulk", () => again("x", BULK_BYTES), /more than 20000 columns/],
    ["zeros", "QueryBulk", () => again([0], BULK_BYTES), /no such field number \(byte 0\)/],
    ["empty inputs", "Query", () => again([0x0a, 0x00], QUERY_BYTES), /more than 500000 fields/],
    ["empty entries of a map", "Query", () => again([0x1a, 0x00], QUERY_BYTES), /more than 500000 fields/],
    ["empty columns", "QueryBulk", () => again([0x12, 0x00], BULK_BYTES), /more than 20000 columns/],
    ["a column of empty values", "QueryBulk", column, /a column has more than 1000000 values/],
    ["lists in lists", "bulk", () => again("[", BULK_JSON_BYTES), /more than 200 deep/],
    ["objects in objects", "online", () => again('{"a":', QUERY_BYTES), /more than 200 deep/],
    ["a list of numbers", "bulk", () => around('{"inputs":{"user.id":[', "1,", "1]}}", BULK_JSON_BYTES), /more than 2000000 values/],
    ["a list of objects", "bulk", () => around('{"inputs":{"user.id":[', '{"a":1},', "1]}}", BULK_JSON_BYTES), /more than 2000000 values/],
    ["quotes", "bulk", () => again('"', BULK_JSON_BYTES), /not JSON/],
    ["bytes that are not UTF-8", "bulk", () => again([0x22, 0xff], BULK_JSON_BYTES), /not UTF-8: byte 1 /],
    ["as many names as there may be", "online", () => new TextEncoder().encode(keys(450_000)), /has 450,000 inputs/],
  ];
  test.each(CASES)(
    "%s, to %s",
    async (what, name, make, message) => {
      const { path, type } = DOORS[name];
      const body = make() as Uint8Array<ArrayBuffer>;
      const send = async () => {
        const response = await fetch(sandbox.url + path, { method: "POST", body, headers: { "content-type": type, ...credentials() } });
        return [response.status, await response.text()] as const;
      };
      const answers = await bounded(`${what}, to ${name}`, async () => [await send(), ...(await Promise.all([send(), send()]))]);
      for (const [status, text] of answers) if (status !== 503) expect([status, text]).toEqual([400, expect.stringMatching(message)]);
      expect(answers[0]?.[0]).toBe(400);
      for (const [, text] of answers) expect(text.length).toBeLessThan(100_000);
    },
    300_000,
  );
});

describe.each([19_999, 200_000])("%d unknown names", (count) => {
  beforeAll(freshServer, 60_000);
  const names = Array.from({ length: count }, (_, i) => `user.nmae${i}`);
  test.each([
    ["online", () => JSON.stringify({ inputs: Object.fromEntries(names.map((name) => [name, 1])), outputs: ["user.id"] })],
    ["online", () => JSON.stringify({ inputs: { "user.id": 1 }, outputs: names })],
    ["bulk", () => JSON.stringify({ inputs: Object.fromEntries(names.map((name) => [name, [1, 2]])), outputs: ["user.id"] })],
    [
      "Query",
      () =>
        toBinary(
          QueryRequestSchema,
          create(QueryRequestSchema, { inputs: names.map((feature) => ({ feature, value: { case: "raw" as const, value: "1" } })) }),
        ),
    ],
    [
      "Query",
      () =>
        toBinary(
          QueryRequestSchema,
          create(QueryRequestSchema, { plannerOptions: Object.fromEntries(names.map((name) => [name, ""])), outputs: ["user.id"] }),
        ),
    ],
    [
      "QueryBulk",
      () =>
        toBinary(
          QueryBulkRequestSchema,
          create(QueryBulkRequestSchema, {
            inputs: names.map((feature) => ({ feature, values: [{ value: { case: "raw" as const, value: "1" } }] })),
          }),
        ),
    ],
  ] as const)(
    "to %s (%#): a short answer, soon",
    async (name, make) => {
      const { path, type } = DOORS[name];
      const body = make() as string | Uint8Array<ArrayBuffer>;
      const text = await bounded(`${count} unknown names, to ${name}`, async () => {
        const response = await fetch(sandbox.url + path, { method: "POST", body, headers: { "content-type": type, ...credentials() } });
        expect(response.status).toBe(400);
        return response.text();
      });
      expect(text.length).toBeLessThan(200_000);
      expect(text).toMatch(
        count > 20_000 ? /the query has 200,00\d inputs, outputs and options|more than (?:20000 columns|500000 fields)/ : /and 19,899 more/,
      );
    },
    300_000,
  );
});

describe("100,000 rows", () => {
  beforeAll(freshServer, 60_000);
  const ids = Array.from({ length: 100_000 }, (_, i) => i);
  test("of a binary bulk query are answered", async () => {
    const values = ids.map((id) => ({
      value: { case: "typed" as const, value: { kind: { case: "int64Value" as const, value: BigInt(id) } } },
    }));
    const inputs = [{ feature: "user.id", values }];
    const body = toBinary(
      QueryBulkRequestSchema,
      create(QueryBulkRequestSchema, { query: { outputs: ["user.twice"] }, inputs }),
    ) as Uint8Array<ArrayBuffer>;
    const answer = await bounded(
      "100,000 rows, binary",
      async () => {
        const response = await fetch(sandbox.url + DOORS.QueryBulk.path, {
          method: "POST",
          body,
          headers: { "content-type": PROTO, ...credentials() },
        });
        return fromBinary(QueryBulkResponseSchema, await response.bytes());
      },
      ROWS_MIB,
    );
    expect([answer.rows, answer.errors.length]).toEqual([100_000, 0]);
    expect(answer.columns[0]?.values.map(({ kind }) => Number(kind.value))).toEqual(ids.map((id) => 2 * id));
  }, 300_000);

  test.each(["announced", "chunked"])(
    "of a JSON bulk query are answered, %s",
    async (framing) => {
      const bytes = new TextEncoder().encode(JSON.stringify({ inputs: { "user.id": ids }, outputs: ["user.twice"] }));
      const body = framing === "announced" ? bytes : new Blob([bytes]).stream();
      const work = async () => {
        const response = await fetch(sandbox.url + DOORS.bulk.path, {
          method: "POST",
          body,
          headers: { "content-type": JSON_TYPE, ...credentials() },
        });
        return (await response.json()) as { data: Record<string, number[]> };
      };
      const answer = await bounded(`100,000 rows, JSON, ${framing}`, work, ROWS_MIB);
      expect(answer.data["user.twice"]).toEqual(ids.map((id) => 2 * id));
    },
    300_000,
  );
});

describe("slow and large requests", () => {
  test("of 500 sockets that send a byte a second, and others are served", async () => {
    const { port, host } = new URL(sandbox.url);
    const heads = [
      `POST ${DOORS.online.path} HTTP/1.1\r\nhost: ${host}\r\ncontent-type: ${JSON_TYPE}\r\nauthorization: Bearer ${token}\r\ncontent-length: 1000\r\n\r\n`,
      `POST ${DOORS.QueryBulk.path} HTTP/1.1\r\nhost: ${host}\r\ncontent-type: ${PROTO}\r\nauthorization: Bearer ${token}\r\ncontent-length: ${32 * MIB}\r\n\r\n`,
      `POST ${DOORS.WhoAmI.path} HTTP/1.1\r\nhost: ${host}\r\n`,
      "P",
    ];
    const before = await residentMiB(pid);
    const sockets = Array.from({ length: 500 }, (_, i) => {
      const socket = connect(Number(port), "127.0.0.1", () => socket.write(heads[i % heads.length] ?? ""));
      return socket.on("error", () => undefined);
    });
    let answered = 0;
    const { peakMiB, slowestMs } = await watching(sandbox.url, pid, async () => {
      for (let second = 0; second < 4; second++) {
        for (const socket of sockets) if (socket.writable) socket.write("x");
        for (let i = 0; i < 10; i++) {
          const response = await fetch(sandbox.url + DOORS.online.path, {
            method: "POST",
            body: JSON.stringify({ inputs: { "user.id": i }, outputs: ["user.twice"] }),
            headers: { "content-type": JSON_TYPE, ...credentials() },
          });
          const { data } = (await response.json()) as { data: { value: number }[] };
          if (data[0]?.value === 2 * i) answered++;
        }
        await Bun.sleep(1_000);
      }
    });
    for (const socket of sockets) socket.destroy();
    console.log(`500 slow sockets: ${before.toFixed(0)} -> ${peakMiB.toFixed(0)} MiB, slowest answer ${slowestMs.toFixed(0)} ms`);
    expect(answered).toBe(40);
    expect(peakMiB - before).toBeLessThan(100);
  }, 300_000);

  test.each([
    ["nobody", "RedeemEntry", "transfer-encoding: chunked"],
    ["nobody", "RedeemEntry", "content-length: 4096"],
    ["whoever is known", "WhoAmI", "transfer-encoding: chunked"],
    ["whoever is known", "WhoAmI", "content-length: 16384"],
  ] as const)("of %s, who sends none of the body, take no room of others (%#)", async (who, method, framing) => {
    const { port, host } = new URL(sandbox.url);
    const head = `POST /svc.v1.AuthService/${method} HTTP/1.1\r\nhost: ${host}\r\ncontent-type: ${JSON_TYPE}\r\n${framing}\r\n${who === "nobody" ? "" : `authorization: Bearer ${token}\r\n`}\r\n`;
    const sockets = await Promise.all(
      Array.from({ length: 120 }, async () => {
        const socket = connect(Number(port), "127.0.0.1").on("error", () => undefined);
        await new Promise<void>((resolve) => socket.write(head, () => resolve()));
        return socket;
      }),
    );
    await Bun.sleep(300);
    const values = Array.from({ length: 300_000 }, (_, i) => i);
    for (const [door, inputs] of [
      [DOORS.bulk, { "user.id": values }],
      [DOORS.online, { "user.id": 1 }],
    ] as const) {
      const body = JSON.stringify({ inputs, outputs: ["user.id"] });
      const headers = { "content-type": JSON_TYPE, ...credentials() };
      const response = await fetch(sandbox.url + door.path, { method: "POST", body, headers });
      expect(response.status).toBe(200);
      await response.arrayBuffer();
    }
    for (const socket of sockets) socket.destroy();
  });

  test("of 64 KiB of headers are 431, one or many", async () => {
    const many = Object.fromEntries(Array.from({ length: 700 }, (_, i) => [`x-${i}`, "y".repeat(90)]));
    for (const headers of [{ "x-long": "y".repeat(64 * 1024) }, many])
      expect((await sendRaw(sandbox.url, { method: "GET", path: "/health", headers })).status).toBe(431);
    expect((await fetch(`${sandbox.url}/health`)).status).toBe(200);
  });
});
