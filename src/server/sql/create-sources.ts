/**
 * The sources of an environment: those declared in code and those that the server's environment
 * variables define.
 */

import type { DataSource, SourceKind } from "../../../gen/svc/v1/graph_pb.ts";
import { SqlError, type SqlSource, type SqlSources } from "./source.ts";
import type { ReadSetting } from "./source-driver.ts";
import { SOURCE_DRIVERS } from "./source-drivers.ts";

/** Options from which the sources of an environment are created. */
export interface SqlSourcesOptions {
  /** `Graph.sources`. */
  readonly declared: readonly DataSource[];
  /**
   * Environment variables of the server. Those that begin with a source's name in capitals
   * (everything but letters and digits becomes `_`) override the settings in code:
   * `<NAME>_SQLITE_PATH`, `<NAME>_PGHOST` and so on, `<NAME>_MYSQL_HOST` and so on. They also
   * define sources that are not declared.
   */
  readonly env: Readonly<Record<string, string | undefined>>;
  /**
   * Folder to which SQLite paths are relative: the deployment's source. Without it, a relative path
   * is an error.
   */
  readonly sourceRoot?: string;
}

/** The kind as users write it. */
export function kindName(kind: SourceKind): string {
  return SOURCE_DRIVERS.find((driver) => driver.kind === kind)?.names[0] ?? "unknown";
}

/** The prefix of a source's environment variables: `flights` -> `FLIGHTS`, `my-pg` -> `MY_PG`. */
export function environmentPrefix(name: string): string {
  return name.toUpperCase().replace(/[^A-Z0-9]+/g, "_");
}

/** The sources of an environment. Nothing is connected until a source is used. */
export function createSqlSources(options: SqlSourcesOptions): SqlSources {
  const { env, sourceRoot } = options;
  const known = [...options.declared.map(({ name, kind, settings }) => ({ name, kind, settings })), ...undeclared(options)];
  const open = new Map<string, SqlSource>();

  const listing = (): string => {
    if (known.length === 0) return "there are no sources";
    return `there ${known.length === 1 ? "is" : "are"} ${known.map(({ name, kind }) => `${name} (${kindName(kind)})`).join(", ")}`;
  };

  const find = (wanted: string): (typeof known)[number] => {
    const named = known.find(({ name }) => name === wanted);
    if (named) return named;
    const kind = SOURCE_DRIVERS.find(({ names }) => names.includes(wanted.toLowerCase()))?.kind;
    const ofKind = known.filter((source) => source.kind === kind);
    const [only, another] = ofKind;
    if (only && !another) return only;
    if (only) throw new SqlError(`source '${wanted}' is not the only one of its kind: ${listing()}; name one of them`);
    throw new SqlError(`there is no source '${wanted}'; ${listing()}`);
  };

  const connect = ({ name, kind, settings }: (typeof known)[number]): SqlSource => {
    const prefix = environmentPrefix(name);
    const read: ReadSetting = (variable, key) => env[`${prefix}_${variable}`] || settings[key] || undefined;
    const driver = SOURCE_DRIVERS.find((one) => one.kind === kind);
    if (!driver) throw new SqlError(`source '${name}' is of a kind that this version does not know`);
    return driver.open({ name, prefix, read, sourceRoot });
  };

  return {
    get(wanted) {
      const source = find(wanted);
      const running = open.get(source.name);
      if (running) return running;
      const made = connect(source);
      open.set(source.name, made);
      return made;
    },
    list: () => known.map(({ name, kind }) => ({ name, kind })),
    async close() {
      const sources = [...open.values()];
      open.clear();
      await Promise.all(sources.map((source) => source.close()));
    },
  };
}

/** Sources that only environment variables define; their names are in lower case. */
function undeclared({ declared, env }: SqlSourcesOptions): { name: string; kind: SourceKind; settings: Record<string, string> }[] {
  const taken = new Set(declared.map(({ name }) => environmentPrefix(name)));
  const found: { name: string; kind: SourceKind; settings: Record<string, string> }[] = [];
  for (const variable of Object.keys(env).sort()) {
    for (const { variable: end, kind } of SOURCE_DRIVERS) {
      const suffix = `_${end}`;
      const prefix = variable.endsWith(suffix) && env[variable] ? variable.slice(0, -suffix.length) : "";
      if (prefix === "" || taken.has(prefix)) continue;
      taken.add(prefix);
      found.push({ name: prefix.toLowerCase(), kind, settings: {} });
    }
  }
  return found;
}
