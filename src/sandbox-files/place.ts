/** Where files are: on this machine, in a sandbox, or on stdin and stdout. */

import { isAbsolute } from "node:path";
import { UsageError } from "../errors/cli-error.ts";

/** A place. */
export type Place =
  | { readonly is: "sandbox"; readonly sandbox: string; readonly path: string }
  | { readonly is: "machine"; readonly path: string }
  | { readonly is: "stream" };

const SANDBOX = /^([a-z0-9_-]+):(.*)$/s;

/** The place that an argument names. Throws UsageError. */
export function placeOf(text: string): Place {
  if (text === "-") return { is: "stream" };
  if (text === "") throw new UsageError("an empty text names no file");
  const [, sandbox, path = ""] = (isAbsolute(text) ? undefined : SANDBOX.exec(text)) ?? [];
  if (sandbox === undefined) return { is: "machine", path: text };
  if (!path.startsWith("/") || path.includes("\0"))
    throw new UsageError(`'${text}' names no absolute path in a sandbox`, {
      hint: `For example ${sandbox}:/tmp/rows.csv; a file of this machine with a colon in its name is ./${text}.`,
    });
  return { is: "sandbox", sandbox, path };
}

/** The folder of a path in a sandbox, and the name in it; the root's name is empty. */
export function splitPath(path: string): { readonly folder: string; readonly name: string } {
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  const name = parts.pop() ?? "";
  return { folder: `/${parts.join("/")}`, name };
}
