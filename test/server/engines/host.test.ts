/** Programs of the server's own machine: how they outlive a server, and what is left of them. */

import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ContainerEngine, EngineOutput, NewContainer } from "../../../src/server/engines/container-engine.ts";
import { allowsHost, createEngineRouter, HOST_VARIABLE } from "../../../src/server/engines/engine-router.ts";
import { createHostEngine } from "../../../src/server/engines/host/host-engine.ts";
import { type HostState, readState, writeState } from "../../../src/server/engines/host/host-files.ts";
import { OutputWriter, readOutput } from "../../../src/server/engines/host/output-files.ts";
import { identityOf, isRunning, markedProcesses } from "../../../src/server/engines/host/process-table.ts";
import { HOST_MARK } from "../../../src/server/engines/host/supervisor.ts";
import { Failure } from "../../../src/server/failure.ts";
import { eventually } from "../../harness/eventually.ts";
import { TempFolder } from "../../harness/running-server.ts";

const { signal } = new AbortController();

const wanted = (script: string, more: Partial<NewContainer> = {}): NewContainer => ({
  ...{ name: "one", image: "host:", entrypoint: ["/bin/sh", "-c", script], arguments: [], env: {}, labels: { suite: "host" } },
  ...{ cpus: undefined, memoryBytes: undefined, hasNetwork: true, port: undefined, mounts: [], isRestricted: false },
  ...more,
});

const started = async (engine: ContainerEngine, script: string, more?: Partial<NewContainer>): Promise<string> => {
  const id = await engine.create(wanted(script, more), signal);
  await engine.start(id);
  return id;
};

const first = async (engine: ContainerEngine, id: string): Promise<EngineOutput | undefined> => {
  for await (const line of engine.output(id, 0, signal)) return line;
  return undefined;
};

const messageOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => "ok",
    (error: unknown) => (error instanceof Failure ? `${error.kind}: ${error.message}` : String(error)),
  );

/** A driver, and another that knows of its programs by their files alone, as after a server's end. */
function engines(): Disposable & { readonly folder: string; readonly before: ContainerEngine; readonly after: ContainerEngine } {
  const temp = new TempFolder();
  const make = (): ContainerEngine => createHostEngine({ folder: temp.path, env: { PATH: process.env.PATH, SECRET: "of the server" } });
  return { folder: temp.path, before: make(), after: make(), [Symbol.dispose]: () => temp[Symbol.dispose]() };
}

