/** The drivers of container engines. */

import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { createDockerEngine } from "../../../src/server/engines/docker/docker-engine.ts";
import { OutputFrames } from "../../../src/server/engines/docker/output-frames.ts";
import {
  ENGINE_VARIABLE,
  engineAddress,
  findEngine,
  NAMESPACE_VARIABLE,
  VOLUMES_VARIABLE,
} from "../../../src/server/engines/find-engine.ts";
import { createHostEngine } from "../../../src/server/engines/host/host-engine.ts";
import { PROBE_VARIABLE } from "../../../src/server/engines/kubernetes/network-trial.ts";
import { KUBERNETES_REFUSALS, kubernetesUnderTest, lacksKubernetes } from "../../harness/kubernetes.ts";
import { lacks, lacksProgram } from "../../harness/needs.ts";
import { BUSYBOX, lacksPodman, startPodman } from "../../harness/podman.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { engineConformance } from "./engine.conformance.ts";

if (!lacksPodman())
  engineConformance("Docker's API, of Podman", async () => {
    const podman = await startPodman();
    const folder = new TempFolder();
    return {
      engine: createDockerEngine(podman.address.slice("unix://".length)),
      ...{ image: BUSYBOX, missing: { image: "localhost/none:none", words: "There is no image 'localhost/none:none'" } },
      ...{ containers: podman.containers, splitsOutput: true, hosts: /^127\.0\.0\.1$/, folder: folder.path },
      network: { script: "ip -o link | wc -l", without: "1" },
      builds: () =>
        podman
          .podman("ps", "--all", "--external", "--filter", "status=unknown", "--quiet")
          .split("\n")
          .filter((id) => id !== ""),
      async close() {
        folder[Symbol.dispose]();
        await podman[Symbol.asyncDispose]();
      },
    };
  });

/** Socket of a Docker that has the image `BUSYBOX`, as `test/harness/podman.ts` builds it. */
const DOCKER = process.env.SVC_TEST_DOCKER;
if (!lacks("docker", DOCKER !== undefined))
  engineConformance("Docker's API, of Docker", async () => {
    const folder = new TempFolder();
    const listed = async () => (await (await fetch("http://engine/containers/json?all=1", { unix: DOCKER })).json()) as { Id: string }[];
    return {
      engine: createDockerEngine(DOCKER ?? ""),
      ...{ image: BUSYBOX, missing: { image: "localhost/none:none", words: "There is no image 'localhost/none:none'" } },
      containers: async () => (await listed()).map(({ Id }) => Id),
      ...{ splitsOutput: true, hosts: /^127\.0\.0\.1$/, folder: folder.path },
      network: { script: "ip -o link | wc -l", without: "1" },
      builds: () => [],
      close: async () => folder[Symbol.dispose](),
    };
  });
if (!lacksKubernetes()) engineConformance("Kubernetes", kubernetesUnderTest, KUBERNETES_REFUSALS);

if (process.platform === "linux" && !lacksProgram("busybox"))
  engineConformance(
    "the server's own machine",
    async () => {
      const folder = new TempFolder();
      return {
        engine: createHostEngine({ folder: folder.path, env: process.env }),
        ...{ image: "host:", missing: { image: "host:/no/such", words: "no folder /no/such" } },
        ...{ containers: () => readdirSync(folder.path), splitsOutput: true, hosts: /^127\.0\.0\.1$/, folder: undefined },
        network: { script: "ip -o link | wc -l", without: "1" },
        builds: () => [],
        close: async () => folder[Symbol.dispose](),
      };
    },
    {
      "no network": "has its network",
      memory: "No limit of processors or memory",
      volumes: "a volume cannot be at /data",
      images: "has no images",
    },
  );

describe("where the engine is", () => {
  test("is said, or it is at a usual place, or there is none and what to install is told", async () => {
    using folder = new TempFolder();
    expect(engineAddress({ [ENGINE_VARIABLE]: "unix:///x/y.sock" }, "/")).toEqual({ kind: "socket", path: "/x/y.sock" });
    expect(engineAddress({ [ENGINE_VARIABLE]: "off", DOCKER_HOST: "unix:///x" }, "/")).toBeUndefined();
    await Bun.write(join(folder.path, "podman/podman.sock"), "");
    const path = join(folder.path, "podman/podman.sock");
    expect(engineAddress({ XDG_RUNTIME_DIR: folder.path }, "/")).toEqual({ kind: "socket", path });
    expect(engineAddress({ [ENGINE_VARIABLE]: "kubernetes" }, "/")).toEqual({ kind: "kubernetes", context: undefined });
    expect(engineAddress({ [ENGINE_VARIABLE]: "kubernetes:a:b" }, "/")).toEqual({ kind: "kubernetes", context: "a:b" });
    const wrong = [
      { [ENGINE_VARIABLE]: "kubernetes:" },
      { [VOLUMES_VARIABLE]: "data" },
      { [NAMESPACE_VARIABLE]: "A b" },
      { [PROBE_VARIABLE]: "a b" },
    ];
    for (const env of wrong)
      expect(() => engineAddress({ [ENGINE_VARIABLE]: "kubernetes", ...env }, "/")).toThrow(
        / is '(?:kubernetes:|data|A b|a b)', which is no /,
      );
    expect(() => engineAddress({ [ENGINE_VARIABLE]: "tcp://127.0.0.1:2375" }, "/")).toThrow("which is no address of a container engine");
    expect(() => findEngine({ [ENGINE_VARIABLE]: "off" }, "/")).toThrow(`This server has no container engine: ${ENGINE_VARIABLE} is off.`);
  });

  test("and a server is not started with what is no address of one", async () => {
    using folder = new TempFolder();
    const env = { PATH: process.env.PATH, HOME: folder.path, [ENGINE_VARIABLE]: "tcp://127.0.0.1:2375" };
    expect(await TestServer.start(folder.path, { env }).catch((error: Error) => error.message)).toContain(
      "is no address of a container engine",
    );
  });

  test("and one that does not answer is told", async () => {
    using folder = new TempFolder();
    const engine = createDockerEngine(join(folder.path, "none.sock"));
    const call = engine.describe(new AbortController().signal);
    expect(await call.catch((error: Error) => error.message)).toContain("none.sock does not answer");
  });
});

