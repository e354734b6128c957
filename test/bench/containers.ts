/** Containers from request to running, and commands in sandboxes, against Podman's own commands. */

import { readShellEvent } from "../../src/domain/shell-frames.ts";
import { BUSYBOX, startPodman } from "../harness/podman.ts";
import type { Sandbox } from "../harness/sandbox.ts";
import { interleave, type Line, median, milliseconds } from "./figures.ts";

const OF_A_ROUND = 5;

/** Podman's own commands are started as processes, as people start them; the platform is called over HTTP. */
export async function measureContainers(sandbox: Sandbox, rounds: number): Promise<readonly Line[]> {
  await using podman = await startPodman();
  const url = await sandbox.startServer({ SVC_CONTAINER_ENGINE: podman.address });
  const headers = await sandbox.authorized();
  const call = async <T>(method: string, body: object): Promise<T> => {
    const response = await fetch(`${url}/svc.v1.${method}`, { method: "POST", headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(await response.text());
    return (await response.json()) as T;
  };
  const timed = async (work: () => Promise<unknown>): Promise<number> => {
    const times: number[] = [];
    for (let at = 0; at < OF_A_ROUND; at++) {
      const begun = performance.now();
      await work();
      times.push(performance.now() - begun);
    }
    return median(times);
  };
  const spec = { image: BUSYBOX, entrypoint: ["sleep"], arguments: ["600"] };
  const started: string[] = [];
  const own: string[] = [];
  await call("SandboxService/CreateSandbox", { image: BUSYBOX, name: "box" });
  const [box = ""] = podman.containers();
  const exec = async (): Promise<void> => {
    const { path, ticket } = await call<{ path: string; ticket: string }>("SandboxService/OpenExec", { sandbox: "box", command: ["true"] });
    const given = { authorization: headers.authorization, "svc-shell-ticket": ticket };
    const socket = new WebSocket(`${url.replace("http", "ws")}${path}`, { headers: given } as unknown as string[]);
    await new Promise<void>((resolve, reject) => {
      socket.onmessage = ({ data }) => typeof data === "string" && readShellEvent(data)?.is === "exit" && resolve();
      socket.onclose = () => reject(new Error("no exit code"));
    });
    socket.close();
  };
  const measured = await interleave(rounds, {
    podmanRun: () => timed(async () => own.push(podman.podman("run", "--detach", BUSYBOX, "sleep", "600").trim())),
    run: () =>
      timed(async () => started.push((await call<{ container: { id: string } }>("ContainerService/RunContainer", { spec })).container.id)),
    podmanExec: () => timed(async () => podman.podman("exec", box, "true")),
    exec: () => timed(exec),
  });
  await Promise.all(started.map((container) => call("ContainerService/StopContainer", { container })));
  if (own.length > 0) podman.podman("rm", "--force", "--time=0", ...own);
  await call("SandboxService/TerminateSandbox", { sandbox: "box" });
  const of = (name: keyof typeof measured): number => median(measured[name]);
  return [
    { what: "podman run --detach", value: milliseconds(of("podmanRun")) },
    { what: "container, request to running", value: milliseconds(of("run")), ratio: of("run") / of("podmanRun"), anchor: "of podman run" },
    { what: "podman exec true", value: milliseconds(of("podmanExec")) },
    { what: "command in a sandbox", value: milliseconds(of("exec")), ratio: of("exec") / of("podmanExec"), anchor: "of podman exec" },
  ];
}
