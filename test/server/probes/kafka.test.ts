/** Tests of Kafka clusters, against a real broker and against servers that are none. */

import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { systemClock } from "../../../src/context/system-clock.ts";
import { integrationProblem, type Variables } from "../../../src/domain/integrations.ts";
import { probe } from "../../../src/server/probes/probe.ts";
import { Authority } from "../../harness/authority.ts";
import { freePort } from "../../harness/free-port.ts";
import { lacksKafka, startKafka, type TestKafka } from "../../harness/kafka.ts";
import { lacksProgram } from "../../harness/needs.ts";

const SECRET = "another-s3cret";

const run = (variables: Variables, limitMs?: number, signal = new AbortController().signal) => {
  expect(integrationProblem("fake", "kafka", variables)).toBeUndefined();
  return probe("kafka", variables, { clock: systemClock, signal, ...(limitMs !== undefined && { limitMs }) });
};
const failure = async (variables: Variables, limitMs?: number): Promise<string> => {
  const { status, message } = await run(variables, limitMs);
  expect([status, message]).toEqual(["failed", expect.any(String)]);
  return message;
};

describe.skipIf(lacksKafka() || lacksProgram("openssl"))("a broker", () => {
  let authority: Authority;
  let kafka: TestKafka;
  let trusted: Variables;
  beforeAll(async () => {
    authority = new Authority();
    kafka = await startKafka(authority.sign("localhost"));
    trusted = { KAFKA_SSL_CA: readFileSync(authority.certificate, "utf8") };
  }, 300_000);
  afterAll(async () => {
    await kafka?.stop();
    authority?.[Symbol.dispose]();
  });
  const at = (protocol: keyof TestKafka["brokers"], more: Variables = {}): Variables => ({
    KAFKA_BOOTSTRAP_SERVERS: kafka.brokers[protocol],
    KAFKA_SECURITY_PROTOCOL: protocol,
    ...more,
  });
  const as = (mechanism: string, more: Variables = {}): Variables => ({
    KAFKA_SASL_MECHANISM: mechanism,
    KAFKA_SASL_USERNAME: kafka.user,
    KAFKA_SASL_PASSWORD: kafka.password,
    ...more,
  });

  test("tells of its cluster, also when the first of several brokers is gone", async () => {
    const { KAFKA_BOOTSTRAP_SERVERS: broker = "" } = at("PLAINTEXT");
    const answer = { status: "ok", message: `${broker} belongs to the cluster ${kafka.clusterId}, brokers: 1` } as const;
    expect(await run({ KAFKA_BOOTSTRAP_SERVERS: broker })).toEqual(answer);
    expect(await run({ KAFKA_BOOTSTRAP_SERVERS: `127.0.0.1:${await freePort()}, ${broker}` })).toEqual(answer);
  });

  test.each(["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])("knows its user by %s, and no other password", async (mechanism) => {
    expect(await run(at("SASL_PLAINTEXT", as(mechanism)))).toMatchObject({ status: "ok" });
    const wrong = await failure(at("SASL_PLAINTEXT", as(mechanism, { KAFKA_SASL_PASSWORD: SECRET })));
    expect(wrong).toStartWith(`${kafka.brokers.SASL_PLAINTEXT} refused the user 'tester' by ${mechanism}: Authentication failed`);
    expect(wrong).not.toContain(SECRET);
  });

  test("speaks TLS to who trusts its authority, and says why not to others", async () => {
    expect(await run(at("SSL", trusted))).toMatchObject({ status: "ok" });
    expect(await run(at("SASL_SSL", { ...trusted, ...as("SCRAM-SHA-512") }))).toMatchObject({ status: "ok" });
    expect(await failure(at("SSL"))).toContain("has a certificate that is not trusted: ");
    const named = at("SSL", { ...trusted, KAFKA_BOOTSTRAP_SERVERS: kafka.brokers.SSL.replace("localhost", "127.0.0.1") });
    expect(await failure(named)).toContain("has a certificate that is not trusted: ");
  });

  test("that is spoken to by another protocol than its own is not waited for", async () => {
    expect(await failure(at("PLAINTEXT", { KAFKA_BOOTSTRAP_SERVERS: kafka.brokers.SASL_PLAINTEXT }))).toContain("it may want TLS, SASL");
    expect(await failure(at("SASL_PLAINTEXT", { ...as("PLAIN"), KAFKA_BOOTSTRAP_SERVERS: kafka.brokers.PLAINTEXT }))).toMatch(
      /takes no SASL|ended the connection/,
    );
    expect(await failure(at("PLAINTEXT", { KAFKA_BOOTSTRAP_SERVERS: kafka.brokers.SSL }))).toMatch(/speaks TLS|it may want TLS/);
    expect(await failure(at("SSL", { ...trusted, KAFKA_BOOTSTRAP_SERVERS: kafka.brokers.PLAINTEXT }), 8_000)).not.toBe("");
  });
});

describe("variables", () => {
  const broker = { KAFKA_BOOTSTRAP_SERVERS: "127.0.0.1:9" };
  test.each([
    [{ KAFKA_SASL_PASSWORD: SECRET }, "KAFKA_SASL_PASSWORD is for the security protocols SASL_PLAINTEXT and SASL_SSL"],
    [{ KAFKA_SECURITY_PROTOCOL: "SSL", KAFKA_SASL_MECHANISM: "PLAIN" }, "and KAFKA_SECURITY_PROTOCOL is SSL"],
    [{ KAFKA_SECURITY_PROTOCOL: "SASL_SSL" }, "KAFKA_SECURITY_PROTOCOL is SASL_SSL, which needs KAFKA_SASL_MECHANISM"],
    [{ KAFKA_SSL_CA: "x" }, "KAFKA_SSL_CA is for the security protocols SSL and SASL_SSL"],
    [{ KAFKA_SECURITY_PROTOCOL: "SSL", KAFKA_SSL_CA: "x" }, "KAFKA_SSL_CA has no certificate in PEM"],
  ] as [Variables, string][])("that would not act are refused, and nothing is called: %j", async (more, words) => {
    expect(await failure({ ...broker, ...more })).toContain(words);
  });
});

