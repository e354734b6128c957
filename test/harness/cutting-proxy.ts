/**
 * A TCP proxy on loopback that cuts a connection in the middle of an upload, as a bad network does.
 */

import type { Socket } from "bun";

/** A running proxy. */
export interface CuttingProxy {
  readonly url: string;
  /** Uploads are cut while this is true. */
  cutting: boolean;
  /** How many connections were cut. */
  cuts: number;
  stop(): void;
}

interface Link {
  upstream: Socket<{ client: Socket<Link> }> | undefined;
  waiting: Uint8Array[];
  uploaded: number;
  uploading: boolean;
}

/**
 * Forwards to `target`; while `cutting`, a connection that PUTs is closed after `after` bytes of
 * it.
 */
export function startCuttingProxy(target: string, after: number): CuttingProxy {
  const { hostname, port } = new URL(target);
  const listener = Bun.listen<Link>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open(client) {
        client.data = { upstream: undefined, waiting: [], uploaded: 0, uploading: false };
        void Bun.connect<{ client: Socket<Link> }>({
          hostname,
          port: Number(port),
          data: { client },
          socket: {
            open(upstream) {
              client.data.upstream = upstream;
              for (const chunk of client.data.waiting) upstream.write(chunk);
            },
            data: (_, chunk) => void client.write(chunk),
            close: () => void client.end(),
          },
        });
      },
      data(client, chunk) {
        const link = client.data;
        if (chunk.subarray(0, 4).toString() === "PUT ") link.uploading = true;
        if (proxy.cutting && link.uploading) {
          link.uploaded += chunk.length;
          if (link.uploaded > after) {
            link.upstream?.write(chunk.subarray(0, 100));
            proxy.cuts++;
            link.upstream?.terminate();
            client.terminate();
            return;
          }
        }
        if (link.upstream) link.upstream.write(chunk);
        else link.waiting.push(Uint8Array.from(chunk));
      },
      close: (client) => void client.data.upstream?.end(),
    },
  });
  const proxy: CuttingProxy = { url: `http://127.0.0.1:${listener.port}`, cutting: true, cuts: 0, stop: () => listener.stop(true) };
  return proxy;
}
