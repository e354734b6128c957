import { path } from "../../cli/flag.ts";
import { serverDataDir } from "../../config/home.ts";
import type { Context } from "../../context/context.ts";

/** Which server of this machine is meant. */
export const dataDirFlag = {
  dataDir: path("folder of the server's data", { defaultText: "~/.svc/data", placeholder: "<folder>" }),
};

/** The data directory in full. */
export function dataDirOf(context: Pick<Context, "surroundings">, given: string | undefined): string {
  return given ?? serverDataDir(context.surroundings);
}
