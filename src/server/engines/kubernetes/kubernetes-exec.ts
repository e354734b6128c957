/**
 * A command in a pod, over a WebSocket with a channel for each stream (`v5.channel.k8s.io`).
 * Kubernetes knows neither variables nor a folder for a command, so a shell in the pod sets them.
 * As with `kubectl exec`, the cluster's audit log has the command's words.
 */

import { isJsonObject } from "../../../domain/json-value.ts";
import { Failure } from "../../failure.ts";
import { newId } from "../../identifier.ts";
import type { RunningProgram } from "../../processes/program.ts";
import type { NewExec } from "../container-engine.ts";
import { KILL_MARKED, MARK } from "../exec-mark.ts";
import { addressOf, authorization, type KubernetesApi, tlsOf, wordsIn } from "./kubernetes-api.ts";
import { CONTAINER } from "./pod.ts";

const PROTOCOL = "v5.channel.k8s.io";
const STDIN = 0;
const STDOUT = 1;
const STDERR = 2;
const STATUS = 3;
const RESIZE = 4;
/** Closes the channel whose number follows. */
const CLOSE = 255;
/** Most bytes of a message that is sent. */
const PIECE = 32 * 1024;
/** Bytes that may wait to be sent before more are taken. */
const MOST_UNSENT = 1024 * 1024;
/** Bytes of output that may wait for who reads them; a connection has no way to hold them back. */
const MOST_UNREAD = 64 * 1024 * 1024;
const LOOK_MS = 10;
const OPEN_MS = 30_000;
const KILLED = 137;
/** Longest wait for the end of what was killed. */
const KILL_MS = 5_000;
/** Sets a number of variables (`$2`) and a folder (`$1`), and becomes the command. */
const BEGIN =
  'd=$1 n=$2; shift 2; while [ "$n" -gt 0 ]; do export "$1"; shift; n=$((n-1)); done; [ -z "$d" ] || cd "$d" || exit 126; exec "$@"';

type ClientSocket = WebSocket & { terminate(): void };

/** Starts a command. Rejects with Failure. @param pod path of the pod in the API */
export async function startExec(api: KubernetesApi, pod: string, exec: NewExec): Promise<RunningProgram> {
  const { argv, env, onOutput, onTaken, terminal, workdir } = exec;
  const mark = newId("exec", Date.now());
  const variables = [...Object.entries({ ...env, [MARK]: mark })].map(([name, value]) => `${name}=${value}`);
  const command = ["/bin/sh", "-c", BEGIN, "sh", workdir, String(variables.length), ...variables, ...argv];
  const socket = await connect(api, pod, command, { stdin: true, tty: terminal !== undefined });
  const ended = Promise.withResolvers<number>();
  let shown = Promise.resolve();
  let unread = 0;
  let code = KILLED;
  let unsentTaken = Promise.resolve();

  const send = (channel: number, bytes: Uint8Array): void => {
    if (socket.readyState !== WebSocket.OPEN) return;
    const message = new Uint8Array(bytes.length + 1);
    message[0] = channel;
    message.set(bytes, 1);
    socket.send(message);
  };
  const resize = (columns: number, rows: number): void => send(RESIZE, Buffer.from(JSON.stringify({ Width: columns, Height: rows })));

  socket.onmessage = ({ data }: MessageEvent<ArrayBuffer>) => {
    const [channel] = new Uint8Array(data, 0, Math.min(1, data.byteLength));
    const bytes = new Uint8Array(data, Math.min(1, data.byteLength));
    if (channel === STATUS) code = exitCode(Buffer.from(bytes).toString());
    if ((channel !== STDOUT && channel !== STDERR) || bytes.length === 0) return;
    unread += bytes.length;
    if (unread > MOST_UNREAD) return void program.kill();
    shown = shown
      .then(() => onOutput(channel === STDERR ? "stderr" : "stdout", bytes))
      .catch(() => undefined)
      .finally(() => {
        unread -= bytes.length;
      });
  };
  socket.onclose = () => void shown.then(() => ended.resolve(code));
  socket.onerror = () => undefined;
  if (terminal) resize(terminal.columns, terminal.rows);

  const program: RunningProgram = {
    ended: ended.promise,
    write(bytes) {
      for (let at = 0; at < bytes.length; at += PIECE) send(STDIN, bytes.subarray(at, at + PIECE));
      unsentTaken = unsentTaken.then(async () => {
        while (socket.readyState === WebSocket.OPEN && socket.bufferedAmount > MOST_UNSENT) await Bun.sleep(LOOK_MS);
        onTaken(bytes.length);
      });
    },
    endInput: () => send(CLOSE, new Uint8Array([STDIN])),
    resize: (columns, rows) => void (terminal && resize(columns, rows)),
    pause: () => true,
    resume: () => undefined,
    async kill() {
      const killer = await connect(api, pod, ["/bin/sh", "-c", KILL_MARKED, "sh", mark], { stdin: false, tty: false }).catch(
        () => undefined,
      );
      await Promise.race([ended.promise, Bun.sleep(KILL_MS)]);
      killer?.terminate();
      socket.terminate();
    },
  };
  return program;
}

