/**
 * Shells: programs that people run by hand in the environment of a deployment's processes: its
 * packages, a copy of its source, and its environment's variables; or in a container that runs. A
 * ticket says which one, so that whatever was refused was refused in words before a connection is
 * made.
 */

import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Clock } from "../../context/clock.ts";
import { makePrivateFolder } from "../../disk/private-file.ts";
import { didYouMean } from "../../domain/closest.ts";
import { allows } from "../../domain/permissions.ts";
import { isSize } from "../../domain/shell-frames.ts";
import type { KeyRing } from "../access/keys.ts";
import { createTickets, TICKET_MS, type TicketContent } from "../access/tickets.ts";
import type { Caller } from "../access/tokens.ts";
import type { DeploymentRuntime } from "../deployments/builder.ts";
import type { Deployments } from "../deployments/deployments.ts";
import type { Protection } from "../deployments/environment-states.ts";
import { Failure } from "../failure.ts";
import { newId } from "../identifier.ts";
import type { Log } from "../log.ts";
import type { Processes } from "../processes/processes.ts";
import type { MeasuredProgram, ProgramStart, RunningProgram } from "../processes/program.ts";
import type { EnvironmentRecord } from "../stores/metadata/identity.ts";
import type { ProcessRecord } from "../stores/metadata/processes.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";
import { DEFAULT_RESOURCE_GROUP } from "../stores/metadata/usage.ts";
import { startShellProcess } from "./shell-process.ts";

/** A shell that a caller wants. */
export interface ShellWish {
  /** Name of the pod. */
  readonly pod: string;
  /** Empty = any. */
  readonly namespace: string;
  /** Empty = the first. */
  readonly container: string;
  /** Empty = a shell. */
  readonly command: string;
  /** Size of its terminal; undefined = none. */
  readonly terminal: { readonly columns: number; readonly rows: number } | undefined;
  /** Empty = the usual one. */
  readonly terminalKind: string;
}

/** What a ticket says. */
interface ShellTicketContent extends TicketContent {
  readonly deploymentId: string;
  readonly command: string;
  readonly terminal: { readonly columns: number; readonly rows: number } | null;
  readonly terminalKind: string;
  readonly withoutSecrets: boolean;
}

/** A ticket for a shell. */
export interface ShellTicket extends Pick<ShellTicketContent, "deploymentId" | "expiresAt" | "withoutSecrets"> {
  readonly ticket: string;
  /** Whether it is for a command in a container that runs, which another connection takes. */
  readonly isExec: boolean;
}

/** A container that has not ended, as a pod. */
export interface ContainerPod {
  readonly id: string;
  readonly name: string;
  readonly kind: "container" | "sandbox";
  readonly environmentId: string;
}

/** The containers that are pods. */
export interface ContainerPods {
  /** Those of some environments. */
  list(environmentIds: readonly string[]): Promise<readonly ContainerPod[]>;
  /** A ticket for a command in one. Rejects with Failure. */
  open(
    pod: ContainerPod,
    command: Pick<ProgramStart, "argv" | "terminal"> & { readonly terminalKind: string },
    caller: Caller,
  ): Promise<Pick<ShellTicket, "expiresAt" | "ticket">>;
}

/** A program that a ticket was taken for. Its place is held until it is closed. */
export interface Shell {
  readonly id: string;
  /** Starts the program, once. Rejects with Failure when it cannot be started, or was closed. */
  start(events: Pick<ProgramStart, "onOutput" | "onTaken">): Promise<RunningProgram>;
  /** Aborted with a reason in words when the environment is suspended or removed. */
  readonly halted: AbortSignal;
  /** Ends the program, removes its folder, and gives its place to others. */
  close(): Promise<void>;
}

/** The capability. */
export interface Shells {
  /**
   * A ticket for a shell. Rejects with Failure.
   * @param visible environments that the caller may know of
   */
  open(wish: ShellWish, caller: Caller, visible: readonly EnvironmentRecord[]): Promise<ShellTicket>;
  /** The shell of a ticket, once. Throws Failure permission_denied or resource_exhausted. */
  redeem(ticket: string, caller: Caller): Shell;
  /** Ends all of them. */
  close(): Promise<void>;
}

