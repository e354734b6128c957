import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { main as runMain } from "../../src/cli/run.ts";
import type { Context } from "../../src/context/context.ts";
import { InterruptedError } from "../../src/errors/cli-error.ts";
import { tempFolder, testRun } from "../client/test-context.ts";
import { eventually } from "../harness/eventually.ts";
import { lacksProgram } from "../harness/needs.ts";
import { copyProject, type Platform, runCommand, startPlatform, writeProject } from "./platform.ts";

let platform: Platform;
let project = "";
let main = "";
const run = (path: string, words: readonly string[] = [], options: Parameters<typeof runCommand>[2] = {}) =>
  runCommand(path, words, { home: platform.home, env: platform.env, dir: project, ...options });
interface Applied {
  readonly deployment_id: string | null;
  readonly status: string;
  readonly url: string | null;
  readonly diff: {
    readonly base_deployment_id: string | null;
    readonly resolvers: Record<string, unknown>[];
    readonly features: Record<string, unknown>[];
  };
}
const apply = async (words: readonly string[] = [], options: Parameters<typeof runCommand>[2] = {}) => {
  const done = await run("apply", ["--force", "--await", "--json", ...words], options);
  if (done.exitCode !== 0) throw new Error(done.stderr);
  return done.json() as Applied;
};
const deployments = async () => {
  const done = await run("source", ["--json", "--output-dir", join(tempFolder(), "out")]);
  return done.exitCode === 0 ? (done.json() as { deployment_id: string }).deployment_id : undefined;
};

beforeAll(async () => {
  platform = await startPlatform();
  project = writeProject();
}, 300_000);
afterAll(() => platform.server.stop());

describe("before the first deployment", () => {
  test("commands say that nothing is deployed, and what to do", async () => {
    for (const path of ["features/list", "resolvers", "source"]) {
      const done = await run(path);
      expect([path, done.exitCode]).toEqual([path, 1]);
      expect(done.stderr).toContain("svc apply");
    }
  });
  test("a dry run shows the whole project as added, asks nothing and deploys nothing", async () => {
    const done = await run("apply", ["--dry-run"]);
    expect(done.exitCode).toBe(0);
    expect(done.stdout).toBe(
      [
        "Added Resolvers",
        "Name                Old Version  New Version",
        "resolvers.fragile             -            1",
        "resolvers.get_name            -            1",
        "resolvers.length              -            1",
        "resolvers.score               -            1",
        "",
        "Added Features",
        "Name              Cache?  Owner",
        "user.fragile      -       b@example.com",
        "user.id           -       a@example.com",
        "user.name         1h      a@example.com",
        "user.name_length  1h      a@example.com",
        "user.score        -       a@example.com",
        "",
        "Plan: 4 resolvers added; 5 features added",
        "",
      ].join("\n"),
    );
    expect(done.stderr).not.toContain("[y/n]");
    const json = (await run("apply", ["--plan", "--json"])).json() as Applied;
    expect([json.deployment_id, json.status, json.diff.features.length]).toEqual([null, "dry_run", 5]);
    expect(await deployments()).toBeUndefined();
  }, 300_000);
});