test.each([
  ["without privileges, whose root is the server's user", ["name=seccomp,profile=default", "name=rootless"], "0"],
  ["of root", ["name=seccomp,profile=default"], `${process.getuid?.()}:${process.getgid?.()}`],
])("in an engine %s files are made by the server's user", async (_name, SecurityOptions, user) => {
  using folder = new TempFolder();
  const socket = join(folder.path, "engine.sock");
  await using _engine = Bun.serve({
    unix: socket,
    fetch: ({ url }) => (url.endsWith("/info") ? Response.json({ SecurityOptions }) : new Response(null, { status: 404 })),
  });
  expect(await createDockerEngine(socket).serverUser(new AbortController().signal)).toBe(user);
});

async function* noFiles(): AsyncIterable<Uint8Array> {}

test("lines of a build have no colours, which Docker gives to errors of a step", async () => {
  using folder = new TempFolder();
  const socket = join(folder.path, "engine.sock");
  const events = [{ stream: "before\n" }, { stream: "\u001b[91mthe reason\n" }, { stream: "\u001b[0mRemoving a container\n" }];
  const log = [...events, { stream: "\u001b[0m" }, { error: "code 3" }].map((event) => `${JSON.stringify(event)}\n`).join("");
  await using _engine = Bun.serve({ unix: socket, fetch: () => new Response(log) });
  const said: string[] = [];
  const image = {
    tag: "localhost/a:b",
    labels: {},
    dockerfile: "FROM scratch\n",
    context: noFiles(),
    onLine: (line: string) => said.push(line),
  };
  const failed = await createDockerEngine(socket)
    .build(image, new AbortController().signal)
    .catch((error: Error) => error.message);
  expect([failed, said]).toEqual([expect.stringContaining("code 3"), ["before", "the reason", "Removing a container"]]);
});

test.each([
  ["executable file not found in $PATH", 127],
  ["permission denied", 126],
])("a command that Docker's runtime does not start, because of '%s', ends with %d", async (reason, code) => {
  using folder = new TempFolder();
  const socket = join(folder.path, "engine.sock");
  const said = `OCI runtime exec failed: exec failed: unable to start container process: exec: "x": ${reason}: unknown\r\n`;
  const json = (value: object) => `HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json\r\n\r\n${JSON.stringify(value)}`;
  using _engine = Bun.listen({
    unix: socket,
    socket: {
      data(one, bytes) {
        const [, path = ""] = /^\w+ (\S+) /.exec(bytes.toString()) ?? [];
        if (path.includes("/start")) one.write("HTTP/1.1 101 UPGRADED\r\nconnection: Upgrade\r\nupgrade: tcp\r\n\r\n");
        one.write(
          path.includes("/start") ? frame(1, said) : json(path.endsWith("/json") ? { ExitCode: 126, Running: false } : { Id: "e1" }),
        );
        one.end();
      },
    },
  });
  const output: string[] = [];
  const program = await createDockerEngine(socket).exec("c1", {
    ...{ argv: ["x"], env: {}, workdir: "", terminal: undefined, onTaken: () => undefined },
    onOutput: (_stream, bytes) => void output.push(Buffer.from(bytes).toString()),
  });
  expect([await program.ended, output.join("")]).toEqual([code, said]);
});

test("frames are read whatever the pieces they come in", () => {
  const frames = Buffer.concat([frame(1, "out"), frame(2, "error text"), frame(1, ""), frame(1, "more")]);
  for (let size = 1; size <= frames.length; size++) {
    const reader = new OutputFrames();
    const said = { stdout: "", stderr: "" };
    for (let at = 0; at < frames.length; at += size)
      for (const { stream, bytes, isFirst } of reader.read(frames.subarray(at, at + size)))
        said[stream] += `${isFirst ? "|" : ""}${Buffer.from(bytes).toString()}`;
    expect([size, said]).toEqual([size, { stdout: "|out|more", stderr: "|error text" }]);
  }
});

function frame(stream: number, text: string): Buffer {
  const head = Buffer.alloc(8);
  head[0] = stream;
  head.writeUInt32BE(Buffer.byteLength(text), 4);
  return Buffer.concat([head, Buffer.from(text)]);
}
