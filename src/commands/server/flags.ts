import { path } from "../../cli/flag.ts";
import { serverDataDir } from "../../config/home.ts";
import type { Context } from "../../context/context.ts";

/** The flag that selects a server of this machine. */
export const dataDirFlag = {
  dataDir: path("folder of the server's data", { defaultText: "~/.svc/data", placeholder: "<folder>" }),
};

/** The absolute path of the data directory. */
export function dataDirOf(context: Pick<Context, "surroundings">, given: string | undefined): string {
  return given ?? serverDataDir(context.surroundings);
}
