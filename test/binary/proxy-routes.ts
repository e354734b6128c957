/**
 * Runs commands where this machine has an address beside loopback and no way to anywhere: a server
 * on both addresses, a proxy, and one line of JSON for each case on stdin (`{"env", "host"}`), with
 * what came of it on stdout. `unshare -rn` has made the place.
 */

import { WhoAmIResponseSchema } from "../../gen/svc/v1/auth_pb.ts";
import { fakeServer, protoAnswer } from "../client/fake-server.ts";
import { startCountingProxy } from "../harness/counting-proxy.ts";

/**
 * A case: variables, in which `PROXY` stands for the proxy's address and `PORT` for the server's
 * port, and the host of the server.
 */
export interface Route {
  readonly env: Readonly<Record<string, string>>;
  readonly host: string;
}

/** What came of it. */
export interface Routed extends Route {
  readonly exitCode: number;
  readonly stderr: string;
  /** Requests that the server had, and those that the proxy had. */
  readonly served: number;
  readonly proxied: number;
}

const call = () => protoAnswer(WhoAmIResponseSchema, { userId: "user_1", environmentId: "env_1", teamId: "team_1" });

if (import.meta.main) {
  const [binary = "", home = ""] = process.argv.slice(2);
  const server = fakeServer({ hostname: "0.0.0.0", call });
  const { port } = new URL(server.url);
  const names = ["10.77.0.1", "svc.example.test"].map((name) => [`${name}:${port}`, Number(port)]);
  const proxy = await startCountingProxy(Object.fromEntries(names) as Record<string, number>);
  const routed: Routed[] = [];
  for (const { env, host } of (await Bun.stdin.json()) as Route[]) {
    const [served, proxied] = [server.requests.length, proxy.requests.length];
    const filled = Object.entries(env).map(([name, value]) => [name, value.replaceAll("PROXY", proxy.url).replaceAll("PORT", port)]);
    const child = Bun.spawn(
      [binary, "user", "--client-id=id", "--client-secret=c4nary-of-the-client", `--api-host=http://${host}:${port}`],
      {
        env: { HOME: `${home}/${routed.length}`, PATH: process.env.PATH, SVC_NO_UPDATE_CHECK: "1", ...Object.fromEntries(filled) },
        stdin: "ignore",
        stdout: "ignore",
        stderr: "pipe",
        timeout: 300_000,
      },
    );
    const [stderr, exitCode] = await Promise.all([new Response(child.stderr).text(), child.exited]);
    routed.push({ env, host, exitCode, stderr, served: server.requests.length - served, proxied: proxy.requests.length - proxied });
  }
  await Promise.all([server.stop(), proxy.stop()]);
  console.log(JSON.stringify(routed));
}
