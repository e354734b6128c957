/**
 * A real container engine for tests: Podman with folders of its own, served over a socket in a
 * temporary folder, and an image that is built from nothing but busybox. What is left behind in it is
 * an error of the test, told when it is stopped.
 */

import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "./eventually.ts";
import { lacks, lacksProgram, lacksRoot, programPath } from "./needs.ts";

/** The image's name. It has /bin/sh and the other programs of busybox. */
export const BUSYBOX = "localhost/busybox:test";

/** Podman, whose settings name what works on every Linux: runc and control groups without systemd. */
const SETTINGS = `[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
[network]
network_backend = "netavark"
`;
const DOCKERFILE = `FROM scratch
COPY busybox /bin/busybox
RUN ["/bin/busybox", "--install", "-s", "/bin"]
RUN ["/bin/mkdir", "-m", "1777", "/tmp"]
CMD ["/bin/sh"]
`;
const NETAVARK = "/usr/lib/podman/netavark";

/** Whether what it takes is absent: see `lacks`. */
export const lacksPodman = (): boolean =>
  lacksRoot() || lacksProgram("podman", "runc", "busybox", "iptables") || lacks("netavark", existsSync(NETAVARK));

/** A running engine. */
export interface TestPodman extends AsyncDisposable {
  /** For `SVC_CONTAINER_ENGINE`. */
  readonly address: string;
  /** Runs a command of Podman's; returns what it printed. Throws with its errors when it fails. */
  podman(...words: readonly string[]): string;
  /** Ends the service, so that nobody answers at the socket; containers go on. */
  stopService(): Promise<void>;
  /** Starts it again. */
  startService(): Promise<void>;
  /** Names of all containers that are there. */
  containers(): readonly string[];
}

/** Starts an engine. */
export async function startPodman(): Promise<TestPodman> {
  const root = mkdtempSync(join(tmpdir(), "svc-podman-"));
  const settings = join(root, "containers.conf");
  writeFileSync(settings, SETTINGS);
  const socket = join(root, "podman.sock");
  const flags = ["--root", join(root, "root"), "--runroot", join(root, "run"), "--tmpdir", join(root, "tmp")];
  const env = { PATH: `${process.env.PATH ?? ""}:/usr/sbin:/sbin`, HOME: root, CONTAINERS_CONF: settings, TMPDIR: root };
  const podman: TestPodman["podman"] = (...words) => {
    const { exitCode, stdout, stderr } = Bun.spawnSync(["podman", ...flags, ...words], { env, cwd: root });
    if (exitCode !== 0) throw new Error(`podman ${words.join(" ")}: exit ${exitCode}\n${stderr}`);
    return stdout.toString();
  };
  const succeeds = (...words: readonly string[]): boolean =>
    Bun.spawnSync(["podman", ...flags, ...words], { env, cwd: root, stdout: "ignore", stderr: "ignore" }).success;
  let service: Bun.Subprocess | undefined;
  const startService = async (): Promise<void> => {
    rmSync(socket, { force: true });
    service = Bun.spawn(["podman", ...flags, "system", "service", "--time=0", `unix://${socket}`], {
      env,
      cwd: root,
      stdout: "ignore",
      stderr: "ignore",
    });
    await eventually(
      async () => (await fetch("http://engine/_ping", { unix: socket }).catch(() => undefined))?.ok === true,
      "Podman's answer",
    );
  };
  const stopService = async (): Promise<void> => {
    service?.kill();
    await service?.exited;
  };
  const containers = (): readonly string[] =>
    podman("ps", "--all", "--format", "{{.Names}}")
      .split("\n")
      .filter((name) => name !== "");

  const image = join(root, "image");
  mkdirSync(image);
  copyFileSync(programPath("busybox") ?? "", join(image, "busybox"));
  writeFileSync(join(image, "Dockerfile"), DOCKERFILE);
  podman("build", "--quiet", "--network=none", "--tag", BUSYBOX, image);
  await startService();
  return {
    address: `unix://${socket}`,
    podman,
    startService,
    stopService,
    containers,
    async [Symbol.asyncDispose]() {
      const left = containers();
      await stopService();
      if (left.length > 0) podman("rm", "--all", "--force", "--time=0");
      // Processes that outlive their containers for a while may write into what is being removed.
      const [reset] = await Promise.allSettled([eventually(() => succeeds("system", "reset", "--force"), "a reset of Podman")]);
      if (left.length > 0) throw new Error(`containers were left behind: ${left.join(", ")}`);
      if (reset.status === "rejected") throw reset.reason;
      rmSync(root, { recursive: true, force: true });
    },
  };
}
