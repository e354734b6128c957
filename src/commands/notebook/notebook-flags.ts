/** How a notebook is named. */

import { optionalArg, text } from "../../cli/flag.ts";
import type { Context } from "../../context/context.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { givenOrPicked } from "../pick-flags.ts";

/** `--id` and `--name`. */
export const namingFlags = {
  id: text("id of the notebook", { aliases: ["--notebook", "--notebook-id"], placeholder: "<id>" }),
  name: text("title of the notebook", { aliases: ["--title"], placeholder: "<title>" }),
};

/** The argument that means `--id`. */
export const notebookArg = { notebook: optionalArg("id of the notebook; left out with --name: pick one on a terminal") };

interface Naming {
  readonly notebook?: string | undefined;
  readonly id: string | undefined;
  readonly name: string | undefined;
}

/** Throws UsageError when a notebook is named in more than one way. */
export function checkNaming({ notebook, id, name }: Naming): void {
  if ([notebook, id, name].filter((one) => one !== undefined).length > 1)
    throw new UsageError("a notebook is named once: by its id, or with --id or --name");
}

/** The notebook that was named, as requests have it, or that somebody picks on a terminal. */
export async function named(
  context: Context,
  { notebook, id, name }: Naming,
): Promise<{ readonly case: "id" | "title"; readonly value: string }> {
  if (name !== undefined) return { case: "title", value: name };
  const list = async () =>
    (await (await context.api.notebooks()).listNotebooks({})).notebooks.map((one) => ({ id: one.id, name: one.title }));
  return { case: "id", value: await givenOrPicked(context, id ?? notebook, { question: "Which notebook?", flag: "--id or --name", list }) };
}

/** The id of the notebook that was named, or that somebody picks. */
export async function namedId(context: Context, naming: Naming): Promise<string> {
  const found = await named(context, naming);
  if (found.case === "id") return found.value;
  return (await (await context.api.notebooks()).getNotebook({ named: found })).notebook?.id ?? "";
}
