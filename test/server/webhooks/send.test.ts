import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { systemClock } from "../../../src/context/system-clock.ts";
import { ANSWER_BYTES, createSend, type Resolve } from "../../../src/server/webhooks/send.ts";
import { Authority } from "../../harness/authority.ts";
import { eventually, turn } from "../../harness/eventually.ts";
import { lacksProgram } from "../../harness/needs.ts";
import { ManualClock } from "../jobs/manual-clock.ts";
import { type Receiver, startReceiver } from "./receiver.ts";

const LOOPBACK = ["127.0.0.0/8"];
const outgoing = (url: string) => ({ url, headers: { "x-a": "1" }, body: "{}" });
const portOf = (url: string) => new URL(url).port;
let receiver: Receiver;

beforeEach(() => {
  receiver = startReceiver();
});
afterEach(() => receiver.stop());

const send = (options: { allowed?: readonly string[]; resolve?: Resolve; authorities?: string } = {}) =>
  createSend({ clock: systemClock, allowed: LOOPBACK, resolve: () => Promise.reject(new Error("nothing is looked up")), ...options });

describe("an address of a webhook", () => {
  test.each([
    "http://127.0.0.1:PORT/",
    "http://2130706433:PORT/",
    "http://0x7f.1:PORT/",
    "http://0177.0.0.1:PORT/",
    "http://127.1:PORT/",
    "http://[::ffff:127.0.0.1]:PORT/",
    "http://[::ffff:7f00:1]:PORT/",
    "http://①②⑦.0.0.1:PORT/",
    "http://localhost:PORT/",
    "http://hook.example.:PORT/",
  ])("is not called when it leads to this machine: %s", async (url) => {
    const resolve = async () => ["127.0.0.1"];
    const attempted = await send({ allowed: [], resolve })(outgoing(url.replace("PORT", portOf(receiver.url))));
    expect(attempted).toMatchObject({ status: 0, isFinal: true });
    expect(attempted.error).toMatch(/^blocked: the receiver's address (127\.\d+\.\d+\.\d+|\[::ffff:7f00:1\]) is loopback$/);
    expect(receiver.received).toEqual([]);
  });

  test("is not called when one of several addresses is refused", async () => {
    const resolve = async () => ["127.0.0.1", "10.0.0.1"];
    const { error, isFinal } = await send({ resolve })(outgoing(`http://hook.example:${portOf(receiver.url)}/`));
    expect([error, isFinal, receiver.received]).toEqual(["blocked: the receiver's address 10.0.0.1 is private", true, []]);
  });

  test("is not called when its text means another address to a URL than to the check", async () => {
    const resolve = async () => ["0177.0.0.1"];
    const { error, isFinal } = await send({ allowed: ["0.0.0.0/0"], resolve })(outgoing(`http://hook.example:${portOf(receiver.url)}/`));
    expect([error, isFinal, receiver.received]).toEqual([expect.stringMatching(/^blocked: /), true, []]);
  });

  test("is the one that was checked: a name that means another a moment later changes nothing", async () => {
    let asked = 0;
    const resolve = async () => [asked++ === 0 ? "127.0.0.1" : "169.254.169.254"];
    const { status } = await send({ resolve })(outgoing(`http://hook.example:${portOf(receiver.url)}/`));
    expect([status, asked, receiver.received.map(({ headers }) => headers.host)]).toEqual([
      204,
      1,
      [`hook.example:${portOf(receiver.url)}`],
    ]);
  });

  test("is not left for that of a redirect", async () => {
    const other = startReceiver();
    receiver.answer(() => Response.redirect(other.url, 307));
    expect(await send()(outgoing(receiver.url))).toEqual({
      status: 307,
      error: "the receiver answered 307, a redirect, which is not followed",
      isFinal: false,
    });
    expect(other.received).toEqual([]);
    other.stop();
  });

  test("is called directly, whatever proxy the server's environment names", async () => {
    const proxy = startReceiver();
    const before = process.env.http_proxy;
    process.env.http_proxy = proxy.url;
    try {
      const resolve = async () => ["127.0.0.1"];
      expect((await send({ resolve })(outgoing(`http://hook.example:${portOf(receiver.url)}/`))).status).toBe(204);
    } finally {
      if (before === undefined) delete process.env.http_proxy;
      else process.env.http_proxy = before;
      proxy.stop();
    }
    expect([proxy.received.length, receiver.received.length]).toEqual([0, 1]);
  });

  test("next to one that does not answer is tried", async () => {
    const resolve = async () => ["127.0.0.9", "127.0.0.1"];
    expect((await send({ resolve })(outgoing(`http://hook.example:${portOf(receiver.url)}/`))).status).toBe(204);
  });
});

describe.skipIf(lacksProgram("openssl"))("TLS", () => {
  test("the certificate is that of the name, although the connection goes to its address", async () => {
    using authority = new Authority();
    const secure = startReceiver(authority.sign("hook.example"));
    const resolve = async () => ["127.0.0.1"];
    const to = (name: string) => outgoing(`https://${name}:${portOf(secure.url)}/`);
    const trusting = send({ resolve, authorities: await Bun.file(authority.certificate).text() });
    expect(await trusting(to("hook.example"))).toEqual({ status: 204, error: "", isFinal: false });
    expect((await trusting(to("other.example"))).error).toContain("ERR_TLS_CERT_ALTNAME_INVALID");
    expect((await send({ resolve })(to("hook.example"))).error).toMatch(/could not be reached: \w*(SELF_SIGNED|UNABLE_TO)/);
    expect(secure.received.length).toBe(1);
    secure.stop();
  });
});

describe("a receiver", () => {
  test.each([
    [500, "the receiver answered 500", false],
    [404, "the receiver answered 404", false],
    [410, "the receiver answered 410", true],
    [201, "", false],
  ])("that answers %d", async (status, error, isFinal) => {
    receiver.answer(() => new Response(null, { status }));
    expect(await send()(outgoing(receiver.url))).toEqual({ status, error, isFinal });
  });

  test("that is not there, or closes the connection, is said to be so without the path of its address", async () => {
    receiver.stop();
    const gone = await send()(outgoing(`${receiver.url}/token-in-path`));
    expect(gone.error).toMatch(/^the receiver could not be reached: \w+$/);
    const closing = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { open: (socket) => void socket.terminate(), data() {} } });
    const cut = await send()(outgoing(`http://127.0.0.1:${closing.port}/token-in-path`));
    expect(cut.error).toMatch(/^the receiver could not be reached: \w+$/);
    closing.stop(true);
  });

  test.each(["looks up for ever", "accepts and says nothing", "sends its head byte by byte"])(
    "that %s is left after ten seconds",
    async (what) => {
      const clock = new ManualClock();
      let dripping: Timer | undefined;
      const listener = Bun.listen({
        hostname: "127.0.0.1",
        port: 0,
        socket: {
          data(socket) {
            if (what.startsWith("sends") && !dripping) dripping = setInterval(() => void socket.write("H"), 5);
          },
        },
      });
      const resolve: Resolve = () => (what.startsWith("looks") ? new Promise(() => undefined) : Promise.resolve(["127.0.0.1"]));
      const sending = createSend({ clock, allowed: LOOPBACK, resolve })(outgoing(`http://hook.example:${listener.port}/`));
      await turn();
      await clock.advance(10_000);
      expect(await sending).toEqual({ status: 0, error: "the receiver did not answer within 10 s", isFinal: false });
      clearInterval(dripping);
      listener.stop(true);
    },
  );

  test("that answers without an end is not read", async () => {
    let sent = 0;
    let isCancelled = false;
    receiver.answer(
      () =>
        new Response(
          new ReadableStream({
            async pull(controller) {
              sent++;
              controller.enqueue(new Uint8Array(65_536));
              await Bun.sleep(0);
            },
            cancel() {
              isCancelled = true;
            },
          }),
        ),
    );
    expect((await send()(outgoing(receiver.url))).status).toBe(200);
    await eventually(() => isCancelled, "the receiver is told that nobody reads");
    expect(sent).toBeLessThan(1_000);
  });
});

describe("an answer's body", () => {
  test("is read to its bound, and a receiver that never ends it has still taken the delivery", async () => {
    receiver.answer(() => new Response("z".repeat(100_000)));
    expect((await send()(outgoing(receiver.url))).answer).toBe("z".repeat(ANSWER_BYTES));
    receiver.answer(() => new Response(null, { status: 204 }));
    expect((await send()(outgoing(receiver.url))).answer).toBeUndefined();
    receiver.answer(
      () =>
        new Response(
          new ReadableStream({
            start(controller) {
              controller.enqueue(new TextEncoder().encode("begun"));
            },
          }),
        ),
    );
    expect(await send()(outgoing(receiver.url))).toEqual({ status: 200, error: "", isFinal: false, answer: "begun" });
  });
});
