/**
 * Containers of this node: made by its engine, followed to their ends, and found again by labels
 * when the server starts anew. What the engine says is written down; nothing else says how a
 * container is.
 */

import type { ContainerSpec } from "../../../gen/svc/v1/container_pb.ts";
import type { Clock } from "../../context/clock.ts";
import { errorText } from "../../domain/error-text.ts";
import { allows } from "../../domain/permissions.ts";
import type { Caller } from "../access/tokens.ts";
import { suspended } from "../deployments/environment-states.ts";
import type { ContainerEngine, EngineContainer, EngineUse } from "../engines/container-engine.ts";
import type { EnginePart } from "../engines/engine-router.ts";
import { isHostImage } from "../engines/host/host-image.ts";
import { Failure } from "../failure.ts";
import { newId } from "../identifier.ts";
import type { Bus } from "../jobs/bus.ts";
import { noteChange } from "../jobs/changes.ts";
import type { Log } from "../log.ts";
import type { LogRecorder } from "../logs/recorder.ts";
import type { GoneNodes } from "../nodes/gone-nodes.ts";
import type { Secrets } from "../secrets/secrets.ts";
import type { LogStore } from "../stores/logs/store.ts";
import type { EnvironmentRecord } from "../stores/metadata/identity.ts";
import type { ProcessStore } from "../stores/metadata/processes.ts";
import { followOutput } from "./container-output.ts";
import { type ContainerChange, type ContainerRecords, hasEnded, type StoredContainer } from "./container-records.ts";
import { checkName, checkSpec, checkTags, resolveVariables, resourceLimits } from "./container-spec.ts";
import type { Volumes } from "./volumes.ts";

/** A container that is wanted. */
export interface ContainerWish {
  readonly environment: Pick<EnvironmentRecord, "id" | "name" | "suspendedAt">;
  /** Empty = one is made. */
  readonly name: string;
  readonly spec: ContainerSpec;
  readonly tags: Readonly<Record<string, string>>;
  /** 0 = without end. */
  readonly lifetimeMs: number;
  /** Scaling group that it is a replica of; empty = none. */
  readonly group: string;
  /** Whether it has a network. */
  readonly hasNetwork: boolean;
}

/** Containers, or sandboxes. */
export interface Containers {
  /** Makes and starts one. Rejects with Failure; nothing is left in the engine then. */
  run(wish: ContainerWish, caller: Caller): Promise<StoredContainer>;
  /**
   * Ends one and removes its disk; gives up one whose node does not run. Rejects with Failure.
   * @param why for people; may be empty
   */
  stop(environmentId: string, idOrName: string, why: string): Promise<StoredContainer>;
  /** By id, or by the name of one that has not ended, else of the newest of the name. */
  find(environmentId: string, idOrName: string): Promise<StoredContainer | undefined>;
  /** Rejects with Failure not_found. */
  get(environmentId: string, idOrName: string): Promise<StoredContainer>;
  /** Of an environment, or of all; newest first. */
  list(environmentId?: string): Promise<StoredContainer[]>;
  /** The engine's id of one that runs on this node; undefined when it does not. */
  engineId(id: string): string | undefined;
  /** Where its port is reached on this machine; undefined when it does not run on this node. */
  address(id: string): { readonly host: string; readonly port: number } | undefined;
  /** What it uses; undefined when it does not run on this node. */
  use(id: string): Promise<EngineUse | undefined>;
  /** Resolves once it runs on this node no more. */
  ended(id: string): Promise<void>;
  /** Finds those again that ran when the server stopped, and removes what nobody knows of. */
  resume(): Promise<void>;
  /** Ends all of an environment. */
  forget(environmentId: string): Promise<void>;
  /** Follows them no longer; they go on. */
  close(): Promise<void>;
}

/** The services that containers need. */
export interface ContainersOptions {
  readonly records: ContainerRecords;
  /** What they are, in names. */
  readonly kind: "container" | "sandbox";
  /** Throws Failure failed_precondition without an engine. @param image the one that it is for */
  readonly engine: (image?: string) => ContainerEngine;
  /** What lists containers, of some images each; default: the engine, of all. */
  readonly engineParts?: () => readonly EnginePart[];
  readonly volumes: Pick<Volumes, "folder">;
  readonly secrets: () => Promise<Pick<Secrets, "variables">>;
  /** Aborted with a reason in words when an environment is suspended or removed. */
  readonly halted: (environmentId: string) => AbortSignal;
  readonly logs: LogRecorder;
  /** The log as it is read. */
  readonly recorded: () => Promise<Pick<LogStore, "search">>;
  /** The journal of what happened to them. */
  readonly journal: Pick<ProcessStore, "addEvent">;
  /** Id of this node. */
  readonly node: string;
  /** Which nodes do not run; default: all do. */
  readonly goneNodes?: GoneNodes;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
}

