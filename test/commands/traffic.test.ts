import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { eventually } from "../harness/eventually.ts";
import { type Outcome, type Platform, runCommand, startPlatform, writeProject } from "./platform.ts";

let platform: Platform;
let dir: string;

beforeAll(async () => {
  platform = await startPlatform();
  dir = writeProject();
});
afterAll(() => platform.server.stop());

const svc = (
  path: string,
  words: readonly string[] = [],
  options: { readonly input?: readonly string[]; readonly dir?: string } = {},
): Promise<Outcome> => runCommand(path, words, { home: platform.home, env: platform.env, dir, ...options });

/** What an apply deployed, and what it said. */
interface Applied {
  readonly id: string;
  readonly isLive: boolean;
  readonly stderr: string;
}

async function apply(...words: string[]): Promise<Applied> {
  const { exitCode, stderr, stdout } = await svc("apply", ["--yes", "--await", ...words]);
  const [, id = "", state = ""] = /Deployment (dpl_\w+) is (.+)\./.exec(stdout) ?? [];
  if (exitCode !== 0 || id === "") throw new Error(stderr);
  return { id, isLive: state === "live", stderr };
}

describe("blue and green on the command line", () => {
  let blue: string;
  let green: string;

  test("apply --blue-green deploys beside what answers, and says how to switch", async () => {
    const first = await apply("--blue-green", "--description", "the first", "--metadata", "commit=abc123");
    expect(first.isLive).toBe(true);
    blue = first.id;
    const second = await apply("--blue-green");
    expect(second.isLive).toBe(false);
    expect(second.stderr).toContain("`svc traffic promote` gives it all queries");
    green = second.id;
    const text = (await svc("traffic/get")).stdout;
    expect(text).toBe(
      `tags:\n  - deployment_id: ${blue}\n    tag: blue\n    weight: 100\n    mirror_weight: 0\n` +
        `  - deployment_id: ${green}\n    tag: green\n    weight: 0\n    mirror_weight: 0\n`,
    );
  });

  test("get, set, mirror, promote and suspend print the same document", async () => {
    const tags = (one: number | null, other: number | null, mirror = 0) => ({
      tags: [
        { deployment_id: blue, tag: "blue", weight: one, mirror_weight: 0 },
        { deployment_id: green, tag: "green", weight: other, mirror_weight: mirror },
      ],
    });
    expect((await svc("traffic/get", ["--json"])).json()).toEqual(tags(100, 0));
    const set = await svc("traffic/set", ["--tags", "blue=80,green=10", "--json"]);
    expect([set.json(), set.stderr]).toEqual([tags(80, 10), expect.stringContaining("the weights sum to 90, not 100")]);
    const whole = await svc("traffic/set", ["--tags=green=20"]);
    expect([whole.exitCode, whole.stderr]).toEqual([0, ""]);
    expect((await svc("traffic/mirror", ["--mirror", "green=5", "--json"])).json()).toEqual(tags(80, 20, 5));
    expect((await svc("traffic/promote", ["--json"])).json()).toEqual(tags(0, 100, 5));
    expect((await svc("traffic/promote", ["--json"])).json()).toEqual(tags(100, 0, 5));
    expect((await svc("traffic/suspend", ["--deployment-tag", "green", "--json"])).json()).toEqual(tags(100, null, 5));
    const all = await svc("traffic/suspend", ["--deployment-tag", "blue"]);
    expect(all.stderr).toContain("the live deployment answers all queries");
    await svc("traffic/set", ["--tags=blue=100,green=0", "--mirror=green=0"]);
  });

  test.each([
    [["set"], "give --tags or --mirror"],
    [["set", "--tags=blue"], "--tags takes tags with whole weights from 0 to 100, not 'blue'"],
    [["set", "--tags=blue=101"], "not 'blue=101'"],
    [["set", "--tags=blue=1.5"], "not 'blue=1.5'"],
    [["set", "--tags=blue=-1"], "not 'blue=-1'"],
    [["set", "--tags=blue=1,blue=2"], "names the tag 'blue' twice"],
    [["set", "--mirror==5"], "not '=5'"],
    [["mirror"], "--mirror"],
    [["suspend"], "--deployment-tag is missing"],
  ])("traffic %j is a usage error", async ([verb, ...words], said) => {
    const done = await svc(`traffic/${verb}`, words);
    expect([done.exitCode, done.stdout, done.stderr]).toEqual([2, "", expect.stringContaining(said)]);
  });

  test("a deployment that no tag leads to is said to wait", async () => {
    const { isLive, stderr } = await apply("--tag=v9");
    expect(isLive).toBe(false);
    expect(stderr).toContain("`svc traffic set --tags v9=<weight>`");
    expect((await apply()).stderr).toContain("it has no tag to get any");
  });

  test("deployments are listed, shown, promoted and deleted", async () => {
    const list = await svc("deployment/list", ["--json", "--tag=blue"]);
    expect(list.json()).toMatchObject({
      deployments: [{ id: blue, status: "live", live: true, tags: ["blue"], description: "the first", metadata: { commit: "abc123" } }],
    });
    expect((await svc("deployments/list")).stdout).toMatch(new RegExp(`${blue} +live +blue +\\S.* +abc123 the first`));
    const page = await svc("deployment/list", ["--limit=2"]);
    const token = /--page-token (\S+)/.exec(page.stderr)?.[1] ?? "";
    expect((await svc("deployment/list", ["--page-token", token, "--json"])).json()).toMatchObject({
      deployments: [{ id: green }, { id: blue }],
    });
    expect((await svc("deployment/list", ["--limit=0"])).exitCode).toBe(2);
    expect((await svc("deployment/get", ["blue", "--json"])).json()).toMatchObject({ id: blue });
    expect((await svc("deployment/get", ["bleu"])).stderr).toContain("There is no deployment 'bleu'");
    expect((await svc("deployment/get", ["--json"])).exitCode).toBe(2);
    expect((await svc("deployment/promote", ["v9"])).stderr).toContain("shared by weights (blue=100, green=0)");
    const refused = await svc("deployment/delete", ["green", "--yes"]);
    expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining("has traffic (green=0)")]);
    const asked = await svc("deployment/delete", ["v9"], { input: ["n"] });
    expect([asked.exitCode, asked.stderr]).toEqual([
      1,
      expect.stringMatching(/Delete deployment dpl_\w+ \(ready, v9\), its graph and its source\?/),
    ]);
    expect((await svc("deployment/delete", ["v9", "--yes"])).stdout).toMatch(/^Deleted: dpl_/);
    expect((await svc("deployment/get", ["v9"])).exitCode).toBe(1);
  });

  test("a branch is deleted when that is wanted", async () => {
    await apply("--branch=try-it");
    const asked = await svc("branch/delete", ["try-it"], { input: [""] });
    expect(asked.stderr).toContain("Delete branch try-it, its 1 deployment and its online values?");
    expect((await svc("branch/list", ["--json"])).json()).toMatchObject({ branches: [{ name: "try-it" }] });
    expect((await svc("branch/delete", ["try-it", "--yes", "--json"])).json()).toEqual({ branch: "try-it", deployments: 1 });
    expect((await svc("branch/delete", ["try-it", "--yes"])).stderr).toContain("there is no branch 'try-it'");
    expect((await svc("branch/delete", ["--json"])).exitCode).toBe(2);
  });

  test("after the sharing ends, a rollback goes back and forth", async () => {
    await svc("traffic/suspend", ["--deployment-tag=blue,green"]);
    const next = await apply();
    expect(next.isLive).toBe(true);
    expect((await svc("deployment/rollback", ["--json"])).json()).toMatchObject({ id: blue, live: true });
    expect((await svc("deployment/rollback", ["--json"])).json()).toMatchObject({ id: next.id, live: true });
    expect((await svc("deployment/promote", [blue, "--json"])).json()).toMatchObject({ id: blue, live: true });
  });
});

