/** A command in a container, over a connection of both ways. */

import type { Socket } from "node:net";
import type { JsonObject } from "../../../domain/json-value.ts";
import { newId } from "../../identifier.ts";
import type { RunningProgram } from "../../processes/program.ts";
import type { NewExec } from "../container-engine.ts";
import { KILL_MARKED, MARK } from "../exec-mark.ts";
import type { DockerApi } from "./docker-api.ts";
import { OutputFrames } from "./output-frames.ts";

/** Looks for the exit code of a command whose streams have ended. */
const LOOKS = 100;
const LOOK_MS = 20;
const KILLED = 137;
/** Exit codes of a program that is not there, and of one that Docker cannot start. */
const NOT_FOUND = 127;
const NOT_STARTED = 126;
/** What Docker writes in the place of a program that is not there. */
const NOT_THERE = /OCI runtime exec failed: .*(?:executable file not found|no such file or directory)/;
const LONGEST_REASON = 1_000;

/** Starts a command. Rejects with Failure. @param container its path in the API */
export async function startExec(api: DockerApi, container: string, exec: NewExec): Promise<RunningProgram> {
  const { argv, env, onOutput, onTaken, terminal, workdir } = exec;
  const mark = newId("exec", Date.now());
  const create = async (command: readonly string[], isAttached: boolean): Promise<string> => {
    const { Id } = await api.json(`${container}/exec`, {
      method: "POST",
      json: {
        ...{ AttachStdin: isAttached, AttachStdout: isAttached, AttachStderr: isAttached, Tty: isAttached && terminal !== undefined },
        ...{
          Cmd: command,
          Env: [...Object.entries(env).map(([name, value]) => `${name}=${value}`), ...(isAttached ? [`${MARK}=${mark}`] : [])],
        },
        ...(workdir !== "" && isAttached && { WorkingDir: workdir }),
      },
    });
    return `/exec/${String(Id)}`;
  };
  const resize = async ({ columns, rows }: { readonly columns: number; readonly rows: number }): Promise<void> => {
    await api.call(`${path}/resize`, { method: "POST", query: { h: String(rows), w: String(columns) } });
  };

  const path = await create(argv, true);
  const { early, socket } = await api.upgrade(`${path}/start`, { Detach: false, Tty: terminal !== undefined, ...sizeOf(terminal) });
  if (terminal) await resize(terminal).catch(() => undefined);
  const frames = new OutputFrames();
  let beginning = "";
  const show = async (bytes: Uint8Array): Promise<void> => {
    if (beginning.length < LONGEST_REASON) beginning += Buffer.from(bytes.subarray(0, LONGEST_REASON)).toString("latin1");
    if (terminal) await onOutput("stdout", bytes);
    else for (const part of frames.read(bytes)) await onOutput(part.stream, part.bytes);
  };
  const output = read(socket, early, show);

  return {
    ended: output.then(async () => {
      const code = await exitCode(api, path);
      return code === NOT_STARTED && NOT_THERE.test(beginning) ? NOT_FOUND : code;
    }),
    write(bytes) {
      if (socket.writable) socket.write(bytes, () => onTaken(bytes.length));
      else onTaken(bytes.length);
    },
    endInput: () => void (socket.writable && socket.end()),
    resize: (columns, rows) => void resize({ columns, rows }).catch(() => undefined),
    pause: () => true,
    resume: () => undefined,
    async kill() {
      const killer = await create(["/bin/sh", "-c", KILL_MARKED, "sh", mark], false).catch(() => undefined);
      if (killer !== undefined) await api.call(`${killer}/start`, { method: "POST", json: { Detach: true } }).catch(() => undefined);
      await Promise.race([output, Bun.sleep(2_000)]);
      socket.destroy();
    },
  };
}

/** The size of a terminal, as Podman and as Docker want to be told before its program begins. */
function sizeOf(terminal: NewExec["terminal"]): JsonObject {
  return terminal ? { h: terminal.rows, w: terminal.columns, ConsoleSize: [terminal.rows, terminal.columns] } : {};
}

/** Hands over what comes, one piece after the other, to the end of the connection. */
async function read(socket: Socket, early: Uint8Array, show: (bytes: Uint8Array) => Promise<void>): Promise<void> {
  if (early.length > 0) await show(early);
  try {
    for await (const bytes of socket) await show(bytes as Uint8Array);
  } catch {
    // A connection that breaks has ended; what the engine says of the command is asked next.
  }
}

/** The exit code of a command that has ended or is about to; that of a kill when nobody knows. */
async function exitCode(api: DockerApi, path: string): Promise<number> {
  for (let look = 0; look < LOOKS; look++) {
    const { ExitCode, Running } = await api.json(`${path}/json`).catch(() => ({ ExitCode: KILLED, Running: false }));
    if (Running === false) return Number(ExitCode ?? KILLED);
    await Bun.sleep(LOOK_MS);
  }
  return KILLED;
}
