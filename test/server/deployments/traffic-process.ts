/**
 * A process that changes an environment's traffic at random, and says each change before it begins
 * and after it was acknowledged. Run by `traffic-kills.test.ts`, which kills it.
 */

import { systemClock } from "../../../src/context/system-clock.ts";
import { createTraffic, type TrafficSetting } from "../../../src/server/deployments/traffic.ts";
import { createCollection } from "../../../src/server/documents/collection.ts";
import { createMemoryBus } from "../../../src/server/jobs/bus.ts";
import { createLog } from "../../../src/server/log.ts";
import { createSqliteMetadataStore } from "../../../src/server/stores/metadata/sqlite.ts";

/** A change of the traffic of `env_1`. */
export type Change =
  | { readonly kind: "set"; readonly weights: Readonly<Record<string, number>>; readonly mirrors: Readonly<Record<string, number>> }
  | { readonly kind: "promote" }
  | { readonly kind: "suspend"; readonly tag: string }
  | { readonly kind: "deployed"; readonly id: string };

/** The tags, each of one deployment `dpl_<tag>` and another `dpl_<tag>2`, of which it is newer. */
export const TAGS = ["a", "b"];

/** Makes random changes from numbers below their argument. */
export function randomChange(random: (below: number) => number): Change {
  const tag = TAGS[random(TAGS.length)] as string;
  const some = (): Record<string, number> =>
    Object.fromEntries(TAGS.filter(() => random(2) === 0).map((one) => [one, [0, 30, 70, 100][random(4)] as number]));
  const kind = random(5);
  if (kind === 0) return { kind: "promote" };
  if (kind === 1) return { kind: "suspend", tag };
  if (kind === 2) return { kind: "deployed", id: `dpl_${tag}${random(2) === 0 ? "" : "2"}` };
  return { kind: "set", weights: some(), mirrors: random(3) === 0 ? some() : {} };
}

if (import.meta.main) {
  const [path = "", seed = "1"] = process.argv.slice(2);
  let state = Number(seed);
  const random = (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const metadata = await createSqliteMetadataStore({ path, programVersion: "1.0.0" });
  const parts = {
    documents: metadata.documents,
    bus: createMemoryBus(),
    clock: systemClock,
    log: createLog({ write: () => undefined, clock: systemClock }),
  };
  const settings = createCollection<TrafficSetting>(parts, {
    kind: "traffic",
    noun: "traffic",
    idPrefix: "trf",
    listedBy: "",
    maxPerScope: 1,
  });
  const nothing = (): Promise<void> => Promise.resolve();
  const traffic = createTraffic({ settings, metadata, now: Date.now, requireApproved: nothing, warmUp: nothing, changed: nothing });
  const make = async (change: Change): Promise<unknown> => {
    switch (change.kind) {
      case "set":
        return traffic.set("env_1", new Map(Object.entries(change.weights)), new Map(Object.entries(change.mirrors)));
      case "promote":
        return traffic.promote("env_1");
      case "suspend":
        return traffic.suspend("env_1", change.tag);
      case "deployed": {
        const deployment = await metadata.deployment(change.id);
        if (!deployment) throw new Error(`${change.id} is gone`);
        return traffic.deployed({ ...deployment, blueGreen: false });
      }
    }
  };
  for (;;) {
    const change = randomChange(random);
    process.stdout.write(`${JSON.stringify({ began: change })}\n`);
    const outcome = await make(change).then(
      () => "done",
      (error: { readonly kind?: string; readonly message: string }) => error.kind ?? error.message,
    );
    process.stdout.write(`${JSON.stringify({ ended: outcome })}\n`);
  }
}