describe("apply", () => {
  test("the answer n aborts after the diff; end of file too", async () => {
    for (const input of [["n"], []]) {
      const done = await run("apply", [], { input });
      expect(done.exitCode).toBe(1);
      expect(done.stdout).toContain("Added Resolvers");
      expect(done.stderr).toContain("Would you like to deploy? [y/n]");
      expect(done.stderr).toContain("Aborted.");
    }
    expect(await deployments()).toBeUndefined();
  }, 300_000);
  test("the answer y deploys, with provenance, tags, description and metadata", async () => {
    const env = {
      ...platform.env,
      GITHUB_ACTIONS: "true",
      GITHUB_SERVER_URL: "https://github.com",
      GITHUB_REPOSITORY: "o/r",
      GITHUB_RUN_ID: "7",
    };
    const words = [
      "--await",
      "--tag",
      "v1,v2",
      "--description",
      "First",
      "--metadata",
      "ticket=T-1",
      "--vcs-url",
      "https://me:pw@example.com/o/r.git",
    ];
    const done = await run("apply", words, { input: ["y"], env });
    expect(done.exitCode).toBe(0);
    const id = /Deployment (dpl_\S+) is live/.exec(done.stdout)?.[1] ?? "";
    main = id;
    expect(done.stdout.trimEnd().split("\n").at(-1)).toBe(`${platform.url}/environments/${platform.environmentId}/deployments/${id}`);
    const { testContext } = await import("../client/test-context.ts");
    const { context } = await testContext({ home: platform.home, env: platform.env });
    const { deployment } = await (await context.api.deployments()).getDeployment({ deploymentId: id });
    expect(deployment).toMatchObject({
      tags: ["v1", "v2"],
      description: "First",
      metadata: { ticket: "T-1" },
      ciJobUrl: "https://github.com/o/r/actions/runs/7",
      repositoryUrl: "https://example.com/o/r",
      promoted: true,
    });
  }, 300_000);
  test("secrets stay here, which is said once; a name that cannot be unpacked is refused before the upload", async () => {
    const dir = copyProject(project);
    for (const name of [".env", "tls.key", ".env.example"]) writeFileSync(join(dir, name), "x");
    const listed = await run("files", [], { dir });
    const warning =
      /^Warning: 2 files that look like secrets are left out: \.env, tls\.key\. To upload one, write its name in \.svcignore .* !\.env$/gm;
    expect([listed.stdout.split("\n"), listed.stderr.match(warning)?.length]).toEqual([
      [".env.example", "features.py", "resolvers.py", "svc.yaml", ""],
      1,
    ]);
    const applied = await run("apply", ["--force", "--await", "--branch=secrets"], { dir });
    expect([applied.exitCode, applied.stderr.match(warning)?.length]).toEqual([0, 1]);
    const folder = join(tempFolder(), "out");
    expect((await run("source", ["--branch=secrets", "--output-dir", folder])).exitCode).toBe(0);
    expect(readdirSync(folder).sort()).toEqual([".env.example", "features.py", "resolvers.py", "svc.yaml"]);
    writeFileSync(join(dir, "bell\u0007.txt"), "x");
    for (const [path, words] of [
      ["files", []],
      ["apply", ["--force", "--branch=secrets"]],
    ] as const) {
      const refused = await run(path, words, { dir });
      expect([path, refused.exitCode, refused.stderr]).toEqual([path, 1, expect.stringContaining("characters that a path may not have")]);
    }
  }, 300_000);
  test("large files are pointed out, the largest first", async () => {
    const dir = copyProject(project);
    for (const [name, size] of Object.entries({ "a.bin": 5_000_000, "b.bin": 6_100_000, "c.bin": 4_999_999 })) {
      writeFileSync(join(dir, name), new Uint8Array(size));
    }
    expect((await run("apply", ["--dry-run"], { dir })).stderr).toContain(
      "Warning: large files are part of the source: b.bin (6.1 MB), a.bin (5.0 MB). Name what the code does not need in .svcignore.\n",
    );
    expect((await run("apply", ["--dry-run"])).stderr).not.toContain("large files");
  }, 300_000);
  test("a second time nothing changes; a changed resolver counts its version", async () => {
    expect((await apply()).diff).toMatchObject({ resolvers: [], features: [] });
    const dir = copyProject(project);
    writeFileSync(join(dir, "resolvers.py"), readFileSync(join(dir, "resolvers.py"), "utf8").replace("id / 2", "id / 4"));
    const { diff } = (await run("apply", ["--dry-run", "--json"], { dir })).json() as Applied;
    expect(diff.resolvers).toEqual([{ fqn: "resolvers.score", change: "changed", old_version: 1, new_version: 2 }]);
    const text = (await run("apply", ["--dry-run"], { dir })).stdout;
    expect(text).toBe(
      "Changed Resolvers\nName             Old Version  New Version\nresolvers.score            1            2\n\nPlan: 1 resolver changed\n",
    );
  }, 300_000);
  test("cached values that stay although their resolver changes are named, where there are any", async () => {
    const dir = copyProject(project);
    const changed = readFileSync(join(dir, "resolvers.py"), "utf8").replace('f"user-{id}"', 'f"u-{id}"').replace("id / 2", "id / 4");
    writeFileSync(join(dir, "resolvers.py"), changed);
    const plan = async (...words: string[]) => (await run("apply", ["--dry-run", ...words], { dir })).stdout.split("Plan: ")[1];
    expect(await plan()).toBe(
      "2 resolvers changed\nValues that are cached already stay until they are that old: user.name (1h)\n" +
        "To compute one anew: svc query --staleness user.name=0s --out user.name --in ...\n",
    );
    expect(await plan("--branch=fresh")).toBe("2 resolvers changed\n");
    const { diff } = (await run("apply", ["--dry-run", "--json"], { dir })).json() as Applied;
    expect(diff).toMatchObject({ cached_values_kept: [{ fqn: "user.name", max_staleness: "1h" }] });
  }, 300_000);
  test("without --await it prints the tracking URL and returns", async () => {
    const done = await run("apply", ["--force"]);
    expect(done.exitCode).toBe(0);
    expect(done.stdout).toMatch(/Deployment dpl_\S+ is (queued|building|starting|live)\.\nhttp\S+\/deployments\/dpl_\S+\n$/);
  }, 300_000);
  test("--dump prints the request, the graph and the files", async () => {
    const done = await run("apply", ["--dry-run", "--dump", "--json", "--metadata", "a=b"]);
    const { payload } = done.json() as {
      payload: { request: unknown; graph: { featureSets: unknown[]; resolvers: { translated?: unknown }[] }; files: { path: string }[] };
    };
    expect(payload.request).toMatchObject({ metadata: { a: "b" }, projectName: "demo" });
    expect(payload.graph.featureSets.length).toBe(1);
    expect(payload.graph.resolvers.some(({ translated }) => translated)).toBe(true);
    expect(payload.files.map(({ path }) => path)).toEqual(["features.py", "resolvers.py", "svc.yaml"]);
    const text = (await run("apply", ["--dry-run", "--dump"])).stdout;
    expect(text).toContain('"featureSets"');
    expect(text).toContain("No resolvers or features change.");
  }, 300_000);
  test("--no-promote leaves the live one in place, and query --deployment asks it", async () => {
    const dir = copyProject(project);
    writeFileSync(join(dir, "resolvers.py"), readFileSync(join(dir, "resolvers.py"), "utf8").replace("id / 2", "id * 100.0"));
    const { deployment_id: id } = await apply(["--no-promote"], { dir });
    const ask = async (words: string[]) => {
      const done = await run("query", ["--in", "user.id=4", "--out", "user.score", "--json", ...words]);
      return (done.json() as { data: { value: unknown }[] }).data[0]?.value;
    };
    expect(await ask([])).toBe(2);
    expect(await ask(["--deployment", id ?? ""])).toBe(400);
  }, 300_000);
  const usage: [words: string[], said: string][] = [
    [["--watch"], "--watch needs --branch"],
    [["--reset"], "--reset needs --branch"],
    [["--no-promote", "--branch=x"], "exclude"],
    [["--dry-run", "--watch", "--branch=x"], "exclude"],
    [["--blue-green", "--branch=x"], "--blue-green and --branch exclude"],
    [["--blue-green", "--no-promote"], "--blue-green and --no-promote exclude"],
  ];
  for (const [words, said] of usage) {
    test(`${words.join(" ")} is a usage error`, async () => {
      const done = await run("apply", words);
      expect([done.exitCode, done.stderr.includes(said)]).toEqual([2, true]);
    });
  }
});

