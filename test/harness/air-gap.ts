/**
 * Two machines joined by one wire and to nothing else: two network namespaces of this machine,
 * neither with a route.
 */

import { lacks, lacksNamespaces, lacksProgram, lacksRight } from "./needs.ts";
import type { Outcome, RunOptions } from "./sandbox.ts";

/** Addresses of the two machines. */
export const SERVER_ADDRESS = "10.77.0.1";
export const CLIENT_ADDRESS = "10.77.0.2";

const SET_UP = `set -e
ip link set lo up
unshare -n sh -c 'ip link set lo up; echo; exec sleep 86400' > "$1" &
client=$!
until [ -s "$1" ]; do sleep 0.01; done
ip link add name to-client type veth peer name to-server netns $client
ip addr add ${SERVER_ADDRESS}/24 dev to-client
ip link set to-client up
nsenter -t $client -n sh -c 'ip addr add ${CLIENT_ADDRESS}/24 dev to-server && ip link set to-server up'
echo $client
cat > /dev/null
kill $client
`;

/** One of the two machines. */
export type Side = "server" | "client";

/** Whether such machines cannot be made here: see `lacksProgram`. */
export function lacksAirGap(): boolean {
  if (lacksNamespaces("-rn") || lacksProgram("nsenter") || lacks("ip", Bun.which("ip") !== null)) return true;
  const link = ["unshare", "-rn", "ip", "link", "add", "name", "here", "type", "veth", "peer", "name", "there"];
  return lacksRight("virtual networks (ip link)", Bun.spawnSync(link, { stderr: "ignore" }).success);
}

/** The two machines. A program on them must be ended by the test that started it. */
export class AirGap implements AsyncDisposable {
  private constructor(
    private readonly holder: Bun.Subprocess<"pipe", "pipe", "inherit">,
    private readonly pids: Readonly<Record<Side, number>>,
  ) {}

  /** Makes the machines. `scratch` is the path of a file that may be written. */
  static async open(scratch: string): Promise<AirGap> {
    const holder = Bun.spawn(["unshare", "-rn", "sh", "-c", SET_UP, "sh", scratch], { stdin: "pipe", stdout: "pipe", stderr: "inherit" });
    const { value } = await holder.stdout.getReader().read();
    const client = Number(new TextDecoder().decode(value));
    if (!Number.isInteger(client) || client <= 0) throw new Error("the network namespaces were not made");
    return new AirGap(holder, { server: holder.pid, client });
  }

  /** The argument prefix that makes a command run on a machine. */
  on(side: Side): readonly string[] {
    return ["nsenter", "--preserve-credentials", "-U", "-n", "-t", String(this.pids[side])];
  }

  /** Runs a command on a machine to its end. */
  async run(side: Side, argv: readonly string[], options: RunOptions = {}): Promise<Outcome> {
    const child = Bun.spawn([...this.on(side), ...argv], {
      cwd: options.cwd,
      env: options.env,
      stdin: options.input === undefined ? "ignore" : new TextEncoder().encode(options.input),
      stdout: "pipe",
      stderr: "pipe",
      timeout: options.timeoutMs ?? 300_000,
      killSignal: "SIGKILL",
    });
    const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    return { exitCode: await child.exited, stdout, stderr };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.holder.stdin.end();
    await this.holder.exited;
  }
}
