/** An engine that speaks Docker's API: Podman, or Docker itself. */

import type { JsonObject } from "../../../domain/json-value.ts";
import { isJsonObject } from "../../../domain/json-value.ts";
import { Failure } from "../../failure.ts";
import type { ContainerEngine, EngineContainer, EngineOutput, NewContainer } from "../container-engine.ts";
import { OutputLines } from "../output-lines.ts";
import { stamped } from "../stamped-line.ts";
import { createDockerApi, type DockerApi, isGone, unlessGone, wordsOf } from "./docker-api.ts";
import { startExec } from "./docker-exec.ts";
import { dockerImages, pull } from "./docker-images.ts";
import { OutputFrames } from "./output-frames.ts";

const GVISOR = "runsc";
const ROOT = "0";
const LOOPBACK = "127.0.0.1";
/** Processes that a container may have at once. */
const MOST_PROCESSES = 4_096;
/** What a program in a container does not need, of what engines allow by themselves. */
const DROPPED = ["NET_RAW", "MKNOD", "AUDIT_WRITE"];
/**
 * What is put before each frame of output: of a line that is long, or printed piece by piece, an
 * engine stamps every part.
 */
const BEGIN = Buffer.from("\0");
const FIRST_BEGIN = /^\0/;
const LATER_TIMES = /(?<!^)\0\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d) ?/g;
/** Engines leave out the second that they are asked to begin with. */
const SINCE_MICROS = 1_000_000;

/** Makes an engine. @param path the socket's */
export function createDockerEngine(path: string): ContainerEngine {
  const api = createDockerApi(path);
  const of = (id: string): string => `/containers/${encodeURIComponent(id)}`;
  const inspect = async (id: string): Promise<EngineContainer | undefined> => {
    const found = await unlessGone(api.json(`${of(id)}/json`));
    return found && containerOf(found);
  };
  const remove = async (id: string): Promise<void> => {
    await unlessGone(api.call(of(id), { method: "DELETE", query: { force: "1", v: "1" } }));
  };

  return {
    ...dockerImages(api),

    async describe(signal) {
      const { Version = "", Components } = await api.json("/version", { signal });
      const isPodman = JSON.stringify(Components ?? "").includes("Podman");
      return { kind: isPodman ? "podman" : "docker", version: String(Version), address: api.address };
    },

    async serverUser(signal) {
      const { SecurityOptions } = await api.json("/info", { signal });
      const isRootless = JSON.stringify(SecurityOptions ?? []).includes("name=rootless");
      return isRootless ? ROOT : `${process.getuid?.() ?? ROOT}:${process.getgid?.() ?? ROOT}`;
    },

    async create(container, signal) {
      const make = (): Promise<JsonObject> =>
        api.json("/containers/create", { method: "POST", query: { name: container.name }, json: creationOf(container), signal });
      let made: JsonObject;
      try {
        made = await make();
      } catch (error) {
        if (!isGone(error)) throw error;
        await pull(api, container.image, signal);
        made = await make();
      }
      const id = String(made.Id);
      if (container.isRestricted && (await runtimeOf(api, of(id))) !== GVISOR) {
        await remove(id);
        throw new Failure("failed_precondition", "This container engine gives no container a kernel of its own.", {
          hint: `Install gVisor and register its runtime '${GVISOR}' with the engine, or leave --kernel-policy restricted out.`,
        });
      }
      return id;
    },

    async start(id) {
      await api.call(`${of(id)}/start`, { method: "POST" });
    },

    inspect,

    async list(label, value) {
      const filters = JSON.stringify({ label: [`${label}=${value}`] });
      const listed = (await api.json("/containers/json", { query: { all: "1", filters } })) as unknown as readonly JsonObject[];
      const found = await Promise.all(listed.map(({ Id }) => inspect(String(Id))));
      return found.filter((one) => one !== undefined);
    },

    async waitForEnd(id, signal) {
      await unlessGone(api.json(`${of(id)}/wait`, { method: "POST", signal, timeoutMs: 0 }));
    },

    async stop(id, graceMs) {
      const query = { t: String(Math.ceil(graceMs / 1000)) };
      await unlessGone(api.call(`${of(id)}/stop`, { method: "POST", query, timeoutMs: graceMs + 60_000 }));
    },

    async signal(id, signal) {
      try {
        await unlessGone(api.call(`${of(id)}/kill`, { method: "POST", query: { signal } }));
      } catch (error) {
        // An engine refuses it for one that does not run; Docker and Podman say so differently.
        if ((await inspect(id))?.state === "running") throw error;
      }
    },

    remove,

    async *output(id, from, signal) {
      const query = {
        stdout: "1",
        stderr: "1",
        follow: "1",
        timestamps: "1",
        ...(from > 0 && { since: ((from - SINCE_MICROS) / 1e6).toFixed(6) }),
      };
      const response = await unlessGone(api.call(`${of(id)}/logs`, { query, signal, timeoutMs: 0 }));
      if (response?.body) yield* linesOf(response.body, from);
    },

    exec: (id, exec) => startExec(api, of(id), exec),

    async use(id) {
      const { cpu_stats: cpu, memory_stats: memory } =
        (await unlessGone(api.json(`${of(id)}/stats`, { query: { stream: "false", "one-shot": "true" } }))) ?? {};
      const total = isJsonObject(cpu) && isJsonObject(cpu.cpu_usage) ? Number(cpu.cpu_usage.total_usage ?? 0) : 0;
      const held = isJsonObject(memory) ? Number(memory.usage ?? 0) : 0;
      return total > 0 ? { cpuSeconds: total / 1e9, memoryBytes: held } : undefined;
    },
  };
}

