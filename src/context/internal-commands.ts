/**
 * Internal commands, which installers and svc itself run. They are not for people, and no help
 * names them.
 */

import { CliError, UsageError } from "../errors/cli-error.ts";
import { exitCodes } from "../errors/exit-codes.ts";
import type { Clock } from "./clock.ts";
import type { Io } from "./io.ts";
import type { Surroundings } from "./machine.ts";
import { quietFlags, SILENT } from "./quiet.ts";

/**
 * Longest run of the process that looks for a newer version: it runs in the background, where no
 * user would stop it.
 */
const REFRESH_LIMIT_MS = 60_000;

/** The dependencies of the internal commands. */
export interface InternalHost {
  readonly io: Pick<Io, "writeOut">;
  readonly surroundings: Surroundings;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** The internal commands by name; each resolves with an exit code. */
export function internalCommands({ io, surroundings, clock, signal }: InternalHost) {
  return {
    /** `__verify FILE SIGNATURE` prints the trusted comment of a signature that is valid. */
    async __verify([file, signature]: readonly string[]): Promise<number> {
      if (file === undefined || signature === undefined) throw new UsageError("__verify takes a file and its signature");
      const { verifyFile } = await import("../release/verify-file.ts");
      await io.writeOut(`${await verifyFile(file, signature)}\n`);
      return exitCodes.ok;
    },
    /** `__client-secret FILE KEY` prints the client secret of an entry of a config file. */
    async "__client-secret"([file, key]: readonly string[]): Promise<number> {
      if (file === undefined || key === undefined) throw new UsageError("__client-secret takes a config file and a key of its entries");
      const [{ readEntries }, { secretOf }] = await Promise.all([import("../config/file.ts"), import("../config/keychain.ts")]);
      const problems: string[] = [];
      const secret = await secretOf((await readEntries(file)).get(key) ?? {}, surroundings, (text) => problems.push(text));
      if (secret === undefined) throw new CliError(problems[0] ?? `${file} has no client secret under ${key}`);
      await io.writeOut(`${secret}\n`);
      return exitCodes.ok;
    },
    /** `__refresh-releases` stores the latest version, for the reminder of a later command. */
    async "__refresh-releases"(): Promise<number> {
      const { refreshFeed } = await import("../release/create-releases.ts");
      const limited = AbortSignal.any([signal, AbortSignal.timeout(REFRESH_LIMIT_MS)]);
      await refreshFeed({ flags: quietFlags(surroundings.homeDir), surroundings, clock, progress: SILENT, signal: limited });
      return exitCodes.ok;
    },
    /** `__statement` answers one statement of a person. */
    async __statement(): Promise<number> {
      const { serveStatement } = await import("../server/tables/duckdb/statement-process.ts");
      await serveStatement();
      return exitCodes.ok;
    },
    /** `__database` owns a database for the server that started it. */
    async __database(): Promise<number> {
      const { serveDatabase } = await import("../server/tables/duckdb/serve-database.ts");
      await serveDatabase();
      return exitCodes.ok;
    },
    /**
     * `__load [FOLDER]` sends the queries of a benchmark for the server that started it, which
     * tells it what to do over its streams, or in a folder.
     */
    async __load([folder]: readonly string[]): Promise<number> {
      const { makeLoadIn, serveLoadGenerator } = await import("../server/benchmarks/load-generator.ts");
      await (folder === undefined ? serveLoadGenerator() : makeLoadIn(folder));
      return exitCodes.ok;
    },
    /** `__history` owns the history of the offline store for the server that started it. */
    async __history(): Promise<number> {
      const { serveHistory } = await import("../server/stores/offline/history/serve-history.ts");
      await serveHistory();
      return exitCodes.ok;
    },
  };
}