describe("a project that is wrong is not deployed", () => {
  const cases: [name: string, files: Record<string, string>, said: RegExp][] = [
    ["does not import", { "resolvers.py": "import nothing_like_this\n" }, /nothing_like_this[\s\S]*resolvers\.py:1/],
    ["broken Python", { "resolvers.py": "def f(:\n" }, /resolvers\.py:1/],
    ["unknown feature in SQL", { "get.svc.sql": "-- resolves: user\n-- source: nope\nselect id, nmae from users\n" }, /get\.svc\.sql/],
  ];
  for (const [name, files, said] of cases) {
    test(name, async () => {
      const dir = writeProject(files);
      const before = await deployments();
      const done = await run("apply", ["--force", "--await"], { dir });
      expect(done.exitCode).toBe(1);
      expect(done.stderr).toMatch(/Error\[\d+\]: /);
      expect(done.stderr).toMatch(said);
      expect(done.stderr).toContain("was not deployed");
      const json = await run("apply", ["--force", "--await", "--json"], { dir });
      expect(json.stdout).toBe("");
      const { error } = JSON.parse(json.stderr) as { error: { code: string; details: { diagnostics: unknown[] } } };
      expect(error.code).toBe("validation_failed");
      expect(error.details.diagnostics.length).toBeGreaterThan(0);
      expect(await deployments()).toBe(before as string);
    }, 300_000);
  }
  test("no project file above the working directory", async () => {
    const done = await run("apply", ["--force"], { dir: tempFolder() });
    expect([done.exitCode, done.stderr.includes("svc init")]).toEqual([1, true]);
  });
  test("broken YAML has a line and a column", async () => {
    const done = await run("apply", ["--force"], { dir: writeProject({ "svc.yaml": "project: x\nenvironments: [\n" }) });
    expect(done.exitCode).toBe(1);
    expect(done.stderr).toMatch(/svc\.yaml:\d+:\d+/);
  });
});

