/**
 * Sandboxes: containers without a network that wait for commands. A ticket says which command, and
 * opens the connection over which its streams go.
 */

import { create } from "@bufbuild/protobuf";
import type { ContainerVariable } from "../../../gen/svc/v1/container_pb.ts";
import { ContainerSpecSchema } from "../../../gen/svc/v1/container_pb.ts";
import type { Clock } from "../../context/clock.ts";
import { isSize } from "../../domain/shell-frames.ts";
import type { KeyRing } from "../access/keys.ts";
import { createTickets, TICKET_MS, type TicketContent } from "../access/tickets.ts";
import type { Caller } from "../access/tokens.ts";
import type { ContainerEngine } from "../engines/container-engine.ts";
import { Failure } from "../failure.ts";
import { newId } from "../identifier.ts";
import type { RunningProgram } from "../shells/shell-process.ts";
import type { Shell } from "../shells/shells.ts";
import type { EnvironmentRecord } from "../stores/metadata/identity.ts";
import { hasEnded, type StoredContainer } from "./container-records.ts";
import { checkTexts, checkVariables } from "./container-spec.ts";
import { type Containers, elsewhere } from "./containers.ts";

/** A sandbox that is wanted. */
export interface SandboxWish {
  readonly environment: Pick<EnvironmentRecord, "id" | "name" | "suspendedAt">;
  readonly image: string;
  /** Empty = one is made. */
  readonly name: string;
  /** Quantities; empty = not limited. */
  readonly cpu: string;
  readonly memory: string;
  readonly variables: readonly ContainerVariable[];
}

/** A command that is to be run in a sandbox. */
export interface ExecWish {
  /** Id or name. */
  readonly sandbox: string;
  readonly command: readonly string[];
  /** Empty = that of the image. */
  readonly workdir: string;
  readonly variables: readonly ContainerVariable[];
  /** 0 = never. */
  readonly timeoutSeconds: number;
  readonly terminal: { readonly columns: number; readonly rows: number } | undefined;
}

/** A command whose ticket was given out. */
interface WaitingExec {
  readonly expiresAt: number;
  readonly sandboxId: string;
  readonly command: readonly string[];
  readonly workdir: string;
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly terminal: { readonly columns: number; readonly rows: number } | null;
}

/** The capability. */
export interface Sandboxes extends Pick<Containers, "get" | "list" | "stop" | "use"> {
  /** Makes one, which runs when this resolves. Rejects with Failure. */
  create(wish: SandboxWish, caller: Caller): Promise<StoredContainer>;
  /** A ticket for a command. Rejects with Failure. */
  open(environmentId: string, wish: ExecWish, caller: Caller): Promise<{ readonly ticket: string; readonly expiresAt: number }>;
  /** The command of a ticket, once. Throws Failure permission_denied or resource_exhausted. */
  redeem(ticket: string, caller: Caller): Shell;
  /** Ends commands; sandboxes go on. */
  close(): Promise<void>;
}

/** Most commands that run at once on this node, and whose tickets wait. */
const MOST = 64;
const MOST_WAITING = 1_000;
const MAX_TIMEOUT_SECONDS = 7 * 86_400;
/** Exit code of what took too long, as `timeout` has it. */
const TIMED_OUT = 124;
/** What a sandbox runs until it is terminated: a shell that waits, and ends when it is told to. */
const WAITING = ["/bin/sh", "-c", "trap 'exit 0' TERM INT; while :; do sleep 3600 & wait $!; done"];

