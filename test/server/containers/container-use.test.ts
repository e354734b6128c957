import { expect, test } from "bun:test";
import type { StoredContainer } from "../../../src/server/containers/container-records.ts";
import { measureContainers } from "../../../src/server/containers/container-use.ts";
import type { MetricRecorder } from "../../../src/server/metrics/recorder.ts";

/** A recorder that writes down what gauges are set to. */
function noting(said: string[], samplers: (() => void | Promise<void>)[]): MetricRecorder {
  const gauge = (metric: string, environmentId: string, labels: object) => ({
    set: (value: number) => void said.push(`${metric} ${environmentId} ${Object.values(labels).join()} ${value}`),
  });
  return { gauge, sample: (sampler: () => void | Promise<void>) => void samplers.push(sampler) } as unknown as MetricRecorder;
}

test("processors follow from two measures; what does not answer or run is left out", async () => {
  const said: string[] = [];
  const samplers: (() => void | Promise<void>)[] = [];
  const stored = ["web", "deaf", "gone"].map((name) => ({ id: name, name, environmentId: "env", group: name === "web" ? "sg_1" : "" }));
  let at = 0;
  let cpuSeconds = 4;
  const uses = measureContainers({
    measured: [
      {
        kind: "container",
        all: {
          list: async () => stored as unknown as StoredContainer[],
          engineId: (id) => (id === "gone" ? undefined : id),
          use: async (id) => {
            if (id === "deaf") throw new Error("no answer");
            return { cpuSeconds, memoryBytes: 1000 };
          },
        },
      },
    ],
    metrics: noting(said, samplers),
    groupNames: async () => new Map([["sg_1", "site"]]),
    now: () => at,
  });
  await samplers[0]?.();
  expect(uses.of("web")).toMatchObject({ memoryBytes: 1000, processors: undefined });
  at = 10_000;
  cpuSeconds = 9;
  await samplers[0]?.();
  expect(uses.of("web")?.processors).toBe(0.5);
  expect([uses.of("deaf"), uses.of("gone")]).toEqual([undefined, undefined]);
  // A container that began anew has used less.
  at = 20_000;
  cpuSeconds = 1;
  await samplers[0]?.();
  expect(uses.of("web")?.processors).toBeUndefined();
  expect(said).toEqual([
    "container.memory env web,container,site 1000",
    "container.memory env web,container,site 1000",
    "container.cpu env web,container,site 0.5",
    "container.memory env web,container,site 1000",
  ]);
});