describe.skipIf(process.platform !== "linux")("a program of the machine", () => {
  test("is found again by another server: its end, its output, and a command beside it", async () => {
    using own = engines();
    const id = await started(own.before, "echo ready; while [ ! -e done ]; do sleep 0.05; done; echo over; exit 4", {
      env: { A: "given" },
    });
    await first(own.before, id);
    const folder = join(own.folder, id, "work");
    const [found] = await own.after.list("suite", "host");
    expect([found?.id, found?.state, found?.name]).toEqual([id, "running", "one"]);
    const ended = own.after.waitForEnd(id, signal);
    let said = "";
    const exec = await own.after.exec(id, {
      ...{ argv: ["/bin/sh", "-c", 'echo "$A $PWD"'], workdir: "", env: {}, terminal: undefined },
      onOutput(_stream, bytes) {
        said += Buffer.from(bytes).toString();
      },
      onTaken: () => undefined,
    });
    expect([await exec.ended, said]).toEqual([0, `given ${folder}\n`]);
    writeFileSync(join(folder, "done"), "");
    await ended;
    expect((await own.after.inspect(id))?.exitCode).toBe(4);
    expect((await Array.fromAsync(own.after.output(id, 0, signal))).map(({ line }) => line)).toEqual(["ready", "over"]);
    await own.after.remove(id);
    expect([await own.after.inspect(id), readdirSync(own.folder)]).toEqual([undefined, []]);
    expect(markedProcesses(HOST_MARK).get(id)).toBeUndefined();
  });

  test("is given its own variables and those of the driver, and none of the server's", async () => {
    using own = engines();
    const id = await started(own.before, "env; echo error >&2", { env: { A: "1", PORT: "mine" }, port: 80 });
    await own.before.waitForEnd(id, signal);
    const lines = await Array.fromAsync(own.before.output(id, 0, signal));
    const env = new Map(lines.map(({ line }) => line.split("=", 2) as [string, string]));
    expect([env.get("A"), env.has("SECRET"), Number(env.get("PORT")) > 1_024, env.get("HOME")]).toEqual([
      ...["1", false, true],
      join(own.folder, id, "work"),
    ]);
    for (const name of readdirSync(join(own.folder, id)).filter((one) => one.endsWith(".json")))
      expect(readFileSync(join(own.folder, id, name), "utf8")).not.toContain("mine");
    const ats = lines.map(({ at }) => at);
    expect(ats).toEqual([...new Set(ats)].sort((a, b) => a - b));
    await own.before.remove(id);
  });

  test("ends with all that it started, also what left its group", async () => {
    using own = engines();
    const id = await started(own.before, "setsid sleep 8181 & sleep 8181 & echo begun; wait");
    await first(own.before, id);
    await eventually(() => (markedProcesses(HOST_MARK).get(id) ?? []).length === 3, "its processes");
    await own.after.stop(id, 60_000);
    expect([(await own.after.inspect(id))?.exitCode, markedProcesses(HOST_MARK).get(id)]).toEqual([143, undefined]);
    await own.before.remove(id);
  });

  test("whose supervisor was killed is ended, and said to be cut off", async () => {
    using own = engines();
    const id = await started(own.before, "echo begun; exec sleep 8182");
    await first(own.before, id);
    const { supervisor, program } = readState(join(own.folder, id)) as HostState;
    process.kill(supervisor.pid, "SIGKILL");
    await own.after.waitForEnd(id, signal);
    const { error, exitCode, state } = (await own.after.inspect(id)) ?? {};
    expect([state, exitCode, error]).toEqual(["exited", 137, expect.stringContaining("cut off")]);
    await eventually(() => !(program && isRunning(program)), "its end");
    await own.after.remove(id);
  });

  test("is not taken for another process of its number", async () => {
    using own = engines();
    const id = await started(own.before, "true");
    await own.before.waitForEnd(id, signal);
    const folder = join(own.folder, id);
    const { exitCode, endedAt, ...state } = readState(folder) as HostState;
    const other = Bun.spawn(["sleep", "8183"]);
    const now = identityOf(other.pid);
    if (!now) throw new Error("no process");
    expect(isRunning(now)).toBe(true);
    for (const wrong of [
      { ...now, start: now.start - 1 },
      { ...now, boot: "another" },
    ]) {
      writeState(folder, { ...state, program: wrong, supervisor: wrong });
      expect((await own.after.inspect(id))?.state).toBe("exited");
      await own.after.stop(id, 0);
    }
    await own.after.remove(id);
    expect(other.exitCode).toBeNull();
    other.kill();
    await other.exited;
    expect(isRunning(now)).toBe(false);
    expect(exitCode).toBe(0);
    expect(endedAt).toBeGreaterThan(0);
  });

  test("runs in a folder that is named, which stays, and several are given other ports", async () => {
    using own = engines();
    using work = new TempFolder();
    writeFileSync(join(work.path, "here"), "");
    const ids = await Promise.all(
      [1, 2, 3].map(() => started(own.before, 'ls; echo "$PORT"; sleep 8184', { image: `host:${work.path}`, port: 8080 })),
    );
    const ports = await Promise.all(ids.map(async (id) => (await own.after.inspect(id))?.address?.port));
    expect(new Set(ports).size).toBe(3);
    expect((await first(own.after, ids[0] ?? ""))?.line).toBe("here");
    await Promise.all(ids.map((id) => own.after.remove(id)));
    expect([existsSync(join(work.path, "here")), readdirSync(own.folder)]).toEqual([true, []]);
  });

  test("that cannot be is refused", async () => {
    using own = engines();
    expect(await messageOf(own.before.create(wanted("", { entrypoint: [] }), signal))).toBe(
      "invalid_argument: `host:` is no image: it has no program of its own.",
    );
    expect(await messageOf(own.before.create(wanted("true", { image: "host:relative" }), signal))).toContain("names no folder");
    expect(await messageOf(own.before.create(wanted("true", { isRestricted: true }), signal))).toContain("has the kernel of the machine");
    expect(await messageOf(own.before.create(wanted("true", { cpus: 1 }), signal))).toContain("No limit of processors or memory");
    const id = await own.before.create(wanted("true"), signal);
    expect(await messageOf(own.after.start(id))).toContain("a server that has ended before it started it");
    for (const wrong of ["host_../../etc", "../x", ""]) {
      expect(await own.before.inspect(wrong)).toBeUndefined();
      await own.before.remove(wrong);
    }
    await own.before.remove(id);
    expect(readdirSync(own.folder)).toEqual([]);
  });
});

test("output is kept within a bound, and read across files while it is written", async () => {
  using folder = new TempFolder();
  const writer = new OutputWriter(folder.path);
  const long = "x".repeat(16_000);
  let isOver = false;
  const reading = Array.fromAsync(readOutput(folder.path, 0, () => isOver, signal));
  for (let at = 0; at < 2_000; at++) writer.write("stdout", `${at} ${long}`);
  writer.close();
  isOver = true;
  const lines = await reading;
  expect(readdirSync(folder.path).length).toBe(2);
  const numbers = lines.map(({ line }) => Number(line.split(" ")[0]));
  expect(numbers.at(-1)).toBe(1_999);
  expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
  const from = lines.at(-3)?.at ?? 0;
  expect((await Array.fromAsync(readOutput(folder.path, from, () => true, signal))).map(({ line }) => Number(line.split(" ")[0]))).toEqual([
    1_997, 1_998, 1_999,
  ]);
});

describe("the engine before both", () => {
  const engine = (name: string): ContainerEngine => ({ create: async () => name }) as unknown as ContainerEngine;
  const lacking = (): never => {
    throw new Failure("failed_precondition", "There is no engine.");
  };

  test("passes images to one and `host:` to the other, where that is allowed", async () => {
    const router = createEngineRouter({ images: () => engine("images"), host: () => engine("host"), isHostAllowed: true });
    expect(await router.create(wanted("", { image: "busybox" }), signal)).toBe("images");
    expect(await router.create(wanted("", { image: "host:/srv" }), signal)).toBe("host");
    const closed = createEngineRouter({ images: lacking, host: () => engine("host"), isHostAllowed: false });
    expect(await messageOf(closed.create(wanted("", { image: "host:" }), signal))).toContain("its operator has not allowed it");
    expect(() => closed.require("host:")).toThrow("has not allowed");
    expect(() => closed.require("busybox")).toThrow("There is no engine.");
  });

  test("is told by a variable whether it may", () => {
    expect([allowsHost({}), allowsHost({ [HOST_VARIABLE]: "off" }), allowsHost({ [HOST_VARIABLE]: "on" })]).toEqual([false, false, true]);
    expect(() => allowsHost({ [HOST_VARIABLE]: "yes" })).toThrow("neither on nor off");
  });
});