test("an upload that is cut deploys nothing, and a second run works", async () => {
  const dir = writeProject({ "more.txt": "x".repeat(1000) });
  const before = await deployments();
  const replace = ({ http }: Context): Partial<Context> => ({
    http: Object.create(http, {
      upload: { value: (url: string, body: Uint8Array) => http.upload(url, body.subarray(0, body.length / 2)) },
    }),
  });
  const cut = await run("apply", ["--force", "--await", "--json"], { dir, replace });
  expect([cut.exitCode, cut.stdout]).toEqual([1, ""]);
  expect(await deployments()).toBe(before as string);
  expect((await apply([], { dir })).status).toBe("live");
  await apply();
}, 300_000);

describe("branches", () => {
  test("a branch is deployed and queried beside the environment", async () => {
    const dir = copyProject(project);
    writeFileSync(join(dir, "resolvers.py"), readFileSync(join(dir, "resolvers.py"), "utf8").replace('f"user-{id}"', 'f"branch-{id}"'));
    await apply(["--branch=try"], { dir });
    const name = async (words: string[]) => {
      const done = await run("query", ["--in", "user.id=1", "--out", "user.name", "--json", ...words]);
      return (done.json() as { data: { value: unknown }[] }).data[0]?.value;
    };
    expect([await name([]), await name(["--branch=try"])]).toEqual(["user-1", "branch-1"]);
    const listed = await run("branch/list");
    expect(listed.stdout).toMatch(/^Name {2,}Deploys {2,}Last\nsecrets +1 {2,}\d+s ago\ntry +1 {2,}\d+s ago\n$/);
    expect((await run("branch/list", ["--json"])).json()).toMatchObject({ branches: [{ name: "secrets" }, { name: "try", deploys: 1 }] });
  }, 300_000);
  test.skipIf(lacksProgram("git"))(
    "a bare --branch is the git branch",
    async () => {
      const dir = copyProject(project);
      Bun.spawnSync(["git", "init", "-q", "-b", "feature/x", dir]);
      await apply(["--branch"], { dir });
      const listed = (await run("branch/list", ["--json"])).json() as { branches: { name: string }[] };
      expect(listed.branches.map(({ name }) => name)).toEqual(["feature/x", "secrets", "try"]);
    },
    300_000,
  );
  test("--watch redeploys when a file that is uploaded changes, and goes on after a mistake", async () => {
    const dir = copyProject(project);
    writeFileSync(join(dir, ".svcignore"), "*.tmp\n");
    const abort = new AbortController();
    const watch = testRun({ home: platform.home, env: platform.env, dir, signal: abort.signal });
    const done = runMain(["apply", "--watch", "--force", "--json", "--branch=watched"], watch.deps);
    const deployed = async (count: number): Promise<string> => {
      const lines = () => watch.stdout().split("\n").slice(0, -1);
      await eventually(() => lines().length === count, `deployment ${count} of the watch`);
      return (JSON.parse(lines().at(-1) ?? "") as Applied).deployment_id ?? "";
    };
    const first = await deployed(1);
    writeFileSync(join(dir, "noise.tmp"), "ignored");
    writeFileSync(join(dir, "resolvers.py"), "def broken(:\n");
    await eventually(() => watch.stderr().includes("validation_failed"), "the mistake is told");
    const text = readFileSync(join(project, "resolvers.py"), "utf8").replace('f"user-{id}"', 'f"watched-{id}"');
    writeFileSync(join(dir, "resolvers.py"), text);
    expect(await deployed(2)).not.toBe(first);
    const asked = await run("query", ["--in", "user.id=1", "--out", "user.name", "--json", "--branch=watched"]);
    expect((asked.json() as { data: { value: unknown }[] }).data[0]?.value).toBe("watched-1");
    abort.abort(new InterruptedError(130));
    expect(await done).toBe(130);
    const listed = (await run("branch/list", ["--json"])).json() as { branches: { name: string; deploys: number }[] };
    expect(listed.branches.find(({ name }) => name === "watched")?.deploys).toBe(2);
  }, 300_000);
});

