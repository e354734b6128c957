/**
 * Profiles of deployments: the samples of their workers on this node, added up in memory. A worker
 * that ends leaves its samples; a deployment's are forgotten when many others were profiled since.
 */

import { type ProfileSamples, SAMPLE_INTERVAL_MS, type SampledStack } from "../python/profile.ts";

/** What one resolver spent its time on. */
export interface ResolverSamples {
  /** FQN. */
  readonly resolver: string;
  readonly samples: number;
  /** By samples, most first. */
  readonly stacks: readonly SampledStack[];
}

/** The profile of a deployment. */
export interface Profile {
  /** By samples, most first. */
  readonly resolvers: readonly ResolverSamples[];
  /** Milliseconds between two samples of a worker, on average. */
  readonly intervalMs: number;
  /** Samples that are in no stack. */
  readonly dropped: number;
}

/** The profiles of a node. */
export interface Profiles {
  add(deploymentId: string, samples: ProfileSamples): void;
  /** The profile so far; without resolvers when nothing was sampled. */
  of(deploymentId: string): Profile;
}

const MAX_DEPLOYMENTS = 20;
/** Most different stacks of a deployment; samples of others are counted only. */
const MAX_STACKS = 2_000;

interface Kept {
  readonly stacks: Map<string, SampledStack>;
  dropped: number;
}

/** Makes the profiles. */
export function createProfiles(): Profiles {
  const kept = new Map<string, Kept>();
  return {
    add(deploymentId, { stacks, dropped }) {
      const known = kept.get(deploymentId) ?? { stacks: new Map(), dropped: 0 };
      kept.delete(deploymentId);
      kept.set(deploymentId, known);
      for (const oldest of kept.keys()) {
        if (kept.size <= MAX_DEPLOYMENTS) break;
        kept.delete(oldest);
      }
      known.dropped += dropped;
      for (const stack of stacks) {
        const key = JSON.stringify([stack.resolver, ...stack.frames]);
        const before = known.stacks.get(key);
        if (!before && known.stacks.size >= MAX_STACKS) known.dropped += stack.samples;
        else known.stacks.set(key, { ...stack, samples: stack.samples + (before?.samples ?? 0) });
      }
    },

    of(deploymentId) {
      const { stacks, dropped } = kept.get(deploymentId) ?? { stacks: new Map<string, SampledStack>(), dropped: 0 };
      const byResolver = Map.groupBy(stacks.values(), ({ resolver }) => resolver);
      const most = (a: { readonly samples: number }, b: { readonly samples: number }): number => b.samples - a.samples;
      return {
        resolvers: [...byResolver]
          .map(([resolver, own]) => ({ resolver, samples: own.reduce((sum, { samples }) => sum + samples, 0), stacks: own.sort(most) }))
          .sort(most),
        intervalMs: SAMPLE_INTERVAL_MS,
        dropped,
      };
    },
  };
}
