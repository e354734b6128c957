/** The Model Context Protocol, message by message. What the official client does is in test/binary/mcp.test.ts. */

import { describe, expect, test } from "bun:test";
import { FollowedResources } from "../../../src/domain/mcp/followed-resources.ts";
import type { Fields } from "../../../src/domain/mcp/json-rpc.ts";
import { bool, choice, int, object, text, texts } from "../../../src/domain/mcp/parameter.ts";
import { answerMessage, headerMismatch, type Offer, wantsStream } from "../../../src/domain/mcp/protocol.ts";
import { answerText, defineTool, MAX_ANSWER, ToolFailure } from "../../../src/domain/mcp/tool.ts";
import { isPending } from "../../harness/eventually.ts";

const faults: unknown[] = [];
/** What the resource `svc://fruit` says. */
let fruit = "apple";

const offer: Offer = {
  version: "v1.2.3",
  instructions: "Use the tools.",
  tools: [
    defineTool({
      name: "echo",
      title: "Echo",
      description: "Says what it was told",
      parameters: {
        said: text("what", { required: true, most: 10 }),
        times: int("how often", 1, 3),
        loud: bool("whether loudly"),
        tone: choice("how", ["high", "low"]),
        words: texts("more"),
        facts: object("others"),
      },
      call: async (args) => ({ ...args }),
    }),
    defineTool({
      name: "hang",
      title: "Hang",
      description: "Never ends",
      parameters: {},
      call: () => new Promise(() => undefined),
    }),
    defineTool({
      name: "fail",
      title: "Fail",
      description: "Fails",
      parameters: { how: choice("how", ["words", "fault"], { required: true }) },
      async call({ how }) {
        throw how === "words" ? new ToolFailure("It is not there.", "Look elsewhere.") : new TypeError("secret path /srv");
      },
    }),
  ],
  resources: {
    list: async () => [],
    templates: [
      {
        uriTemplate: "svc://fruits/{name}",
        name: "fruit",
        title: "Fruit",
        description: "One",
        mimeType: "text/markdown",
        completes: "class",
      },
    ],
    read: async (uri) => {
      if (uri === "svc://secret") throw new ToolFailure("You may not read it.");
      return /^svc:\/\/(?:page|fruit|\d+)$/.test(uri)
        ? { mimeType: "text/markdown", text: uri === "svc://fruit" ? fruit : "# Page" }
        : undefined;
    },
  },
  prompts: [
    {
      name: "greet",
      title: "Greet",
      description: "Greets somebody",
      arguments: [
        { name: "whom", description: "a name", isRequired: true, completes: "feature" },
        { name: "how", description: "a tone" },
      ],
      write: ({ how, whom }) => `Greet ${whom}${how && `, ${how}`}.`,
    },
  ],
  complete: async (what, begun) => Array.from({ length: 150 }, (_, at) => `${what}-${at}`).filter((name) => name.startsWith(begun)),
  async *resourceChanges(followed, signal) {
    yield "list";
    fruit = "pear";
    for (const uri of await followed.changed(offer.resources, signal)) yield { uri };
    yield "list";
  },
  onFault(error) {
    faults.push(error);
    return "The server failed.";
  },
};