/** A container that this node follows. */
interface Held {
  readonly stored: StoredContainer;
  readonly engineId: string;
  readonly address: EngineContainer["address"];
  readonly over: Promise<void>;
  /** Why it is about to be ended; undefined = by itself. */
  why: string | undefined;
}

/** Milliseconds that a program has to end by itself. */
const GRACE_MS = 5_000;
/** Milliseconds until an engine that does not answer is asked again. */
const RETRY_MS = 2_000;
/** Milliseconds that the rest of the output may take once a program has ended. */
const REST_MS = 2_000;
/** Longest timer of the runtime. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;
/** Exit code of what was killed. */
const KILLED = 137;
const NODE_LABEL = "svc.node";
const KIND_LABEL = "svc.kind";
export const ID_LABEL = "svc.id";

/** Makes the capability. */
export function createContainers(options: ContainersOptions): Containers {
  const { records, kind, volumes, halted, logs, node, clock, log } = options;
  const held = new Map<string, Held>();
  /** Ids of those that are just being made. */
  const making = new Set<string>();
  const closing = new AbortController();

  /** Containers with what is known of their nodes. */
  const seen = async (all: readonly StoredContainer[]): Promise<StoredContainer[]> => {
    const others = all.filter((one) => one.node !== node && !hasEnded(one)).map((one) => one.node);
    const gone = await options.goneNodes?.(others);
    return all.map((one) => (!hasEnded(one) && gone?.has(one.node) ? { ...one, status: "unreachable", message: nodeGone(one.node) } : one));
  };
  const seenOne = async (one: StoredContainer): Promise<StoredContainer> => (await seen([one]))[0] ?? one;

  const note = async ({ environmentId, name }: StoredContainer, reason: "Started" | "Stopped" | "Crashed", message: string) => {
    const type = reason === "Crashed" ? "Warning" : "Normal";
    noteChange(options.bus, "runs", environmentId);
    await options.journal
      .addEvent({ at: clock.now(), type, reason, environmentId, process: name, message })
      .catch((error: unknown) => log.warning(`what happened to a ${kind} could not be written down`, { error: errorText(error) }));
  };
  const finish = async (one: Held, last: EngineContainer | undefined): Promise<void> => {
    // Its row goes with its environment.
    const end = endOf(one, last, clock.now());
    await records.change(one.stored, end).catch(unlessGone);
    await options.engine().remove(one.engineId);
    const isExpected = end.status === "succeeded" || end.status === "stopped";
    await note(one.stored, isExpected ? "Stopped" : "Crashed", howItEnded(end));
  };

  /** Follows one to its end, through times in which the engine does not answer. */
  const follow = async (one: Held, recorded: Pick<LogStore, "search"> | undefined, signal: AbortSignal): Promise<void> => {
    const { engineId, stored } = one;
    const output = followOutput({ engine: options.engine(), engineId, container: stored, logs, recorded, signal });
    for (;;) {
      try {
        await options.engine().waitForEnd(engineId, signal);
        const last = await options.engine().inspect(engineId);
        if (last && last.state !== "exited") continue;
        await Promise.race([output, clock.sleep(REST_MS, signal)]);
        await finish(one, last);
        return;
      } catch (error) {
        if (signal.aborted) return;
        log.warning(`a ${kind} could not be followed`, { id: stored.id, error: errorText(error) });
        await clock.sleep(RETRY_MS, signal).catch(() => undefined);
        if (signal.aborted) return;
      }
    }
  };

  const hold = (
    stored: StoredContainer,
    { address, id: engineId }: EngineContainer,
    recorded: Pick<LogStore, "search"> | undefined,
  ): void => {
    const over = Promise.withResolvers<void>();
    const one: Held = { stored, engineId, address, over: over.promise, why: undefined };
    held.set(stored.id, one);
    const halt = halted(stored.environmentId);
    const onHalt = (): void => void end(one, errorText(halt.reason));
    halt.addEventListener("abort", onHalt, { once: true });
    if (halt.aborted) onHalt();
    const timers = new AbortController();
    void atEndOfLife(one, timers.signal);
    void follow(one, recorded, closing.signal).finally(() => {
      timers.abort();
      halt.removeEventListener("abort", onHalt);
      held.delete(stored.id);
      over.resolve();
    });
  };

  const end = async (one: Held, why: string): Promise<void> => {
    one.why ??= why;
    await options
      .engine()
      .stop(one.engineId, GRACE_MS)
      .catch((error: unknown) => log.warning(`a ${kind} could not be ended`, { id: one.stored.id, error: errorText(error) }));
  };

  const atEndOfLife = async (one: Held, signal: AbortSignal): Promise<void> => {
    const { lifetimeMs, createdAt } = one.stored;
    if (lifetimeMs <= 0) return;
    try {
      for (let left = createdAt + lifetimeMs - clock.now(); left > 0; left = createdAt + lifetimeMs - clock.now())
        await clock.sleep(Math.min(left, LONGEST_TIMER_MS), signal);
      await end(one, "Its lifetime was over.");
    } catch {
      // It ended before.
    }
  };

  /** Finds those again that a part of the engine has; does nothing while that does not answer. */
  const resumePart = async (part: EnginePart, all: readonly StoredContainer[]): Promise<void> => {
    const own = all.filter(({ spec }) => part.isOf(spec.image));
    let found: readonly EngineContainer[];
    try {
      found = (await part.list(NODE_LABEL, node)).filter(({ labels }) => labels[KIND_LABEL] === kind);
    } catch (error) {
      if (own.length > 0) log.warning(`the engine of ${own.length} containers does not answer`, { error: errorText(error) });
      return;
    }
    const byId = new Map(found.map((one) => [one.labels[ID_LABEL], one]));
    const isOurs = (id: string): boolean => held.has(id) || making.has(id);
    for (const stored of own) {
      const there = byId.get(stored.id);
      if (isOurs(stored.id)) continue;
      if (there?.state === "running" || there?.state === "exited") hold(stored, there, await options.recorded());
      else {
        await records.change(stored, {
          status: "lost",
          message: "The engine had it no more when the server started.",
          endedAt: clock.now(),
        });
        if (there) await options.engine().remove(there.id);
      }
    }
    for (const { id, labels } of found) if (!isOurs(labels[ID_LABEL] ?? "")) await options.engine().remove(id);
  };

  const variablesOf = async ({ environment, spec }: ContainerWish, caller: Caller): Promise<Readonly<Record<string, string>>> => {
    const hasSecrets = spec.environment.some(({ source }) => source.case === "secret");
    if (hasSecrets && !allows(caller.permissions, "secrets.read"))
      throw new Failure("permission_denied", `A ${kind} is given secrets only by who may see them.`, {
        hint: "The permission is `secrets.read`.",
      });
    return resolveVariables(spec.environment, hasSecrets ? await (await options.secrets()).variables(environment.id) : undefined);
  };

  return {
    async run(wish, caller) {
      const { environment, group, hasNetwork, lifetimeMs, spec, tags } = wish;
      if (environment.suspendedAt !== undefined) throw suspended(environment);
      const name = wish.name === "" ? `${kind}-${newId("x", clock.now()).slice(-8)}` : wish.name;
      checkName(name, kind);
      checkTags(tags);
      checkSpec(spec);
      if (isHostImage(spec.image) && !allows(caller.permissions, "deploy"))
        throw new Failure("permission_denied", "Programs of the server's own machine are run only by who may deploy code to it.", {
          hint: "The permission is `deploy`, beside `containers.write`.",
        });
      if (lifetimeMs < 0) throw new Failure("invalid_argument", `The lifetime of a ${kind} is not below 0.`);
      const engine = options.engine(spec.image);
      const env = await variablesOf(wish, caller);
      const mounts = await Promise.all(
        spec.volumes.map(async ({ path, volume }) => ({ path, source: await volumes.folder(environment.id, volume) })),
      );
      const signal = AbortSignal.any([closing.signal, halted(environment.id)]);
      signal.throwIfAborted();
      const stored = await records.add({ environmentId: environment.id, name, spec, tags, lifetimeMs, group, node });
      let engineId: string | undefined;
      making.add(stored.id);
      try {
        engineId = await engine.create(
          {
            ...{
              name: engineName(stored),
              image: spec.image,
              entrypoint: spec.entrypoint,
              arguments: spec.arguments,
              env,
              mounts,
              hasNetwork,
            },
            ...resourceLimits(spec.resources ?? { cpu: "", memory: "" }),
            ...{ port: spec.port === 0 ? undefined : spec.port, isRestricted: spec.kernelPolicy === "restricted" },
            labels: { [NODE_LABEL]: node, [KIND_LABEL]: kind, [ID_LABEL]: stored.id, "svc.environment": environment.id },
          },
          signal,
        );
        await engine.start(engineId);
        const running = await engine.inspect(engineId);
        if (!running) throw new Failure("unavailable", `The ${kind} was removed by its engine while it started.`);
        const change: ContainerChange = { status: "running", startedAt: running.startedAt ?? clock.now() };
        const begun = await records.change(stored, change);
        hold(begun, running, undefined);
        await note(begun, "Started", `It runs ${spec.image}.`);
        return begun;
      } catch (error) {
        if (engineId !== undefined) await engine.remove(engineId).catch(() => undefined);
        await records.change(stored, { status: "failed", message: errorText(error), endedAt: clock.now() });
        throw error;
      } finally {
        making.delete(stored.id);
      }
    },

    async stop(environmentId, idOrName, why) {
      const stored = await seenOne(await records.get(environmentId, idOrName));
      if (stored.status === "unreachable") {
        const message = `It was given up while its node, ${stored.node}, did not run: what is left of it is removed when that starts.`;
        return records.change(stored, { status: "lost", message, endedAt: clock.now() });
      }
      if (hasEnded(stored))
        throw new Failure(
          "failed_precondition",
          `The ${kind} '${stored.name}' has ended: it ${stored.status === "stopped" ? "was stopped" : stored.status}.`,
        );
      const one = held.get(stored.id);
      if (!one) throw elsewhere(stored, node, kind);
      await end(one, why);
      await one.over;
      return records.get(environmentId, stored.id);
    },

    async find(environmentId, idOrName) {
      const found = await records.find(environmentId, idOrName);
      return found && seenOne(found);
    },
    get: async (environmentId, idOrName) => seenOne(await records.get(environmentId, idOrName)),
    list: async (environmentId) => seen(await records.list(environmentId)),
    engineId: (id) => held.get(id)?.engineId,
    address: (id) => held.get(id)?.address,
    async use(id) {
      const one = held.get(id);
      return one && options.engine().use(one.engineId);
    },
    ended: async (id) => held.get(id)?.over,

    async resume() {
      const own = (await records.list()).filter((one) => one.node === node && !hasEnded(one) && !held.has(one.id));
      const parts = options.engineParts?.() ?? [
        { isOf: () => true, list: async (label: string, value: string) => options.engine().list(label, value) },
      ];
      for (const part of parts) await resumePart(part, own);
    },

    async forget(environmentId) {
      const own = [...held.values()].filter(({ stored }) => stored.environmentId === environmentId);
      await Promise.all(own.map((one) => end(one, "Its environment was removed.").then(() => one.over)));
    },

    async close() {
      closing.abort(new Failure("unavailable", "The server stops."));
      await Promise.all([...held.values()].map(({ over }) => over));
      await records.close();
    },
  };
}

