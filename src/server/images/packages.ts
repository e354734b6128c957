/**
 * The requirements of an image: pip installs them in a container of the base, whose disk then is an
 * image that others copy the virtual environment from. What pip is told is mounted there, so none
 * of it is kept; and a container ends when it is removed, whatever pip does.
 */

import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { lastLines } from "../../python/subprocess.ts";
import type { ContainerEngine } from "../engines/container-engine.ts";
import { Failure } from "../failure.ts";
import { contentOf, type DigestedFile } from "./build-context.ts";
import { PACKAGES } from "./image-spec.ts";
import { type PipSettings, withoutCredentials } from "./pip-settings.ts";

/** What is installed, and where. */
export interface PackagesOrder {
  readonly engine: ContainerEngine;
  readonly base: string;
  readonly tag: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly lines: readonly string[];
  /** Files that the lines name. */
  readonly files: readonly DigestedFile[];
  readonly settings: PipSettings;
  /** Folder for the time of the build. */
  readonly folder: string;
  readonly onLine: (line: string) => void;
}

/** Most lines of pip's in a message. */
const SHOWN_LINES = 12;
const INSTALL_MS = 1_800_000;
/** Where the container has what it is told. */
const TOLD = "/svc/build";
const NO_PYTHON = 97;
const NO_VENV = 98;
/** The pip of the base serves the virtual environment too, which has one of its own otherwise. */
const SCRIPT = `cd ${TOLD}/source && . ${TOLD}/settings.sh
python=$(command -v python3 || command -v python) || exit ${NO_PYTHON}
"$python" -m pip --version > /dev/null 2>&1 && has_pip=--without-pip
"$python" -m venv --system-site-packages \${has_pip:-} ${PACKAGES} || exit ${NO_VENV}
exec ${PACKAGES}/bin/python -m pip install --no-input --disable-pip-version-check --no-cache-dir -r ${TOLD}/requirements.txt 2>&1`;
const REASONS: Readonly<Record<number, string>> = {
  [NO_PYTHON]: "the base has no Python",
  [NO_VENV]: "the Python of the base cannot make a virtual environment",
  137: "it was killed",
};

/** Makes the image of the packages. Rejects with Failure with pip's last lines. */
export async function installPackages(order: PackagesOrder, signal: AbortSignal): Promise<void> {
  const { base, engine, folder, labels, onLine, settings, tag } = order;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const told = await mkdtemp(join(folder, "packages-"));
  const until = AbortSignal.any([signal, AbortSignal.timeout(INSTALL_MS)]);
  let id: string | undefined;
  try {
    await tell(told, order);
    id = await engine.create(
      {
        ...{ name: `svc-build-${randomUUID()}`, image: base, entrypoint: ["/bin/sh"], arguments: ["-c", SCRIPT], env: {}, labels },
        ...{ cpus: undefined, memoryBytes: undefined, hasNetwork: true, port: undefined, isRestricted: false, user: "0" },
        mounts: [{ source: told, path: TOLD }],
      },
      until,
    );
    await engine.start(id);
    const said: string[] = [];
    for await (const { line } of engine.output(id, 0, until)) {
      const plain = withoutCredentials(line, settings);
      said.push(plain);
      if (said.length > SHOWN_LINES) said.shift();
      onLine(plain);
    }
    await engine.waitForEnd(id, until);
    const code = (await engine.inspect(id))?.exitCode;
    if (code !== 0) {
      const why = REASONS[code ?? 137] ?? `pip exited with ${code}`;
      const shown = lastLines(said.join("\n"), SHOWN_LINES).map((line) => `  ${line}`);
      throw new Failure("invalid_argument", [`The requirements of the image could not be installed: ${why}.`, ...shown].join("\n"));
    }
    await engine.commit(id, tag, until);
  } catch (error) {
    signal.throwIfAborted();
    if (until.aborted)
      throw new Failure("deadline_exceeded", `The requirements of the image took longer than ${INSTALL_MS / 60_000} minutes.`);
    throw error;
  } finally {
    if (id !== undefined) await engine.remove(id).catch(() => undefined);
    await rm(told, { recursive: true, force: true });
  }
}

/** Writes down what pip is told. */
async function tell(folder: string, { files, lines, settings }: PackagesOrder): Promise<void> {
  const write = async (path: string, content: string | Uint8Array): Promise<void> => {
    await mkdir(dirname(join(folder, path)), { recursive: true, mode: 0o700 });
    await writeFile(join(folder, path), content, { mode: 0o600 });
  };
  await mkdir(join(folder, "source"), { mode: 0o700 });
  await write("requirements.txt", `${lines.join("\n")}\n`);
  for (const file of files) await write(join("source", file.path), contentOf(file));
  for (const [name, content] of Object.entries(settings.files)) await write(join("settings", name), content);
  const paths = Object.entries(settings.paths).map(([variable, name]) => [variable, `${TOLD}/settings/${name}`] as const);
  const exported = [...Object.entries(settings.env), ...paths].map(
    ([name, value]) => `export ${name}='${value.replaceAll("'", "'\\''")}'\n`,
  );
  await write("settings.sh", exported.join(""));
}