/** The body that makes a container. */
function creationOf(container: NewContainer): JsonObject {
  const {
    arguments: args,
    cpus,
    entrypoint,
    env,
    hasNetwork,
    image,
    isOnHost = false,
    isRestricted,
    labels,
    memoryBytes,
    mounts,
    port,
    user,
    workdir,
  } = container;
  const exposed = port === undefined ? undefined : `${port}/tcp`;
  return {
    Image: image,
    ...(entrypoint.length > 0 && { Entrypoint: entrypoint }),
    ...((args.length > 0 || entrypoint.length > 0) && { Cmd: args }),
    Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
    Labels: { ...labels },
    ...(user !== undefined && { User: user }),
    ...(workdir !== undefined && { WorkingDir: workdir }),
    ...(exposed !== undefined && { ExposedPorts: { [exposed]: {} } }),
    HostConfig: {
      ...(memoryBytes !== undefined && { Memory: memoryBytes, MemorySwap: memoryBytes }),
      ...(cpus !== undefined && { NanoCpus: Math.round(cpus * 1e9) }),
      ...{ PidsLimit: MOST_PROCESSES, CapDrop: DROPPED, SecurityOpt: ["no-new-privileges"] },
      ...(hasNetwork ? isOnHost && { NetworkMode: "host" } : { NetworkMode: "none" }),
      ...(exposed !== undefined && { PortBindings: { [exposed]: [{ HostIp: LOOPBACK, HostPort: "" }] } }),
      Binds: mounts.map(({ isReadOnly, path, source }) => `${source}:${path}${isReadOnly ? ":ro" : ""}`),
      ...(isRestricted && { Runtime: GVISOR }),
    },
  };
}

/** What an engine says of a container. */
function containerOf({ Id, Name, Config, NetworkSettings, State }: JsonObject): EngineContainer {
  const state = isJsonObject(State) ? State : {};
  const config = isJsonObject(Config) ? Config : {};
  const isRunning = state.Running === true;
  const startedAt = timeOf(state.StartedAt);
  const hasEnded = !isRunning && startedAt !== undefined;
  const [binding] = isJsonObject(NetworkSettings) && isJsonObject(NetworkSettings.Ports) ? Object.values(NetworkSettings.Ports).flat() : [];
  const port = isJsonObject(binding ?? null) ? Number((binding as JsonObject).HostPort) : 0;
  return {
    id: String(Id),
    name: String(Name).replace(/^\//, ""),
    labels: isJsonObject(config.Labels) ? (config.Labels as Readonly<Record<string, string>>) : {},
    state: isRunning ? "running" : hasEnded ? "exited" : "created",
    exitCode: hasEnded ? Number(state.ExitCode) : undefined,
    isOutOfMemory: state.OOMKilled === true,
    error: wordsOf(String(state.Error ?? "")),
    startedAt,
    // The two times are of different clocks: of one that ended at once, the end may come first.
    endedAt: hasEnded ? Math.max(startedAt, timeOf(state.FinishedAt) ?? startedAt) : undefined,
    address: isRunning && port > 0 ? { host: LOOPBACK, port } : undefined,
  };
}

/** A time of an engine, which writes the year 1 for none. */
function timeOf(text: unknown): number | undefined {
  const at = Date.parse(String(text));
  return at > 0 ? at : undefined;
}

async function runtimeOf(api: DockerApi, path: string): Promise<unknown> {
  const { HostConfig, OCIRuntime } = await api.json(`${path}/json`);
  return OCIRuntime ?? (isJsonObject(HostConfig) ? HostConfig.Runtime : undefined);
}

/** A line whose parts begin with their times, without those of the later ones. */
function joined(text: string): string {
  return text.replace(LATER_TIMES, "").replace(FIRST_BEGIN, "");
}

/** The lines of a container's output from a time on, in epoch microseconds. */
async function* linesOf(body: AsyncIterable<Uint8Array>, from: number): AsyncIterable<EngineOutput> {
  const frames = new OutputFrames();
  const open = { stdout: new OutputLines(), stderr: new OutputLines() };
  for await (const piece of body)
    for (const { stream, bytes, isFirst } of frames.read(piece))
      for (const text of open[stream].read(isFirst ? Buffer.concat([BEGIN, bytes]) : bytes)) {
        const line = stamped(stream, joined(text));
        if (line && line.at >= from) yield line;
      }
  for (const stream of ["stdout", "stderr"] as const) {
    const line = stamped(stream, joined(open[stream].rest()));
    if (line && line.at >= from) yield line;
  }
}
