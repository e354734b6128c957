import { expect, test } from "bun:test";
import { DeploymentService } from "../../../gen/svc/v1/deployment_pb.ts";
import { createProfiles } from "../../../src/server/deployments/profiles.ts";
import { readProfile } from "../../../src/server/python/profile.ts";
import { eventually } from "../../harness/eventually.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { deploy, expectLive, type ProjectFiles } from "./deploying.ts";

/** A resolver most of whose time goes into one function, and one that does next to nothing. */
const PROJECT: ProjectFiles = {
  "features.py": `from svc.features import features

@features
class User:
    id: int
    slow: float
    quick: int
`,
  "resolvers.py": `import hashlib
from svc import online
from features import User


def burn(seed: int) -> float:
    total = 0.0
    for n in range(300_000):
        total += (n * seed) % 7
    return total


def glance(seed: int) -> float:
    return float(seed)


@online
def slow(id: User.id) -> User.slow:
    return burn(id) + glance(id)


@online
def quick(id: User.id) -> User.quick:
    return int(hashlib.sha256(str(id).encode()).hexdigest()[:4], 16)
`,
};

test("a deployment with profiling says which function its resolver spends its time in; one without refuses", async () => {
  using folder = new TempFolder();
  await using server = await TestServer.start(folder.path);
  const client = server.client(DeploymentService);
  expectLive(await deploy(server, PROJECT));
  await expect(client.getProfile({})).rejects.toThrow("was deployed without profiling");
  const deployed = await deploy(server, PROJECT, { profiling: true, tags: ["profiled"] });
  expectLive(deployed);
  expect(deployed.profiling).toBe(true);
  const ask = async (id: number): Promise<void> => {
    const response = await fetch(`${server.url}/v1/query/online`, {
      method: "POST",
      headers: { authorization: `Bearer ${await server.token()}`, "content-type": "application/json" },
      body: JSON.stringify({ inputs: { "user.id": id }, outputs: ["user.slow", "user.quick"] }),
    });
    expect(response.status).toBe(200);
  };
  let id = 0;
  await eventually(async () => {
    await ask(++id);
    return Number((await client.getProfile({ deploymentId: "profiled" })).resolvers[0]?.samples ?? 0) >= 40;
  }, "forty samples arrived");
  const { resolvers, deploymentId } = await client.getProfile({});
  expect(deploymentId).toBe(deployed.id);
  const [slow] = resolvers;
  expect(slow?.resolver).toBe("resolvers.slow");
  const inBurn = slow?.stacks.filter(({ frames }) => frames.at(-1) === "burn (resolvers.py:6)") ?? [];
  const samples = inBurn.reduce((sum, one) => sum + Number(one.samples), 0);
  expect(samples / Number(slow?.samples)).toBeGreaterThan(0.8);
  expect(inBurn[0]?.frames[0]).toMatch(/^slow \(resolvers\.py:1\d\)$/);
}, 300_000);

test("what a worker sends in another form is left out, and counts add up", () => {
  const stack = ["m.f", ["f (m.py:1)", "g (m.py:9)"], 3];
  const odd = [null, [], ["m.f", [], 1], ["m.f", ["x"], -1], ["m.f", [1], 1], ["x".repeat(999), ["f"], 1], ["m.f", ["f"], 0.5]];
  const read = readProfile({ type: "PROFILE", stacks: [...odd, stack], dropped: "many" });
  expect(read).toEqual({ stacks: [{ resolver: "m.f", frames: ["f (m.py:1)", "g (m.py:9)"], samples: 3 }], dropped: 0 });
  expect(readProfile({ type: "PROFILE" })).toEqual({ stacks: [], dropped: 0 });
  const profiles = createProfiles();
  profiles.add("dpl_1", read);
  profiles.add("dpl_1", { ...read, dropped: 2 });
  for (let n = 0; n < 3_000; n++) profiles.add("dpl_1", { stacks: [{ resolver: "m.g", frames: [`${n}`], samples: 1 }], dropped: 0 });
  const { dropped, resolvers } = profiles.of("dpl_1");
  expect(dropped).toBe(2 + 1_001);
  expect(resolvers.map(({ resolver, samples }) => [resolver, samples])).toEqual([
    ["m.g", 1_999],
    ["m.f", 6],
  ]);
  for (let n = 2; n <= 21; n++) profiles.add(`dpl_${n}`, read);
  expect(profiles.of("dpl_1").resolvers).toEqual([]);
  expect(profiles.of("dpl_2").resolvers).toHaveLength(1);
});
