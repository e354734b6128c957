/**
 * Sources whose settings can change while statements run: further statements use the new
 * connections, and the old ones are closed when the last statement on them has ended.
 */

import { SqlError, type SqlSource, type SqlSources } from "./source.ts";

/** Sources that stand for those that are used now. */
export interface RenewableSources extends SqlSources {
  /** Sends all further statements to `next`. */
  replace(next: SqlSources): void;
}

/** Sources and the statements that run on them. */
interface Generation {
  readonly sources: SqlSources;
  running: number;
  isReplaced: boolean;
}

/** Makes renewable sources. `onError` is told when replaced sources cannot be closed. */
export function createRenewableSources(first: SqlSources, onError: (error: unknown) => void): RenewableSources {
  let current: Generation = { sources: first, running: 0, isReplaced: false };
  const replaced = new Set<Generation>();
  const standIns = new Map<string, SqlSource>();

  const closeIfUnused = (generation: Generation): void => {
    if (!generation.isReplaced || generation.running > 0 || !replaced.delete(generation)) return;
    generation.sources.close().catch(onError);
  };
  const run = async <T>(name: string, work: (source: SqlSource) => Promise<T>): Promise<T> => {
    const generation = current;
    generation.running++;
    try {
      return await work(generation.sources.get(name));
    } finally {
      generation.running--;
      closeIfUnused(generation);
    }
  };
  const standIn = (name: string, kind: SqlSource["kind"]): SqlSource => ({
    name,
    kind,
    quote: (identifier) => current.sources.get(name).quote(identifier),
    placeholder: (position, type) => current.sources.get(name).placeholder(position, type),
    query: (statement, parameters, signal, traceparent) =>
      run(name, (source) => {
        if (source.kind !== kind)
          throw new SqlError(`source '${name}' has become another kind of database; deploy again with \`svc apply\``);
        return source.query(statement, parameters, signal, traceparent);
      }),
    describe: (statement) => run(name, (source) => source.describe(statement)),
    columnTypes: (statement) => run(name, (source) => source.columnTypes(statement)),
    test: () => run(name, (source) => source.test()),
    close: () => Promise.resolve(),
  });

  return {
    get(wanted) {
      const { name, kind } = current.sources.get(wanted);
      const key = `${kind}/${name}`;
      const known = standIns.get(key) ?? standIn(name, kind);
      standIns.set(key, known);
      return known;
    },
    list: () => current.sources.list(),
    replace(next) {
      const before = current;
      current = { sources: next, running: 0, isReplaced: false };
      before.isReplaced = true;
      replaced.add(before);
      closeIfUnused(before);
    },
    async close() {
      await Promise.all([current, ...replaced].map(({ sources }) => sources.close()));
      replaced.clear();
    },
  };
}
