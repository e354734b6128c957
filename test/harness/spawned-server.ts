/** A server in its own process, which a test can kill. */

import { join } from "node:path";
import type { DescService } from "@bufbuild/protobuf";
import { type Client, createClient, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import type { InitialCredentials } from "../../src/server/boot/start.ts";

/** A started process. */
export interface SpawnedServer extends AsyncDisposable {
  readonly pid: number;
  readonly url: string;
  readonly credentials: InitialCredentials;
  /** Kills it with SIGKILL, and waits until it is gone. */
  kill(): Promise<void>;
}

/** A client of a service of a server, with a token. */
export function clientOf<S extends DescService>(service: S, { url }: Pick<SpawnedServer, "url">, token: string): Client<S> {
  const interceptor: Interceptor = (next) => (request) => {
    request.header.set("authorization", `Bearer ${token}`);
    return next(request);
  };
  return createClient(service, createConnectTransport({ baseUrl: url, interceptors: [interceptor] }));
}

/** Starts a process and waits until it answers. */
export async function spawnServer(
  folder: string,
  credentials?: InitialCredentials,
  env: Readonly<Record<string, string>> = {},
): Promise<SpawnedServer> {
  const argv = ["bun", join(import.meta.dir, "server-process.ts"), folder, ...(credentials ? [JSON.stringify(credentials)] : [])];
  const child = Bun.spawn(argv, { stdout: "pipe", stderr: "inherit", env: { ...process.env, ...env } });
  const { value } = await child.stdout.getReader().read();
  const said = JSON.parse(new TextDecoder().decode(value)) as { url: string; credentials: InitialCredentials };
  const kill = async (): Promise<void> => {
    child.kill("SIGKILL");
    await child.exited;
  };
  return { pid: child.pid, ...said, kill, [Symbol.asyncDispose]: kill };
}
