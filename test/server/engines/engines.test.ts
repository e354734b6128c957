/** The drivers of container engines. */

import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { createDockerEngine } from "../../../src/server/engines/docker/docker-engine.ts";
import { OutputFrames } from "../../../src/server/engines/docker/output-frames.ts";
import { ENGINE_VARIABLE, engineSocket, findEngine } from "../../../src/server/engines/find-engine.ts";
import { createHostEngine } from "../../../src/server/engines/host/host-engine.ts";
import { lacksProgram } from "../../harness/needs.ts";
import { BUSYBOX, lacksPodman, startPodman } from "../../harness/podman.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { engineConformance } from "./engine.conformance.ts";

if (!lacksPodman())
  engineConformance("Docker's API, of Podman", async () => {
    const podman = await startPodman();
    return {
      engine: createDockerEngine(podman.address.slice("unix://".length)),
      image: BUSYBOX,
      containers: podman.containers,
      builds: () =>
        podman
          .podman("ps", "--all", "--external", "--filter", "status=unknown", "--quiet")
          .split("\n")
          .filter((id) => id !== ""),
      close: async () => podman[Symbol.asyncDispose](),
    };
  });

if (process.platform === "linux" && !lacksProgram("busybox"))
  engineConformance("the server's own machine", async () => {
    const folder = new TempFolder();
    return {
      engine: createHostEngine({ folder: folder.path, env: process.env }),
      image: "host:",
      containers: () => readdirSync(folder.path),
      builds: () => [],
      close: async () => folder[Symbol.dispose](),
    };
  }, ["no network", "memory", "volumes", "images"]);

describe("where the engine is", () => {
  test("is said, or it is at a usual place, or there is none and what to install is told", async () => {
    using folder = new TempFolder();
    expect(engineSocket({ [ENGINE_VARIABLE]: "unix:///x/y.sock" }, "/")).toBe("/x/y.sock");
    expect(engineSocket({ [ENGINE_VARIABLE]: "off", DOCKER_HOST: "unix:///x" }, "/")).toBeUndefined();
    await Bun.write(join(folder.path, "podman/podman.sock"), "");
    expect(engineSocket({ XDG_RUNTIME_DIR: folder.path }, "/")).toBe(join(folder.path, "podman/podman.sock"));
    expect(() => engineSocket({ [ENGINE_VARIABLE]: "tcp://127.0.0.1:2375" }, "/")).toThrow("which is no address of a container engine");
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

test("frames are read whatever the pieces they come in", () => {
  const frames = Buffer.concat([frame(1, "out"), frame(2, "error text"), frame(1, ""), frame(1, "more")]);
  for (let size = 1; size <= frames.length; size++) {
    const reader = new OutputFrames();
    const said = { stdout: "", stderr: "" };
    for (let at = 0; at < frames.length; at += size)
      for (const { stream, bytes } of reader.read(frames.subarray(at, at + size))) said[stream] += Buffer.from(bytes).toString();
    expect([size, said]).toEqual([size, { stdout: "outmore", stderr: "error text" }]);
  }
});

function frame(stream: number, text: string): Buffer {
  const head = Buffer.alloc(8);
  head[0] = stream;
  head.writeUInt32BE(Buffer.byteLength(text), 4);
  return Buffer.concat([head, Buffer.from(text)]);
}
