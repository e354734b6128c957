/**
 * Profiles of deployments: the samples of their workers on this node, added up in memory. A worker
 * that ends leaves its samples; a deployment's are forgotten when many others were profiled since.
 */

import { type ProfileSamples, SAMPLE_INTERVAL_MS, type SampledStack, SampleSum } from "../python/profile.ts";

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

/** Makes the profiles. */
export function createProfiles(): Profiles {
  const kept = new Map<string, SampleSum>();
  return {
    add(deploymentId, samples) {
      const known = kept.get(deploymentId) ?? new SampleSum(MAX_STACKS);
      kept.delete(deploymentId);
      kept.set(deploymentId, known);
      for (const oldest of kept.keys()) {
        if (kept.size <= MAX_DEPLOYMENTS) break;
        kept.delete(oldest);
      }
      known.add(samples);
    },

    of(deploymentId) {
      const known = kept.get(deploymentId);
      const byResolver = Map.groupBy(known?.stacks() ?? [], ({ resolver }) => resolver);
      return {
        resolvers: [...byResolver]
          .map(([resolver, stacks]) => ({ resolver, samples: stacks.reduce((sum, { samples }) => sum + samples, 0), stacks }))
          .sort((one, other) => other.samples - one.samples),
        intervalMs: SAMPLE_INTERVAL_MS,
        dropped: known?.dropped ?? 0,
      };
    },
  };
}
