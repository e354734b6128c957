import { afterAll, expect, test } from "bun:test";
import { Http2Connection, MAX_STREAMS } from "../../../src/server/http2/connection.ts";
import { ErrorCode, Flag, frame, Kind, numberAt, numbersFrame, PREFACE, Setting } from "../../../src/server/http2/frames.ts";
import { headerBlock } from "../../../src/server/http2/hpack.ts";
import { type Http2Stream, StreamEnded } from "../../../src/server/http2/stream.ts";
import { eventually } from "../../harness/eventually.ts";
import { goProgram, lacksGoProgram } from "../../harness/go-programs.ts";
import { FrameClient } from "./frame-client.ts";

const ANSWER = headerBlock([[":status", "200"]]);
const TRAILERS = headerBlock([["grpc-status", "0"]]);
const REQUEST = headerBlock([
  [":method", "POST"],
  [":scheme", "http"],
  [":authority", "test"],
  [":path", "/"],
]);
const EMPTY = new Uint8Array(0);

/** A server of `serve`, which also keeps the streams that it was given, and its connections. */
function serverOf(serve: (stream: Http2Stream) => Promise<void>) {
  const streams: Http2Stream[] = [];
  const connections: Http2Connection[] = [];
  const foreign: string[] = [];
  const listener = Bun.listen<{ connection?: Http2Connection }>({
    hostname: "127.0.0.1",
    port: 0,
    data: {},
    socket: {
      binaryType: "uint8array",
      open(socket) {
        const connection = new Http2Connection(socket, {
          serve(stream) {
            streams.push(stream);
            return serve(stream);
          },
          foreign: (bytes) => {
            foreign.push(Buffer.from(bytes).toString());
            socket.end();
          },
        });
        connections.push(connection);
        socket.data = { connection };
      },
      data: (socket, bytes) => socket.data.connection?.receive(bytes),
      drain: (socket) => socket.data.connection?.drained(),
      close: (socket) => socket.data.connection?.close(),
    },
  });
  afterAll(() => listener.stop(true));
  return { port: listener.port, streams, connections, foreign };
}

/** Answers with the body that it was sent, or with a text where it was sent none. */
async function echo(stream: Http2Stream): Promise<void> {
  const chunks: Uint8Array[] = [];
  try {
    for (let chunk = await stream.read(); chunk; chunk = await stream.read()) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    stream.answer(ANSWER, body.length > 0 ? body : Buffer.from("an answer of some length"), TRAILERS);
  } catch (error) {
    if (!(error instanceof StreamEnded)) throw error;
  }
}

const never = () => new Promise<void>(() => undefined);
const echoing = serverOf(echo);
const idle = serverOf(never);

function request(id: number, flags: number = Flag.END_STREAM, block: Uint8Array = REQUEST): Uint8Array {
  return frame(Kind.HEADERS, Flag.END_HEADERS | flags, id, block);
}

function isEndOf(id: number) {
  return ({ flags, kind, stream }: { kind: number; flags: number; stream: number }) =>
    stream === id && kind === Kind.HEADERS && (flags & Flag.END_STREAM) !== 0;
}

test.skipIf(lacksGoProgram("h2spec"))(
  "keeps to RFC 9113 and RFC 7541, as h2spec tests them",
  async () => {
    const run = Bun.spawn([goProgram("h2spec"), "-h", "127.0.0.1", "-p", String(echoing.port), "-o", "20", "generic", "http2", "hpack"], {
      stdout: "pipe",
      stderr: "pipe",
    });
    const [out] = await Promise.all([new Response(run.stdout).text(), run.exited]);
    const failed = out.slice(out.indexOf("Failures:")).split("\n");
    // The limit on streams takes calls that last; it has a test of its own below.
    expect(failed.filter((line) => line.includes("×") && !line.includes("concurrent stream limit"))).toEqual([]);
    expect(out).toMatch(/\d+ tests, 1\d\d passed/);
  },
  300_000,
);

