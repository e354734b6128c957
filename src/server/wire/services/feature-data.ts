/** FeatureDataService: the stored values of features. */

import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import { type DeletionSchema, FeatureDataService } from "../../../../gen/svc/v1/feature_data_pb.ts";
import { didYouMean } from "../../../domain/closest.ts";
import { storedNames } from "../../../domain/graph-index.ts";
import { msToTimestamp } from "../../../domain/proto-time.ts";
import { fromProtoValue } from "../../../domain/proto-value.ts";
import { type DeploymentTarget, resolveScope } from "../../access/scope.ts";
import { historyTables, sqlName } from "../../catalog/environment-tables.ts";
import type { DeletionState } from "../../deletions/deletions.ts";
import { featureKeys } from "../../deployments/feature-keys.ts";
import { Failure } from "../../failure.ts";
import type { SqlReadable } from "../../stores/offline/store.ts";
import { callerOf } from "../interceptors.ts";
import type { Platform } from "../platform.ts";
import { askingOf, askUpload } from "./approval-request.ts";
import { type AskedFor, type EndedFeatures, featureValues, removedBy } from "./feature-values.ts";
import { fileFormat, refusingUploads, uploadMessage, uploadOptions, writtenMessage } from "./value-upload-message.ts";

/** Adds the service to a router. */
export function register(router: ConnectRouter, platform: Platform): void {
  const { clock, environments, metadata, onlineAddress } = platform;
  const scopeOf = async (context: HandlerContext): Promise<DeploymentTarget> =>
    resolveScope(environments, callerOf(context), context.requestHeader);
  const values = featureValues(platform);
  router.service(FeatureDataService, {
    async describeOnlineStore() {
      const online = await platform.online();
      const { items, bytes } = await online.measure();
      return {
        driver: onlineAddress.slice(0, onlineAddress.indexOf(":")),
        address: onlineAddress,
        itemCount: BigInt(items),
        sizeBytes: BigInt(bytes),
        droppedWrites: BigInt(online.dropped()),
      };
    },

    async listOfflineTables({ fqn, includeHistorical }, context) {
      const scope = await scopeOf(context);
      const deployments = await platform.deployments();
      const graph = await deployments.graph(await deployments.resolve(scope));
      const keys = featureKeys(graph);
      const [name = ""] = storedNames(graph, [fqn]);
      const key = keys.find((one) => one.fqn === name);
      if (!key)
        throw new Failure("not_found", `There is no feature '${fqn.slice(0, 200)}' with values in the live deployment.`, {
          hint:
            didYouMean(
              fqn,
              keys.map((one) => one.fqn),
            ) || "`svc features list` shows all.",
        });
      const store = await platform.offline();
      if (!isReadable(store)) throw new Failure("unimplemented", "The offline store has no tables that SQL statements can name.");
      const id = (await metadata.featureIdentities(scope.environment.id, [key], clock.now())).get(name)?.id;
      const stored = id === undefined ? [] : await store.tableNames(id);
      if (stored.length === 0)
        throw new Failure("failed_precondition", `Nothing of ${fqn} is stored offline yet.`, {
          hint: "A feature's table is made with its first value; `store_offline=False` keeps its values out.",
        });
      const histories = historyTables((await metadata.knownFeatures(scope.environment.id)).filter((one) => one.fqn === name));
      const shown = includeHistorical && histories.length > 1 ? histories.slice(1) : histories.slice(0, 1);
      return { tables: shown.map(sqlName) };
    },

    async previewDeletion({ selection }, context) {
      const scope = await scopeOf(context);
      const { features } = await values.selected(scope, selection);
      const { branch, environment } = scope;
      return { features: [...features], keys: new Set(selection?.keys).size, environment: environment.name, branch };
    },

    async deleteValues({ selection }, context) {
      const state = await values.deleteRows(askingOf(context), await scopeOf(context), selection);
      return "approvalId" in state ? state : { deletion: deletionMessage(state) };
    },

    async previewVersions({ selection }, context) {
      const scope = await scopeOf(context);
      const { features } = await values.selectedVersions(scope, selection);
      return { versions: [...features], environment: scope.environment.name };
    },

    async migrateTypes({ selection }, context) {
      return endedMessage(await values.endVersions(askingOf(context), await scopeOf(context), selection, { isDropped: false }));
    },

    async dropVersions({ selection }, context) {
      return endedMessage(await values.endVersions(askingOf(context), await scopeOf(context), selection, { isDropped: true }));
    },

    async uploadValues({ columns, options }, context) {
      const scope = await scopeOf(context);
      const given = {
        names: columns.map(({ name }) => name),
        columns: columns.map(({ values }) => values.map((value) => fromProtoValue(value))),
      };
      const { dryRun, ...said } = uploadOptions(options);
      return refusingUploads(async () => {
        const asked = dryRun ? undefined : await askUpload(platform, askingOf(context), scope, (kept) => kept.keepCall(scope, given, said));
        if (asked) return { rows: BigInt(asked.upload.rows), approvalId: asked.approvalId };
        return writtenMessage(await (await platform.valueUploads()).upload(scope, given, said, dryRun));
      });
    },

    async announceValueFile({ sha256, sizeBytes }) {
      const { uploadId, url, expiresAt } = await (await platform.valueUploads()).announce(sha256, Number(sizeBytes));
      return { uploadId, url, expiresAt: msToTimestamp(expiresAt) };
    },

    async uploadValueFile({ uploadId, format, options }, context) {
      const { dryRun: isDryRun, ...said } = uploadOptions(options);
      const wish = { format: fileFormat(format), isDryRun, ...said };
      const scope = await scopeOf(context);
      const asked = isDryRun
        ? undefined
        : await askUpload(platform, askingOf(context), scope, (kept) => kept.keepFile(scope, uploadId, wish));
      if (asked) return { approvalId: asked.approvalId, uploadId: asked.upload.file?.jobId ?? "" };
      return { upload: uploadMessage(await (await platform.valueUploads()).begin(scope, uploadId, wish)) };
    },

    async getValueUpload({ id }, context) {
      const { environment } = await scopeOf(context);
      return { upload: uploadMessage(await (await platform.valueUploads()).find(id, environment.id)) };
    },

    async getDeletion({ id }, context) {
      const { environment } = await scopeOf(context);
      return { deletion: deletionMessage(await (await platform.deletions()).settled(environment.id, id)) };
    },
  });
}

function endedMessage(ended: EndedFeatures | AskedFor) {
  if ("approvalId" in ended) return ended;
  const { state, versions } = ended;
  return { versions: [...versions], deletion: deletionMessage(state) };
}

function deletionMessage(state: DeletionState): MessageInitShape<typeof DeletionSchema> {
  const { offline, online, queries, told } = removedBy(state);
  return {
    id: state.deletion.id,
    done: state.waiting.length === 0,
    onlineValues: BigInt(online),
    offlineValues: BigInt(offline),
    loggedQueries: BigInt(queries),
    webhookValues: BigInt(told),
    waitingNodes: state.waiting.length,
  };
}

function isReadable(store: object): store is SqlReadable {
  return "tableNames" in store;
}