/** The name by which the engine knows a container. */
export function engineName({ id }: Pick<StoredContainer, "id">): string {
  return `svc-${id}`;
}

/** Throws an error again unless it says that there is no such thing. */
function unlessGone(error: unknown): void {
  if (!(error instanceof Failure && error.kind === "not_found")) throw error;
}

/** How a container ended. */
function endOf({ stored, why }: Held, last: EngineContainer | undefined, now: number): ContainerChange {
  const endedAt = last?.endedAt ?? now;
  const code = last?.exitCode;
  if (why !== undefined) return { status: "stopped", message: why, endedAt, ...(code !== undefined && { exitCode: code }) };
  if (!last || code === undefined) return { status: "lost", message: "The engine has it no more: somebody else removed it.", endedAt };
  return { status: code === 0 ? "succeeded" : "failed", exitCode: code, message: reasonOf(last, stored), endedAt };
}

/** How a container ended, in a sentence. */
function howItEnded({ exitCode, message = "", status }: ContainerChange): string {
  const code = exitCode === undefined ? "" : `It exited with code ${exitCode}.`;
  return [code, message].filter((part) => part !== "").join(" ") || (status === "stopped" ? "It was stopped." : "It ended.");
}

/** Why a program ended by itself; empty = its exit code says all. */
function reasonOf({ error, exitCode, isOutOfMemory }: EngineContainer, { spec }: StoredContainer): string {
  const memory = spec.resources?.memory ?? "";
  if (isOutOfMemory) return `It used more memory than it may${memory === "" ? "" : `, ${memory}`}, and was killed.`;
  if (exitCode === KILLED && memory !== "") return `It was killed: it may have used more memory than it may, ${memory}.`;
  return error;
}

/** What is said of what a node has that does not run. */
function nodeGone(node: string): string {
  return `Its node, ${node}, does not run: whether it goes on is not known.`;
}

/** The refusal of what another node has, or this one has lost. */
export function elsewhere({ name, node: home, status }: StoredContainer, node: string, kind: string): Failure {
  if (status === "unreachable")
    return new Failure("unavailable", `The ${kind} '${name}' cannot be reached: its node, ${home}, does not run.`, {
      hint: "Start that node again, or end it here, which gives it up.",
    });
  if (home === node)
    return new Failure("unavailable", `The ${kind} '${name}' is not followed any more.`, { hint: "Ask again in a moment." });
  return new Failure("failed_precondition", `The ${kind} '${name}' runs on another node, ${home}.`, {
    hint: "Ask that node; `svc clusters describe` shows the addresses of all.",
  });
}
