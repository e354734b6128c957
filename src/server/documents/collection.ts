/**
 * Collections of documents: what every kind of setting needs of its store. A collection checks
 * names and sizes, tells apart what is missing, taken and changed meanwhile, and remembers what
 * requests look up again and again.
 */

import type { Clock } from "../../context/clock.ts";
import { didYouMean } from "../../domain/closest.ts";
import { Failure } from "../failure.ts";
import { newId } from "../identifier.ts";
import type { Bus } from "../jobs/bus.ts";
import type { Log } from "../log.ts";
import { type Following, followStore } from "../nodes/follow.ts";
import type { DocumentRecord, DocumentStore } from "../stores/metadata/documents.ts";

/** A document with content of a known shape. */
export type Document<C> = Omit<DocumentRecord, "kind" | "content"> & { readonly content: C };

/** A change of a document: what is absent stays. */
export interface DocumentChange<C> {
  readonly name?: string;
  readonly content?: C;
}

/** A collection: the documents of one kind. Scopes are ids of teams, projects or environments. */
export interface Collection<C> {
  /** Documents of a scope, or of all scopes; by name. */
  list(scope?: string): Promise<Document<C>[]>;
  /**
   * Documents of a scope, by name, without a promise when they are remembered. They may be older
   * than the store's for as long as a notification between nodes takes.
   */
  remembered(scope: string): readonly Document<C>[] | Promise<readonly Document<C>[]>;
  /** The document of an id or name; undefined when there is none. */
  find(scope: string, idOrName: string): Promise<Document<C> | undefined>;
  /** The document of an id or name. Rejects with Failure not_found, which names what is close. */
  get(scope: string, idOrName: string): Promise<Document<C>>;
  /**
   * Stores a new document. Rejects with Failure already_exists, invalid_argument or
   * resource_exhausted.
   */
  create(scope: string, name: string, content: C): Promise<Document<C>>;
  /**
   * Changes a document by what `change` makes of it. With an `etag`, the change is refused with
   * Failure aborted unless the document is the one that the etag was given for; without one it is
   * made again when somebody else changed the document meanwhile, so `change` may run several
   * times.
   * Rejects with Failure not_found, already_exists, invalid_argument, or what `change` throws.
   */
  update(
    scope: string,
    idOrName: string,
    change: (document: Document<C>) => DocumentChange<C> | Promise<DocumentChange<C>>,
    etag?: string,
  ): Promise<Document<C>>;
  /** Creates the document of a name, or changes its content; `make` is given the content before. */
  put(scope: string, name: string, make: (before: C | undefined) => C | Promise<C>): Promise<Document<C>>;
  /** Deletes a document and returns it. Rejects with Failure not_found. */
  delete(scope: string, idOrName: string): Promise<Document<C>>;
  /** Stops following other nodes. */
  close(): Promise<void>;
}

/** The stores and signals of collections. */
export interface CollectionParts {
  readonly documents: DocumentStore;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
}

/** The kind of documents that a collection holds. */
export interface CollectionOptions {
  /** Kind in the store; never changes. */
  readonly kind: string;
  /** What messages call one, for example `webhook`. */
  readonly noun: string;
  /** Prefix of ids, see `identifier.ts`. */
  readonly idPrefix: string;
  /** The command that lists them, for hints. */
  readonly listedBy: string;
  /** Most documents in a scope; default 1,000. */
  readonly maxPerScope?: number;
  /** Most bytes of a document's content as JSON; default 64 KiB. */
  readonly maxBytes?: number;
}

const MAX_NAME_LENGTH = 200;
const MAX_REMEMBERED_SCOPES = 10_000;
/** Times that a change is made again because somebody else was faster. */
const MAX_TRIES = 20;

/** The etag of a document: it changes with every change of the document. */
export function etagOf({ revision }: { readonly revision: number }): string {
  return `"${revision}"`;
}

