/** Files, programs and the browser of this machine. */

import { type FSWatcher, promises, watch as watchFolder } from "node:fs";
import { dirname, join } from "node:path";
import { folderFacts } from "../disk/folder-facts.ts";
import { closeToOthers } from "../disk/private-file.ts";
import { renameInPlace } from "../disk/rename.ts";
import { withoutCredentials } from "../domain/credential-variables.ts";
import { CliError } from "../errors/cli-error.ts";
import { fromSystem } from "../errors/from-system.ts";
import type { Datagrams, Machine, Surroundings } from "./machine.ts";

/** Taken from `node:fs`, which is loaded anyway; `node:fs/promises` would load another module. */
const { access, mkdir, mkdtemp, open, readFile, rm, unlink } = promises;

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

async function readBytes(path: string): Promise<Uint8Array | undefined> {
  try {
    return await readFile(path);
  } catch (error) {
    if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return undefined;
    throw fromSystem(error, `read ${path}`) ?? error;
  }
}

async function writeFile(path: string, content: string | Uint8Array, options: { private?: boolean } = {}): Promise<void> {
  const beside = join(dirname(path), `.${crypto.randomUUID()}.tmp`);
  try {
    await mkdir(dirname(path), { recursive: true, mode: options.private ? 0o700 : 0o777 });
    const file = await open(beside, "wx", options.private ? 0o600 : 0o666);
    try {
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
    await renameInPlace(beside, path);
  } catch (error) {
    await unlink(beside).catch(() => {});
    throw fromSystem(error, `write ${path}`) ?? error;
  }
}

/** The machine that this process runs on. */
export function systemMachine(surroundings: Surroundings, signal: AbortSignal): Machine {
  const which = (name: string): string | undefined => Bun.which(name, { PATH: surroundings.env.PATH ?? "" }) ?? undefined;
  return {
    async run(argv, options = {}) {
      const [program = "", ...rest] = argv;
      const isPath = program.includes("/") || (surroundings.platform === "win32" && program.includes("\\"));
      const path = isPath ? program : which(program);
      if (!path) throw new CliError(`cannot start ${program}: it is not on PATH`, { code: "no_program" });
      const pipe = options.inherit ? "inherit" : "pipe";
      const child = Bun.spawn([path, ...rest], {
        cwd: options.cwd,
        env: { ...withoutCredentials(surroundings.env), ...options.env },
        stdin: options.input === undefined ? (options.inherit ? "inherit" : "ignore") : Buffer.from(options.input),
        stdout: pipe,
        stderr: pipe,
        signal,
      });
      const text = (stream: ReadableStream<Uint8Array> | undefined) => (stream ? new Response(stream).text() : "");
      const [stdout, stderr, exitCode] = await Promise.all([text(child.stdout), text(child.stderr), child.exited]);
      signal.throwIfAborted();
      return { exitCode, stdout, stderr };
    },
    which,
    programs: async (prefix) => (await import("./programs.ts")).programsOnPath(prefix, surroundings),
    become: async (path, words) => (await import("./programs.ts")).becomeProgram(path, words, surroundings),
    openUrl: async (url, { privately } = {}) => (await import("./open-url.ts")).openUrl(url, surroundings, which, privately),
    async readText(path) {
      const bytes = await readBytes(path);
      return bytes && new TextDecoder().decode(bytes);
    },
    readBytes,
    writeFile,
    exists: (path) =>
      access(path).then(
        () => true,
        () => false,
      ),
    datagrams: openDatagrams,
    folder: async (path) => folderFacts(path),
    closeToOthers: async (path) => closeToOthers(path),
    makeTempDir: async (prefix) => mkdtemp(join(surroundings.env.TMPDIR || (await import("node:os")).tmpdir(), prefix)),
    remove: (path) => rm(path, { recursive: true, force: true }),
    watch: watchTree,
  };
}

async function openDatagrams(host: string, port: number): Promise<Datagrams> {
  const [{ createSocket }, { lookup }] = await Promise.all([import("node:dgram"), import("node:dns/promises")]);
  const { address, family } = await lookup(host).catch((error) => {
    throw new CliError(`the host ${host} cannot be found`, { code: "no_host", cause: error });
  });
  const socket = createSocket(family === 6 ? "udp6" : "udp4");
  let failed: Error | undefined;
  let waiting = 0;
  let settle: (() => void) | undefined;
  const keep = (error: Error | null | undefined) => {
    failed ??= error ?? undefined;
  };
  socket.on("error", keep);
  return {
    send(text) {
      waiting++;
      socket.send(text, port, address, (error) => {
        keep(error);
        waiting--;
        if (waiting === 0) settle?.();
      });
    },
    async close() {
      if (waiting > 0) {
        await new Promise<void>((resolve) => {
          settle = resolve;
        });
      }
      socket.close();
      return failed;
    },
  };
}

function watchTree(
  dir: string,
  onChange: (paths: readonly string[]) => void,
  options: { readonly signal: AbortSignal; readonly debounceMs: number },
): void {
  if (options.signal.aborted) return;
  const changed = new Set<string>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const watcher: FSWatcher = watchFolder(dir, { recursive: true }, (_event, name) => {
    changed.add(name === null ? dir : join(dir, name));
    clearTimeout(timer);
    timer = setTimeout(() => {
      const paths = [...changed].sort();
      changed.clear();
      onChange(paths);
    }, options.debounceMs);
  });
  options.signal.addEventListener(
    "abort",
    () => {
      clearTimeout(timer);
      watcher.close();
    },
    { once: true },
  );
}
