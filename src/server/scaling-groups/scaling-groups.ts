/**
 * Scaling groups: containers of one kind, as many as are needed. A group is a document of its
 * environment; the node where it was made keeps its replicas.
 */

import { availableParallelism } from "node:os";
import type { ContainerSpec } from "../../../gen/svc/v1/container_pb.ts";
import { errorText } from "../../domain/error-text.ts";
import type { Resealing } from "../access/resealing.ts";
import type { Sealer } from "../access/sealing.ts";
import type { Caller } from "../access/tokens.ts";
import { hasEnded, type StoredContainer } from "../containers/container-records.ts";
import { checkName, checkSpec, checkTags } from "../containers/container-spec.ts";
import type { Containers } from "../containers/containers.ts";
import { type CollectionParts, createCollection } from "../documents/collection.ts";
import { Failure } from "../failure.ts";
import { noteChange } from "../jobs/changes.ts";
import type { MetricRecorder } from "../metrics/recorder.ts";
import { type Following, followStore } from "../nodes/follow.ts";
import type { GoneNodes } from "../nodes/gone-nodes.ts";
import { routeLabel } from "../route-label.ts";
import type { EnvironmentRecord } from "../stores/metadata/identity.ts";
import type { ProcessStore } from "../stores/metadata/processes.ts";
import type { Bounds } from "./autoscaling.ts";
import { GROUPS, type Group, type GroupContent, resealed, specOf, storedSpec, wholeSpec } from "./group-records.ts";
import { healthCheck } from "./health-check.ts";
import { type GroupEvent, type GroupState, PACE, type Pace, ReplicaSet } from "./replica-set.ts";

/** A group as it is asked for. */
export interface GroupWish {
  readonly environment: EnvironmentRecord;
  /** Empty = one is made. */
  readonly name: string;
  readonly spec: ContainerSpec;
  readonly tags: Readonly<Record<string, string>>;
  /** Of `targetCpu` 0 stands for the default. */
  readonly bounds: Bounds;
}

/** A group and how it is. */
export interface KnownGroup {
  readonly group: Group;
  readonly state: GroupState;
  /** Those that run, then the last ones that have ended. */
  readonly replicas: readonly StoredContainer[];
}

/** A group whose replicas this node has, by what the gateway calls it. */
export interface RoutedGroup {
  readonly group: Group;
  readonly lease: ReplicaSet["lease"];
}

/** The capability. */
export interface ScalingGroups extends Resealing {
  /** Makes a group, or replaces that of the name. Rejects with Failure; then all is as before. */
  put(wish: GroupWish, caller: Caller): Promise<KnownGroup>;
  /** By id or name. Rejects with Failure not_found. */
  get(environmentId: string, idOrName: string): Promise<KnownGroup>;
  /** Those of an environment, by name. */
  list(environmentId: string): Promise<KnownGroup[]>;
  /** Changes the bounds of a group; what is undefined stays. Rejects with Failure. */
  scale(environmentId: string, idOrName: string, bounds: Partial<Bounds>): Promise<KnownGroup>;
  /** Puts new replicas in the place of all. Rejects with Failure; then all is as before. */
  restart(environmentId: string, idOrName: string): Promise<KnownGroup>;
  /**
   * Deletes a group and ends its replicas; returns it as it was. Rejects with Failure not_found.
   */
  delete(environmentId: string, idOrName: string): Promise<KnownGroup>;
  /** The groups of other nodes. */
  elsewhere(): Promise<readonly Group[]>;
  /** The group of a label or id; undefined when this node has none. */
  routed(labelOrId: string): RoutedGroup | undefined;
  /** The names of the groups of this node, by their ids. */
  names(): ReadonlyMap<string, string>;
  /** Begins to keep the groups of this node, with the replicas that run. */
  start(): Promise<void>;
  /** Keeps them no longer; their replicas go on. */
  close(): Promise<void>;
}

