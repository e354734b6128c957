/** Files into a sandbox and out of it, as archives that a `tar` in the sandbox reads and writes. */

import { basename, resolve } from "node:path";
import type { Context } from "../context/context.ts";
import { sizeText } from "../domain/size.ts";
import { CliError, UsageError } from "../errors/cli-error.ts";
import { fromSystem } from "../errors/from-system.ts";
import { NO_LOG } from "../shell-client/debug-log.ts";
import { runShell } from "../shell-client/run-shell.ts";
import { type Packed, pack } from "./pack.ts";
import { type Place, splitPath } from "./place.ts";
import { targetOf, type Unpacked, unpack } from "./unpack.ts";

/** What was copied. Of a stream nothing is known but its bytes. */
export interface Copied {
  readonly files: number;
  readonly bytes: number;
  /** Links and other things that were left out. */
  readonly leftOut: number;
}

type InSandbox = Extract<Place, { is: "sandbox" }>;

/** A command in a sandbox, and where its streams go. */
interface Streams {
  readonly sandbox: string;
  readonly command: readonly string[];
  read?(): Promise<Uint8Array | undefined>;
  write?(bytes: Uint8Array): Promise<void>;
}

const TAKE = 'mkdir -p -- "$1" && cd -- "$1" && exec tar -xof -';
const SEND = 'cd -- "$1" && exec tar -cf - -- "$2"';
const IS_FOLDER = '[ -d "$1" ]';
/** Most characters of what `tar` says. */
const MOST_WORDS = 2_000;
const NOT_FOUND = 127;

const script = (text: string, ...words: readonly string[]): readonly string[] => ["/bin/sh", "-c", text, "sh", ...words];

/** Copies. Rejects with UsageError or CliError. @param maxBytes most of what a sandbox sends */
export async function copyFiles(context: Context, from: Place, to: Place, maxBytes: number): Promise<Copied> {
  if (to.is === "sandbox" && from.is === "machine") return sendFiles(context, from.path, to);
  if (to.is === "sandbox" && from.is === "stream") return sendStream(context, to);
  if (from.is === "sandbox" && to.is === "machine") return fetchFiles(context, from, to.path, maxBytes);
  if (from.is === "sandbox" && to.is === "stream") return fetchStream(context, from);
  throw new UsageError("one of the two places is in a sandbox, and the other on this machine", {
    hint: "For example svc sandbox copy rows.csv try:/tmp/rows.csv",
  });
}

async function sendFiles(context: Context, path: string, { path: wanted, sandbox }: InSandbox): Promise<Copied> {
  const isInside = wanted.endsWith("/") || (await isFolder(context, sandbox, wanted));
  const { folder, name } = isInside ? { folder: wanted, name: basename(resolve(path)) } : splitPath(wanted);
  const packed: Packed = { files: 0, bytes: 0, leftOut: [] };
  const archive = pack(path, name || "root", packed)[Symbol.asyncIterator]();
  const said = (error: unknown): unknown => fromSystem(error, `copy ${path}`) ?? error;
  await context.progress.step(`Copying ${path} to ${sandbox}:${wanted}`, async (say) => {
    const read = async (): Promise<Uint8Array | undefined> => {
      const { done, value } = await archive.next().catch((error: unknown) => Promise.reject(said(error)));
      say(`${packed.files} files, ${sizeText(packed.bytes)}`);
      return done ? undefined : value;
    };
    try {
      await run(context, { sandbox, command: script(TAKE, folder), read });
    } finally {
      await archive.return?.(undefined);
    }
  });
  for (const one of packed.leftOut.slice(0, 5)) context.progress.warn(`${one} is neither a file, a folder nor a link, and was left out.`);
  return { files: packed.files, bytes: packed.bytes, leftOut: packed.leftOut.length };
}

