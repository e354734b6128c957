/**
 * Commands in containers and sandboxes. A ticket says which one, and opens the connection over
 * which its streams go.
 */

import type { Clock } from "../../context/clock.ts";
import type { KeyRing } from "../access/keys.ts";
import { createTickets, TICKET_MS, type TicketContent } from "../access/tickets.ts";
import type { Caller } from "../access/tokens.ts";
import type { ContainerEngine } from "../engines/container-engine.ts";
import { Failure } from "../failure.ts";
import { newId } from "../identifier.ts";
import type { RunningProgram } from "../processes/program.ts";
import type { Shell } from "../shells/shells.ts";
import { hasEnded, type StoredContainer } from "./container-records.ts";
import { type Containers, elsewhere } from "./containers.ts";

/** A command that is to be run. */
export interface ExecOrder {
  readonly command: readonly string[];
  /** Empty = that of the image. */
  readonly workdir: string;
  readonly env: Readonly<Record<string, string>>;
  /** 0 = never. */
  readonly timeoutMs: number;
  readonly terminal: { readonly columns: number; readonly rows: number } | undefined;
}

/** What has containers of a kind. */
export interface ExecPlace {
  readonly kind: "container" | "sandbox";
  readonly all: Pick<Containers, "engineId">;
}

/** A ticket for a command. */
export interface ExecTicket {
  readonly ticket: string;
  readonly expiresAt: number;
}

/** The capability. */
export interface Execs {
  /** A ticket for a command in a container that runs on this node. Throws Failure. */
  open(place: ExecPlace, container: StoredContainer, order: ExecOrder, caller: Caller): ExecTicket;
  /** The command of a ticket, once. Throws Failure permission_denied or resource_exhausted. */
  redeem(ticket: string, caller: Caller): Shell;
  /** Ends commands; containers go on. */
  close(): Promise<void>;
}

/** A command whose ticket was given out. */
interface WaitingExec extends ExecOrder {
  readonly expiresAt: number;
  readonly place: ExecPlace;
  readonly containerId: string;
}

/** Most commands that run at once on this node, and whose tickets wait. */
const MOST = 64;
const MOST_WAITING = 1_000;
/** Exit code of what took too long, as `timeout` has it. */
const TIMED_OUT = 124;

/** Makes the capability. */
export function createExecs(options: {
  readonly engine: () => ContainerEngine;
  readonly halted: (environmentId: string) => AbortSignal;
  readonly keys: KeyRing;
  readonly node: string;
  readonly clock: Clock;
}): Execs {
  const { clock, halted, keys, node } = options;
  const tickets = createTickets<TicketContent>({ keys, clock, noun: "command" });
  /** Commands by their tickets; tickets themselves are short enough for a header. */
  const waiting = new Map<string, WaitingExec>();
  const held = new Set<Shell>();

  const start = async (exec: WaitingExec, events: Parameters<Shell["start"]>[0]): Promise<RunningProgram> => {
    const { command, containerId, env, place, terminal, timeoutMs, workdir } = exec;
    const engineId = place.all.engineId(containerId);
    if (engineId === undefined) throw new Failure("not_found", `The ${place.kind} does not run any more.`);
    const program = await options.engine().exec(engineId, { argv: command, env, workdir, terminal, ...events });
    return timeoutMs === 0 ? program : { ...program, ended: endedInTime(program, timeoutMs) };
  };

  return {
    open(place, container, order, { clientId }) {
      const { kind } = place;
      if (hasEnded(container))
        throw new Failure("not_found", `The ${kind} '${container.name}' does not run any more.`, {
          hint: kind === "sandbox" ? "`svc sandbox create` makes another." : "`svc pods` shows those that run.",
        });
      if (place.all.engineId(container.id) === undefined) throw elsewhere(container, node, kind);
      const now = clock.now();
      const expiresAt = now + TICKET_MS;
      for (const [old, one] of waiting) if (one.expiresAt <= now) waiting.delete(old);
      if (waiting.size >= MOST_WAITING)
        throw new Failure("resource_exhausted", `${MOST_WAITING} commands wait to be run, which is the most.`, {
          hint: "Ask again in a minute.",
        });
      const id = newId("exec", now);
      waiting.set(id, { ...order, expiresAt, place, containerId: container.id });
      return { ticket: tickets.sign({ id, clientId, environmentId: container.environmentId, expiresAt }), expiresAt };
    },

    redeem(ticket, caller) {
      const content = tickets.read(ticket, caller);
      const exec = waiting.get(content.id);
      if (!exec)
        throw new Failure("permission_denied", "The ticket of the command is another node's.", {
          hint: "Ask the node that has the container.",
        });
      if (held.size >= MOST) throw new Failure("resource_exhausted", `${MOST} commands run in containers already, which is the most.`);
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