/** The services of the capability. */
export interface ScalingGroupsOptions extends CollectionParts {
  readonly containers: Pick<Containers, "run" | "stop" | "find" | "list" | "address" | "use">;
  readonly environments: () => Promise<readonly EnvironmentRecord[]>;
  readonly sealer: Sealer;
  /** Where it is recorded how many replicas there are. */
  readonly metrics: MetricRecorder;
  /** The journal of what happens to groups. */
  readonly journal: Pick<ProcessStore, "addEvent">;
  /** Id of this node. */
  readonly node: string;
  /** Which nodes do not run; default: all do. */
  readonly goneNodes?: GoneNodes;
  /** Default: that of a server. */
  readonly pace?: Partial<Pace>;
  /** Default: over the replica's port. */
  readonly check?: typeof healthCheck;
  /** Milliseconds; default: of a clock that nobody sets. */
  readonly now?: () => number;
}

const DEFAULT_TARGET_CPU = 80;
const MOST_REPLICAS = 100;
const GENERATION_LENGTH = 4;
/** Replicas that have ended which are shown: their ends say why a group fails. */
const SHOWN_ENDED = 5;

/** Makes the capability. */
export function createScalingGroups(options: ScalingGroupsOptions): ScalingGroups {
  const { containers, sealer, node, bus, clock, log } = options;
  const groups = createCollection<GroupContent>(options, GROUPS);
  const sets = new Map<string, ReplicaSet>();
  const labels = new Map<string, string>();
  /** Ids of groups that are just being made or replaced, which is done by whoever does that. */
  const making = new Set<string>();
  let following: Following | undefined;
  let isClosed = false;

  const environmentOf = async (id: string): Promise<EnvironmentRecord> => {
    const environment = (await options.environments()).find((one) => one.id === id);
    if (!environment) throw new Failure("not_found", "The environment of the scaling group was removed.");
    return environment;
  };
  const note = (group: Group, event?: GroupEvent): void => {
    noteChange(bus, "runs", group.scope);
    if (!event) return;
    const type = event.reason === "Failed" ? "Warning" : "Normal";
    options.journal
      .addEvent({ ...event, at: clock.now(), type, environmentId: group.scope, process: `scaling-group/${group.name}` })
      .catch((error: unknown) =>
        log.warning("what happened to a scaling group could not be written down", { group: group.id, error: errorText(error) }),
      );
  };
  options.metrics.sample(() => {
    for (const set of sets.values()) {
      const { name, scope } = set.group;
      const { ready, wanted } = set.state();
      options.metrics.gauge("scaling_group.replicas", scope, { group: name, state: "ready" }).set(ready);
      options.metrics.gauge("scaling_group.replicas", scope, { group: name, state: "wanted" }).set(wanted);
    }
  });
  const parts = {
    containers,
    note,
    check: options.check ?? healthCheck,
    processors: availableParallelism(),
    pace: { ...PACE, ...options.pace },
    now: options.now ?? (() => performance.now()),
    log,
    wishOf: async (group: Group) => ({ environment: await environmentOf(group.scope), spec: await wholeSpec(sealer, group) }),
  };
  const labelOf = ({ name, scope }: Group): string => routeLabel("group", scope, name);

  const keep = (group: Group, found: readonly StoredContainer[]): ReplicaSet => {
    const known = sets.get(group.id);
    if (known) return known;
    const set = new ReplicaSet(parts, group, found);
    sets.set(group.id, set);
    labels.set(labelOf(group), group.id);
    if (!isClosed) set.start();
    return set;
  };
  const drop = async (set: ReplicaSet): Promise<void> => {
    sets.delete(set.group.id);
    if (labels.get(labelOf(set.group)) === set.group.id) labels.delete(labelOf(set.group));
    await set.remove();
  };
  /** Replicas of a group that run on this node. */
  const foundOf = async ({ id, scope }: Group): Promise<StoredContainer[]> =>
    (await aliveOf(scope)).filter((one) => one.group === id && one.node === node);
  const aliveOf = async (environmentId?: string): Promise<StoredContainer[]> =>
    (await containers.list(environmentId)).filter((one) => one.group !== "" && !hasEnded(one));

  /** Makes the sets of this node those of the groups that are stored, and ends replicas of none. */
  const settle = async (): Promise<void> => {
    const own = (await groups.list()).filter(({ content, id }) => content.node === node && !making.has(id));
    const ids = new Set(own.map(({ id }) => id));
    for (const set of [...sets.values()]) if (!ids.has(set.group.id) && !making.has(set.group.id)) await drop(set);
    for (const group of own) {
      if (!sets.has(group.id)) keep(group, await foundOf(group));
      const set = sets.get(group.id);
      if (set && set.group.revision < group.revision) set.replace(group);
    }
  };

  const isGone = async ({ content }: Group): Promise<boolean> => (await options.goneNodes?.([content.node]))?.has(content.node) ?? false;
  const known = async (group: Group, containersOf: readonly StoredContainer[]): Promise<KnownGroup> => {
    const all = containersOf.filter((one) => one.group === group.id);
    const replicas = [...all.filter((one) => !hasEnded(one)), ...all.filter(hasEnded).slice(0, SHOWN_ENDED)];
    const state = sets.get(group.id)?.state() ?? stateElsewhere(group, replicas, node, await isGone(group));
    return { group, replicas, state };
  };

  const replace = async (before: Group, content: GroupContent): Promise<KnownGroup> => {
    if (before.content.node !== node) throw elsewhere(before);
    making.add(before.id);
    try {
      const set = keep(before, await foundOf(before));
      const first = await set.try({ ...before, content });
      try {
        set.replace(await groups.update(before.scope, before.id, () => ({ content })), first);
      } catch (error) {
        await containers.stop(before.scope, first.id, "Its scaling group was deleted.").catch(() => undefined);
        throw error;
      }
      return await known(set.group, await aliveOf(before.scope));
    } finally {
      making.delete(before.id);
    }
  };

  return {
    async put(wish, caller) {
      const { environment, spec, tags } = wish;
      const name = wish.name === "" ? `group-${Bun.randomUUIDv7("hex").slice(-8)}` : wish.name;
      checkName(name, "scaling group");
      checkTags(tags);
      checkSpec(spec);
      const bounds = checkBounds(wish.bounds, spec);
      const { clientId, environments, permissions, personId, teamId } = caller;
      const content: GroupContent = {
        ...(await storedSpec(sealer, environment.id, spec)),
        ...{ bounds, tags, node, generation: newGeneration() },
        author: { clientId, teamId, permissions, ...(environments && { environments }), ...(personId !== undefined && { personId }) },
      };
      const before = await groups.find(environment.id, name);
      if (before) return replace(before, content);
      const group = await groups.create(environment.id, name, content);
      making.add(group.id);
      try {
        keep(group, [await new ReplicaSet(parts, group).try(group)]);
      } catch (error) {
        await groups.delete(environment.id, group.id).catch(() => undefined);
        throw error;
      } finally {
        making.delete(group.id);
      }
      note(group, { reason: "Created", message: `Its replicas run ${spec.image}.` });
      return known(group, await aliveOf(environment.id));
    },

    async scale(environmentId, idOrName, change) {
      const { id } = await groups.get(environmentId, idOrName);
      const group = await groups.update(environmentId, id, ({ content }) => ({
        content: { ...content, bounds: checkBounds({ ...content.bounds, ...change }, specOf(content)) },
      }));
      const set = sets.get(id);
      if (set && set.group.revision < group.revision) set.replace(group);
      return known(group, await aliveOf(environmentId));
    },

    async restart(environmentId, idOrName) {
      const before = await groups.get(environmentId, idOrName);
      return replace(before, { ...before.content, generation: newGeneration() });
    },

    async get(environmentId, idOrName) {
      return known(await groups.get(environmentId, idOrName), await containers.list(environmentId));
    },

    async list(environmentId) {
      const alive = await aliveOf(environmentId);
      return Promise.all((await groups.list(environmentId)).map((group) => known(group, alive)));
    },

    async delete(environmentId, idOrName) {
      const group = await groups.get(environmentId, idOrName);
      const was = await known(group, await aliveOf(environmentId));
      await groups.delete(environmentId, group.id);
      const set = sets.get(group.id);
      if (set) await drop(set);
      note(group, { reason: "Deleted", message: "It was deleted with its replicas." });
      // The others are ended by their node.
      for (const one of was.replicas)
        if (one.status === "unreachable") await containers.stop(one.environmentId, one.id, "").catch(() => undefined);
      return was;
    },

    elsewhere: async () => (await groups.list()).filter(({ content }) => content.node !== node),

    routed(labelOrId) {
      const set = sets.get(labels.get(labelOrId) ?? labelOrId);
      return set && { group: set.group, lease: (signal) => set.lease(signal) };
    },

    names: () => new Map([...sets.values()].map(({ group }) => [group.id, group.name])),

    async reseal(signal) {
      let count = 0;
      for (const group of await groups.list()) {
        signal.throwIfAborted();
        if (sealer.isCurrent(group.content.values)) continue;
        try {
          await groups.update(group.scope, group.id, async (one) => ({ content: await resealed(sealer, { ...group, ...one }) }));
          count++;
        } catch (error) {
          // What cannot be opened, or is gone meanwhile, is passed over.
          if (!(error instanceof Failure)) throw error;
        }
      }
      return count;
    },

    async start() {
      const ids = new Set((await groups.list()).map(({ id }) => id));
      for (const one of await aliveOf())
        if (one.node === node && !ids.has(one.group))
          await containers.stop(one.environmentId, one.id, "Its scaling group was deleted.").catch(() => undefined);
      await settle();
      following = followStore({
        ...{ bus, topic: "documents", clock, log },
        read: (ids) => (ids === undefined || [...ids].some((id) => id.startsWith(`${GROUPS.kind}/`)) ? settle() : undefined),
      });
    },

    async close() {
      isClosed = true;
      await following?.stop();
      await groups.close();
      await Promise.all([...sets.values()].map((set) => set.close()));
    },
  };
}