describe("source", () => {
  test("is what was deployed, in a fresh folder", async () => {
    const done = await run("source");
    expect(done.exitCode).toBe(0);
    const folder = done.stdout.trim();
    expect(readdirSync(folder).sort()).toEqual(["features.py", "resolvers.py", "svc.yaml"]);
    expect(readFileSync(join(folder, "resolvers.py"), "utf8")).toBe(readFileSync(join(project, "resolvers.py"), "utf8"));
    rmSync(join(folder, ".."), { recursive: true });
  });
  test("of a deployment, into a named folder that must not exist", async () => {
    const folder = join(tempFolder(), "out");
    expect((await run("source", [main, "--output-dir", folder, "--json"])).json()).toEqual({ deployment_id: main, path: folder, files: 3 });
    const again = await run("source", [main, "--output-dir", folder]);
    expect([again.exitCode, again.stderr.includes("exists already")]).toEqual([1, true]);
    expect(existsSync(join(folder, "svc.yaml"))).toBe(true);
  });
  test("of a branch, by default into a folder named for the deployment", async () => {
    const dir = tempFolder();
    const done = await run("branch/source", ["--branch=try", "--json"], { dir });
    const { deployment_id: id, path } = done.json() as { deployment_id: string; path: string };
    expect(path).toBe(join(dir, id));
    expect(readFileSync(join(path, "resolvers.py"), "utf8")).toContain("branch-");
    expect((await run("branch/source", ["--deployment-id", id, "--latest"])).exitCode).toBe(2);
    const unnamed = await run("branch/source", ["--latest"], { dir });
    expect([unnamed.exitCode, unnamed.stderr.includes("--branch")]).toEqual([2, true]);
  });
  test.skipIf(lacksProgram("git"))("`source` takes a bare --branch as the git branch", async () => {
    const dir = join(tempFolder(), "taken");
    const byGit = copyProject(project);
    Bun.spawnSync(["git", "init", "-q", "-b", "try", byGit]);
    expect((await run("source", ["--branch", "--output-dir", dir], { dir: byGit })).exitCode).toBe(0);
    expect(readFileSync(join(dir, "resolvers.py"), "utf8")).toContain("branch-");
  });
  test("`source` takes --branch as `query` does, and refuses one that is not there", async () => {
    const dir = tempFolder();
    const done = await run("source", ["--branch=try", "--output-dir", join(dir, "a"), "--json"]);
    expect([done.exitCode, done.stderr]).toEqual([0, ""]);
    expect(readFileSync(join(dir, "a", "resolvers.py"), "utf8")).toContain("branch-");
    for (const path of ["source", "branch/source"]) {
      const missing = await run(path, ["--branch=tri", "--output-dir", join(dir, "c")]);
      expect([path, missing.exitCode]).toEqual([path, 1]);
      expect(missing.stderr).toContain("no branch or deployment 'tri'");
      expect(missing.stderr).toContain("'try'");
    }
    expect(existsSync(join(dir, "c"))).toBe(false);
  }, 300_000);
  test("a deployment of another branch than the one that is named is refused, and so are two answers to one question", async () => {
    const folder = join(tempFolder(), "out");
    const refused = [
      await run("source", [main, "--branch=try", "--output-dir", folder]),
      await run("branch/source", ["--deployment-id", main, "--branch=try", "--output-dir", folder]),
      await run("query", ["--in", "user.id=1", "--out", "user.name", "--deployment", main, "--branch=try"]),
    ];
    for (const { exitCode, stderr } of refused) {
      expect(exitCode).toBe(1);
      expect(stderr).toContain(`Deployment ${main} is the environment's own, not of branch 'try'`);
    }
    expect(existsSync(folder)).toBe(false);
    const twice = await run("diff", [main, "--branch=try"]);
    expect([twice.exitCode, twice.stderr]).toEqual([2, expect.stringContaining("--branch and <source> exclude each other")]);
  });
  test("the header names the branch for callers that name no target", async () => {
    const { testContext } = await import("../client/test-context.ts");
    const { context } = await testContext({ home: platform.home, env: platform.env, flags: { branch: "try" } });
    const { deployment } = await (await context.api.deployments()).getSource({});
    expect(deployment?.branch).toBe("try");
  });
  test("an unknown one", async () => {
    const done = await run("source", ["dpl_nothing"]);
    expect(done.exitCode).toBe(1);
    expect(done.stderr).toContain("dpl_nothing");
  });
});