const META = { "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} };
const request = (method: string, params: Fields = {}, id: unknown = 1) => ({ jsonrpc: "2.0", id, method, params });
const stateless = (method: string, params: Fields = {}) => request(method, { ...params, _meta: META });
const answer = async (message: unknown) => answerMessage(offer, message, { signal: new AbortController().signal });
/** The result of a request. */
const resultOf = async (message: unknown): Promise<Fields> => {
  const answered = await answer(message);
  return answered?.message.result as Fields;
};
/** The code of the error that a message is answered with, and the HTTP status. */
const refused = async (message: unknown) => {
  const answered = await answer(message);
  return [(answered?.message.error as { code: number } | undefined)?.code, answered?.status];
};
const called = async (name: string, args: unknown) => {
  const { content, isError = false } = await resultOf(request("tools/call", { name, arguments: args }));
  return [isError, (content as { text: string }[])[0]?.text];
};

describe("messages that are none", () => {
  test.each([
    ["null", null],
    ["a text", "x"],
    ["a list", [request("ping")]],
    ["no version", { id: 1, method: "ping" }],
    ["no method", { jsonrpc: "2.0", id: 1 }],
    ["a method that is no text", { jsonrpc: "2.0", id: 1, method: 7 }],
    ["parameters that are no object", { jsonrpc: "2.0", id: 1, method: "ping", params: [1] }],
    ["an id that is null", request("ping", {}, null)],
    ["an id that is no whole number", request("ping", {}, 1.5)],
    ["an id that is an object", request("ping", {}, {})],
  ])("%s", async (_, message) => expect(await refused(message)).toEqual([-32600, 400]));

  test("notifications and answers are answered with nothing", async () => {
    expect(await answer({ jsonrpc: "2.0", method: "notifications/initialized" })).toBeUndefined();
    expect(await answer({ jsonrpc: "2.0", method: "tools/call", params: { name: "fail" } })).toBeUndefined();
    expect(await answer({ jsonrpc: "2.0", id: 1, result: {} })).toBeUndefined();
  });
});

describe("revisions", () => {
  test.each([
    ["2025-11-25", "2025-11-25"],
    ["2025-06-18", "2025-06-18"],
    ["2025-03-26", "2025-03-26"],
    ["2024-11-05", "2025-11-25"],
    ["2026-07-28", "2025-11-25"],
    ["tomorrow", "2025-11-25"],
    [undefined, "2025-11-25"],
  ])("a handshake for %p gets %p", async (asked, given) => {
    expect((await resultOf(request("initialize", { protocolVersion: asked, capabilities: {} }))).protocolVersion).toBe(given);
  });

  test("the stateless one says what it speaks, and each of its results says that it is whole, whose, and how long it holds", async () => {
    const discovered = await resultOf(stateless("server/discover"));
    expect(discovered).toMatchObject({
      supportedVersions: ["2026-07-28"],
      resultType: "complete",
      ttlMs: 0,
      cacheScope: "private",
      instructions: "Use the tools.",
    });
    const result = await resultOf(stateless("tools/call", { name: "echo", arguments: { said: "x" } }));
    expect(result.resultType).toBe("complete");
    expect("ttlMs" in result).toBe(false);
    expect((result._meta as Fields)["io.modelcontextprotocol/serverInfo"]).toMatchObject({ name: "svc", version: "v1.2.3" });
  });

  test("have no methods of each other", async () => {
    for (const method of ["initialize", "ping"]) expect(await refused(stateless(method))).toEqual([-32601, 404]);
    expect(await refused(request("server/discover"))).toEqual([-32601, 200]);
    expect((await answer(request("ping")))?.message.result).toEqual({});
    for (const method of ["", "constructor", "tools/", "subscriptions/listen"])
      expect(await refused(request(method))).toEqual([-32601, 200]);
  });

  test("an unknown one is refused with those that are spoken, and one without capabilities too", async () => {
    const answered = await answer(request("tools/list", { _meta: { ...META, "io.modelcontextprotocol/protocolVersion": "2030-01-01" } }));
    expect(answered).toMatchObject({ status: 400, message: { error: { code: -32022, data: { requested: "2030-01-01" } } } });
    expect(await refused(request("tools/list", { _meta: { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } }))).toEqual([
      -32602, 400,
    ]);
  });
});

describe("headers over HTTP", () => {
  const mismatch = (message: unknown, headers: Record<string, string>) => headerMismatch(message, (name) => headers[name] ?? null)?.code;
  const right = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "echo" };
  const call = stateless("tools/call", { name: "echo" });

  test("repeat the body of a stateless request", () => {
    expect(mismatch(call, right)).toBeUndefined();
    expect(mismatch(call, { ...right, "mcp-name": "=?base64?ZWNobw==?=" })).toBeUndefined();
    for (const [name, value] of [
      ["mcp-protocol-version", "2025-11-25"],
      ["mcp-method", "tools/list"],
      ["mcp-name", "fail"],
      ["mcp-name", "=?base64?%%%?="],
    ] as const)
      expect(mismatch(call, { ...right, [name]: value })).toBe(-32020);
    for (const name of Object.keys(right)) expect(mismatch(call, { ...right, [name]: undefined as never })).toBe(-32020);
  });

  test("name a revision that is spoken, or none", () => {
    expect(mismatch(request("ping"), {})).toBeUndefined();
    expect(mismatch(request("ping"), { "mcp-protocol-version": "2025-06-18" })).toBeUndefined();
    expect(mismatch(request("ping"), { "mcp-protocol-version": "1999-01-01" })).toBe(-32022);
    expect(mismatch(request("ping"), { "mcp-protocol-version": "2026-07-28" })).toBe(-32602);
    expect(mismatch({ jsonrpc: "2.0", method: "notifications/x" }, { "mcp-protocol-version": "2026-07-28" })).toBeUndefined();
  });
});

