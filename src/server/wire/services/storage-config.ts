/** StorageConfigService: the storage configurations of a team, and their tests. */

import { create } from "@bufbuild/protobuf";
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import { StorageConfigSchema, StorageConfigService } from "../../../../gen/svc/v1/storage_config_pb.ts";
import { requireWholeTeam } from "../../access/scope.ts";
import type { CloudAccounts, OpenAccount } from "../../connections/cloud-accounts.ts";
import { Failure } from "../../failure.ts";
import { callerOf } from "../interceptors.ts";
import type { Platform } from "../platform.ts";
import { documentCalls } from "./document-calls.ts";
import { checkMessages } from "./probe-checks.ts";

function teamOf(context: HandlerContext): string {
  const caller = callerOf(context);
  requireWholeTeam(caller, "the team's storage configurations");
  return caller.teamId;
}

/** Adds the service to a router. */
export function register(router: ConnectRouter, { clock, connections }: Platform): void {
  const storage = async () => (await connections()).storage;
  const calls = async () => documentCalls((await storage()).documents, StorageConfigSchema, teamOf);

  router.service(StorageConfigService, {
    listStorageConfigs: async (_, context) => ({ configs: await (await calls()).list(context) }),
    getStorageConfig: async ({ id }, context) => ({ config: await (await calls()).get(id, context) }),
    async createStorageConfig({ config = create(StorageConfigSchema) }, context) {
      const { cloudCredentialId, datasetBucket, designator, kind, managed, name, planStagesBucket, sourceUploadBucket } = config;
      const buckets = { datasetBucket, planStagesBucket, sourceUploadBucket };
      const { id } = await (await storage()).create(teamOf(context), { ...buckets, cloudCredentialId, designator, kind, managed, name });
      return { config: await (await calls()).get(id, context) };
    },
    deleteStorageConfig: async ({ id }, context) => ({ config: await (await calls()).delete(id, context) }),
    async testStorageConfig({ id }, context) {
      const { accounts, storage } = await connections();
      const { content } = await storage.documents.get(teamOf(context), id);
      const account = await accountOf(accounts, teamOf(context), content.cloudCredentialId);
      const { tryStorage } = await import("../../connections/trying.ts");
      return { checks: checkMessages(await tryStorage(content, account, { clock, signal: context.signal })) };
    },
  });
}

/** The account of a configuration, or why there is none. */
async function accountOf(accounts: CloudAccounts, teamId: string, id: string): Promise<OpenAccount | string> {
  if (id === "") return "the configuration names no cloud account (cloud_credential_id)";
  try {
    return await accounts.open(teamId, id);
  } catch (error) {
    if (error instanceof Failure && error.kind === "not_found") return `the cloud account ${id} does not exist any more`;
    throw error;
  }
}
