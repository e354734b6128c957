/**
 * An image with Python for tests, made of what this machine has: an interpreter with its standard
 * library, the shared libraries that it needs, and busybox. No registry is asked. The archive is kept
 * in the folder of temporary files, by what it is made of.
 */

import { copyFileSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { lacks, programPath } from "./needs.ts";
import type { TestPodman } from "./podman.ts";

/** The image's name. It has /bin/sh, python3 with venv and pip, and nothing else. */
export const PYTHON = "localhost/python:test";

interface Interpreter {
  readonly executable: string;
  readonly library: string;
  readonly pip: string;
  readonly version: string;
}

const ASK = `import sys, sysconfig, json, os, pip, venv
print(json.dumps({"executable": os.path.realpath(sys.executable), "library": sysconfig.get_path("stdlib"),
  "pip": os.path.dirname(pip.__file__), "version": sys.version}))`;
/** What no test imports. */
const LEFT_OUT = ["test", "tests", "idlelib", "tkinter", "turtledemo", "lib2to3", "__pycache__", "site-packages", "config-*", "*.a"];

/** What glibc loads from beside itself when a thread is ended: nothing names it before. */
const LOADED_LATE = "libgcc_s.so.1";

/** The interpreter that the image gets; undefined when none has pip. */
function findInterpreter(): Interpreter | undefined {
  const names = ["python3.12", "python3.13", "python3.11", "python3.10", "python3"];
  for (const name of names) {
    const path = Bun.which(name);
    const { exitCode, stdout } = path ? Bun.spawnSync([path, "-I", "-c", ASK], { stderr: "ignore" }) : { exitCode: 1, stdout: "" };
    if (exitCode === 0) return JSON.parse(String(stdout)) as Interpreter;
  }
  return undefined;
}

/** Whether there is no Python with pip to make the image of: see `lacks`. */
export const lacksPythonImage = (): boolean => lacks("a Python with pip", findInterpreter() !== undefined);

/** Brings the image into an engine. */
export function importPython(podman: TestPodman): void {
  podman.podman("import", "--quiet", "--change", "ENV PATH=/usr/bin:/bin", "--change", 'CMD ["/usr/bin/python3"]', archive(), PYTHON);
}

/** Path of the archive. */
function archive(): string {
  const interpreter = findInterpreter();
  if (!interpreter) throw new Error("there is no Python with pip to make an image of");
  const { executable, library, pip } = interpreter;
  const kept = join(tmpdir(), `svc-python-image-${Bun.hash(JSON.stringify([interpreter, LEFT_OUT, LOADED_LATE])).toString(36)}.tar`);
  if (existsSync(kept)) return kept;
  const folder = mkdtempSync(join(tmpdir(), "svc-python-image-"));
  try {
    const tar = join(folder, "image.tar");
    const modules = [...new Bun.Glob("lib-dynload/*.so").scanSync(library)].map((name) => join(library, name));
    const linked = [executable, ...modules].flatMap(librariesOf);
    const late = linked.filter((path) => /\/libc\.so\.\d+$/.test(path)).map((path) => join(dirname(path), LOADED_LATE));
    const needed = new Set([...linked, ...late.filter((path) => existsSync(path))]);
    run([
      "tar",
      "--create",
      "--dereference",
      "--file",
      tar,
      ...LEFT_OUT.map((name) => `--exclude=${name}`),
      "-C",
      "/",
      ...[executable, library, ...needed].map((path) => path.slice(1)),
    ]);
    run(["tar", "--append", "--file", tar, "--exclude=__pycache__", "-C", "/", pip.slice(1)]);
    const more = join(folder, "more");
    for (const name of ["bin", "usr/bin", "etc", "root"]) mkdirSync(join(more, name), { recursive: true });
    mkdirSync(join(more, "tmp"), { mode: 0o1777 });
    copyFileSync(programPath("busybox") ?? "", join(more, "bin/busybox"));
    for (const name of ["sh", "cat", "ls", "sleep", "id"]) symlinkSync("busybox", join(more, "bin", name));
    symlinkSync(executable, join(more, "usr/bin/python3"));
    writeFileSync(join(more, "etc/passwd"), "root:x:0:0::/root:/bin/sh\n");
    run(["tar", "--append", "--file", tar, "-C", more, "."]);
    renameSync(tar, kept);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return kept;
}

/** The shared libraries of a program or library, with the loader. */
function librariesOf(path: string): string[] {
  const { stdout } = Bun.spawnSync(["ldd", path], { stderr: "ignore" });
  return [...String(stdout).matchAll(/(?:=> |^\s+)(\/\S+) \(0x/gm)].map(([, found = ""]) => found);
}

function run(argv: readonly string[]): void {
  const { exitCode, stderr } = Bun.spawnSync([...argv]);
  if (exitCode !== 0) throw new Error(`${argv[0]}: exit ${exitCode}\n${stderr}`);
}
