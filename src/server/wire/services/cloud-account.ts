/** CloudAccountService: the cloud accounts of a team, and their tests. */

import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import { CloudAccountSchema, CloudAccountService } from "../../../../gen/svc/v1/cloud_account_pb.ts";
import { requireWholeTeam } from "../../access/scope.ts";
import type { CloudAccount } from "../../connections/cloud-accounts.ts";
import { callerOf } from "../interceptors.ts";
import type { Platform } from "../platform.ts";
import { recordMessage } from "../record-message.ts";
import { checkMessages } from "./probe-checks.ts";

const message = (account: CloudAccount) => recordMessage(CloudAccountSchema, account);

function teamOf(context: HandlerContext): string {
  const caller = callerOf(context);
  requireWholeTeam(caller, "the team's cloud accounts");
  return caller.teamId;
}

/** Adds the service to a router. */
export function register(router: ConnectRouter, { clock, connections }: Platform): void {
  const accounts = async () => (await connections()).accounts;
  router.service(CloudAccountService, {
    listCloudAccounts: async (_, context) => ({ accounts: (await (await accounts()).list(teamOf(context))).map(message) }),
    createCloudAccount: async ({ kind, name, settings }, context) => ({
      account: message(await (await accounts()).create(teamOf(context), name, kind, settings)),
    }),
    deleteCloudAccount: async ({ id }, context) => ({ account: message(await (await accounts()).delete(teamOf(context), id)) }),
    async testCloudAccount({ id }, context) {
      const account = await (await accounts()).open(teamOf(context), id);
      const { tryAccount } = await import("../../connections/trying.ts");
      return { checks: checkMessages(await tryAccount(account, { clock, signal: context.signal })) };
    },
  });
}