/** The services that shells need. */
export interface ShellsOptions {
  readonly metadata: Pick<MetadataStore, "processes">;
  readonly deployments: Pick<Deployments, "find" | "halted" | "runtime">;
  readonly protection: Protection;
  readonly processes: Pick<Processes, "began">;
  readonly containers: () => Promise<ContainerPods>;
  readonly keys: KeyRing;
  /** Folder for the folders of shells. */
  readonly folder: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** Most shells of an environment on a node, and of the node. */
const MOST_OF_ENVIRONMENT = 8;
const MOST = 32;
const MAX_COMMAND = 8_192;
const DEFAULT_KIND = "xterm-256color";
const SHELL = "/bin/sh";
const USUAL_PATH = "/usr/local/bin:/usr/bin:/bin";
/** Limits a program's memory as a worker's is, without core dumps. */
const LIMITED = 'ulimit -c 0; [ -z "$1" ] || ulimit -v "$1"; shift; exec "$@"';

const maySeeSecrets = ({ permissions }: Caller): boolean => allows(permissions, "secrets.read");

/** Makes the capability. */
export function createShells(options: ShellsOptions): Shells {
  const { metadata, deployments, protection, processes, containers, keys, folder, clock, log } = options;
  const tickets = createTickets<ShellTicketContent>({ keys, clock, noun: "shell" });
  const held = new Map<Shell, string>();

  /** Rejects with Failure failed_precondition for an environment that is protected. */
  const refuseProtected = async (environmentId: string, name = "The environment"): Promise<void> => {
    if (await protection.isProtected(environmentId))
      throw new Failure("failed_precondition", `${name} is protected: nobody opens a shell there.`, {
        hint: "`svc task run` runs code that was approved.",
      });
  };

  /** The process or container of a name. Rejects with Failure not_found. */
  const findPod = async (
    wanted: string,
    namespace: string,
    environments: ReadonlyMap<string, EnvironmentRecord>,
  ): Promise<ProcessRecord | ContainerPod> => {
    const running = (await metadata.processes.running()).filter(
      ({ environmentId }) => environmentId === "" || environments.has(environmentId),
    );
    const process = running.find(({ name }) => name === wanted);
    if (process) return process;
    const contained = await (await containers()).list([...environments.keys()]);
    const named = contained.filter(({ name }) => name === wanted);
    const isThere = ({ environmentId }: ContainerPod): boolean =>
      [environmentId, environments.get(environmentId)?.name].includes(namespace);
    const [found, other] = namespace === "" || !named.some(isThere) ? named : named.filter(isThere);
    if (found && other)
      throw new Failure("failed_precondition", `Several pods have the name '${wanted.slice(0, 200)}'.`, {
        hint: "Name the environment of the one that is meant, with --namespace; `svc pods` shows it.",
      });
    if (found) return found;
    const near = didYouMean(
      wanted,
      [...running, ...contained].map(({ name }) => name),
    );
    throw new Failure("not_found", `No pod '${wanted.slice(0, 200)}' runs.`, {
      hint: near.replace(/^d/, "D") || "`svc pods` shows those that run.",
    });
  };

  const start = async (
    content: ShellTicketContent,
    own: string,
    events: Pick<ProgramStart, "onOutput" | "onTaken">,
    signal: AbortSignal,
  ): Promise<MeasuredProgram> => {
    const { id, environmentId, deploymentId, command, terminal, terminalKind, withoutSecrets } = content;
    await refuseProtected(environmentId);
    const deployment = await deployments.find(deploymentId, environmentId);
    makePrivateFolder(own);
    const home = join(own, "home");
    makePrivateFolder(home);
    const runtime = await deployments.runtime(deploymentId, environmentId, join(own, "source"), signal, "", { withoutSecrets });
    signal.throwIfAborted();
    const { sourceRoot, sdkRoot } = runtime;
    const wanted = {
      argv: commandLine(command),
      cwd: sourceRoot,
      env: {
        LANG: "C.UTF-8",
        ...runtime.env,
        PYTHONPATH: [sdkRoot, sourceRoot].join(":"),
        HOME: home,
        SVC_SHELL: id,
        ...(terminal && { TERM: terminalKind || DEFAULT_KIND }),
      },
      terminal: terminal ?? undefined,
      ...events,
    };
    const process = runtime.startContained
      ? await runtime.startContained({ ...wanted, reads: [sdkRoot], writes: [sourceRoot, home] }, signal)
      : startShellProcess(besideWorkers(wanted, runtime));
    const memoryLimitBytes = process.memoryLimitBytes ?? runtime.memoryLimitBytes;
    const reports = processes.began({
      ...{ kind: "shell", pid: process.pid, use: process.use, environmentId, deploymentId },
      ...{ resourceGroup: DEFAULT_RESOURCE_GROUP, memoryLimitBytes, tag: deployment.tags[0] ?? "" },
    });
    reports.ready();
    void process.ended.then((code) => reports.ended({ isExpected: true, how: `exited with code ${code}` }));
    return process;
  };

  const hold = (content: ShellTicketContent): Shell => {
    const { id, environmentId } = content;
    const own = join(folder, id);
    const closing = new AbortController();
    let starting: Promise<MeasuredProgram> | undefined;
    const shell: Shell = {
      id,
      halted: deployments.halted(environmentId),
      start(events) {
        starting = start(content, own, events, closing.signal);
        return starting;
      },
      async close() {
        if (closing.signal.aborted) return;
        closing.abort(new Failure("aborted", "The shell was closed."));
        await starting?.then((process) => process.kill()).catch(() => undefined);
        await rm(own, { recursive: true, force: true }).catch((error: unknown) =>
          log.warning("the folder of a shell could not be removed", { shell: id, error: String(error) }),
        );
        held.delete(shell);
      },
    };
    held.set(shell, environmentId);
    return shell;
  };

  return {
    async open(wish, caller, visible) {
      const { command, container, namespace, pod: name, terminal, terminalKind } = wish;
      if (command.length > MAX_COMMAND || command.includes("\0"))
        throw new Failure("invalid_argument", `The command of a shell has at most ${MAX_COMMAND} characters, none of them null.`);
      if (terminal && !(isSize(terminal.columns) && isSize(terminal.rows)))
        throw new Failure("invalid_argument", "The size of a terminal is from 1 to 1,000 columns and rows.");
      if (!/^[\w.+-]{0,50}$/.test(terminalKind)) throw new Failure("invalid_argument", "The kind of a terminal is no name.");
      const environments = new Map(visible.map((environment) => [environment.id, environment]));
      const pod = await findPod(name.replace(/^pod\//, ""), namespace, environments);
      if (container !== "" && container !== pod.kind)
        throw new Failure("not_found", `Pod ${pod.name} has no container '${container.slice(0, 200)}'.`, {
          hint: `It has one, '${pod.kind}': leave --container out.`,
        });
      const environment = environments.get(pod.environmentId);
      if (!environment || ("deploymentId" in pod && pod.deploymentId === ""))
        throw new Failure("failed_precondition", `Pod ${pod.name} is a ${pod.kind}, which has no environment of a project.`, {
          hint: "Name a worker of a deployment, or a container; `svc pods` shows them.",
        });
      if (namespace !== "" && namespace !== environment.id && namespace !== environment.name)
        throw new Failure("not_found", `Pod ${pod.name} is not in namespace '${namespace.slice(0, 200)}'.`, {
          hint: `It is in '${environment.name}'.`,
        });
      await refuseProtected(environment.id, `Environment '${environment.name}'`);
      if (!("deploymentId" in pod)) {
        const started = { argv: commandLine(command), terminal, terminalKind: terminalKind || DEFAULT_KIND };
        const opened = await (await containers()).open(pod, started, caller);
        return { ...opened, isExec: true, deploymentId: "", withoutSecrets: false };
      }
      await deployments.find(pod.deploymentId, environment.id);
      const content: ShellTicketContent = {
        ...{ id: newId("sh", clock.now()), clientId: caller.clientId, environmentId: environment.id, deploymentId: pod.deploymentId },
        ...{ command, terminal: terminal ?? null, terminalKind, expiresAt: clock.now() + TICKET_MS },
        withoutSecrets: !maySeeSecrets(caller),
      };
      const { deploymentId, expiresAt, withoutSecrets } = content;
      return { ticket: tickets.sign(content), isExec: false, deploymentId, expiresAt, withoutSecrets };
    },

    redeem(ticket, caller) {
      const content = tickets.read(ticket, caller);
      const ofEnvironment = [...held.values()].filter((environmentId) => environmentId === content.environmentId).length;
      if (held.size >= MOST || ofEnvironment >= MOST_OF_ENVIRONMENT)
        throw new Failure(
          "resource_exhausted",
          `${ofEnvironment >= MOST_OF_ENVIRONMENT ? `${MOST_OF_ENVIRONMENT} shells of the environment` : `${MOST} shells`} are open, which is the most.`,
          {
            hint: "End one of them; `svc pods` shows them.",
          },
        );
      tickets.use(content);
      return hold({ ...content, withoutSecrets: content.withoutSecrets || !maySeeSecrets(caller) });
    },

    async close() {
      await Promise.all([...held.keys()].map((shell) => shell.close()));
    },
  };
}

/** A shell, or what it runs. */
function commandLine(command: string): readonly string[] {
  return command === "" ? [SHELL] : [SHELL, "-c", command];
}

/** How a program is started on this machine: with the interpreter and the limit of workers. */
function besideWorkers(start: ProgramStart, { env, memoryLimitBytes, python }: DeploymentRuntime): ProgramStart {
  const bin = dirname(python);
  const limit = memoryLimitBytes === undefined ? "" : String(Math.ceil(memoryLimitBytes / 1024));
  return {
    ...start,
    argv: [SHELL, "-c", LIMITED, "sh", limit, ...start.argv],
    env: { ...start.env, PATH: `${bin}:${env.PATH ?? USUAL_PATH}`, VIRTUAL_ENV: dirname(bin) },
  };
}
