/**
 * A load client: reads a `Load` as JSON from its standard input, sends that many requests over keep-alive connections, and prints `Latencies`. It speaks
 * HTTP/1.1 on bare sockets, so that what it costs itself stays small beside what it measures.
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
  /** The first answer's body, base64, for the caller to look at. */
  readonly sample: string;
}

const HEADER_END = Buffer.from("\r\n\r\n");

interface Exchange {
  at: number;
  received: Buffer;
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
  const times = new Float64Array(load.requests);
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
      const request = requests[sent % requests.length];
      sent++;
      socket.data.at = performance.now();
      if (request && socket.write(request) !== request.length) reject(new Error("the server does not take a request at once"));
    };
    const receive = (socket: Bun.Socket<Exchange>, chunk: Buffer): void => {
      const { data } = socket;
      data.received = data.received.length === 0 ? chunk : Buffer.concat([data.received, chunk]);
      if (data.needed === 0) {
        const end = data.received.indexOf(HEADER_END);
        if (end < 0) return;
        const text = data.received.toString("latin1", 0, end);
        const length = /\r\ncontent-length: (\d+)/i.exec(text)?.[1];
        if (!text.startsWith("HTTP/1.1 200") || length === undefined) {
          reject(new Error(data.received.toString()));
          return;
        }
        data.needed = end + HEADER_END.length + Number(length);
        if (sample === "" && data.received.length >= data.needed) sample = data.received.toString("base64", end + HEADER_END.length);
      }
      if (data.received.length < data.needed) return;
      times[answered++] = performance.now() - data.at;
      data.received = Buffer.alloc(0);
      data.needed = 0;
      if (answered === load.requests) {
        const perSecond = (load.requests / (performance.now() - started)) * 1000;
        times.sort();
        const quantile = (share: number): number => times[Math.floor((times.length - 1) * share)] ?? 0;
        resolve({ p50: quantile(0.5), p99: quantile(0.99), perSecond, sample });
      }
      next(socket);
    };
    for (let connection = 0; connection < load.concurrency; connection++) {
      Bun.connect<Exchange>({
        hostname: load.host,
        port: load.port,
        data: { at: 0, received: Buffer.alloc(0), needed: 0, done: false },
        socket: {
          open: next,
          data: (socket, chunk) => receive(socket, Buffer.from(chunk)),
          error: (_, error) => reject(error),
          close: (socket) => (socket.data.done ? undefined : reject(new Error("the server closed a connection"))),
        },
      }).catch(reject);
    }
  });
}

if (import.meta.main) {
  const load = (await Bun.stdin.json()) as Load;
  console.log(JSON.stringify(await send(load)));
  process.exit(0);
}