const BURNING = {
  "features.py": "from svc.features import features\n\n\n@features\nclass User:\n    id: int\n    heat: float\n",
  "resolvers.py": `import hashlib
from features import User
from svc import online


@online
def heat(id: User.id) -> User.heat:
    text = str(id).encode()
    for _ in range(50_000):
        text = hashlib.sha256(text).digest()
    return float(text[0])
`,
};

test("a profile is shown, and written as a flame graph", async () => {
  expect((await svc("deployment/profile")).stderr).toContain("was deployed without profiling");
  dir = writeProject(BURNING);
  await apply("--enable-profiling");
  let id = 0;
  await eventually(async () => {
    await svc("query", ["--in", `user.id=${++id}`, "--out", "user.heat"]);
    return ((await svc("deployment/profile", ["--json"])).json() as { resolvers: unknown[] }).resolvers.length > 0;
  }, "samples arrived");
  expect((await svc("deployment/profile")).stdout).toMatch(/resolvers\.heat +\d+ +heat \(resolvers\.py:\d+\) \d+%/);
  const file = (name: string): string => join(platform.home, name);
  for (const name of ["p.svg", "p.json", "p.txt"]) expect((await svc("deployment/profile", ["--out", file(name)])).exitCode).toBe(0);
  expect(await Bun.file(file("p.svg")).text()).toMatch(/^<svg [\s\S]*<title>heat \(resolvers\.py:\d+\): \d+ samples[\s\S]*<\/svg>\n$/);
  expect(await Bun.file(file("p.txt")).text()).toMatch(/^heat \(resolvers\.py:\d+\)(;.*)? \d+\n/);
  const { profiles, shared } = (await Bun.file(file("p.json")).json()) as {
    profiles: { samples: number[][]; weights: number[]; endValue: number }[];
    shared: { frames: { name: string }[] };
  };
  expect(profiles[0]?.samples.length).toBe(profiles[0]?.weights.length as number);
  expect(shared.frames.some(({ name }) => name.startsWith("heat ("))).toBe(true);
  expect((await svc("deployment/profile", ["--out", file("p.png")])).exitCode).toBe(2);
  expect((await svc("deployment/profile", ["--resolver", "resolvers.heet"])).stderr).toContain("did you mean 'resolvers.heat'?");
}, 300_000);