describe("prompts", () => {
  const got = (params: Fields) => resultOf(request("prompts/get", params)).then((result) => JSON.stringify(result?.messages));

  test("are listed with their arguments, and written with what was given", async () => {
    expect((await resultOf(request("prompts/list"))).prompts).toEqual([
      {
        ...{ name: "greet", title: "Greet", description: "Greets somebody" },
        arguments: [
          { name: "whom", description: "a name", required: true },
          { name: "how", description: "a tone", required: false },
        ],
      },
    ]);
    expect(await got({ name: "greet", arguments: { whom: " Ada ", how: "softly\u200b" } })).toContain("Greet Ada, softly\\\\u200b.");
    expect(await got({ name: "greet", arguments: { whom: "Ada" } })).toContain("Greet Ada.");
  });

  test.each([
    [{ name: "greets" }],
    [{ name: "constructor" }],
    [{ name: "greet" }],
    [{ name: "greet", arguments: { whom: " " } }],
    [{ name: "greet", arguments: { whom: 7 } }],
    [{ name: "greet", arguments: { whom: "x".repeat(1_001) } }],
    [{ name: "greet", arguments: { whom: "Ada", toString: "x" } }],
    [{ name: "greet", arguments: [] }],
  ])("%j is refused", async (params) => expect(await refused(request("prompts/get", params))).toEqual([-32602, 200]));

  test("have completions for some arguments, and so do addresses, at most 100", async () => {
    const completed = async (ref: Fields, name: string, value: string) => {
      const { completion } = await resultOf(request("completion/complete", { ref, argument: { name, value } }));
      const { hasMore, total, values } = completion as { values: string[]; total: number; hasMore: boolean };
      return [values.length, values[0], total, hasMore];
    };
    const [prompt, fruits] = [
      { type: "ref/prompt", name: "greet" },
      { type: "ref/resource", uri: "svc://fruits/{name}" },
    ];
    expect(await completed(prompt, "whom", "")).toEqual([100, "feature-0", 150, true]);
    expect(await completed(prompt, "whom", "feature-14")).toEqual([11, "feature-14", 11, false]);
    expect(await completed(prompt, "how", "")).toEqual([0, undefined, 0, false]);
    expect(await completed(fruits, "name", "class-149")).toEqual([1, "class-149", 1, false]);
    expect(await completed(fruits, "other", "")).toEqual([0, undefined, 0, false]);
    for (const wrong of [
      {},
      { ref: prompt },
      { ref: prompt, argument: { name: "whom", value: 1 } },
      { ref: { type: "ref/prompt" }, argument: { value: "" } },
    ])
      expect(await refused(request("completion/complete", wrong))).toEqual([-32602, 200]);
  });
});