async function sendStream(context: Context, { path, sandbox }: InSandbox): Promise<Copied> {
  let bytes = 0;
  await context.attach(async (attached) => {
    const read = async (): Promise<Uint8Array | undefined> => {
      const piece = await attached.read();
      bytes += piece?.length ?? 0;
      return piece;
    };
    await run(context, { sandbox, command: script(TAKE, path), read });
  }, true);
  return { files: 0, bytes, leftOut: 0 };
}

async function fetchFiles(context: Context, { path, sandbox }: InSandbox, wanted: string, maxBytes: number): Promise<Copied> {
  const { folder, name } = splitPath(path);
  const target = await targetOf(wanted, name);
  const unpacked: Unpacked = { files: 0, bytes: 0, leftOut: 0, first: undefined };
  await context.progress.step(`Copying ${sandbox}:${path} to ${wanted}`, async (say) => {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const writer = writable.getWriter();
    const sent = run(context, {
      ...{ sandbox, command: script(SEND, folder, name || ".") },
      async write(bytes) {
        await writer.write(bytes);
        say(`${unpacked.files} files, ${sizeText(unpacked.bytes)}`);
      },
    });
    sent
      .then(
        () => writer.close(),
        (error: unknown) => writer.abort(error),
      )
      .catch(() => undefined);
    const ends = await Promise.allSettled([sent, unpack(readable, { name, target, maxBytes }, unpacked)]);
    const reasons = ends.flatMap((end) => (end.status === "rejected" ? [end.reason as unknown] : []));
    // What `tar` says of a path that is not there tells more than that nothing came.
    if (reasons.length > 0) {
      const told = reasons.find((reason) => reason instanceof CliError) ?? reasons.at(-1);
      throw fromSystem(told, `write ${target}`) ?? told;
    }
  });
  if (unpacked.first)
    context.progress.warn(
      `${unpacked.leftOut} links and devices were left out, for example ${unpacked.first.path}, ${unpacked.first.what}: links that a sandbox sends are not followed.`,
    );
  return { files: unpacked.files, bytes: unpacked.bytes, leftOut: unpacked.leftOut };
}

async function fetchStream(context: Context, { path, sandbox }: InSandbox): Promise<Copied> {
  const { folder, name } = splitPath(path);
  let bytes = 0;
  const write = async (piece: Uint8Array): Promise<void> => {
    bytes += piece.length;
    await context.io.writeOut(piece);
  };
  await run(context, { sandbox, command: script(SEND, folder, name || "."), write });
  return { files: 0, bytes, leftOut: 0 };
}

async function isFolder(context: Context, sandbox: string, path: string): Promise<boolean> {
  return (await exitCode(context, { sandbox, command: script(IS_FOLDER, path) })).code === 0;
}

/** Runs a command to its end. Rejects with CliError when it fails. */
async function run(context: Context, streams: Streams): Promise<void> {
  const { code, words } = await exitCode(context, streams);
  if (code === 0) return;
  const why = words.trim().split("\n").slice(-3).join("; ");
  throw new CliError(`the sandbox could not copy: ${why || `its tar ended with code ${code}`}`, {
    code: "copy_failed",
    hint: code === NOT_FOUND ? "The image has no tar; `svc sandbox exec` passes one file on by `cat`." : undefined,
  });
}

async function exitCode(
  { api, http, signal }: Context,
  { command, read, sandbox, write }: Streams,
): Promise<{ readonly code: number; readonly words: string }> {
  const { path, ticket } = await (await api.sandboxes()).openExec({ sandbox, command: [...command] });
  const socket = await http.openSocket(path, { "svc-shell-ticket": ticket });
  let words = "";
  const code = await runShell(
    socket,
    {
      ...{ isTerminal: false, columns: 0, rows: 0, onResize: () => undefined },
      read: read ?? (async () => undefined),
      async write(stream, bytes) {
        if (stream === "stdout") await write?.(bytes);
        else words = (words + new TextDecoder().decode(bytes)).slice(-MOST_WORDS);
      },
    },
    NO_LOG,
    signal,
  );
  return { code, words };
}
