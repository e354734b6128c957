/** Sandboxes: containers without a network that wait for commands. */

import { create } from "@bufbuild/protobuf";
import type { ContainerVariable } from "../../../gen/svc/v1/container_pb.ts";
import { ContainerSpecSchema } from "../../../gen/svc/v1/container_pb.ts";
import { isSize } from "../../domain/shell-frames.ts";
import type { Caller } from "../access/tokens.ts";
import { Failure } from "../failure.ts";
import type { EnvironmentRecord } from "../stores/metadata/identity.ts";
import type { StoredContainer } from "./container-records.ts";
import { checkTexts, checkVariables } from "./container-spec.ts";
import type { Containers } from "./containers.ts";
import type { Execs, ExecTicket } from "./execs.ts";
import { NOTHING_BUT_WAIT, shellLess } from "./waiting.ts";

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

/** The capability. */
export interface Sandboxes extends Pick<Containers, "get" | "list" | "stop" | "use"> {
  /** Makes one, which runs when this resolves. Rejects with Failure. */
  create(wish: SandboxWish, caller: Caller): Promise<StoredContainer>;
  /** A ticket for a command. Rejects with Failure. */
  open(environmentId: string, wish: ExecWish, caller: Caller): Promise<ExecTicket>;
}

const MAX_TIMEOUT_SECONDS = 7 * 86_400;

/** Makes the capability. */
export function createSandboxes(containers: Containers, execs: Pick<Execs, "open">): Sandboxes {
  return {
    get: containers.get,
    list: containers.list,
    stop: containers.stop,
    use: containers.use,

    async create({ environment, image, name, cpu, memory, variables }, caller) {
      const spec = create(ContainerSpecSchema, {
        ...{ image, entrypoint: NOTHING_BUT_WAIT, environment: [...variables], resources: { cpu, memory } },
      });
      try {
        return await containers.run({ environment, name, spec, tags: {}, lifetimeMs: 0, group: "", hasNetwork: false }, caller);
      } catch (error) {
        throw shellLess(image, "a sandbox", error);
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
      const env = Object.fromEntries(variables.map(({ name, source }) => [name, source.value ?? ""]));
      const order = { command, workdir, env, timeoutMs: timeoutSeconds * 1000, terminal };
      return execs.open({ kind: "sandbox", all: containers }, await containers.get(environmentId, sandbox), order, caller);
    },
  };
}
