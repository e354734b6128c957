/**
 * Servers that are none, or mean harm: whatever they answer, a command says one thing about it,
 * goes to no other host, shows no secret, and steers no terminal.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { deflateSync, gzipSync } from "node:zlib";
import { WhoAmIResponseSchema } from "../../gen/svc/v1/auth_pb.ts";
import { ListBranchesResponseSchema } from "../../gen/svc/v1/deployment_pb.ts";
import { ListFeaturesResponseSchema, ListResolversResponseSchema } from "../../gen/svc/v1/graph_pb.ts";
import { QueryResponseSchema } from "../../gen/svc/v1/query_pb.ts";
import { errorAnswer, fakeServer, protoAnswer } from "../client/fake-server.ts";
import { Sandbox } from "../harness/sandbox.ts";
import { Terminal } from "../harness/terminal.ts";

const SECRET = "svcs_CANARY7f3a91d2b8";
const CREDENTIALS = ["--client-id", "client_canary", "--client-secret", SECRET];
const MIB = 1024 * 1024;
/** Ends a hang: over an answer that comes at once no command waits for its deadline. */
const PATIENCE_MS = 180_000;

let sandbox: Sandbox;
let elsewhere: Server;
/** What reached the host that redirects and engines lead to. */
const reached: string[] = [];

beforeAll(async () => {
  sandbox = new Sandbox();
  elsewhere = createServer((socket) => void socket.on("error", () => undefined).on("data", (data) => void reached.push(data.toString())));
  await new Promise<void>((resolve) => elsewhere.listen(0, "127.0.0.1", resolve));
});
afterAll(async () => {
  await new Promise((resolve) => elsewhere.close(resolve));
  await sandbox[Symbol.asyncDispose]();
});

const other = () => `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`;
type Reply = (socket: Socket) => void | Promise<void>;

