/** `svc notebook`, as people type it, against a real server. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { InterruptedError } from "../../src/errors/cli-error.ts";
import { tempFolder } from "../client/test-context.ts";
import { followPage } from "../harness/docs-page.ts";
import { eventually } from "../harness/eventually.ts";
import { lacks, programPath } from "../harness/needs.ts";
import { type Outcome, type Platform, runCommand, startPlatform, writeProject } from "./platform.ts";

let platform: Platform;
let project: string;

const svc = (path: string, ...words: readonly string[]): Promise<Outcome> =>
  runCommand(`notebook/${path}`, words, { home: platform.home, env: platform.env, dir: project });
const json = async <T>(path: string, ...words: readonly string[]): Promise<T> => {
  const outcome = await svc(path, ...words, "--json");
  if (outcome.exitCode !== 0) throw new Error(outcome.stderr);
  return outcome.json() as T;
};
const exec = (code: string, ...words: readonly string[]) => svc("exec", code, "--name", "Look", ...words);

interface Shown {
  readonly id: string;
  readonly title: string;
  readonly url: string;
  readonly cells: readonly { readonly id: string; readonly source: string; readonly outputs: readonly unknown[] }[];
}

beforeAll(async () => {
  platform = await startPlatform();
  project = writeProject();
  const applied = await runCommand("apply", ["--force", "--await"], { home: platform.home, env: platform.env, dir: project });
  expect(applied.exitCode).toBe(0);
  expect((await svc("create", "--title", "Look", "--description", "why")).stdout).toMatch(
    /^ID: {3}nb_[0-9a-f]{32}\nName: Look\nURL: {2}http/,
  );
}, 300_000);
afterAll(() => platform?.server.stop());

describe("svc notebook exec", () => {
  test("shows what the cell gives, and ends with 1 when it fails", async () => {
    expect(await exec("import sys\nprint('a', end='')\nprint('b')\nprint('\\r1%\\r20%')\n{'c': [1, 2]}")).toMatchObject({
      ...{ exitCode: 0, stderr: "", stdout: "ab\n20%\n{'c': [1, 2]}\n" },
    });
    expect(await exec("print('\\x1b[31mred\\x07')")).toMatchObject({ exitCode: 0, stdout: "\\x1b[31mred\\x07\n" });
    const failed = await exec("print('first')\n{}['x']");
    expect(failed).toMatchObject({ exitCode: 1, stdout: "first\n" });
    expect(failed.stderr).toMatch(/^Traceback .*\nKeyError: 'x'\nError: KeyError: 'x'\n$/s);
  }, 300_000);

  test("gives the whole cell as JSON, also when it fails", async () => {
    const { exitCode, stdout, json: read } = await exec("print('a')\n1 / 0", "--json");
    expect(exitCode).toBe(1);
    expect(read()).toMatchObject({
      ...{ kind: "code", state: "failed", source: "print('a')\n1 / 0" },
      outputs: [{ stream: { name: "stdout", text: "a\n" } }, { error: { name: "ZeroDivisionError", message: "division by zero" } }],
    });
    expect(stdout.endsWith("}\n")).toBe(true);
  }, 300_000);

  test("keeps no cell that cannot be run", async () => {
    const before = (await json<Shown>("get", "--name", "Look")).cells.length;
    const refused = await exec("1", "--branch", "none");
    expect(refused.exitCode).not.toBe(0);
    expect(refused.stderr).toContain("runs in deployment");
    expect((await json<Shown>("get", "--name", "Look")).cells).toHaveLength(before);
  }, 300_000);

  test("interrupts the cell when it is interrupted, and the kernel keeps its names", async () => {
    const interrupted = new AbortController();
    const words = ["kept = 1\nprint('begun', flush=True)\nimport time\ntime.sleep(600)", "--name", "Look"];
    const options = { home: platform.home, env: platform.env, dir: project, signal: interrupted.signal };
    const running = runCommand("notebook/exec", words, options);
    const outputs = async () => (await json<Shown>("get", "--name", "Look", "--outputs")).cells.at(-1)?.outputs ?? [];
    await eventually(async () => JSON.stringify(await outputs()).includes("begun"), "a cell that runs");
    interrupted.abort(new InterruptedError(130));
    expect(await running).toMatchObject({ exitCode: 130 });
    await eventually(async () => JSON.stringify(await outputs()).includes("KeyboardInterrupt"), "the end of the cell");
    expect((await exec("kept")).stdout).toBe("1\n");
  }, 300_000);

  test("wants one notebook, which there is", async () => {
    expect((await svc("exec", "1", "--id", "a", "--name", "b")).stderr).toContain("a notebook is named once");
    expect((await svc("exec", "1", "--name", "None")).stderr).toContain("There is no notebook 'None' in this environment.");
    const named = await svc("exec", "1", "--notebook", "Look");
    expect(named.stderr).toContain("There is no notebook 'Look' in this environment.");
    expect(named.stderr).toContain("A notebook has this title: `--name` takes titles.");
    expect((await svc("exec", "1", "--notebook", "None")).stderr).toContain("`svc notebook list` shows what there is.");
    expect((await svc("get", "a", "--name", "b")).stderr).toContain("a notebook is named once");
    expect((await svc("create", "--title", "a", "--name", "b")).exitCode).toBe(2);
  }, 300_000);
});

test("list, get and preview show notebooks, cells and what they gave", async () => {
  const png = "iVBORw0KGgoAAAANSUhEUgAAAoAAAAHgCAYAAAA";
  await svc("create", "--name", "Seen");
  const show = `class Image:\n    def _repr_mimebundle_(self): return {"image/png": ${JSON.stringify(png)}, "text/plain": "x"}\nImage()`;
  expect((await svc("exec", show, "--name", "Seen")).stdout).toBe("[image/png 640x480]\n");
  await svc("exec", "1 / 0", "--name", "Seen");
  const listed = await svc("list");
  expect(
    listed.stdout
      .split("\n")
      .slice(0, 2)
      .map((line) => line.replaceAll(/ {2,}/g, "|")),
  ).toEqual(["ID|Name|Status|Cells|Updated|URL", expect.stringMatching(/^nb_[0-9a-f]{32}\|Seen\|Idle\|2\|/)]);
  const previewed = await svc("preview", "--name", "Seen");
  expect(previewed.stdout).toMatch(/^ID: .*\nName: {4}Seen\nStatus: {2}Idle, in dpl_/s);
  expect(previewed.stdout).toContain("\nOut [1]\n[image/png 640x480]\n");
  expect(previewed.stdout).toMatch(/\nIn \[2\] failed {2}cell_[0-9a-f]{32}\n1 \/ 0\nOut \[2\]\nTraceback /);
  const { id, cells } = await json<Shown>("get", "--name", "Seen");
  expect(cells.map(({ outputs }) => outputs)).toEqual([[], []]);
  expect((await json<Shown>("get", id, "--include-outputs")).cells[1]?.outputs).toHaveLength(1);
  expect(await svc("stop", id)).toMatchObject({ exitCode: 0, stdout: `Stopped notebook Seen (${id})\n` });
  await eventually(async () => (await svc("get", id)).stdout.includes("Stopped: the kernel was stopped"), "the end of the kernel");
  expect((await svc("interrupt", id)).stderr).toContain("No cell of notebook 'Seen' waits or runs.");
  expect((await svc("delete", id, "--yes")).stdout).toContain(`Deleted: ${id}`);
}, 300_000);

describe("files of Jupyter", () => {
  const lacksModule = (name: string) => lacks(name, Bun.spawnSync(["python3", "-c", `import ${name}`], { stderr: "ignore" }).success);

  test.skipIf(lacksModule("nbformat"))(
    "are valid for nbformat, and read as it writes them",
    async () => {
      const out = join(project, "look.ipynb");
      expect(await svc("export", "--name", "Look", "--out", out)).toMatchObject({ exitCode: 0, stdout: `${out}\n` });
      const check = `import nbformat, sys
book = nbformat.read(sys.argv[1], as_version=nbformat.NO_CONVERT)
nbformat.validate(book)
assert (book.nbformat, book.nbformat_minor) == (4, 5)
book.cells.append(nbformat.v4.new_markdown_cell("# more"))
book.cells.append(nbformat.v4.new_code_cell("raise ValueError()", execution_count=3, outputs=[
    nbformat.v4.new_output("stream", text="a\\nb"),
    nbformat.v4.new_output("display_data", data={"image/png": "iVBORw0KGgo=", "application/json": {"a": [1]}}),
    nbformat.v4.new_output("error", ename="ValueError", evalue="", traceback=["\\x1b[31mred\\x1b[0m", "line"]),
]))
nbformat.write(book, sys.argv[2])`;
      const again = join(project, "again.ipynb");
      const checked = Bun.spawnSync([programPath("python3") ?? "", "-c", check, out, again]);
      expect(checked.stderr.toString()).toBe("");
      const { id, title } = await json<Shown>("import", again);
      expect(title).toBe("again");
      const { cells } = await json<Shown>("get", id, "--include-outputs");
      expect(cells.slice(-2)).toMatchObject([
        { kind: "markdown", source: "# more", outputs: [] },
        {
          source: "raise ValueError()",
          execution_count: 3,
          outputs: [
            { stream: { name: "stdout", text: "a\nb" } },
            { display: { data: { "image/png": "iVBORw0KGgo=", "application/json": '{"a":[1]}' } } },
            { error: { name: "ValueError", message: "", traceback: "red\nline" } },
          ],
        },
      ]);
      await svc("export", id, "--out", out);
      expect(
        Bun.spawnSync([programPath("python3") ?? "", "-c", "import nbformat, sys; nbformat.validate(nbformat.read(sys.argv[1], 4))", out])
          .exitCode,
      ).toBe(0);
    },
    300_000,
  );

  test("that are none are told so", async () => {
    const file = join(project, "wrong.ipynb");
    writeFileSync(file, '{"nbformat": 4}');
    expect((await svc("import", file)).stderr).toContain("The file is no notebook: it has no list `cells`.");
    expect((await svc("import", join(project, "none.ipynb"))).stderr).toContain("there is no file");
  }, 300_000);

  test.skipIf(lacksModule("ipykernel") || lacksModule("jupyter_client"))(
    "a kernel spec starts ipykernel with the project's modules and the rewriting of filters",
    async () => {
      const python = programPath("python3") ?? "";
      const prefix = join(project, "prefix");
      const { name, path } = await json<{ name: string; path: string }>("kernel/install", "--prefix", prefix, "--python", python);
      expect([name, path]).toEqual(["svc-demo", join(prefix, "share", "jupyter", "kernels", "svc-demo", "kernel.json")]);
      expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject({ language: "python", display_name: "demo (svc)" });
      const ask = `import os, sys
from jupyter_client.manager import start_new_kernel
os.chdir(sys.argv[1])
manager, client = start_new_kernel(kernel_name="svc-demo")
try:
    said = []
    def hook(message):
        content = message["content"]
        said.append(content.get("text") or content.get("data", {}).get("text/plain") or content.get("evalue") or "")
    client.execute_interactive("from features import User\\nclass Both:\\n    def __getitem__(self, item): return item", output_hook=hook, timeout=120)
    client.execute_interactive("Both()[User.id is None and User.name in ('a', 'b')]", output_hook=hook, timeout=120)
    print("".join(said))
finally:
    client.stop_channels()
    manager.shutdown_kernel(now=True)`;
      const asked = Bun.spawnSync([python, "-c", ask, project], {
        env: { ...process.env, JUPYTER_PATH: join(prefix, "share", "jupyter"), HOME: platform.home },
      });
      expect(asked.stderr.toString()).not.toContain("Traceback");
      expect(asked.stdout.toString()).toMatch(/user\.id.*user\.name/i);
    },
    300_000,
  );

  test("an interpreter without ipykernel is refused with what to do", async () => {
    const refused = await svc("kernel/install", "--prefix", join(project, "no"));
    expect(refused.exitCode).not.toBe(0);
    expect(refused.stderr).toContain("has no ipykernel");
    expect(refused.stderr).toContain("Add a line `ipykernel` to the requirements file");
  }, 300_000);
});

test("the page of the docs, from its first command to its last", async () => {
  const folder = tempFolder("svc-docs-");
  writeFileSync(join(folder, "svc.yaml"), "project: docs\nenvironments:\n  default: {}\n");
  await followPage("notebooks.md", folder, async ({ line, words, said }) => {
    const begin = words.indexOf("<");
    const given = begin < 0 ? words : words.slice(0, begin);
    const input = begin < 0 ? [] : readFileSync(join(folder, words[begin + 1] ?? ""), "utf8").split("\n");
    const depth = ["notebook", "branch"].includes(given[0] ?? "") ? 2 : 1;
    const outcome = await runCommand(given.slice(0, depth).join("/"), given.slice(depth), {
      ...{ home: platform.home, env: platform.env, dir: folder, input },
    });
    expect(outcome.exitCode, `${line}\n${outcome.stderr}`).toBe(0);
    const shown = outcome.stdout.replaceAll(/(nb|dpl|cell)_[0-9a-f]{32}/g, "$1_ID");
    const parts = said.split(/^\.\.\.$/m).map((part) => part.trim().replaceAll(/ {2,}/g, " "));
    let rest = shown.replaceAll(/ {2,}/g, " ");
    for (const part of parts) {
      expect(rest, line).toContain(part);
      rest = rest.slice(rest.indexOf(part) + part.length);
    }
    if (!said.includes("...")) expect(rest.trim(), line).toBe("");
  });
  const branch = await runCommand("branch/list", [], { home: platform.home, env: platform.env, dir: folder });
  expect(branch.stdout).toMatch(/^tax +2 /m);
}, 300_000);

test("svc branch start deploys to a branch on which nothing is live, and says which one it needs", async () => {
  const run = (...words: readonly string[]) => runCommand("branch/start", words, { home: platform.home, env: platform.env, dir: project });
  const started = await run("--branch=fresh", "--json");
  expect(started).toMatchObject({ exitCode: 0 });
  expect(started.json()).toEqual({ branch: "fresh", deployment_id: expect.stringMatching(/^dpl_/) });
  expect((await run("--branch=fresh")).stdout).toMatch(/^Branch server is running: fresh with dpl_[0-9a-f]{32}\n$/);
  expect((await run()).stderr).toContain(
    programPath("git") === undefined ? "needs git, which cannot be started" : "is in no git work tree",
  );
}, 300_000);