describe("a server that is no broker", () => {
  let fake: Bun.TCPSocketListener<undefined>;
  let connections = 0;
  let answer: (socket: Bun.Socket<undefined>, request: Buffer) => void = () => undefined;
  beforeAll(() => {
    fake = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      socket: {
        open: () => void connections++,
        data: (socket, request) => answer(socket, request),
        drain: (socket) => answer(socket, Buffer.alloc(0)),
        error: () => undefined,
      },
    });
  });
  afterEach(() => {
    connections = 0;
  });
  afterAll(() => fake.stop(true));
  const broker = (more: Variables = {}): Variables => ({ KAFKA_BOOTSTRAP_SERVERS: `127.0.0.1:${fake.port}`, ...more });
  const sasl = (mechanism: string) =>
    broker({
      KAFKA_SECURITY_PROTOCOL: "SASL_PLAINTEXT",
      KAFKA_SASL_MECHANISM: mechanism,
      KAFKA_SASL_USERNAME: "u",
      KAFKA_SASL_PASSWORD: SECRET,
    });
  /** An answer to a request: its correlation, and a body. */
  const framed = (request: Buffer, ...body: Uint8Array[]): Buffer => {
    const head = Buffer.alloc(8);
    head.writeInt32BE(4 + body.reduce((sum, { length }) => sum + length, 0), 0);
    head.writeInt32BE(request.readInt32BE(8), 4);
    return Buffer.concat([head, ...body]);
  };

  test("nobody listens, and no name leads to one", async () => {
    const port = await freePort();
    expect(await failure({ KAFKA_BOOTSTRAP_SERVERS: `127.0.0.1:${port}` })).toContain(`127.0.0.1:${port} cannot be reached: `);
    expect(await failure({ KAFKA_BOOTSTRAP_SERVERS: "kafka.invalid:9092" })).toContain("kafka.invalid:9092 cannot be reached: ");
  });

  test("one that says nothing is given up when the time is over, and when the caller goes", async () => {
    answer = () => undefined;
    expect(await failure(broker(), 300)).toBe("nothing was answered within 0.3 s");
    const caller = new AbortController();
    answer = () => caller.abort(new Error("gone"));
    expect(run(broker(), 60_000, caller.signal)).rejects.toThrow("gone");
  });

  test.each([
    ["text", Buffer.from("HTTP/1.1 400 Bad Request\r\n\r\n")],
    ["an answer to what was not asked", Buffer.from([0, 0, 0, 8, 9, 9, 9, 9, 0, 0, 0, 0])],
    ["a length below zero", Buffer.from([255, 255, 255, 255, 0, 0, 0, 1, 0])],
    ["zeros", Buffer.alloc(4_096)],
  ])("garbage fails: %s", async (_what, bytes) => {
    answer = (socket) => {
      socket.write(bytes);
      socket.end();
    };
    expect(await failure(broker(), 8_000)).toContain(`127.0.0.1:${fake.port} `);
    expect(await failure(sasl("SCRAM-SHA-256"), 8_000)).not.toContain(SECRET);
  });

  test("counts that promise more than was sent fail", async () => {
    answer = (socket, request) =>
      void socket.write(framed(request, Buffer.alloc(5), Buffer.from([255, 255, 255, 255, 15]), Buffer.alloc(8)));
    expect(await failure(broker(), 8_000)).toContain("answered as no broker of Kafka does");
  });

  test("one that never stops sending is cut off", async () => {
    let sent = 0;
    answer = (socket, request) => {
      if (request.length > 0) socket.write(Buffer.from([0x7f, 0xff, 0xff, 0xff]));
      for (let wrote = 1; wrote > 0; sent += wrote) wrote = socket.write(Buffer.alloc(65_536));
    };
    expect(await failure(broker(), 8_000)).toContain("answered more than 1024 KiB");
    expect(sent).toBeLessThan(64 * 1024 * 1024);
  });

  test.each([
    ["no parameters", "nonsense"],
    ["none of its parameters", "x=y"],
    ["more rounds of hashing than anybody could do", "r={nonce}x,s=c2FsdA==,i=2147483647"],
  ])("SCRAM with %s fails, and the password stays here", async (_what, words) => {
    const received: Buffer[] = [];
    const versions = Buffer.from([0, 0, 0, 0, 0, 1, 0, 36, 0, 0, 0, 0, 0, 0, 0, 0]);
    const handshake = Buffer.from([0, 0, 0, 0, 0, 0]);
    answer = (socket, request) => {
      received.push(request);
      const api = request.readInt16BE(4);
      if (api === 18) socket.write(framed(request, versions));
      if (api === 17) socket.write(framed(request, handshake));
      if (api !== 36) return;
      const said = Buffer.from(words.replace("{nonce}", /r=([\w-]+)/.exec(request.toString("latin1"))?.[1] ?? ""));
      const head = Buffer.alloc(8);
      head.writeInt16BE(-1, 2);
      head.writeInt32BE(said.length, 4);
      socket.write(framed(request, head, said));
    };
    const message = await failure(sasl("SCRAM-SHA-256"), 9_000);
    expect(message).toContain(`127.0.0.1:${fake.port} `);
    expect(Buffer.concat(received).includes(SECRET)).toBe(false);
    expect(received.some((request) => request.readInt16BE(4) === 36)).toBe(true);
    expect(connections).toBe(1);
  });
});