/** Makes a collection. */
export function createCollection<C>(parts: CollectionParts, options: CollectionOptions): Collection<C> {
  const { documents, bus, clock, log } = parts;
  const { kind, noun, idPrefix, listedBy, maxPerScope = 1_000, maxBytes = 65_536 } = options;
  const aNoun = `${/^[aeiou]/.test(noun) ? "an" : "a"} ${noun}`;
  const remembered = new Map<string, readonly Document<C>[]>();
  let following: Following | undefined;
  let forgotten = 0;

  const typed = (record: DocumentRecord): Document<C> => record as DocumentRecord & { readonly content: C };
  const forget = (scope: string): void => {
    forgotten++;
    remembered.delete(scope);
  };
  const changed = (scope: string): void => {
    forget(scope);
    bus.publish("documents", `${kind}/${scope}`);
  };
  const follow = (): void => {
    following ??= followStore({
      bus,
      topic: "documents",
      clock,
      log,
      read(ids) {
        for (const scope of [...remembered.keys()]) if (!ids || ids.has(`${kind}/${scope}`)) forget(scope);
      },
    });
  };

  const checkName = (name: string): void => {
    if (name === "") throw new Failure("invalid_argument", `There is no name for the ${noun}, which needs one.`);
    if (name.length > MAX_NAME_LENGTH || name.trim() !== name || /[\p{Cc}\p{Cf}]/u.test(name))
      throw new Failure("invalid_argument", `The name of ${aNoun} cannot be ${JSON.stringify(name.slice(0, 50))}.`, {
        hint: `A name has at most ${MAX_NAME_LENGTH} characters, none of them control characters, and no space at its ends.`,
      });
  };
  const checkContent = (content: C): void => {
    const bytes = Buffer.byteLength(JSON.stringify(content));
    if (bytes > maxBytes) throw new Failure("invalid_argument", `The ${noun} takes ${bytes} bytes, and ${aNoun} has at most ${maxBytes}.`);
  };
  const taken = (name: string): Failure =>
    new Failure("already_exists", `There is ${aNoun} '${name}' already.`, { hint: `\`${listedBy}\` shows all.` });

  const list = async (scope?: string): Promise<Document<C>[]> => (await documents.list(kind, scope)).map(typed);
  const find = async (scope: string, idOrName: string): Promise<Document<C> | undefined> => {
    const record = await documents.find({ kind, scope }, idOrName);
    return record && typed(record);
  };
  const get = async (scope: string, idOrName: string): Promise<Document<C>> => {
    const document = await find(scope, idOrName);
    if (document) return document;
    const names = (await list(scope)).map(({ name }) => name);
    throw new Failure("not_found", `There is no ${noun} '${idOrName}'.`, {
      hint: didYouMean(idOrName, names) || `\`${listedBy}\` shows all.`,
    });
  };
  const load = async (scope: string): Promise<readonly Document<C>[]> => {
    follow();
    const before = forgotten;
    const loaded = await list(scope);
    if (before === forgotten) {
      if (remembered.size >= MAX_REMEMBERED_SCOPES) remembered.clear();
      remembered.set(scope, loaded);
    }
    return loaded;
  };
  const create = async (scope: string, name: string, content: C): Promise<Document<C>> => {
    checkName(name);
    checkContent(content);
    const now = clock.now();
    const document = { id: newId(idPrefix, now), kind, scope, name, content, revision: 1, createdAt: now, updatedAt: now };
    const outcome = await documents.insert(document, maxPerScope);
    if (outcome === "taken") throw taken(name);
    if (outcome === "full")
      throw new Failure("resource_exhausted", `There are ${maxPerScope} of them already, which is the most: ${noun} '${name}'.`, {
        hint: `Delete one that is not needed; \`${listedBy}\` shows all.`,
      });
    changed(scope);
    return document;
  };
  const update: Collection<C>["update"] = async (scope, idOrName, change, etag) => {
    for (let tries = 1; ; tries++) {
      const before = await get(scope, idOrName);
      if (etag !== undefined && etag !== etagOf(before)) throw changedMeanwhile(noun, before.name);
      const { name = before.name, content = before.content } = await change(before);
      checkName(name);
      checkContent(content);
      const after = { ...before, kind, name, content, updatedAt: Math.max(clock.now(), before.updatedAt) };
      const outcome = await documents.replace(after);
      if (outcome === "taken") throw taken(name);
      if (outcome === "replaced") {
        changed(scope);
        return { ...after, revision: before.revision + 1 };
      }
      if (etag !== undefined || tries === MAX_TRIES) throw changedMeanwhile(noun, before.name);
    }
  };

  return {
    list,
    remembered: (scope) => remembered.get(scope) ?? load(scope),
    find,
    get,
    create,
    update,
    async put(scope, name, make) {
      for (;;) {
        const before = await find(scope, name);
        if (before?.name === name) return update(scope, before.id, async ({ content }) => ({ content: await make(content) }));
        try {
          return await create(scope, name, await make(undefined));
        } catch (error) {
          if (!(error instanceof Failure) || error.kind !== "already_exists") throw error;
        }
      }
    },
    async delete(scope, idOrName) {
      const { id } = await get(scope, idOrName);
      const deleted = await documents.delete({ kind, scope }, id);
      if (!deleted) throw new Failure("not_found", `There is no ${noun} '${idOrName}' any more.`);
      changed(scope);
      return typed(deleted);
    },
    async close() {
      await following?.stop();
    },
  };
}

function changedMeanwhile(noun: string, name: string): Failure {
  return new Failure("aborted", `Somebody else changed the ${noun} '${name}' meanwhile; nothing was changed.`, {
    hint: "Read it again and make the change anew.",
  });
}
