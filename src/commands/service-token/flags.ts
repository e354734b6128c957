/** Flags of commands that make or change a service token. */

import { choice, list, text, timestamp } from "../../cli/flag.ts";
import { ROLE_NAMES } from "../../domain/permissions.ts";

/** What a service token may do, where, and until when. */
export const grantFlags = {
  permission: list(text("permission to give, see `svc permissions list`", { aliases: ["--permissions"], placeholder: "<name>" }), {
    split: true,
  }),
  role: choice("role whose permissions to give", ROLE_NAMES),
  limitTo: list(
    text("environment, by id or name, that it is limited to; repeatable; left out: all", {
      aliases: ["--environment-ids"],
      placeholder: "<environment>",
      names: "environment",
    }),
    { split: true },
  ),
  expires: timestamp("when it ends, such as 2030-01-01; left out: never", { aliases: ["--expires-at"] }),
};
