/** Containers without an engine: each is a server of HTTP in this process, which a test can have fail. */

import type { ContainerSpec } from "../../../gen/svc/v1/container_pb.ts";
import { hasEnded, type StoredContainer } from "../../../src/server/containers/container-records.ts";
import type { Containers, ContainerWish } from "../../../src/server/containers/containers.ts";
import { Failure } from "../../../src/server/failure.ts";

interface Running {
  stored: StoredContainer;
  readonly spec: ContainerSpec;
  server: Bun.Server<undefined> | undefined;
  cpuSeconds: number;
}

/** The containers. */
export class FakeContainers implements Pick<Containers, "run" | "stop" | "find" | "list" | "address" | "use"> {
  /** In the order of their start; those that have ended too. */
  readonly all = new Map<string, Running>();
  /** Answers requests to a container; default: with its id. */
  answer: (container: StoredContainer) => Response | Promise<Response> = ({ id }) => new Response(id);
  /** Has the next containers end at once, or not start. */
  fate: "runs" | "ends" | "is refused" = "runs";
  /** Why a container was asked to end, by its id. */
  readonly whys = new Map<string, string>();
  /** Waited for before a container runs. */
  starting: Promise<void> = Promise.resolve();

  async run({ environment, group, lifetimeMs, name, spec, tags }: ContainerWish): Promise<StoredContainer> {
    await this.starting;
    if (this.fate === "is refused") throw new Failure("not_found", `There is no image '${spec.image}'.`);
    const id = crypto.randomUUID();
    const stored: StoredContainer = {
      ...{ id, name, environmentId: environment.id, group, lifetimeMs, spec, tags, message: "", node: "node_1", status: "running" },
      createdAt: this.all.size,
    };
    const server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: ({ method }) => (method === "HEAD" ? new Response() : this.answer(stored)),
    });
    this.all.set(id, { stored, spec, server, cpuSeconds: 0 });
    if (this.fate === "ends") await this.end(id, 3);
    return stored;
  }

  async stop(_environmentId: string, id: string, why: string): Promise<StoredContainer> {
    const { stored } = this.#get(id);
    if (hasEnded(stored)) throw new Failure("failed_precondition", "It has ended.");
    this.whys.set(id, why);
    await this.end(id, 0, "stopped");
    return this.#get(id).stored;
  }

  /** Ends one by itself. */
  async end(id: string, exitCode: number, status: StoredContainer["status"] = "failed"): Promise<void> {
    const one = this.#get(id);
    const { server } = one;
    one.server = undefined;
    one.stored = { ...one.stored, status, exitCode };
    await server?.stop(true);
  }

  /** Ends the server of one, which goes on as a container. */
  async deafen(id: string): Promise<void> {
    await this.#get(id).server?.stop(true);
  }

  async find(_environmentId: string, id: string): Promise<StoredContainer | undefined> {
    return this.all.get(id)?.stored;
  }

  async list(): Promise<StoredContainer[]> {
    return [...this.all.values()].map(({ stored }) => stored).reverse();
  }

  address(id: string): { readonly host: string; readonly port: number } | undefined {
    const server = this.all.get(id)?.server;
    return server && { host: "127.0.0.1", port: server.port as number };
  }

  async use(id: string): Promise<{ readonly cpuSeconds: number; readonly memoryBytes: number } | undefined> {
    const one = this.all.get(id);
    return one?.server && { cpuSeconds: one.cpuSeconds, memoryBytes: 1 };
  }

  /** Those that run. */
  get running(): StoredContainer[] {
    return [...this.all.values()].filter(({ server }) => server).map(({ stored }) => stored);
  }

  async close(): Promise<void> {
    for (const { server } of this.all.values()) await server?.stop(true);
  }

  #get(id: string): Running {
    const one = this.all.get(id);
    if (!one) throw new Failure("not_found", `There is no container ${id}.`);
    return one;
  }
}