test("answers are whole, however small the windows are", async () => {
  using client = await FrameClient.connect(echoing.port, [[Setting.INITIAL_WINDOW_SIZE, 10]]);
  const body = crypto.getRandomValues(Buffer.alloc(25));
  client.send(request(1, 0), frame(Kind.DATA, Flag.END_STREAM, 1, body));
  const received = () => Buffer.concat(client.frames.filter(({ kind }) => kind === Kind.DATA).map(({ payload }) => payload));
  await eventually(() => received().length === 10, "the window is used");
  client.send(numbersFrame(Kind.WINDOW_UPDATE, 1, 10));
  await eventually(() => received().length === 20, "the window is used again");
  client.send(numbersFrame(Kind.WINDOW_UPDATE, 1, 100));
  await client.received(isEndOf(1));
  expect(received()).toEqual(body);
});

test("a body of many windows is read, and comes back", async () => {
  using client = await FrameClient.connect(echoing.port, [[Setting.INITIAL_WINDOW_SIZE, 2 ** 31 - 1]]);
  const body = crypto.getRandomValues(Buffer.alloc(60_000));
  client.send(numbersFrame(Kind.WINDOW_UPDATE, 0, 2 ** 30), request(1, 0));
  let window = 65_535;
  for (let at = 0; at < 20; at++) {
    for (let from = 0; from < body.length; from += 15_000) {
      const granted = () =>
        client.frames
          .filter(({ kind, stream }) => kind === Kind.WINDOW_UPDATE && stream === 1)
          .reduce((sum, { payload }) => sum + numberAt(payload, 0), 65_535);
      await eventually(() => granted() - (65_535 - window) >= 15_000, "there is room for more");
      client.send(frame(Kind.DATA, at === 19 && from + 15_000 >= body.length ? Flag.END_STREAM : 0, 1, body.subarray(from, from + 15_000)));
      window -= 15_000;
    }
  }
  await client.received(isEndOf(1));
  const answer = Buffer.concat(client.frames.filter(({ kind }) => kind === Kind.DATA).map(({ payload }) => payload));
  expect(answer.length).toBe(20 * body.length);
  expect(answer.subarray(-60_000)).toEqual(body);
});

test("a body that nobody reads takes no more than a window", async () => {
  using client = await FrameClient.connect(idle.port);
  client.send(request(1, 0));
  for (let at = 0; at < 5; at++) client.send(frame(Kind.DATA, 0, 1, new Uint8Array(16_384)));
  const { payload } = await client.received(({ kind, stream }) => kind === Kind.RST_STREAM && stream === 1);
  expect(numberAt(payload, 0)).toBe(ErrorCode.FLOW_CONTROL_ERROR);
});

test("streams are refused above the limit, also when those before were reset but still run", async () => {
  using client = await FrameClient.connect(idle.port);
  for (let at = 0; at < MAX_STREAMS; at++) client.send(request(2 * at + 1));
  await client.settled();
  for (let at = 0; at < MAX_STREAMS; at++) client.send(numbersFrame(Kind.RST_STREAM, 2 * at + 1, ErrorCode.CANCEL));
  const id = 2 * MAX_STREAMS + 1;
  client.send(request(id));
  const { payload } = await client.received(({ kind, stream }) => kind === Kind.RST_STREAM && stream === id);
  expect(numberAt(payload, 0)).toBe(ErrorCode.REFUSED_STREAM);
});

test("frames that come of nothing end the connection", async () => {
  const floods: Record<string, () => Uint8Array[]> = {
    "streams that are reset": () =>
      count(6_000, (at) => Buffer.concat([request(2 * at + 1), numbersFrame(Kind.RST_STREAM, 2 * at + 1, 8)])),
    settings: () => count(40_000, () => frame(Kind.SETTINGS, 0, 0, EMPTY)),
    "empty parts of a body": () => [request(1, 0), ...count(40_000, () => frame(Kind.DATA, 0, 1, EMPTY))],
    priorities: () => count(40_000, () => frame(Kind.PRIORITY, 0, 1, new Uint8Array(5))),
  };
  for (const flood of Object.values(floods)) {
    using client = await FrameClient.connect(idle.port);
    client.send(...flood());
    await eventually(() => client.isClosed, "the connection ended");
  }
});

