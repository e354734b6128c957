/**
 * What the binary makes of answers that are cut, broken, far too large or refused: never half a
 * table, never for ever, never a storm.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { AddressInfo } from "node:net";
import { createServer, type Server, type Socket } from "node:net";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { create, type DescMessage, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { WhoAmIResponseSchema } from "../../gen/svc/v1/auth_pb.ts";
import {
  CreateDeploymentResponseSchema,
  CreateUploadResponseSchema,
  DeploymentStatus,
  ValidateGraphResponseSchema,
  WatchDeploymentResponseSchema,
} from "../../gen/svc/v1/deployment_pb.ts";
import { ListFeaturesResponseSchema } from "../../gen/svc/v1/graph_pb.ts";
import { QueryBulkResponseSchema, QueryResponseSchema } from "../../gen/svc/v1/query_pb.ts";
import { Sandbox } from "../harness/sandbox.ts";

const ROWS = 2_000;
const MEBIBYTE = 1024 * 1024;

const value = (text: string) => ({ kind: { case: "stringValue" as const, value: text } });
const bytesOf = <D extends DescMessage>(schema: D, init: MessageInitShape<D>) => Buffer.from(toBinary(schema, create(schema, init)));
const frame = (flags: number, body: Uint8Array) => {
  const head = Buffer.alloc(5);
  head[0] = flags;
  head.writeUInt32BE(body.length, 1);
  return Buffer.concat([head, body]);
};
const QUEUED = { id: "dpl_1", status: DeploymentStatus.QUEUED };

/** What a server that works answers, by the last word of the path. */
const ANSWERS: Readonly<Record<string, Buffer>> = {
  WhoAmI: bytesOf(WhoAmIResponseSchema, { userId: "usr_1", environmentName: "default" }),
  ListFeatures: bytesOf(ListFeaturesResponseSchema, {
    features: Array.from({ length: ROWS }, (_, at) => ({ feature: { fqn: `user.feature_${at}` } })),
  }),
  Query: bytesOf(QueryResponseSchema, { data: Array.from({ length: ROWS }, (_, at) => ({ field: `user.f${at}`, value: value("x") })) }),
  QueryBulk: bytesOf(QueryBulkResponseSchema, {
    rows: ROWS,
    columns: [{ field: "user.name", values: Array.from({ length: ROWS }, () => value("x")) }],
  }),
  ValidateGraph: bytesOf(ValidateGraphResponseSchema, { diff: {} }),
  CreateUpload: bytesOf(CreateUploadResponseSchema, { uploadId: "upl_1", complete: true }),
  CreateDeployment: bytesOf(CreateDeploymentResponseSchema, { deployment: QUEUED }),
};

/**
 * A fault: the bytes that are sent instead of an answer, and what becomes of the connection then.
 */
interface Fault {
  readonly bytes: (whole: Buffer, type: string) => Buffer | string;
  readonly after: "end" | "reset" | "hang";
  readonly code: RegExp;
}
const head = (type: string, ...lines: string[]) => ["HTTP/1.1 200 OK", `Content-Type: ${type}`, ...lines, "", ""].join("\r\n");
const half = (whole: Buffer) => whole.subarray(0, Math.floor(whole.length / 2));
const withBody = (text: string, body: Buffer) => Buffer.concat([Buffer.from(text), body]);
const LOST = /^connection_lost$/;
const FAULTS: Readonly<Record<string, Fault>> = {
  "headers, then a reset": { bytes: (whole, type) => head(type, `Content-Length: ${whole.length}`), after: "reset", code: LOST },
  "half a body": { bytes: (whole, type) => withBody(head(type, `Content-Length: ${whole.length}`), half(whole)), after: "end", code: LOST },
  "half a body without a length": { bytes: (whole, type) => withBody(head(type), half(whole)), after: "end", code: LOST },
  "a chunk that is cut": {
    bytes: (whole, type) => withBody(`${head(type, "Transfer-Encoding: chunked")}${whole.length.toString(16)}\r\n`, half(whole)),
    after: "end",
    code: LOST,
  },
  "half of what gzip gave": {
    bytes: (whole, type) => {
      const cut = half(gzipSync(whole));
      return withBody(head(type, "Content-Encoding: gzip", `Content-Length: ${cut.length}`), cut);
    },
    after: "end",
    code: LOST,
  },
  "nothing of what gzip gave": { bytes: (_, type) => head(type, "Content-Encoding: gzip", "Content-Length: 0"), after: "end", code: LOST },
  "a message without its last byte": {
    bytes: (whole, type) => withBody(head(type, `Content-Length: ${whole.length - 1}`), whole.subarray(0, -1)),
    after: "end",
    code: /^broken_answer$/,
  },
  "a web page": {
    bytes: () => `${head("text/html", "Content-Length: 40")}<html><title>Sign in</title></html>      `,
    after: "end",
    code: /^(wrong_content|connection_lost|unknown)$/,
  },
  "JSON that is cut": {
    bytes: () => `HTTP/1.1 500 Oh\r\nContent-Type: application/json\r\nContent-Length: 14\r\n\r\n{"code": "inte`,
    after: "end",
    code: /^(unknown|internal|connection_lost)$/,
  },
};