describe("diff", () => {
  test("a branch against the environment, by the system's tool", async () => {
    const done = await run("diff", ["try", "--unified"]);
    expect(done.exitCode).toBe(0);
    expect(done.stdout).toMatch(/^diff /);
    expect(done.stdout).toContain('-    return f"user-{id}"\n+    return f"branch-{id}"');
    const plain = await run("diff", ["try"]);
    expect(plain.stdout).toContain('<     return f"user-{id}"');
  });
  test("what a deployment changed, since the one before and since another", async () => {
    const { stderr, stdout } = await run("deployment/changes", [main]);
    expect(stderr).toMatch(/Nothing was live before it|Against dpl_/);
    expect(stdout).toMatch(/^Change +What +Name +Details\n/);
    expect(stdout).toMatch(/\nadded +resolver +resolvers.get_name +version 1 *\n/);
    const none = await run("deployment/changes", [main, "--base", main]);
    expect([none.exitCode, none.stdout, none.stderr]).toEqual([
      0,
      "Change  What  Name  Details\n",
      expect.stringContaining("No changes found"),
    ]);
    const document = (await run("deployment/changes", [main, "--base", main, "--json"])).json();
    expect(document).toMatchObject({ base_deployment_id: main, resolvers: [], features: [], monitors: [] });
    const unknown = await run("deployment/changes", [main, "--base", "no-such-tag"]);
    expect([unknown.exitCode, unknown.stderr]).toEqual([1, expect.stringContaining("There is no deployment 'no-such-tag'")]);
  });
  test("without a diff tool the lines are compared here", async () => {
    const done = await run("diff", ["try"], { machine: { which: () => undefined } });
    expect(done.exitCode).toBe(0);
    expect(done.stdout).toContain('-    return f"user-{id}"\n+    return f"branch-{id}"');
    expect(done.stdout).toMatch(/^--- dpl_\S+\/resolvers\.py\n\+\+\+ dpl_\S+\/resolvers\.py\n@@ /);
  });
  test("two deployments, and no differences", async () => {
    const done = await run("diff", [main, main, "--json"]);
    expect(done.json()).toEqual({ source: main, target: main, differs: false, diff: "" });
    expect((await run("diff", [])).exitCode).toBe(2);
  });
});

