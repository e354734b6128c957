/** The program of a database process. */

import { serveProcess } from "../../thread/serve-process.ts";
import { DatabaseProcess, type DatabaseSettings } from "./database-process.ts";

/** Serves a database to the process that started this one, until that ends or closes it. */
export function serveDatabase(): Promise<void> {
  return serveProcess<DatabaseProcess, DatabaseSettings>((settings) => DatabaseProcess.open(settings));
}
