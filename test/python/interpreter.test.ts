import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { interpreterFinding, type SearchContext, searchInterpreter } from "../../src/python/interpreter.ts";

setDefaultTimeout(300_000);

let folder: string;
let real: { path: string; version: string; minor: number };
/** An interpreter of a second minor version, when this machine has one. */
let other: { path: string; version: string; minor: number } | undefined;
let count = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-search-"));
  const places: SearchContext = { env: process.env, platform: process.platform, homeDir: process.env.HOME ?? "/" };
  const found = [];
  for (const minor of [11, 12, 10, 13]) {
    const search = await searchInterpreter(`python3${minor}`, places);
    if (search.found) found.push({ ...search.found, minor });
  }
  if (!found[0]) throw new Error("the tests need Python");
  real = found[0];
  other = found[1];
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** A new folder with programs: a path is linked to, other text becomes a shell script. */
async function bin(programs: Readonly<Record<string, string>>): Promise<string> {
  const made = join(folder, `bin${count++}`);
  await mkdir(made);
  for (const [name, content] of Object.entries(programs)) {
    if (content.startsWith("/")) await symlink(content, join(made, name));
    else {
      await writeFile(join(made, name), `#!/bin/sh\n${content}\n`);
      await chmod(join(made, name), 0o755);
    }
  }
  return made;
}

/** A machine with those folders on PATH and nothing else. */
function machine(path: string, more: Partial<SearchContext> = {}): SearchContext {
  return { env: { PATH: path, ...more.env }, platform: more.platform ?? "linux", homeDir: more.homeDir ?? folder };
}

const broken = "echo 'pyenv: command not found' >&2; exit 127";

describe("search", () => {
  test("a name with the version on PATH is taken, whatever stands before it and does not run", async () => {
    const shims = await bin({ [`python3.${real.minor}`]: broken });
    const good = await bin({ [`python3.${real.minor}`]: real.path });
    const search = await searchInterpreter(`python3${real.minor}`, machine(`${shims}:${good}`));
    expect(search.found).toEqual({ path: join(good, `python3.${real.minor}`), version: real.version });
    expect(search.searched).toContain(`${join(shims, `python3.${real.minor}`)}: does not run`);
  });

  test("without a runtime the newest supported one is taken, also when it is only called python", async () => {
    const programs: Record<string, string> = other ? { python3: real.path, python: other.path } : { python: real.path };
    const search = await searchInterpreter(undefined, machine(await bin(programs)));
    expect(search.found?.version).toBe(other && other.minor > real.minor ? other.version : real.version);
  });

  test("python3 of another version does not serve", async () => {
    const wanted = real.minor === 13 ? 12 : 13;
    const place = await bin({ python3: real.path });
    const search = await searchInterpreter(`python3${wanted}`, machine(place));
    expect(search.found).toBeUndefined();
    expect(search.searched).toContain(`${join(place, "python3")}: ${real.version}`);
  });

  test("a pyenv whose versions cannot be listed is passed over", async () => {
    const root = join(folder, "no-pyenv");
    await mkdir(root);
    await writeFile(join(root, "versions"), "a file");
    const search = await searchInterpreter(undefined, machine(await bin({ python3: real.path }), { env: { PYENV_ROOT: root } }));
    expect(search.found?.version).toBe(real.version);
  });

  test("pyenv's versions are found without its shims", async () => {
    const root = join(folder, "pyenv");
    for (const version of [`3.${real.minor}.2`, `3.${real.minor}.10`]) {
      await mkdir(join(root, "versions", version, "bin"), { recursive: true });
      await symlink(real.path, join(root, "versions", version, "bin", "python"));
    }
    const search = await searchInterpreter(`python3${real.minor}`, machine(await bin({}), { env: { PYENV_ROOT: root } }));
    expect(search.found?.path).toBe(join(root, "versions", `3.${real.minor}.10`, "bin", "python"));
  });

  test("uv is asked first and told not to download", async () => {
    const script = `[ "$UV_PYTHON_DOWNLOADS" = never ] && [ "$*" = "python find --system 3.${real.minor}" ] && echo ${real.path}`;
    const path = `${await bin({ uv: script })}:${await bin({ [`python3.${real.minor}`]: broken })}`;
    expect((await searchInterpreter(`python3${real.minor}`, machine(path))).found?.path).toBe(real.path);
  });

  test("when uv has none the search goes on", async () => {
    const path = await bin({ uv: "exit 2", python3: real.path });
    const search = await searchInterpreter(`python3${real.minor}`, machine(path));
    expect(search.found?.version).toBe(real.version);
    expect(search.searched).toContain(`uv python find 3.${real.minor}: none`);
  });

  test("the py launcher is asked on Windows", async () => {
    const path = await bin({ py: `[ "$1" = -3.${real.minor} ] && shift && exec ${real.path} "$@"` });
    expect((await searchInterpreter(`python3${real.minor}`, machine(path, { platform: "win32" }))).found?.version).toBe(real.version);
    expect((await searchInterpreter(`python3${real.minor}`, machine(path))).found).toBeUndefined();
  });

  test("programs that are no CPython 3 are passed over", async () => {
    const path = await bin({
      python3: `echo '["/x/pypy", "3.${real.minor}.1", "pypy", ${real.minor}]'`,
      python: `echo 'Python 2.7.18'`,
    });
    const search = await searchInterpreter(`python3${real.minor}`, machine(path));
    expect(search.found).toBeUndefined();
    expect(search.searched).toContain(`${join(path, "python3")}: is pypy, not CPython`);
    expect(search.searched).toContain(`${join(path, "python")}: does not run`);
  });

  test("relative entries of PATH are not searched", async () => {
    const place = await bin({ python3: `touch ${join(folder, "ran")}` });
    const before = process.cwd();
    process.chdir(place);
    try {
      expect((await searchInterpreter(undefined, machine(`.::${place.slice(1)}`))).found).toBeUndefined();
    } finally {
      process.chdir(before);
    }
    expect(await Bun.file(join(folder, "ran")).exists()).toBe(false);
  });

  test("a runtime that is not supported is not searched for", async () => {
    const search = await searchInterpreter("python39", machine(await bin({ python3: real.path })));
    expect(search).toEqual({ found: undefined, searched: ["'python39' is not one of python310, python311, python312, python313"] });
  });
});