describe("features and resolvers", () => {
  test("list, one name a line", async () => {
    expect((await run("features/list")).stdout).toBe("user.fragile\nuser.id\nuser.name\nuser.name_length\nuser.score\n");
    expect((await run("features/list", ["--json"])).json()).toMatchObject({ features: [{ fqn: "user.fragile" }, {}, {}, {}, {}] });
  });
  test("search, fuzzy and by glob", async () => {
    expect((await run("features/search", ["usname"])).stdout.split("\n")[0]).toBe("user.name");
    expect((await run("features/search", ["user.n*", "--json"])).json()).toMatchObject({
      features: [
        { fqn: "user.name", owner: "a@example.com" },
        { fqn: "user.name_length", owner: "a@example.com" },
      ],
    });
    expect((await run("features/search", ["people call"])).stdout).toBe("user.name\n");
    expect((await run("features/search", ["b@EXAMPLE.com"])).stdout).toBe("user.fragile\n");
    expect((await run("features/search", ["b@*"])).stdout).toBe("user.fragile\n");
    expect((await run("features/search", ["people call"], { terminal: true })).stdout).toBe("user.name  What people call the user.\n");
    const nothing = await run("features/search", ["zzz"]);
    expect([nothing.exitCode, nothing.stdout, nothing.stderr]).toEqual([0, "", "No features found.\n"]);
  });
  test("resolve", async () => {
    const done = await run("features/resolve", ["--fqns", "user.name,user.id", "--json"]);
    expect(done.json()).toMatchObject({
      features: [
        {
          fqn: "user.name",
          type: "str",
          owner: "a@example.com",
          max_staleness: "1h",
          description: "What people call the user.",
          resolvers: ["resolvers.get_name"],
        },
        { fqn: "user.id", primary: true, resolvers: [] },
      ],
    });
    const unknown = await run("features/resolve", ["--fqns", "user.nmae"]);
    expect([unknown.exitCode, unknown.stderr.includes("did you mean 'user.name'")]).toEqual([1, true]);
    const out = join(tempFolder(), "f.json");
    expect((await run("features/resolve", ["--fqns", "user.id", "--out", out])).stdout).toBe(`${out}\n`);
    expect(JSON.parse(readFileSync(out, "utf8"))).toMatchObject({ features: [{ fqn: "user.id" }] });
  });
  test("the file of all metadata", async () => {
    const dir = tempFolder();
    const done = await run("features", [], { dir });
    const name = readdirSync(dir)[0] ?? "";
    expect(done.stdout).toBe(`${join(dir, name)}\n`);
    expect(name).toMatch(new RegExp(`^demo_features_${platform.environmentId}_dpl_[0-9a-f]+\\.json$`));
    const onStdout = await run("features", ["--out", "-"], { dir });
    expect(JSON.parse(onStdout.stdout)).toEqual(JSON.parse(readFileSync(join(dir, name), "utf8")));
    mkdirSync(join(dir, "x"));
    await run("features", ["--json"], { dir: join(dir, "x") });
    expect(readdirSync(join(dir, "x"))).toEqual([]);
  });
  test("resolvers", async () => {
    const done = await run("resolvers");
    expect(done.stdout.split("\n")[0]).toMatch(/^Resolver +Kind +Inputs +Outputs$/);
    expect(done.stdout).toMatch(/resolvers\.length +online +user\.name +user\.name_length/);
    expect((await run("resolvers", ["--json"])).json()).toMatchObject({
      resolvers: [{ fqn: "resolvers.fragile", inputs: ["user.id"], outputs: ["user.fragile"] }, {}, {}, {}],
    });
  });
});

