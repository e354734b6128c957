/** What a server's folder holds, read from its files, apart from the server's own code. */

import { Database } from "bun:sqlite";
import { existsSync } from "node:fs";
import { join } from "node:path";

/** Values by `<fqn> <key>`: how many there are in each store. */
export interface Stored {
  readonly online: Readonly<Record<string, number>>;
  readonly offline: Readonly<Record<string, number>>;
}

/**
 * What the files of a node hold. @param metadata folder of the metadata file, where that is elsewhere
 */
export function storedIn(folder: string, metadata = folder): Stored {
  using meta = new Database(join(metadata, "meta.db"), { readonly: true });
  const names = new Map(
    meta
      .query<{ id: number; fqn: string }, []>("select id, fqn from feature")
      .all()
      .map(({ id, fqn }) => [id, fqn]),
  );
  using online = new Database(join(folder, "online.db"), { readonly: true });
  const counts = (rows: readonly { name: string; pk: string }[]): Record<string, number> => {
    const found: Record<string, number> = {};
    for (const { name, pk } of rows) found[`${name} ${pk.slice(2)}`] = (found[`${name} ${pk.slice(2)}`] ?? 0) + 1;
    return found;
  };
  const values = online.query<{ fid: number; pk: string }, []>("select fid, pk from online").all();
  return {
    online: counts(values.map(({ fid, pk }) => ({ name: names.get(fid) ?? `?${fid}`, pk }))),
    offline: counts(existsSync(join(folder, "offline.db")) ? observations(join(folder, "offline.db")) : []),
  };
}

function observations(path: string): { name: string; pk: string }[] {
  using db = new Database(path, { readonly: true });
  db.run("pragma busy_timeout = 60000");
  if (!db.query("select 1 from sqlite_schema where name = 'version'").get()) return [];
  const versions = db.query<{ ns: string; name: string; table: string }, []>("select ns, name, table_name as 'table' from version").all();
  return versions.flatMap(({ ns, name, table }) =>
    db
      .query<{ pk: string }, []>(`select pk from "${table}"`)
      .all()
      .map(({ pk }) => ({ name: `${ns}.${name}`, pk })),
  );
}
