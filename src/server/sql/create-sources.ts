/** The sources of an environment: those declared in code and those that the server's environment variables define. */

import { type DataSource, SourceKind } from "../../../gen/svc/v1/graph_pb.ts";
import { MysqlSource, mysqlSettings } from "./mysql.ts";
import { PostgresSource, postgresSettings } from "./postgres.ts";
import { SqlError, type SqlSource, type SqlSources } from "./source.ts";
import { SqliteSource } from "./sqlite.ts";

/** What the sources of an environment are made of. */
export interface SqlSourcesOptions {
  /** `Graph.sources`. */
  readonly declared: readonly DataSource[];
  /**
   * Environment variables of the server. Those that begin with a source's name in capitals (everything but letters and digits becomes `_`) override
   * what the code says: `<NAME>_SQLITE_PATH`, `<NAME>_PGHOST` and so on, `<NAME>_MYSQL_HOST` and so on. They alone also make a source.
   */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Folder that relative SQLite paths start from: the deployment's source. Without it such a source is an error. */
  readonly sourceRoot?: string;
}

/** Reads one setting of a source: from its environment variable, else from code. Undefined when neither has it or it is empty. */
export type ReadSetting = (variable: string, key: string) => string | undefined;

const KIND_NAMES: ReadonlyMap<string, SourceKind> = new Map([
  ["sqlite", SourceKind.SQLITE],
  ["postgresql", SourceKind.POSTGRESQL],
  ["postgres", SourceKind.POSTGRESQL],
  ["mysql", SourceKind.MYSQL],
  ["mariadb", SourceKind.MYSQL],
]);

const VARIABLES: readonly (readonly [suffix: string, kind: SourceKind])[] = [
  ["_SQLITE_PATH", SourceKind.SQLITE],
  ["_PGHOST", SourceKind.POSTGRESQL],
  ["_MYSQL_HOST", SourceKind.MYSQL],
];

/** The kind as users write it. */
export function kindName(kind: SourceKind): string {
  for (const [name, value] of KIND_NAMES) if (value === kind) return name;
  return "unknown";
}

/** The part of an environment variable's name that stands for a source: `flights` -> `FLIGHTS`, `my-pg` -> `MY_PG`. */
export function environmentPrefix(name: string): string {
  return name.toUpperCase().replace(/[^A-Z0-9]+/g, "_");
}

/** Collects the sources of an environment. Nothing is connected until a source is used. */
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
    const kind = KIND_NAMES.get(wanted.toLowerCase());
    const ofKind = known.filter((source) => source.kind === kind);
    const [only, another] = ofKind;
    if (only && !another) return only;
    if (only) throw new SqlError(`source '${wanted}' is not the only one of its kind: ${listing()}; name one of them`);
    throw new SqlError(`there is no source '${wanted}'; ${listing()}`);
  };

  const connect = ({ name, kind, settings }: (typeof known)[number]): SqlSource => {
    const prefix = environmentPrefix(name);
    const read: ReadSetting = (variable, key) => env[`${prefix}_${variable}`] || settings[key] || undefined;
    switch (kind) {
      case SourceKind.SQLITE: {
        const path = read("SQLITE_PATH", "path");
        if (!path) throw new SqlError(`source '${name}' has no file: give \`path=\` in code or set ${prefix}_SQLITE_PATH`);
        return new SqliteSource(name, path, sourceRoot);
      }
      case SourceKind.POSTGRESQL:
        return new PostgresSource(name, postgresSettings(name, prefix, read));
      case SourceKind.MYSQL:
        return new MysqlSource(name, mysqlSettings(name, prefix, read));
      default:
        throw new SqlError(`source '${name}' is of a kind that this version does not know`);
    }
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
    for (const [suffix, kind] of VARIABLES) {
      const prefix = variable.endsWith(suffix) && env[variable] ? variable.slice(0, -suffix.length) : "";
      if (prefix === "" || taken.has(prefix)) continue;
      taken.add(prefix);
      found.push({ name: prefix.toLowerCase(), kind, settings: {} });
    }
  }
  return found;
}