/** A server of raw bytes: faults by the last word of a path, right answers for the others. */
class RawServer implements AsyncDisposable {
  readonly faults = new Map<string, Fault>();
  private readonly sockets = new Set<Socket>();
  private constructor(private readonly server: Server) {}

  static async start(): Promise<RawServer> {
    const raw: RawServer = new RawServer(createServer((socket) => raw.serve(socket)));
    await new Promise<void>((resolve) => raw.server.listen(0, "127.0.0.1", resolve));
    return raw;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  private serve(socket: Socket): void {
    this.sockets.add(socket);
    socket.on("error", () => undefined).on("close", () => this.sockets.delete(socket));
    socket.once("data", (bytes) => {
      const [, word = ""] = /^\w+ \S*?(\w+)(?:\?\S*)? HTTP/.exec(bytes.toString("latin1")) ?? [];
      const isStream = word === "WatchDeployment";
      const whole = isStream ? frame(0, bytesOf(WatchDeploymentResponseSchema, { deployment: QUEUED })) : ANSWERS[word];
      const type = isStream ? "application/connect+proto" : "application/proto";
      const fault = this.faults.get(word);
      if (!whole) return void socket.end("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
      if (!fault) return void socket.end(withBody(head(type, `Content-Length: ${whole.length}`, "Connection: close"), whole));
      socket.write(fault.bytes(whole, type), () => {
        if (fault.after === "end") socket.end();
        else if (fault.after === "reset") setTimeout(() => socket.resetAndDestroy(), 30);
      });
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

let sandbox: Sandbox;
let project: string;
beforeAll(async () => {
  sandbox = new Sandbox({ SVC_ACCESS_TOKEN: "token" });
  project = await sandbox.write({
    "svc.yaml": "project: people\nenvironments:\n  default: {}\n",
    "features.py": "from svc.features import features\n\n@features\nclass User:\n    id: int\n",
  });
});
afterAll(() => sandbox[Symbol.asyncDispose]());

const errorOf = (stderr: string) => {
  const line = stderr.split("\n").find((text) => text.startsWith('{"error"'));
  if (!line) throw new Error(`no error in: ${stderr}`);
  return (JSON.parse(line) as { error: { code: string; message: string } }).error;
};

describe("an answer that is cut or broken is a failure, and nothing of it is shown", () => {
  const commands: [word: string, args: string[]][] = [
    ["ListFeatures", ["features", "list"]],
    ["WhoAmI", ["user"]],
    ["Query", ["query", "--in", "user.id=1", "--out", "user"]],
    ["QueryBulk", ["query", "--bulk", "--in", "user.id=1", "--in", "user.id=2", "--out", "user"]],
    ["ValidateGraph", ["apply", "--force"]],
    ["CreateDeployment", ["apply", "--force"]],
  ];
  for (const [name, fault] of Object.entries(FAULTS)) {
    test(name, async () => {
      await using server = await RawServer.start();
      for (const [word, args] of commands) {
        server.faults.clear();
        server.faults.set(word, fault);
        const { exitCode, stdout, stderr } = await sandbox.svc([...args, "--json", "--api-host", server.url], { cwd: project });
        expect([word, exitCode, stdout]).toEqual([word, 1, ""]);
        expect(errorOf(stderr).code).toMatch(fault.code);
        expect(errorOf(stderr).message).toContain(server.url);
      }
    });
  }

  test("as text too: a table is whole or not there", async () => {
    await using server = await RawServer.start();
    const whole = await sandbox.svc(["features", "list", "--api-host", server.url]);
    expect(whole.stdout.trim().split("\n")).toHaveLength(ROWS);
    for (const fault of Object.values(FAULTS)) {
      server.faults.set("ListFeatures", fault);
      const { exitCode, stdout, stderr } = await sandbox.svc(["features", "list", "--api-host", server.url]);
      expect([exitCode, stdout]).toEqual([1, ""]);
      expect(stderr).toContain("Error: ");
      expect(stderr).not.toMatch(/\n\s+at /);
    }
  });

  test("a stream of states that is cut is taken up again, and given up in the end", async () => {
    await using server = await RawServer.start();
    server.faults.set("WatchDeployment", FAULTS["half a body"] as Fault);
    const { exitCode, stdout, stderr } = await sandbox.svc(["apply", "--force", "--await", "--json", "--api-host", server.url], {
      cwd: project,
    });
    expect([exitCode, stdout]).toEqual([1, ""]);
    expect(errorOf(stderr).code).toMatch(/^(connection_lost|watch_ended)$/);
  });

  test("a server that sends headers and then nothing: the call ends at its deadline", async () => {
    await using server = await RawServer.start();
    const fault: Fault = { bytes: (whole, type) => head(type, `Content-Length: ${whole.length}`), after: "hang", code: /^timeout$/ };
    for (const [word] of commands) server.faults.set(word, fault);
    const hanging = commands.slice(0, 4).map(([, args]) => sandbox.svc([...args, "--json", "--api-host", server.url]));
    for (const { exitCode, stdout, stderr } of await Promise.all(hanging)) {
      expect([exitCode, stdout, errorOf(stderr).code]).toEqual([1, "", "timeout"]);
    }
  }, 300_000);
});

describe("an answer that is far too large stops at its bound", () => {
  const part = Buffer.alloc(64 * MEBIBYTE);
  const bombs = { gzip: Buffer.concat(Array(16).fill(gzipSync(part))), zstd: Buffer.concat(Array(16).fill(zstdCompressSync(part))) };
  const commands = [["user"], ["features", "list"], ["query", "--bulk", "--in", "user.id=1", "--out", "user"]];
  for (const [encoding, bomb] of Object.entries(bombs)) {
    test(`1 GiB of zeros by ${encoding}`, async () => {
      const server = Bun.serve({
        hostname: "127.0.0.1",
        port: 0,
        fetch: () => new Response(bomb, { headers: { "content-type": "application/proto", "content-encoding": encoding } }),
      });
      try {
        for (const args of commands) {
          const child = Bun.spawn([sandbox.binary, ...args, "--json", "--api-host", `http://127.0.0.1:${server.port}`], {
            cwd: sandbox.work,
            env: sandbox.env,
            stdin: "ignore",
            stdout: "pipe",
            stderr: "pipe",
          });
          const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
          expect([await child.exited, stdout, errorOf(stderr).code]).toEqual([1, "", "answer_too_large"]);
          expect((child.resourceUsage()?.maxRSS ?? Number.POSITIVE_INFINITY) / MEBIBYTE).toBeLessThan(250);
        }
      } finally {
        await server.stop(true);
      }
    });
  }
});

describe("a server that is overloaded", () => {
  const COMMANDS = 8;
  /** Runs several commands at once against a server that refuses, and counts what it was asked. */
  async function storm(refusal: (asked: number) => Response, args: string[]) {
    const asked: number[] = [];
    const server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: () => {
        asked.push(performance.now());
        return refusal(asked.length);
      },
    });
    try {
      const command = [...args, "--json", "--api-host", `http://127.0.0.1:${server.port}`];
      const outcomes = await Promise.all(Array.from({ length: COMMANDS }, () => sandbox.svc(command)));
      return { asked, outcomes };
    } finally {
      await server.stop(true);
    }
  }
  const whole = () => new Response(new Uint8Array(ANSWERS.WhoAmI ?? []), { headers: { "content-type": "application/proto" } });

  test("is asked twice by a command at most", async () => {
    const { asked, outcomes } = await storm(() => new Response("busy", { status: 503 }), ["user"]);
    expect(outcomes.map(({ exitCode, stderr }) => [exitCode, errorOf(stderr).code])).toEqual(Array(COMMANDS).fill([1, "unavailable"]));
    expect(asked.length).toBeLessThanOrEqual(2 * COMMANDS);
  });

  test("is asked once when the call could do something twice", async () => {
    const { asked } = await storm(() => new Response("busy", { status: 503 }), ["query", "--in", "user.id=1", "--out", "user"]);
    expect(asked).toHaveLength(COMMANDS);
  });

  test("is given the time that it asks for", async () => {
    const busy = () => new Response("busy", { status: 429, headers: { "retry-after": "1" } });
    const { asked, outcomes } = await storm((count) => (count <= COMMANDS ? busy() : whole()), ["user"]);
    expect(outcomes.map(({ exitCode }) => exitCode)).toEqual(Array(COMMANDS).fill(0));
    expect(asked).toHaveLength(2 * COMMANDS);
    expect((asked[COMMANDS] ?? 0) - (asked[0] ?? 0)).toBeGreaterThanOrEqual(990);
  });

  test("is left alone when it asks for longer than a command waits", async () => {
    const { asked } = await storm(() => new Response("busy", { status: 503, headers: { "retry-after": "3600" } }), ["user"]);
    expect(asked).toHaveLength(COMMANDS);
  });
});
