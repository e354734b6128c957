import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createToolchain } from "../../src/python/create-toolchain.ts";
import { type PythonToolchain, ToolchainError } from "../../src/python/toolchain.ts";
import { eventually } from "../harness/eventually.ts";

let folder: string;
let base: string;
let wheels: string;
/** PATH with the one interpreter and no uv. */
let path: string;
/**
 * The same with a uv that copies an environment that was made before. For tests of something else
 * than how one is made: `python -m venv` computes for seconds.
 */
let copying: string;
let count = 0;

const WHEEL = `
import sys, zipfile
name = sys.argv[1]
with zipfile.ZipFile(f"{sys.argv[2]}/{name}-1.0-py3-none-any.whl", "w") as wheel:
    wheel.writestr(f"{name}.py", "ANSWER = 42\\n")
    wheel.writestr(f"{name}-1.0.dist-info/METADATA", f"Metadata-Version: 2.1\\nName: {name}\\nVersion: 1.0\\n")
    wheel.writestr(f"{name}-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr(f"{name}-1.0.dist-info/RECORD", "")
`;

/** Many environments are made, of seconds of CPU each. */
setDefaultTimeout(300_000);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-venv-"));
  wheels = join(folder, "wheels");
  path = join(folder, "bin");
  await mkdir(wheels);
  await mkdir(path);
  const search = await createToolchain({ home: folder, env: process.env }).findInterpreter();
  if (!search.found) throw new Error("the tests need Python");
  base = search.found.path;
  await symlink(base, join(path, "python3"));
  copying = `${await uvThat("copies", `/bin/cp -R ${join(folder, "made")}`)}:${path}`;
  expect(await run([base, "-I", "-m", "venv", join(folder, "made")])).toBe("");
  for (const name of ["tinypkg", "otherpkg"]) expect(await run([base, "-c", WHEEL, name, wheels])).toBe("");
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function run(argv: readonly string[]): Promise<string> {
  const child = Bun.spawn([...argv], { stdout: "pipe", stderr: "pipe" });
  const said = (await new Response(child.stdout).text()) + (await new Response(child.stderr).text());
  await child.exited;
  return said.trim();
}

/** A folder with a uv whose environments are made by a command, and filled by their own pip. */
async function uvThat(name: string, make: string, record = "/dev/null"): Promise<string> {
  const bin = join(folder, name);
  await mkdir(bin);
  const script = `#!/bin/sh
echo "$@" >> ${record}
case "$1 $2" in
  "python find") exit 2 ;;
  "venv --no-project") exec ${make} "$5" ;;
  "pip install") exec "$4" -I -m pip install -r "$6" ;;
esac
`;
  await writeFile(join(bin, "uv"), script, { mode: 0o755 });
  return bin;
}

function newHome(): string {
  return join(folder, `home${count++}`);
}

function toolchain(home = newHome(), programs = path): PythonToolchain {
  return createToolchain({ home, env: { PATH: programs, HOME: folder }, homeDir: folder });
}

const offline = (...lines: string[]) => ["--no-index", `--find-links ${wheels}`, ...lines].join("\n");

test("without requirements the environment is bare and its own, and nothing is installed", async () => {
  const said: string[] = [];
  const python = await toolchain().environmentPython({ requirements: "# none\nsvc==1.0\n", onProgress: (line) => said.push(line) });
  expect(await run([python, "-I", "-c", "import sys; print(sys.prefix != sys.base_prefix)"])).toBe("True");
  expect(await run([python, "-I", "-m", "pip", "--version"])).toContain("No module named pip");
  expect(said.filter((line) => line.includes("install"))).toEqual([]);
});

test("requirements are installed once for equal texts, whatever stands around them", async () => {
  const home = newHome();
  const said: string[] = [];
  const options = { requirements: offline("tinypkg==1.0", "svc>=3"), onProgress: (line: string) => said.push(line) };
  const python = await toolchain(home).environmentPython(options);
  expect(await run([python, "-I", "-c", "import tinypkg; print(tinypkg.ANSWER)"])).toBe("42");
  expect(said).toEqual([
    "making the virtual environment",
    "installing the requirements",
    expect.any(String),
    "successfully installed tinypkg-1.0",
  ]);
  said.length = 0;
  const again = await toolchain(home).environmentPython({ ...options, requirements: `# changed\n${offline("tinypkg==1.0   # pinned")}\n` });
  expect(again).toBe(python);
  expect(said).toEqual([]);
  expect(await toolchain(home).environmentPython({ requirements: offline("otherpkg") })).not.toBe(python);
});