/** Makes the capability. */
export function createSandboxes(options: {
  readonly containers: Containers;
  readonly engine: () => ContainerEngine;
  readonly halted: (environmentId: string) => AbortSignal;
  readonly keys: KeyRing;
  readonly node: string;
  readonly clock: Clock;
}): Sandboxes {
  const { clock, containers, halted, keys, node } = options;
  const tickets = createTickets<TicketContent>({ keys, clock, noun: "command" });
  /** Commands by their tickets; tickets themselves are short enough for a header. */
  const waiting = new Map<string, WaitingExec>();
  const held = new Set<Shell>();

  const start = async (content: WaitingExec, events: Parameters<Shell["start"]>[0]): Promise<RunningProgram> => {
    const engineId = containers.engineId(content.sandboxId);
    if (engineId === undefined) throw new Failure("not_found", "The sandbox does not run any more.");
    const { command, env, terminal, timeoutMs, workdir } = content;
    const program = await options.engine().exec(engineId, { argv: command, env, workdir, terminal: terminal ?? undefined, ...events });
    return timeoutMs === 0 ? program : { ...program, ended: endedInTime(program, timeoutMs) };
  };

  return {
    get: containers.get,
    list: containers.list,
    stop: containers.stop,
    use: containers.use,

    async create({ environment, image, name, cpu, memory, variables }, caller) {
      const spec = create(ContainerSpecSchema, {
        ...{ image, entrypoint: WAITING, environment: [...variables], resources: { cpu, memory } },
      });
      try {
        return await containers.run({ environment, name, spec, tags: {}, lifetimeMs: 0, group: "", hasNetwork: false }, caller);
      } catch (error) {
        if (error instanceof Failure && error.kind === "invalid_argument" && error.message.includes("/bin/sh"))
          throw new Failure("failed_precondition", `The image '${image}' has no /bin/sh, which a sandbox needs.`, { hint: error.message });
        throw error;
      }
    },

    async open(environmentId, { command, sandbox, terminal, timeoutSeconds, variables, workdir }, caller) {
      const refuse = (what: string): never => {
        throw new Failure("invalid_argument", what);
      };
      if (command.length === 0 || command[0] === "") refuse("A command has a program at least.");
      checkTexts(command, "The words of a command");
      checkVariables(variables);
      if (variables.some(({ source }) => source.case === "secret"))
        refuse("A command is given no secrets by name; give them to the sandbox when it is made.");
      if (workdir !== "" && !(workdir.startsWith("/") && workdir.length <= 4_096 && !workdir.includes("\0")))
        refuse("The working directory of a command is an absolute path.");
      if (timeoutSeconds > MAX_TIMEOUT_SECONDS) refuse("The timeout of a command is at most seven days.");
      if (terminal && !(isSize(terminal.columns) && isSize(terminal.rows)))
        refuse("The size of a terminal is from 1 to 1,000 columns and rows.");
      const stored = await containers.get(environmentId, sandbox);
      if (hasEnded(stored))
        throw new Failure("not_found", `The sandbox '${stored.name}' does not run any more.`, {
          hint: "`svc sandbox create` makes another.",
        });
      if (containers.engineId(stored.id) === undefined) throw elsewhere(stored, node, "sandbox");
      const expiresAt = clock.now() + TICKET_MS;
      const now = clock.now();
      for (const [old, one] of waiting) if (one.expiresAt <= now) waiting.delete(old);
      if (waiting.size >= MOST_WAITING)
        throw new Failure("resource_exhausted", `${MOST_WAITING} commands wait to be run, which is the most.`, {
          hint: "Ask again in a minute.",
        });
      const id = newId("exec", now);
      waiting.set(id, {
        ...{ sandboxId: stored.id, command, workdir, expiresAt, timeoutMs: timeoutSeconds * 1000, terminal: terminal ?? null },
        env: Object.fromEntries(variables.map(({ name, source }) => [name, source.value ?? ""])),
      });
      const ticket = tickets.sign({ id, clientId: caller.clientId, environmentId, expiresAt });
      return { ticket, expiresAt };
    },

    redeem(ticket, caller) {
      const content = tickets.read(ticket, caller);
      const exec = waiting.get(content.id);
      if (!exec)
        throw new Failure("permission_denied", "The ticket of the command is another node's.", {
          hint: "Ask the node that has the sandbox.",
        });
      if (held.size >= MOST) throw new Failure("resource_exhausted", `${MOST} commands run in sandboxes already, which is the most.`);
      tickets.use(content);
      waiting.delete(content.id);
      let starting: Promise<RunningProgram> | undefined;
      let isClosed = false;
      const shell: Shell = {
        id: content.id,
        halted: halted(content.environmentId),
        start(events) {
          starting = start(exec, events);
          return starting;
        },
        async close() {
          if (isClosed) return;
          isClosed = true;
          await starting?.then((program) => program.kill()).catch(() => undefined);
          held.delete(shell);
        },
      };
      held.add(shell);
      return shell;
    },

    async close() {
      await Promise.all([...held].map((shell) => shell.close()));
    },
  };
}

/** The exit code of a program, which is killed after a time. */
async function endedInTime(program: RunningProgram, ms: number): Promise<number> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<"late">((resolve) => {
    timer = setTimeout(() => resolve("late"), ms);
  });
  try {
    const first = await Promise.race([program.ended, late]);
    if (first !== "late") return first;
    await program.kill();
    return TIMED_OUT;
  } finally {
    clearTimeout(timer);
  }
}
