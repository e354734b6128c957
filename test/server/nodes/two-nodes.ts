/**
 * Two servers in one process that share metadata, objects, key and bus; each has its own connection
 * to the metadata.
 */

import { Database } from "bun:sqlite";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { loadServerKeys } from "../../../src/server/access/keys.ts";
import { createObjectAddresses } from "../../../src/server/access/object-addresses.ts";
import { type Bus, createMemoryBus } from "../../../src/server/jobs/bus.ts";
import { createSqliteMetadataStore } from "../../../src/server/stores/metadata/sqlite.ts";
import type { MetadataStore } from "../../../src/server/stores/metadata/store.ts";
import { createDirectoryObjectStore } from "../../../src/server/stores/objects/directory.ts";
import type { TileStore } from "../../../src/server/stores/tiles/store.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { HeldClock } from "./held-clock.ts";

/** The key of every node. */
const KEY = { SVC_SERVER_KEY: new Uint8Array(32).fill(1).toBase64() };

/** Options of a node: its own connections, the content of its `server.yaml`, and its names. */
interface NodeOptions {
  readonly metadata?: MetadataStore;
  readonly bus?: Bus;
  readonly tiles?: TileStore;
  readonly file?: object;
  readonly allowedHosts?: readonly string[];
  /** Variables beside those of every node. */
  readonly env?: Readonly<Record<string, string>>;
}

/** The parts that several nodes share. */
export class Cluster implements AsyncDisposable {
  readonly clock = new HeldClock();
  readonly bus: Bus = createMemoryBus();
  readonly #folder = new TempFolder();
  readonly #stack = new AsyncDisposableStack();
  #first: TestServer | undefined;

  constructor() {
    this.#stack.defer(() => this.#folder[Symbol.dispose]());
    mkdirSync(join(this.#folder.path, "objects"));
  }

  /** The folder of the metadata. */
  get folder(): string {
    return this.#folder.path;
  }

  /** Closes what nodes were given, after them. */
  closeAtEnd(store: { close(): unknown }): void {
    this.#stack.defer(async () => void (await store.close()));
  }

  /** The data directory of a node. */
  folderOf(name: string): string {
    return join(this.#folder.path, name, "data");
  }

  /** A connection to the metadata. */
  openMetadata(): MetadataStore {
    const store = createSqliteMetadataStore({ path: join(this.#folder.path, "meta.db"), programVersion: "1", now: () => this.clock.now() });
    this.#stack.defer(() => store.close());
    return store;
  }

  /** Starts a node, with a `server.yaml` if that is given, and waits until it is ready. */
  async start(
    name: string,
    { metadata = this.openMetadata(), bus = this.bus, tiles, file, env, ...options }: NodeOptions = {},
  ): Promise<TestServer> {
    if (file !== undefined) await Bun.write(join(this.#folder.path, name, "data/server.yaml"), JSON.stringify(file));
    const addresses = createObjectAddresses({ keys: loadServerKeys("", KEY).objects, clock: this.clock });
    const objects = createDirectoryObjectStore(join(this.#folder.path, "objects"), addresses);
    const server = await TestServer.start(join(this.#folder.path, name), {
      clock: this.clock,
      env: { PATH: process.env.PATH, HOME: process.env.HOME, ...KEY, ...env },
      shared: { metadata, bus, objects, ...(tiles && { tiles }) },
      ...options,
      ...(this.#first && { credentials: this.#first.credentials }),
    });
    this.#first ??= server;
    this.#stack.use(server);
    await server.server.ready;
    return server;
  }

  /** Stored rows of the metadata. */
  rows<Row>(sql: string): Row[] {
    using db = new Database(join(this.#folder.path, "meta.db"), { readonly: true });
    return db.query<Row, []>(sql).all();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}

/** A store whose connection can be cut: from then on every call rejects, also those under way. */
export function mortal(store: MetadataStore): { readonly store: MetadataStore; die(): void } {
  let kill: (reason: Error) => void = () => undefined;
  let isDead = false;
  const death = new Promise<never>((_, reject) => {
    kill = reject;
  });
  death.catch(() => undefined);
  const guarded = <T extends object>(part: T): T =>
    new Proxy(part, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name);
        if (typeof member === "object" && member !== null) return guarded(member);
        if (typeof member !== "function") return member;
        return (...given: unknown[]) => {
          if (isDead) return Promise.reject(new Error("the node is dead"));
          const answer: unknown = Reflect.apply(member, target, given);
          return answer instanceof Promise ? Promise.race([answer, death]) : answer;
        };
      },
    });
  return {
    store: guarded(store),
    die() {
      isDead = true;
      kill(new Error("the node is dead"));
    },
  };
}

/** Repeats a request until its answer is right; only the test's timeout ends it otherwise. */
export async function until<T>(ask: () => Promise<T>, isRight: (answer: T) => boolean): Promise<T> {
  for (;;) {
    const answer = await ask();
    if (isRight(answer)) return answer;
    await Bun.sleep(5);
  }
}