/** The bounds of a group. Throws Failure invalid_argument. */
function checkBounds({ maxReplicas, minReplicas, targetCpu }: Bounds, { port }: ContainerSpec): Bounds {
  const refuse = (message: string, hint: string): never => {
    throw new Failure("invalid_argument", message, { hint });
  };
  if (maxReplicas < 1 || maxReplicas > MOST_REPLICAS)
    refuse(`A scaling group has 1 to ${MOST_REPLICAS} replicas at most, not ${maxReplicas}.`, "Set it with --max-replicas.");
  if (minReplicas > maxReplicas)
    refuse(
      `The fewest replicas (${minReplicas}) are more than the most (${maxReplicas}).`,
      "Set them with --min-replicas and --max-replicas.",
    );
  if (targetCpu > 100) refuse(`The target is a percentage of 1 to 100, not ${targetCpu}.`, "Set it with --target-cpu.");
  if (minReplicas === 0 && port === 0)
    refuse("A group that may have no replicas needs a port: a request to it starts one.", "Name it with --port, or set --min-replicas 1.");
  return { minReplicas, maxReplicas, targetCpu: targetCpu === 0 ? DEFAULT_TARGET_CPU : targetCpu };
}

function newGeneration(): string {
  const alphabet = "abcdefghijklmnopqrstuvwxyz0123456789";
  return Array.from(crypto.getRandomValues(new Uint8Array(GENERATION_LENGTH)), (byte) => alphabet[byte % alphabet.length]).join("");
}

/** How a group of another node is, as far as this one can say. */
function stateElsewhere({ content }: Group, replicas: readonly StoredContainer[], node: string, isNodeGone: boolean): GroupState {
  if (isNodeGone)
    return {
      ...{ status: "failed", ready: 0, readyIds: undefined, wanted: content.bounds.minReplicas },
      message: `Its node, ${content.node}, does not run: nothing answers for it until that starts again, or it is deleted and made anew.`,
    };
  const ready = replicas.filter(({ status }) => status === "running").length;
  const { minReplicas } = content.bounds;
  return {
    status: ready > 0 ? "ready" : minReplicas === 0 ? "idle" : "starting",
    ...{ ready, wanted: Math.max(ready, minReplicas) },
    message: content.node === node ? "" : `Node ${content.node} has its replicas.`,
    readyIds: undefined,
  };
}

/** The refusal to replace what another node has. */
function elsewhere({ content, name }: Group): Failure {
  return new Failure("failed_precondition", `The scaling group '${name}' is on another node, ${content.node}.`, {
    hint: "Ask that node, or delete the group and make it here; `svc clusters describe` shows the addresses of all.",
  });
}