describe("what is sent ahead of an answer", () => {
  const listened = async (message: unknown, pulse?: (beat: () => void) => () => void) => {
    const sent: Fields[] = [];
    const link = { signal: new AbortController().signal, notify: (one: Fields) => void sent.push(one), ...(pulse && { pulse }) };
    const answered = await answerMessage(offer, message, link);
    return { sent, answer: answered?.message };
  };
  const call = (progressToken: unknown) =>
    request("tools/call", { name: "echo", arguments: { said: "x" }, ...(progressToken === undefined ? {} : { _meta: { progressToken } }) });

  test("signs of life until there is an answer, for who asked for them", async () => {
    let stopped = 0;
    const pulse = (beat: () => void) => {
      beat();
      beat();
      return () => void stopped++;
    };
    const told = await listened(call("t"), pulse);
    expect(told.sent).toEqual(
      [1, 2].map((progress) => ({
        ...{ jsonrpc: "2.0", method: "notifications/progress" },
        params: { progressToken: "t", progress, message: "working" },
      })),
    );
    expect([stopped, told.answer]).toEqual([1, expect.objectContaining({ id: 1, result: expect.anything() })]);
    for (const token of [undefined, null, 1.5, {}]) expect((await listened(call(token), pulse)).sent).toEqual([]);
    expect([wantsStream(call("t")), wantsStream(call(0)), wantsStream(call(undefined)), wantsStream(null)]).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  test("changes of the list of resources, for who subscribed to them, under the id of the subscription", async () => {
    const subscribe = (notifications: unknown) => stateless("subscriptions/listen", { notifications });
    const meta = { _meta: { "io.modelcontextprotocol/subscriptionId": 1 } };
    const acknowledged = (notifications: Fields) => ({
      ...{ jsonrpc: "2.0", method: "notifications/subscriptions/acknowledged", params: { ...meta, notifications } },
    });
    const changed = { jsonrpc: "2.0", method: "notifications/resources/list_changed", params: meta };
    const { sent, answer: last } = await listened(subscribe({ resourcesListChanged: true, toolsListChanged: true }));
    expect(sent).toEqual([acknowledged({ resourcesListChanged: true }), changed, changed]);
    expect(last?.result).toMatchObject({ resultType: "complete", ...meta });
    expect((await listened(subscribe({ toolsListChanged: true }))).sent).toEqual([acknowledged({})]);
    fruit = "apple";
    const uris = ["svc://page", "svc://fruit", "svc://fruit", "svc://nope", 7, `svc://${"x".repeat(2000)}`];
    expect((await listened(subscribe({ resourceSubscriptions: uris }))).sent).toEqual([
      acknowledged({ resourceSubscriptions: ["svc://page", "svc://fruit"] }),
      { jsonrpc: "2.0", method: "notifications/resources/updated", params: { ...meta, uri: "svc://fruit" } },
    ]);
    const many = Array.from({ length: 51 }, (_, at) => `svc://${at}`);
    for (const [given, said] of [
      ["svc://fruit", "is a list"],
      [many, "50 subscriptions of resources, which is the most"],
      [["svc://secret"], "You may not read it."],
    ] as const)
      expect((await listened(subscribe({ resourceSubscriptions: given }))).answer?.error).toMatchObject({
        message: expect.stringContaining(said),
      });
    expect((await listened(subscribe("all"))).answer?.error).toMatchObject({ code: -32602 });
    expect(await refused(subscribe({}))).toEqual([-32600, 200]);
    expect(wantsStream(subscribe({}))).toBe(true);
  });

  test("changes of resources that a session follows, until it does no more", async () => {
    const followed = new FollowedResources();
    const { signal } = new AbortController();
    const say = async (method: string, uri: unknown) =>
      (await answerMessage(offer, request(method, { uri }), { signal, followed }))?.message;
    const changed = () => followed.changed(offer.resources, signal);
    fruit = "apple";
    for (const uri of ["svc://fruit", "svc://page", "svc://fruit"])
      expect(await say("resources/subscribe", uri)).toMatchObject({ result: {} });
    expect(await changed()).toEqual([]);
    fruit = "pear";
    expect([await changed(), await changed()]).toEqual([["svc://fruit"], []]);
    expect(await say("resources/subscribe", "svc://nope")).toMatchObject({ error: { message: "There is no such resource." } });
    expect(await say("resources/subscribe", "svc://secret")).toMatchObject({ error: { message: "You may not read it." } });
    expect(await say("resources/unsubscribe", "svc://fruit")).toMatchObject({ result: {} });
    fruit = "fig";
    expect(await changed()).toEqual([]);
    expect((await answerMessage(offer, request("resources/subscribe", { uri: "svc://page" }), { signal }))?.message).toMatchObject({
      error: { message: expect.stringContaining("Mcp-Session-Id") },
    });
    expect(await refused(stateless("resources/subscribe", { uri: "svc://page" }))).toEqual([-32601, 404]);
  });

  test("nothing once the call was cancelled, whatever its tool does", async () => {
    const abort = new AbortController();
    const answered = answerMessage(offer, request("tools/call", { name: "hang" }), { signal: abort.signal });
    expect(await isPending(answered)).toBe(true);
    abort.abort();
    expect((await answered)?.message.error).toMatchObject({ message: "The call was cancelled." });
  });
});

describe("tools", () => {
  test("get what was given by the schema that they state", async () => {
    const given = { said: "hello", times: 3, loud: true, tone: "low", words: ["a"], facts: { b: [1] } };
    expect(await called("echo", given)).toEqual([false, JSON.stringify(given)]);
    expect(await called("echo", { said: "x", times: null })).toEqual([false, '{"said":"x"}']);
    const { tools } = (await resultOf(request("tools/list"))) as { tools?: readonly { readonly inputSchema: Fields }[] };
    expect(tools?.[0]?.inputSchema).toMatchObject({ type: "object", required: ["said"], additionalProperties: false });
  });

  test.each([
    [{}, "echo: the argument 'said' is missing."],
    [{ said: 7 }, "echo: 'said' wants a text of at most 10 characters, got 7."],
    [{ said: "x".repeat(11) }, "echo: 'said' wants a text of at most 10 characters, got xxxxxxxxxxx."],
    [{ said: "\ud800" }, "echo: 'said' wants a text of at most 10 characters, got \ufffd."],
    [{ said: "x", times: 4 }, "echo: 'times' wants a whole number from 1 to 3, got 4."],
    [{ said: "x", times: 1.5 }, "echo: 'times' wants a whole number from 1 to 3, got 1.5."],
    [{ said: "x", loud: "yes" }, "echo: 'loud' wants true or false, got yes."],
    [{ said: "x", tone: "mid" }, "echo: 'tone' wants one of high, low, got mid."],
    [{ said: "x", words: "a" }, "echo: 'words' wants a list of at most 500 texts, got a."],
    [{ said: "x", words: [1] }, "echo: 'words' wants a list of at most 500 texts, got a list."],
    [{ said: "x", facts: [] }, "echo: 'facts' wants an object of at most 500 members, got a list."],
    [{ said: "x", sayd: 1 }, "echo: there is no argument 'sayd': did you mean 'said'?"],
    [{ said: "x", constructor: 1 }, expect.stringContaining("there is no argument 'constructor'")],
    [[], "echo: the arguments are no object."],
  ])("%p is refused in words", async (args, words) => expect(await called("echo", args)).toEqual([true, words as string]));

  test("fail in words, or as a fault that tells nothing of the inside", async () => {
    expect(await called("fail", { how: "words" })).toEqual([true, "It is not there.\nLook elsewhere."]);
    const answered = await answer(request("tools/call", { name: "fail", arguments: { how: "fault" } }));
    expect(answered?.message.error).toEqual({ code: -32603, message: "The server failed." });
    expect(String(faults.at(-1))).toContain("secret path");
    expect(await refused(request("tools/call", { name: "eco" }))).toEqual([-32602, 200]);
    expect(await refused(request("tools/call", {}))).toEqual([-32602, 200]);
  });
});

describe("resources", () => {
  test("are read by their address, and all else is not there", async () => {
    const read = await answer(request("resources/read", { uri: "svc://page" }));
    expect(read?.message.result).toEqual({ contents: [{ uri: "svc://page", mimeType: "text/markdown", text: "# Page" }] });
    for (const uri of ["svc://other", "file:///etc/passwd", 7, undefined, `svc://${"x".repeat(2_000)}`])
      expect(await refused(request("resources/read", { uri }))).toEqual([-32602, 200]);
  });
});

describe("answers", () => {
  test("are bounded: the longest list is shortened, and says by how many", () => {
    const rows = Array.from({ length: 50_000 }, (_, at) => ({ name: `user.feature_${at}` }));
    const shown = JSON.parse(answerText({ features: rows, total: rows.length })) as {
      features: unknown[];
      total: number;
      left_off: number;
    };
    expect(shown.features.length + shown.left_off).toBe(rows.length);
    expect(shown.features.length).toBeGreaterThan(500);
    expect(answerText("x".repeat(MAX_ANSWER * 2))).toEndWith(`(${MAX_ANSWER} characters are left off)`);
    expect(answerText({ one: "x".repeat(MAX_ANSWER * 2), two: [1] }).length).toBeLessThan(MAX_ANSWER + 100);
  });

  test("hide nothing: what nobody sees is escaped, and whole numbers stay exact", () => {
    expect(answerText("a\u001b[2J\u200b\u202e\u{e0041}b\n\tc")).toBe("a\\u001b[2J\\u200b\\u202e\\udb40\\udc41b\n\tc");
    expect(JSON.parse(answerText({ text: "x\u200by" }))).toEqual({ text: "x\u200by" });
    expect(answerText({ small: 7n, great: 2n ** 63n })).toBe('{"small":7,"great":"9223372036854775808"}');
  });
});