function count<T>(times: number, make: (at: number) => T): T[] {
  return Array.from({ length: times }, (_, at) => make(at));
}

test("headers are bounded, in one part or in many", async () => {
  const long = headerBlock([["x", "y".repeat(9_000)]]);
  using one = await FrameClient.connect(idle.port);
  one.send(request(1, 0, Buffer.concat([REQUEST, headerBlock([["x", "y".repeat(16_300)]])])));
  expect(await one.goaway()).toBe(ErrorCode.ENHANCE_YOUR_CALM);
  using many = await FrameClient.connect(idle.port);
  many.send(frame(Kind.HEADERS, 0, 1, REQUEST), frame(Kind.CONTINUATION, 0, 1, long), frame(Kind.CONTINUATION, 0, 1, long));
  expect(await many.goaway()).toBe(ErrorCode.ENHANCE_YOUR_CALM);
  using empty = await FrameClient.connect(idle.port);
  empty.send(frame(Kind.HEADERS, 0, 1, REQUEST), ...count(20, () => frame(Kind.CONTINUATION, 0, 1, EMPTY)));
  expect(await empty.goaway()).toBe(ErrorCode.ENHANCE_YOUR_CALM);
});

test("bytes that come one by one are the same", async () => {
  using client = await FrameClient.connect(echoing.port, [], false);
  const all = Buffer.concat([
    PREFACE,
    frame(Kind.SETTINGS, 0, 0, EMPTY),
    request(1, 0),
    frame(Kind.DATA, Flag.END_STREAM, 1, Buffer.from("hello")),
  ]);
  for (const byte of all) {
    client.send(Uint8Array.of(byte));
    await Bun.sleep(0);
  }
  await client.received(isEndOf(1));
  expect(client.frames.find(({ kind }) => kind === Kind.DATA)?.payload.toString()).toBe("hello");
});

test("what is no HTTP/2 is handed over", async () => {
  using client = await FrameClient.connect(echoing.port, [], false);
  client.send(Buffer.from("GET / HTTP/1.1\r\n\r\n"));
  await eventually(() => client.isClosed, "it was answered");
  expect(echoing.foreign.join("")).toContain("GET / HTTP/1.1");
});

test("a client that leaves ends its streams", async () => {
  const { port, streams } = serverOf(never);
  using client = await FrameClient.connect(port);
  client.send(request(1));
  await eventually(() => streams.length === 1, "the stream is there");
  let ended = 0;
  for (const stream of streams) stream.onEnded = () => ended++;
  client[Symbol.dispose]();
  await eventually(() => ended === 1, "it has ended");
});

test("a connection that leaves lets streams end, and takes no others", async () => {
  const waiting: Http2Stream[] = [];
  const { port, connections } = serverOf(async (stream) => void waiting.push(stream));
  using client = await FrameClient.connect(port);
  client.send(request(1));
  await eventually(() => waiting.length === 1, "the stream is there");
  connections[0]?.leave();
  expect(await client.goaway()).toBe(ErrorCode.NO_ERROR);
  client.send(request(3));
  await client.settled();
  expect(waiting.length).toBe(1);
  waiting[0]?.answer(ANSWER, Buffer.from("late"), TRAILERS);
  await client.received(isEndOf(1));
  await eventually(() => client.isClosed, "the connection has ended");
});

test("whoever says nothing is asked, and given up", async () => {
  const { port, connections, streams } = serverOf(never);
  using client = await FrameClient.connect(port);
  client.send(request(1));
  await eventually(() => streams.length === 1, "the stream is there");
  connections[0]?.look(performance.now() + 61_000);
  await client.received(({ flags, kind }) => kind === Kind.PING && flags === 0);
  connections[0]?.look(performance.now() + 100_000);
  await eventually(() => client.isClosed, "the connection has ended");
  using silent = await FrameClient.connect(port, [], false);
  await eventually(() => connections.length === 2, "it is connected");
  connections[1]?.look(performance.now() + 11_000);
  await eventually(() => silent.isClosed, "the connection has ended");
});
