/**
 * What the gateway adds to a request, against the same without it; and how long a request waits for
 * the first replica of a scaling group, with a thousand of them at once.
 */

import { connect } from "node:net";
import { join } from "node:path";
import { BUSYBOX, lacksPodman, startPodman } from "../harness/podman.ts";
import type { Sandbox } from "../harness/sandbox.ts";
import { firstLine } from "./client.ts";
import { interleave, type Line, median, milliseconds } from "./figures.ts";

const REQUESTS = 2_000;
const AT_ONCE = 1_000;

/** Small requests on one connection, and the first ones of a group without replicas. */
export async function measureGateway(sandbox: Sandbox, rounds: number): Promise<readonly Line[]> {
  return [...(await added(rounds)), ...(lacksPodman() ? [] : await coldStarts(sandbox, rounds))];
}

async function added(rounds: number): Promise<Line[]> {
  const begin = (...words: readonly string[]) =>
    Bun.spawn([process.execPath, join(import.meta.dir, "gateway-server.ts"), ...words], { stdout: "pipe", stderr: "inherit" });
  const bare = begin();
  const barePort = await firstLine(bare.stdout);
  const gateway = begin(barePort);
  const unseen = begin(barePort, "unseen");
  try {
    const [gatewayPort, unseenPort] = await Promise.all([firstLine(gateway.stdout), firstLine(unseen.stdout)]);
    const measured = await interleave(rounds, {
      bare: () => sequential(Number(barePort), "/"),
      unseen: () => sequential(Number(unseenPort), "/bare/"),
      gateway: () => sequential(Number(gatewayPort), "/bare/"),
    });
    const of = (name: keyof typeof measured): number => median(measured[name].map(median));
    const [alone, through, unrecorded] = [of("bare"), of("gateway"), of("unseen")];
    return [
      { what: "a request without the gateway, p50", value: milliseconds(alone) },
      { what: "through the gateway, p50", value: milliseconds(through), ratio: through / alone, anchor: "of without" },
      { what: "which adds", value: milliseconds(through - alone) },
      { what: "through one that records nothing, p50", value: milliseconds(unrecorded) },
      { what: "what recording costs", value: milliseconds(through - unrecorded), ratio: through / unrecorded, anchor: "of without" },
    ];
  } finally {
    for (const one of [gateway, unseen, bare]) {
      one.kill();
      await one.exited;
    }
  }
}

/** Milliseconds of requests one after the other on one connection. */
function sequential(port: number, path: string): Promise<number[]> {
  return new Promise((resolve, reject) => {
    const times: number[] = [];
    const request = `GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`;
    let since = 0;
    const socket = connect(port, "127.0.0.1", () => next());
    const next = (): void => {
      since = performance.now();
      socket.write(request);
    };
    socket.on("data", (bytes) => {
      if (!bytes.toString("latin1").endsWith("ok")) return;
      times.push(performance.now() - since);
      if (times.length < REQUESTS) return next();
      socket.destroy();
      resolve(times);
    });
    socket.on("error", reject);
  });
}

async function coldStarts(sandbox: Sandbox, rounds: number): Promise<Line[]> {
  await using podman = await startPodman();
  await sandbox.startServer({ SVC_CONTAINER_ENGINE: podman.address });
  const command = "echo ok > /tmp/index.html; trap 'kill $!; exit 0' TERM; httpd -f -p 8080 -h /tmp & wait";
  const words = ["--image", BUSYBOX, "--port", "8080", "--min-replicas", "0", "--entrypoint", `sh,-c,${command}`];
  const firsts: number[] = [];
  let lost = 0;
  for (let round = 0; round < rounds; round++) {
    const name = `cold-${round}`;
    const { url } = await sandbox.json<{ url: string }>(["scaling-group", "create", "--name", name, ...words]);
    const stateOf = async () => (await sandbox.json<{ status: string }>(["scaling-group", "get", "--name", name])).status;
    while (!/idle/i.test(await stateOf())) await Bun.sleep(1_000);
    const began = performance.now();
    const answers = Array.from({ length: AT_ONCE }, async () => {
      const response = await fetch(`${url}index.html`).catch(() => undefined);
      if (response?.ok && (await response.text()).trim() === "ok") return performance.now() - began;
      lost++;
      return Number.POSITIVE_INFINITY;
    });
    firsts.push(Math.min(...(await Promise.all(answers))));
    await sandbox.svc(["scaling-group", "delete", "--name", name, "--yes"]);
  }
  return [
    { what: "first answer of a group without replicas", value: milliseconds(median(firsts)) },
    { what: `lost of ${AT_ONCE} that waited, each round`, value: String(lost / rounds) },
  ];
}
