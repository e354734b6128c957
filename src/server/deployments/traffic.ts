/**
 * The weights of environments, and what changes them. They are a document of each environment, so
 * that a change is one step; a deployment that is to get queries is started before it.
 */

import { DeploymentStatus } from "../../../gen/svc/v1/deployment_pb.ts";
import type { Collection } from "../documents/collection.ts";
import { Failure } from "../failure.ts";
import type { DeploymentRecord, DeploymentStore } from "../stores/metadata/deployments.ts";
import {
  COLORS,
  inactiveColor,
  isShared,
  isWarm,
  leadingDeployment,
  promotedTags,
  type TagTraffic,
  type TrafficTags,
  weightsText,
  withTag,
} from "./traffic-rules.ts";

/** The traffic of an environment, as it is stored. */
export interface TrafficSetting {
  readonly tags: TrafficTags;
}

/** The states in which a deployment can answer queries. */
export const READY = [DeploymentStatus.LIVE, DeploymentStatus.INACTIVE];

/** Most tags of an environment that may have weights. */
const MAX_TAGS = 50;
/** Name of the one document of an environment. */
const NAME = "traffic";
/** Deployments, newest first, among which those of tags without a weight are looked for. */
const MAX_LISTED = 500;

/** The capability to share queries among deployments. */
export interface Traffic {
  /** All tags of ready deployments, and those with weights; by name. */
  list(environmentId: string): Promise<TrafficTags>;
  /** The tags with weights. */
  weighted(environmentId: string): Promise<TrafficTags>;
  /** The tags with weights of all environments. */
  all(): Promise<{ readonly environmentId: string; readonly tags: TrafficTags }[]>;
  /**
   * Sets weights and mirror weights by tag; a tag then stands for its newest ready deployment.
   * Rejects with Failure invalid_argument, not_found, or unavailable when a deployment cannot be
   * started; nothing changes then.
   */
  set(environmentId: string, weights: ReadonlyMap<string, number>, mirrors: ReadonlyMap<string, number>): Promise<TrafficTags>;
  /** Swaps two tags. Rejects with Failure failed_precondition or unavailable. */
  promote(environmentId: string): Promise<TrafficTags>;
  /** Sets a tag's weight to null. Rejects with Failure not_found. */
  suspend(environmentId: string, tag: string): Promise<TrafficTags>;
  /** The tag that a blue/green deployment is for. Rejects with Failure failed_precondition. */
  colorFor(environmentId: string): Promise<string>;
  /**
   * Gives a deployment that was just started the traffic of its tags.
   * @returns what became of it: it `answers` by weights, it `waits` while others do, or the
   * environment's queries are not shared
   */
  deployed(deployment: DeploymentRecord): Promise<"answers" | "waits" | "not shared">;
  /** Removes tags that stand for a deployment that was deleted. */
  forget(environmentId: string, deploymentIds: readonly string[]): Promise<void>;
}