test("what cannot be installed is finding 102 with the end of the log", async () => {
  const home = newHome();
  const failure = await toolchain(home)
    .environmentPython({ requirements: offline("no-such-package==9") })
    .catch((error) => error);
  expect(failure).toBeInstanceOf(ToolchainError);
  expect(failure.message).toStartWith("the requirements could not be installed: pip exited with 1\n");
  expect(failure.message).toContain("no-such-package==9");
  expect(failure.diagnostics).toMatchObject([{ code: 102, message: failure.message }]);
  expect(failure.log.split("\n")[0]).toContain("-m venv");
  expect((await readdir(join(home, "venvs"))).filter((name) => !name.endsWith(".lock"))).toEqual([]);
});

test.each([
  ["a package that nobody has", ["# ours", "tinypkg==1.0", "no-such_package==9"], 5, [4]],
  ["a version that nobody has", ["otherpkg==2", "tinypkg==1.0"], 3, []],
  ["a line that is no requirement", ["tinypkg==1.0", "", "foo bar baz"], 5, [5]],
])("%s is shown in the requirements file, and no path of a copy is", async (_, wanted, line, told) => {
  const requirements = ["--no-index", `--find-links ${wheels}`, ...wanted].join("\n");
  const failure = await toolchain(newHome(), copying)
    .environmentPython({ requirements, requirementsFile: "requirements.txt", root: folder })
    .catch((error) => error);
  expect(failure.diagnostics).toMatchObject([{ code: 102, span: { file: "requirements.txt", line } }]);
  expect(failure.message).not.toContain("/venvs/");
  const counted = [...failure.message.matchAll(/requirements\.txt, line (\d+)/g)].map(([, number]) => Number(number));
  expect(counted).toEqual(told);
});

test("a requirements file that names a missing one is finding 102", async () => {
  const failure = await toolchain()
    .environmentPython({ requirements: "-r gone.txt", root: folder })
    .catch((error) => error);
  expect(failure.diagnostics).toMatchObject([
    { code: 102, message: "requirements name the file 'gone.txt', which is not among the project's files" },
  ]);
});

test("paths in the requirements are those of the project", async () => {
  const root = join(folder, "project");
  await mkdir(root);
  await symlink(wheels, join(root, "wheels"));
  await writeFile(join(root, "base.txt"), "--no-index\n./wheels/tinypkg-1.0-py3-none-any.whl\n");
  const python = await toolchain(newHome(), copying).environmentPython({ requirements: "-r base.txt", root });
  expect(await run([python, "-I", "-c", "import tinypkg; print(tinypkg.ANSWER)"])).toBe("42");
});

test("a build that was killed is never used", async () => {
  const home = newHome();
  const script = `
    import { createToolchain } from ${JSON.stringify(resolve(import.meta.dir, "../../src/python/create-toolchain.ts"))};
    const chain = createToolchain({ home: ${JSON.stringify(home)}, env: { PATH: ${JSON.stringify(copying)} }, homeDir: "/" });
    await chain.environmentPython({ requirements: ${JSON.stringify(offline("tinypkg"))}, onProgress: (line) => console.log(line) });
  `;
  const child = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe", stderr: "inherit" });
  let said = "";
  const decoder = new TextDecoder();
  for await (const chunk of child.stdout) {
    said += decoder.decode(chunk);
    if (said.includes("installing the requirements")) break;
  }
  child.kill("SIGKILL");
  await child.exited;
  const [left] = (await readdir(join(home, "venvs"))).filter((name) => !name.endsWith(".lock"));
  expect(existsSync(join(home, "venvs", left as string, ".svc-complete"))).toBe(false);
  const python = await toolchain(home, copying).environmentPython({ requirements: offline("tinypkg") });
  expect(await run([python, "-I", "-c", "import tinypkg; print(tinypkg.ANSWER)"])).toBe("42");
});

