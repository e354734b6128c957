/**
 * A load client: reads a `Load` as JSON from its standard input, sends that many requests over
 * keep-alive connections, and prints `Latencies`. It speaks HTTP/1.1 on bare sockets, so that what
 * it costs itself stays small beside what it measures.
 */

/** What to send where. */
export interface Load {
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Bodies, base64; requests take them in turn. */
  readonly bodies: readonly string[];
  readonly requests: number;
  /** Connections; each sends its next request when it has its answer. */
  readonly concurrency: number;
}

/** What came of it. Times are in milliseconds. */
export interface Latencies {
  readonly p50: number;
  readonly p99: number;
  readonly perSecond: number;
  /**
   * Median of the time that the answers themselves name, `meta.execution_duration_s`; 0 when they
   * name none.
   */
  readonly engineP50: number;
  /** The first answer's body, base64, for the caller to look at. */
  readonly sample: string;
}

const EMPTY = Buffer.alloc(0);
const HEADER_END = Buffer.from("\r\n\r\n");

const ENGINE_SECONDS = '"execution_duration_s":';

interface Exchange {
  at: number;
  /** What is left to write of the request. */
  unsent: Buffer;
  chunks: Buffer[];
  received: number;
  bodyAt: number;
  /** Length of the whole answer; 0 until its head is there. */
  needed: number;
  done: boolean;
}

/** Sends the load. Rejects when an answer is not 200. */
export function send(load: Load): Promise<Latencies> {
  const head = Object.entries({ host: `${load.host}:${load.port}`, ...load.headers })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("");
  const requests = load.bodies.map((body) => {
    const bytes = Buffer.from(body, "base64");
    return Buffer.concat([Buffer.from(`POST ${load.path} HTTP/1.1\r\n${head}content-length: ${bytes.length}\r\n\r\n`), bytes]);
  });
  const engineTimes: number[] = [];
  const taken: number[] = [];
  let sent = 0;
  let answered = 0;
  let sample = "";

  return new Promise((resolve, reject) => {
    const started = performance.now();
    const next = (socket: Bun.Socket<Exchange>): void => {
      if (sent >= load.requests) {
        socket.data.done = true;
        socket.end();
        return;
      }
      const { data } = socket;
      data.unsent = requests[sent % requests.length] ?? EMPTY;
      sent++;
      data.at = performance.now();
      flush(socket);
    };
    const flush = (socket: Bun.Socket<Exchange>): void => {
      const { data } = socket;
      if (data.unsent.length > 0) data.unsent = data.unsent.subarray(socket.write(data.unsent));
    };
    const receive = (socket: Bun.Socket<Exchange>, chunk: Buffer): void => {
      const { data } = socket;
      data.chunks.push(chunk);
      data.received += chunk.length;
      if (data.needed === 0) {
        const head = Buffer.concat(data.chunks);
        const end = head.indexOf(HEADER_END);
        if (end < 0) return;
        const text = head.toString("latin1", 0, end);
        const length = /\r\ncontent-length: (\d+)/i.exec(text)?.[1];
        if (!text.startsWith("HTTP/1.1 200") || length === undefined) {
          reject(new Error(head.toString()));
          return;
        }
        data.bodyAt = end + HEADER_END.length;
        data.needed = data.bodyAt + Number(length);
      }
      if (data.received < data.needed) return;
      taken.push(performance.now() - data.at);
      const answer = Buffer.concat(data.chunks);
      if (sample === "") sample = answer.toString("base64", data.bodyAt);
      const engine = answer.lastIndexOf(ENGINE_SECONDS);
      if (engine >= 0) engineTimes.push(Number.parseFloat(answer.toString("latin1", engine + ENGINE_SECONDS.length, engine + 60)) * 1000);
      answered++;
      data.chunks = [];
      data.received = 0;
      data.needed = 0;
      if (answered === load.requests) {
        resolve(latenciesOf(taken, performance.now() - started, engineTimes, sample));
      }
      next(socket);
    };
    for (let connection = 0; connection < load.concurrency; connection++) {
      Bun.connect<Exchange>({
        hostname: load.host,
        port: load.port,
        data: { at: 0, unsent: EMPTY, chunks: [], received: 0, bodyAt: 0, needed: 0, done: false },
        socket: {
          open: next,
          drain: flush,
          data: (socket, chunk) => receive(socket, Buffer.from(chunk)),
          error: (_, error) => reject(error),
          close: (socket) => (socket.data.done ? undefined : reject(new Error("the server closed a connection"))),
        },
      }).catch(reject);
    }
  });
}

/** The figures of requests that took so long, all of them together `ms`. */
export function latenciesOf(taken: readonly number[], ms: number, engineTimes: readonly number[], sample: string): Latencies {
  const sorted = Float64Array.from(taken).sort();
  return {
    p50: quantile(sorted, 0.5),
    p99: quantile(sorted, 0.99),
    perSecond: (taken.length / ms) * 1000,
    engineP50: quantile(Float64Array.from(engineTimes).sort(), 0.5),
    sample,
  };
}

function quantile(sorted: Float64Array, share: number): number {
  return sorted[Math.floor((sorted.length - 1) * share)] ?? 0;
}

if (import.meta.main) {
  const load = (await Bun.stdin.json()) as Load;
  console.log(JSON.stringify(await send(load)));
  process.exit(0);
}
