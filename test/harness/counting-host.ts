/** A release host on loopback that counts what it serves, and misbehaves on demand. */

import { join } from "node:path";

/** A request that a host has answered. */
export interface Served {
  readonly path: string;
  /** Bytes of the body that were asked for; of a misbehaving answer 0. */
  readonly bytes: number;
}

/** A host that serves a folder on loopback. */
export class CountingHost implements Disposable {
  readonly served: Served[] = [];
  /** Answers in the place of files, by path. */
  readonly faults = new Map<string, (request: Request) => Response | Promise<Response>>();
  private readonly server;

  constructor(readonly dir: string) {
    this.server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      idleTimeout: 0,
      fetch: async (request) => {
        const { pathname } = new URL(request.url);
        const fault = this.faults.get(pathname) ?? this.faults.get("*");
        if (fault) {
          this.served.push({ path: pathname, bytes: 0 });
          return fault(request);
        }
        const file = Bun.file(join(this.dir, pathname));
        if (!(await file.exists())) return new Response("nothing here", { status: 404 });
        this.served.push({ path: pathname, bytes: file.size });
        return new Response(file);
      },
    });
  }

  get url(): string {
    return `http://127.0.0.1:${this.server.port}`;
  }

  get bytes(): number {
    return this.served.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  [Symbol.dispose](): void {
    void this.server.stop(true);
  }
}
