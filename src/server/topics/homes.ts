/**
 * Homes: which of several nodes has a thing that lies in a store of one node alone, such as the
 * messages of a topic. Where nodes share that store, or there is one node, things lie everywhere.
 */

import { GONE_AFTER_MS } from "../nodes/presence.ts";
import type { NodeStore } from "../stores/metadata/nodes.ts";
import type { StreamStore } from "../stores/metadata/streams.ts";

/** A node that is not this one. */
export interface OtherNode {
  readonly id: string;
  /** Its address; undefined = it does not run. */
  readonly url: string | undefined;
}

/** The homes of things of one kind, by environment and name. */
export interface Homes {
  /** Whether every node has all of them. */
  readonly isEverywhere: boolean;
  /** The other node that has a thing; undefined = this one has it, or none does. */
  find(environmentId: string, name: string): Promise<OtherNode | undefined>;
  /** Has this node take a thing, unless another has it: that one is returned. */
  claim(environmentId: string, name: string): Promise<OtherNode | undefined>;
  /** Takes a thing as `claim` does, and also from a node that does not run. */
  takeOver(environmentId: string, name: string): Promise<OtherNode | undefined>;
}

/** Things that every node has. */
export const EVERYWHERE: Homes = {
  isEverywhere: true,
  find: () => Promise.resolve(undefined),
  claim: () => Promise.resolve(undefined),
  takeOver: () => Promise.resolve(undefined),
};

/** Makes the homes of things of a kind that lie in stores of single nodes. */
export function createHomes(options: {
  readonly kind: "stream" | "topic";
  readonly streams: Pick<StreamStore, "claimHome" | "homeOf">;
  readonly nodes: Pick<NodeStore, "list">;
  readonly node: string;
}): Homes {
  const { kind, node, nodes, streams } = options;
  const thing = (name: string): string => `${kind}/${name}`;
  const otherThan = async (home: string | undefined): Promise<OtherNode | undefined> => {
    if (home === undefined || home === node) return undefined;
    return { id: home, url: (await nodes.list(GONE_AFTER_MS)).find(({ id }) => id === home)?.url };
  };
  const find: Homes["find"] = async (environmentId, name) => otherThan(await streams.homeOf(environmentId, thing(name)));
  return {
    isEverywhere: false,
    find,
    async claim(environmentId, name) {
      const known = await streams.homeOf(environmentId, thing(name));
      return otherThan(known ?? (await streams.claimHome(environmentId, thing(name), node)));
    },
    async takeOver(environmentId, name) {
      const other = await find(environmentId, name);
      if (other?.url !== undefined) return other;
      return otherThan(await streams.claimHome(environmentId, thing(name), node, other?.id));
    },
  };
}

/** Another node, in messages for people. */
export function nodeText({ id, url }: OtherNode): string {
  return url === undefined ? `the node ${id}, which does not run` : `the node ${id} at ${url}`;
}