/** Opens the connection of a command. Rejects with Failure. */
async function connect(
  api: KubernetesApi,
  pod: string,
  command: readonly string[],
  { stdin, tty }: { readonly stdin: boolean; readonly tty: boolean },
): Promise<ClientSocket> {
  const query = new URLSearchParams(command.map((word) => ["command", word]));
  for (const [name, value] of Object.entries({ container: CONTAINER, stdin, stdout: true, stderr: !tty, tty }))
    query.set(name, String(value));
  const path = `${pod}/exec`;
  const credentials = await api.access.credentials();
  const options = { headers: authorization(credentials), protocols: [PROTOCOL], tls: tlsOf(credentials) };
  // Bun takes options where browsers take protocols.
  const socket = new WebSocket(addressOf(api.access, path, query).replace(/^http/, "ws"), options as unknown as string[]) as ClientSocket;
  socket.binaryType = "arraybuffer";
  try {
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error("no answer in time")), OPEN_MS);
      socket.onopen = () => {
        clearTimeout(timer);
        resolve();
      };
      socket.onclose = socket.onerror = () => {
        clearTimeout(timer);
        reject(new Error("the connection was refused"));
      };
    });
  } catch (error) {
    socket.terminate();
    throw await refusalOf(api, pod, error);
  }
  if (socket.protocol === PROTOCOL) return socket;
  socket.terminate();
  throw new Failure("failed_precondition", `This Kubernetes cannot end a command's input: it does not speak ${PROTOCOL}.`, {
    hint: "Kubernetes 1.30 and newer do.",
  });
}

/** Why a connection was refused, of which a WebSocket says nothing. */
async function refusalOf(api: KubernetesApi, pod: string, error: unknown): Promise<Failure> {
  try {
    // A call that is no upgrade is refused too, but for who may make it only because of that.
    await api.call(`${pod}/exec`, { query: { container: CONTAINER, command: "true", stdout: "true" } });
  } catch (refusal) {
    if (refusal instanceof Failure && !/upgrade/i.test(refusal.message)) return refusal;
  }
  return new Failure(
    "unavailable",
    `The Kubernetes API opened no connection for a command: ${error instanceof Error ? error.message : String(error)}.`,
  );
}

/** The exit code that a status tells; that of a kill when it tells another end. */
export function exitCode(text: string): number {
  let status: unknown;
  try {
    status = JSON.parse(text);
  } catch {
    return KILLED;
  }
  if (!isJsonObject(status)) return KILLED;
  if (status.status === "Success") return 0;
  const causes = isJsonObject(status.details) && Array.isArray(status.details.causes) ? status.details.causes : [];
  const cause = causes.find((one) => isJsonObject(one) && one.reason === "ExitCode");
  const code = isJsonObject(cause) ? Number(wordsIn(String(cause.message))) : Number.NaN;
  return Number.isInteger(code) && code >= 0 && code <= 255 ? code : KILLED;
}