/** A server that gives one reply to whatever it is asked. */
async function replying(reply: Reply): Promise<AsyncDisposable & { readonly url: string }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
    socket.once("data", () => void reply(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const answer = (status: string, headers: readonly string[], body: string | Buffer = ""): Reply => {
  const bytes = Buffer.from(body);
  return (socket) =>
    void socket.end(
      Buffer.concat([Buffer.from([`HTTP/1.1 ${status}`, ...headers, `Content-Length: ${bytes.length}`, "", ""].join("\r\n")), bytes]),
    );
};
const json = (value: unknown) =>
  answer("200 OK", ["Content-Type: application/json"], typeof value === "string" ? value : JSON.stringify(value));
const raw =
  (bytes: string | Buffer): Reply =>
  (socket) =>
    void socket.end(bytes, "latin1");
const redirect = (status: string) => (socket: Socket) => answer(status, [`Location: ${other()}/stolen`])(socket);
/** Writes until the other side has enough, at most so many bytes. */
const flood =
  (head: string, chunk: Buffer, most: number): Reply =>
  async (socket) => {
    socket.write(head);
    for (let sent = 0; sent < most && !socket.destroyed; sent += chunk.length)
      if (!socket.write(chunk)) await new Promise<void>((resolve) => socket.once("drain", resolve).once("close", resolve));
    socket.end();
  };
const HTML = "<html><head><title>Sign in</title></head><body><script>alert(1)</script></body></html>";
const noise = Buffer.from(Array.from({ length: 4_000 }, (_, i) => (i * 7_919 + (i >> 3)) & 0xff));
const token = { access_token: "t", token_type: "Bearer", expires_in: 3600, primary_environment: "env_1", engines: {} };

const REPLIES: Readonly<Record<string, Reply>> = {
  "a web page": answer("200 OK", ["Content-Type: text/html"], HTML),
  "a web page of a proxy": answer("502 Bad Gateway", ["Content-Type: text/html"], HTML),
  "a question for a password": answer("401 Unauthorized", ['WWW-Authenticate: Basic realm="x"'], "no"),
  "a question of a proxy": answer("407 Proxy Authentication Required", ["Proxy-Authenticate: Basic"], "no"),
  "a redirect (301)": redirect("301 Moved Permanently"),
  "a redirect (302)": redirect("302 Found"),
  "a redirect (303)": redirect("303 See Other"),
  "a redirect (307)": redirect("307 Temporary Redirect"),
  "a redirect (308)": redirect("308 Permanent Redirect"),
  "a redirect to a file": answer("302 Found", ["Location: file:///etc/passwd"]),
  "a redirect to nowhere": answer("302 Found", []),
  "another place by Refresh and Alt-Svc": (socket) => answer("200 OK", [`Refresh: 0; url=${other()}`, `Alt-Svc: h2="${other()}"`])(socket),
  nothing: raw(""),
  "another protocol": raw("SSH-2.0-OpenSSH_9.0\r\n"),
  "random bytes": raw(noise),
  "random bytes as JSON": answer("200 OK", ["Content-Type: application/json"], noise),
  "random bytes as a message": answer("200 OK", ["Content-Type: application/proto"], noise),
  "a status of four digits": raw("HTTP/1.1 2000 OK\r\n\r\n"),
  "a status of no number": raw("HTTP/1.1 abc\r\n\r\n"),
  "another version of HTTP": raw("HTTP/3.7 200 OK\r\nContent-Length: 0\r\n\r\n"),
  "headers that are cut": raw("HTTP/1.1 200 OK\r\nContent-Ty"),
  "a body that is cut": raw("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{"),
  "a header of 10 MB": flood("HTTP/1.1 200 OK\r\nX: ", Buffer.alloc(64 * 1024, "x"), 10 * MIB),
  "100,000 headers": flood("HTTP/1.1 200 OK\r\n", Buffer.from("X-a: b\r\n".repeat(1_000)), 800_000),
  "a hundred thousand times 100 Continue": flood("", Buffer.from("HTTP/1.1 100 Continue\r\n\r\n".repeat(1_000)), 2_500_000),
  "two lengths": raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}x"),
  "gzip that is none": answer("200 OK", ["Content-Type: application/json", "Content-Encoding: gzip"], noise),
  "a coding that is not known": answer("200 OK", ["Content-Type: application/json", "Content-Encoding: x-y"], "{}"),
  "a gzip bomb": answer("200 OK", ["Content-Type: application/json", "Content-Encoding: gzip"], gzipSync(Buffer.alloc(300 * MIB))),
  "a deflate bomb": answer("200 OK", ["Content-Type: application/json", "Content-Encoding: deflate"], deflateSync(Buffer.alloc(300 * MIB))),
  "a body of 2 GB": flood("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n", Buffer.alloc(MIB, "x"), 2_048 * MIB),
  null: json("null"),
  "a list": json([]),
  "a token that is null": json({ ...token, access_token: null }),
  "a token that is an object": json({ ...token, access_token: { a: 1 } }),
  "a token that is empty": json({ ...token, access_token: "" }),
  "a token with another header in it": json({ ...token, access_token: "x\r\nHost: evil.example" }),
  "a token of no scheme": json({ ...token, token_type: 7 }),
  "a life that is none": json({ ...token, expires_in: "soon" }),
  "a life below zero": json({ ...token, expires_in: -1 }),
  "JSON that is deep": json("[".repeat(100_000)),
  "a refusal that repeats what it was sent": answer(
    "400 Bad Request",
    ["Content-Type: application/json"],
    JSON.stringify({ error: "invalid_client", error_description: `secret ${SECRET} is wrong` }),
  ),
};

describe("an exchange that is answered with", () => {
  test.each(Object.entries(REPLIES))(
    "%s",
    async (_, reply) => {
      reached.length = 0;
      await using server = await replying(reply);
      const runs = [["user"], ["user", "-vv"]].map((words) =>
        sandbox.svc([...words, ...CREDENTIALS, "--api-host", server.url], {
          timeoutMs: PATIENCE_MS,
          env: { HOME: `${sandbox.root}/home-${words.length}` },
        }),
      );
      const outcomes = await Promise.all(runs);
      expect(outcomes[0]?.stderr).not.toMatch(/\n\s+at |panic|Segmentation|TypeError|RangeError|undefined is not|internal error/);
      for (const { exitCode, stdout, stderr } of outcomes) {
        expect([exitCode === 1 || exitCode === 4, stdout, stderr]).toEqual([true, "", expect.stringContaining("Error: ")]);
        expect(stderr).not.toContain("no answer within");
        expect(stderr).not.toContain("\u001b");
        expect(stderr).not.toContain(SECRET);
        expect(stderr).not.toContain(Buffer.from(SECRET).toString("base64").slice(0, 20));
      }
      expect(reached).toEqual([]);
    },
    2 * PATIENCE_MS,
  );

  test("silence, or a byte a second: the end is at the deadline", async () => {
    const drip: Reply = async (socket) => {
      socket.write("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n");
      for (let second = 0; second < 300 && !socket.destroyed; second++) {
        socket.write(" ");
        await Bun.sleep(1_000);
      }
    };
    await using silent = await replying(() => undefined);
    await using dripping = await replying(drip);
    const runs = [silent, dripping].map(({ url }) => sandbox.svc(["user", ...CREDENTIALS, "--api-host", url], { timeoutMs: 200_000 }));
    for (const { exitCode, stdout, stderr } of await Promise.all(runs)) {
      expect([exitCode, stdout]).toEqual([1, ""]);
      expect(stderr).toContain("no answer within");
    }
  }, 300_000);

  test("an engine elsewhere that is not one of the server's schemes is not asked", async () => {
    for (const address of ["file:///etc/passwd", "javascript:alert(1)", "not an address"]) {
      await using server = await replying(json({ ...token, engines: { env_1: address } }));
      const { exitCode, stderr } = await sandbox.svc(
        ["query", "--in", "user.id=1", "--out", "user", ...CREDENTIALS, "--api-host", server.url],
        {
          timeoutMs: PATIENCE_MS,
        },
      );
      expect([address, exitCode, stderr]).toEqual([address, 1, expect.stringContaining("Error: ")]);
      expect(stderr).not.toMatch(/\n\s+at .*\(|root:/);
    }
  }, 300_000);
});

describe("control characters on a terminal", () => {
  /**
   * CSI, OSC that sets the title and a link, BEL, a C1 CSI, backspaces, DEL, right-to-left, a
   * carriage return and a clear screen.
   */
  const HOSTILE = "a\u001b[31mRED\u001b]0;owned\u0007\u001b]8;;http://evil.example\u001b\\x\u009b2Jb\b\b\u007f\u202ec\r\u001bc";
  /** What may stand on a screen: what svc itself draws, which is colour, cursor and line. */
  const OWN = /\u001b\[[0-9;]*[mKAGJ]|\u001b\[\?25[hl]|\u001b\[\?2026[hl]/g;
  const QUERY = ["query", "--in", "user.id=1", "--out", "user"];
  const COMMANDS: Readonly<Record<string, readonly string[]>> = {
    "who one is": ["user"],
    "an answer": QUERY,
    "an answer with its facts": [...QUERY, "--include-meta"],
    features: ["features", "list"],
    "features that are searched": ["features", "search", "RED"],
    resolvers: ["resolvers"],
    branches: ["branch", "list"],
    "a refusal": ["healthcheck"],
    "a refusal in detail": ["healthcheck", "-vv"],
    "a name that was given": ["query", "--in", `user.${HOSTILE}=1`, "--out", HOSTILE],
  };
  const call = (request: Request): Response => {
    const word = new URL(request.url).pathname.split("/").pop();
    const value = { kind: { case: "stringValue" as const, value: HOSTILE } };
    if (word === "WhoAmI") return protoAnswer(WhoAmIResponseSchema, { userId: HOSTILE, environmentName: HOSTILE, teamId: HOSTILE });
    if (word === "Query")
      return protoAnswer(QueryResponseSchema, { data: [{ field: HOSTILE, value }], errors: [{ message: HOSTILE, feature: HOSTILE }] });
    if (word === "ListFeatures")
      return protoAnswer(ListFeaturesResponseSchema, {
        features: [{ feature: { fqn: HOSTILE, description: HOSTILE, owner: HOSTILE, tags: [HOSTILE] } }],
      });
    if (word === "ListResolvers")
      return protoAnswer(ListResolversResponseSchema, {
        resolvers: [{ fqn: HOSTILE, outputs: [HOSTILE], owner: HOSTILE, tags: [HOSTILE] }],
      });
    if (word === "ListBranches") return protoAnswer(ListBranchesResponseSchema, { branches: [{ name: HOSTILE }] });
    return errorAnswer(400, "invalid_argument", HOSTILE, { "x-hostile": "a\u009bb" });
  };
  test.each(Object.entries(COMMANDS))("%s", async (_, args) => {
    const server = fakeServer({ call });
    try {
      const terminal = Terminal.start(sandbox, args, {
        env: { SVC_ACCESS_TOKEN: "token", SVC_API_SERVER: server.url, PAGER: "cat" },
        columns: 200,
      });
      const { screen } = await terminal.ended();
      expect(screen.replace(OWN, "").replaceAll("\r\n", "\n")).not.toMatch(
        /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/,
      );
      expect(screen).not.toContain("\u001b[31mRED");
      expect(screen).toContain("RED");
    } finally {
      await server.stop();
    }
  });
});