test("an installer that outlives its killed process writes to no environment but its own", async () => {
  const [home, stop] = [newHome(), join(folder, "stop")];
  await mkdir(home);
  const outliving = join(folder, "outlives");
  await mkdir(outliving);
  const script = `#!/bin/sh
case "$1 $2" in
  "python find") exit 2 ;;
  "venv --no-project") /bin/cp -R ${join(folder, "made")} "$5" ;;
  "pip install")
    n=0
    while [ ! -e ${stop} ] && [ $n -lt 20000 ]; do /bin/mkdir -p "\${4%/bin/python}/lib/late"; n=$((n + 1)); done ;;
esac
`;
  await writeFile(join(outliving, "uv"), script, { mode: 0o755 });
  const killed = `
    import { createToolchain } from ${JSON.stringify(resolve(import.meta.dir, "../../src/python/create-toolchain.ts"))};
    const chain = createToolchain({ home: ${JSON.stringify(home)}, env: { PATH: ${JSON.stringify(`${outliving}:${path}`)} }, homeDir: "/" });
    await chain.environmentPython({ requirements: ${JSON.stringify(offline("tinypkg"))} });
  `;
  const child = Bun.spawn([process.execPath, "-e", killed], { stdout: "ignore", stderr: "inherit" });
  try {
    await eventually(
      () => [...new Bun.Glob("venvs/*/lib/late").scanSync({ cwd: home, onlyFiles: false })].length === 1,
      "an installer that writes",
    );
    child.kill("SIGKILL");
    await child.exited;
    const python = await toolchain(home, copying).environmentPython({ requirements: offline("tinypkg") });
    expect(existsSync(resolve(python, "../../lib/late"))).toBe(false);
    expect(await run([python, "-I", "-c", "import tinypkg; print(tinypkg.ANSWER)"])).toBe("42");
  } finally {
    await writeFile(stop, "");
  }
});

test("several processes that want the same one build it once", async () => {
  const home = newHome();
  const script = `
    import { createToolchain } from ${JSON.stringify(resolve(import.meta.dir, "../../src/python/create-toolchain.ts"))};
    const chain = createToolchain({ home: ${JSON.stringify(home)}, env: { PATH: ${JSON.stringify(copying)} }, homeDir: "/" });
    let built = 0;
    const python = await chain.environmentPython({ requirements: ${JSON.stringify(offline("tinypkg", "otherpkg"))}, onProgress: () => { built = 1; } });
    console.log(built + " " + python);
  `;
  const said = await Promise.all(Array.from({ length: 3 }, () => run([process.execPath, "-e", script])));
  const answers = said.map((line) => line.split(" "));
  expect(answers.map(([built]) => built).sort()).toEqual(["0", "0", "1"]);
  expect(new Set(answers.map(([, python]) => python)).size).toBe(1);
});

test("an environment whose interpreter has gone is built again", async () => {
  const home = newHome();
  const python = await toolchain(home).environmentPython({});
  await rm(python);
  const again = await toolchain(home).environmentPython({});
  expect(await run([again, "-I", "-c", "print(1)"])).toBe("1");
  expect(await readdir(join(home, "venvs"))).toHaveLength(2);
});

test("an installation that is given up leaves nothing", async () => {
  const home = newHome();
  const controller = new AbortController();
  const building = toolchain(home, copying).environmentPython({
    requirements: offline("tinypkg"),
    signal: controller.signal,
    onProgress: () => controller.abort(new Error("stopped by the user")),
  });
  await expect(building).rejects.toThrow("stopped by the user");
  expect((await readdir(join(home, "venvs"))).filter((name) => !name.endsWith(".lock"))).toEqual([]);
});

test("uv is preferred when it is there", async () => {
  const record = join(folder, "uv-calls");
  const bin = await uvThat("uv-bin", '"$4" -I -m venv', record);
  const python = await toolchain(newHome(), `${bin}:${path}`).environmentPython({ requirements: offline("tinypkg") });
  expect(await run([python, "-I", "-c", "import tinypkg; print(tinypkg.ANSWER)"])).toBe("42");
  const calls = (await Bun.file(record).text()).trim().split("\n").slice(-2);
  expect(calls[0]).toStartWith("venv --no-project --python /");
  expect(calls[1]).toStartWith(`pip install --python ${python} -r `);
});

test("no interpreter is finding 191", async () => {
  const failure = await createToolchain({ home: newHome(), env: { PATH: wheels }, homeDir: wheels })
    .environmentPython({})
    .catch((error) => error);
  expect(failure).toBeInstanceOf(ToolchainError);
  expect(failure.diagnostics).toMatchObject([{ code: 191 }]);
});