describe("where another project is live", () => {
  let other = "";
  beforeAll(() => {
    other = writeProject({ "svc.yaml": "project: other\nenvironments:\n  default: {}\n  prod: {}\n" });
  });
  const idOf = async (dir: string) => ((await run("environment", ["--json"], { dir })).json() as { id: string }).id;

  test("a folder gets a project of its own, which is said before the question", async () => {
    const asked = await run("apply", [], { dir: other, input: ["n"] });
    expect([asked.exitCode, asked.stderr]).toEqual([
      1,
      expect.stringContaining(
        "Project 'other' is new on this server: it is created, with environment 'default'.\nWould you like to deploy? [y/n]",
      ),
    ]);
    expect((await run("project/list", ["--json"])).json()).toMatchObject({ projects: [{ name: "demo" }] });
    expect((await run("query", ["--in", "user.id=1", "--out", "user.name"], { dir: other })).stderr).toContain(
      "There is no project 'other' on this server.\n`svc apply` in the project's folder creates it",
    );
    const before = await idOf(project);
    await apply([], { dir: other });
    expect(await idOf(project)).toBe(before);
    expect(await idOf(other)).not.toBe(before);
    expect((await run("project/list", ["--json"])).json()).toMatchObject({
      projects: [
        { name: "demo", environments: ["default"] },
        { name: "other", environments: ["default", "prod"] },
      ],
    });
  }, 300_000);

  test("neither overwrites the other, and outside of both the oldest is meant", async () => {
    const scoped = async (dir?: string) =>
      (
        (await run("query", ["--in", "user.id=1", "--out", "user.name", "--json"], dir === undefined ? {} : { dir })).json() as {
          meta: { environment_id: string };
        }
      ).meta.environment_id;
    expect(await scoped(project)).toBe(platform.environmentId);
    expect(await scoped(tempFolder())).toBe(platform.environmentId);
    expect(await scoped(other)).toBe(await idOf(other));
    const again = await run("apply", ["--force"], { dir: other });
    expect([again.exitCode, again.stderr]).toEqual([0, expect.not.stringContaining("is new on this server")]);
  }, 300_000);

  test("an environment of another project is refused, whoever forces it", async () => {
    const done = await run("apply", ["--force", "--environment", platform.environmentId], { dir: other });
    expect([done.exitCode, done.stderr]).toEqual([
      1,
      expect.stringContaining(
        `Environment 'default' (${platform.environmentId}) is of project 'demo', and what is deployed is project 'other'.`,
      ),
    ]);
  }, 300_000);

  test("an environment that svc.yaml names is made, another one is not", async () => {
    writeFileSync(join(other, "svc.yaml"), "project: other\nenvironments:\n  default: {}\n  prod: {}\n  late: {}\n");
    const done = await run("apply", ["--force", "--await", "--environment", "late"], { dir: other });
    expect([done.exitCode, done.stderr]).toEqual([
      0,
      expect.stringContaining("Environment 'late' of project 'other' is new on this server: it is created."),
    ]);
    const wrong = await run("apply", ["--force", "--environment", "never"], { dir: other });
    expect([wrong.exitCode, wrong.stderr]).toEqual([1, expect.stringContaining("There is no environment 'never'.")]);
  }, 300_000);
});