/** Makes the capability. */
export function createTraffic(options: {
  readonly settings: Collection<TrafficSetting>;
  readonly metadata: Pick<DeploymentStore, "deployment" | "deployments" | "promote" | "updateDeployment">;
  readonly now: () => number;
  /** Rejects with Failure failed_precondition when a deployment still needs approval. */
  readonly requireApproved: (id: string, environmentId: string) => Promise<void>;
  /** Starts a deployment on this node. Rejects with Failure when it cannot be. */
  readonly warmUp: (id: string, environmentId: string) => Promise<void>;
  /** Called after a change, before its caller is told. */
  readonly changed: (environmentId: string) => Promise<void>;
}): Traffic {
  const { settings, metadata, now, requireApproved, warmUp, changed } = options;

  const weighted = async (environmentId: string): Promise<TrafficTags> => (await settings.find(environmentId, NAME))?.content.tags ?? [];

  const newestReady = async (environmentId: string, tag: string): Promise<string> => {
    const [newest] = await metadata.deployments({ environmentId, branch: "", tags: [tag], statuses: READY, limit: 1 });
    if (newest) return newest.id;
    throw new Failure("not_found", `No ready deployment of this environment has the tag '${tag}'.`, {
      hint: "`svc traffic get` shows the tags there are; `svc apply --no-promote --tag=<tag>` deploys one beside what is live.",
    });
  };

  /** Marks what lost its last tag as replaced. */
  const demote = async (before: TrafficTags, after: TrafficTags): Promise<void> => {
    const kept = new Set(after.map(({ deploymentId }) => deploymentId));
    for (const { deploymentId } of before) {
      if (kept.has(deploymentId)) continue;
      const replaced = await metadata.deployment(deploymentId);
      if (replaced?.status === DeploymentStatus.LIVE)
        await metadata.updateDeployment(deploymentId, { status: DeploymentStatus.INACTIVE }, now());
    }
  };

  /**
   * Changes the tags of an environment in one step. What answered last becomes the live deployment
   * before the sharing ends, so that an older one does not answer then.
   */
  const change = async (environmentId: string, make: (before: TrafficTags) => TrafficTags | Promise<TrafficTags>): Promise<TrafficTags> => {
    let before: TrafficTags = [];
    const { content } = await settings.put(environmentId, NAME, async (stored) => {
      before = stored?.tags ?? [];
      const tags = await make(before);
      if (tags.length > MAX_TAGS)
        throw new Failure("invalid_argument", `At most ${MAX_TAGS} tags of an environment can have weights.`, {
          hint: "`svc deployment delete` removes deployments that are no longer needed.",
        });
      for (const one of tags)
        if (isWarm(one) && !before.some((other) => other.deploymentId === one.deploymentId && isWarm(other))) {
          await requireApproved(one.deploymentId, environmentId);
          await warmUp(one.deploymentId, environmentId);
        }
      const last = leadingDeployment(before);
      if (last !== undefined && !isShared(tags)) await metadata.promote(last, now());
      return { tags };
    });
    await changed(environmentId);
    await demote(before, content.tags);
    return content.tags;
  };

  const list = async (environmentId: string): Promise<TrafficTags> => {
    let tags = await weighted(environmentId);
    const ready = await metadata.deployments({ environmentId, branch: "", statuses: READY, limit: MAX_LISTED });
    for (const { id, tags: own } of ready)
      for (const tag of own)
        if (!tags.some((one) => one.tag === tag)) tags = withTag(tags, { tag, deploymentId: id, weight: null, mirrorWeight: 0 });
    return tags;
  };

  return {
    list,
    weighted,

    async all() {
      return (await settings.list()).map(({ scope, content: { tags } }) => ({ environmentId: scope, tags }));
    },

    async set(environmentId, weights, mirrors) {
      if (weights.size + mirrors.size === 0) throw new Failure("invalid_argument", "Name at least one tag and its weight.");
      for (const [tag, weight] of [...weights, ...mirrors])
        if (!Number.isInteger(weight) || weight < 0 || weight > 100)
          throw new Failure("invalid_argument", `A weight is a whole number from 0 to 100, and that of '${tag}' is ${weight}.`);
      await change(environmentId, async (before) => {
        let tags = before;
        for (const tag of new Set([...weights.keys(), ...mirrors.keys()])) {
          const known = before.find((one) => one.tag === tag);
          const deploymentId = await newestReady(environmentId, tag);
          const weight = weights.get(tag) ?? known?.weight ?? null;
          tags = withTag(tags, { tag, deploymentId, weight, mirrorWeight: mirrors.get(tag) ?? known?.mirrorWeight ?? 0 });
        }
        return tags;
      });
      return list(environmentId);
    },

    async promote(environmentId) {
      await change(environmentId, promotedTags);
      return list(environmentId);
    },

    async suspend(environmentId, tag) {
      await change(environmentId, async (before) => {
        const known = before.find((one) => one.tag === tag);
        const deploymentId = known?.deploymentId ?? (await newestReady(environmentId, tag));
        return withTag(before, { tag, deploymentId, weight: null, mirrorWeight: known?.mirrorWeight ?? 0 });
      });
      return list(environmentId);
    },

    colorFor: async (environmentId) => inactiveColor(await weighted(environmentId)),

    async deployed(deployment) {
      const { id, environmentId, blueGreen, tags: own } = deployment;
      const color = COLORS.find((one) => own.includes(one));
      if (!blueGreen && !(await weighted(environmentId)).some(({ tag }) => own.includes(tag)))
        return isShared(await weighted(environmentId)) ? "waits" : "not shared";
      const after = await change(environmentId, (before) =>
        blueGreen && color !== undefined
          ? deployedColor(before, color, id)
          : before.map((one) => (own.includes(one.tag) ? { ...one, deploymentId: id } : one)),
      );
      if (!isShared(after)) return "not shared";
      return after.some(({ deploymentId }) => deploymentId === id) ? "answers" : "waits";
    },

    async forget(environmentId, deploymentIds) {
      const isGone = ({ deploymentId }: TagTraffic): boolean => deploymentIds.includes(deploymentId);
      if (!(await weighted(environmentId)).some(isGone)) return;
      await settings.put(environmentId, NAME, (stored) => ({ tags: (stored?.tags ?? []).filter((one) => !isGone(one)) }));
      await changed(environmentId);
    },
  };
}

/**
 * The tags after a blue/green deployment. The first one gets all traffic; a later one gets none,
 * also when its color was given some while it was built.
 */
function deployedColor(before: TrafficTags, color: string, deploymentId: string): TrafficTags {
  if (before.length === 0) return [{ tag: color, deploymentId, weight: 100, mirrorWeight: 0 }];
  const known = before.find(({ tag }) => tag === color);
  if (known?.weight) return before;
  return withTag(before, { tag: color, deploymentId, weight: 0, mirrorWeight: known?.mirrorWeight ?? 0 });
}

/** Throws Failure failed_precondition when the queries of an environment are shared by weights. */
export function refuseShared(tags: TrafficTags, what: string): void {
  if (isShared(tags))
    throw new Failure(
      "failed_precondition",
      `Queries of this environment are shared by weights (${weightsText(tags)}), so nothing was ${what}.`,
      {
        hint: "`svc traffic promote` and `svc traffic set` change the weights; `svc traffic suspend` of every tag ends the sharing.",
      },
    );
}
