/** The argument that names a service token. */

import { optionalArg } from "../../cli/flag.ts";
import type { Context } from "../../context/context.ts";
import { givenOrPicked } from "../pick-flags.ts";

/** `id`: of the token or of its client. */
export const tokenArgs = { id: optionalArg("id of the service token, or its client id; left out: pick one on a terminal") };

/** The id that was given, or that the user picks from the list. */
export function givenToken(context: Pick<Context, "api" | "prompt">, id: string | undefined): Promise<string> {
  return givenOrPicked(context, id, {
    question: "Which service token?",
    flag: "<id>",
    list: async () => (await (await context.api.serviceTokens()).listServiceTokens({})).serviceTokens,
  });
}