describe("finding 191", () => {
  const cures: [string, Record<string, string>, NodeJS.Platform, string][] = [
    ["uv is there", { uv: "exit 2" }, "linux", "`uv python install 3.12`"],
    ["pyenv is there", { pyenv: "exit 1" }, "linux", "`pyenv install 3.12`"],
    ["Debian", { "apt-get": "exit 1" }, "linux", "`sudo apt-get install python3.12 python3.12-venv`"],
    ["Fedora", { dnf: "exit 1" }, "linux", "`sudo dnf install python3.12`"],
    ["macOS", {}, "darwin", "`brew install python@3.12`"],
    ["Windows", {}, "win32", "`winget install Python.Python.3.12`"],
    ["anything else", {}, "linux", "uv (https://docs.astral.sh/uv): `uv python install 3.12`"],
  ];
  test.each(cures)("says what was searched and how to install when %s", async (_, programs, platform, cure) => {
    const places = machine(await bin(programs), { platform });
    const search = await searchInterpreter("python312", places);
    const finding = interpreterFinding("python312", search, places);
    expect(finding.code).toBe(191);
    expect(finding.message).toStartWith("no Python 3.12 was found (searched ");
    expect(finding.message).toContain("python3.12 on PATH: none; pyenv: not installed; python3 on PATH: none; python on PATH: none");
    expect(finding.message).toEndWith(`; install it with ${cure}`);
    expect(finding.message).not.toContain("\n");
  });

  test("without a runtime every version was wanted", async () => {
    const places = machine(await bin({}));
    const finding = interpreterFinding(undefined, await searchInterpreter(undefined, places), places);
    expect(finding.message).toStartWith("no Python 3.10 to 3.13 was found (searched uv: not installed; python3.13 on PATH: none; ");
    for (const minor of [10, 11, 12]) expect(finding.message).toContain(`python3.${minor} on PATH: none`);
  });

  test("an unsupported runtime is the thing to change", async () => {
    const places = machine(await bin({}));
    const finding = interpreterFinding("python39", await searchInterpreter("python39", places), places);
    expect(finding.message).toBe("runtime 'python39' is not supported; set it to one of python310, python311, python312, python313");
  });
});
