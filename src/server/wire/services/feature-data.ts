/** FeatureDataService: the stored values of features. */

import { create } from "@bufbuild/protobuf";
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import { type Deletion, DeletionSchema, FeatureDataService, type ValueSelection } from "../../../../gen/svc/v1/feature_data_pb.ts";
import { didYouMean } from "../../../domain/closest.ts";
import { type DeploymentTarget, resolveScope } from "../../access/scope.ts";
import { historyTables, sqlName } from "../../catalog/environment-tables.ts";
import type { DeletionState } from "../../deletions/deletions.ts";
import { type Selected, select } from "../../deletions/selection.ts";
import { featureKeys } from "../../deployments/feature-keys.ts";
import { Failure } from "../../failure.ts";
import type { SqlReadable } from "../../stores/offline/store.ts";
import { callerOf } from "../interceptors.ts";
import type { Platform } from "../platform.ts";

/** Adds the service to a router. */
export function register(router: ConnectRouter, platform: Platform): void {
  const { clock, environments, metadata, onlineAddress } = platform;
  const scopeOf = async (context: HandlerContext): Promise<DeploymentTarget> =>
    resolveScope(environments, callerOf(context), context.requestHeader);
  /** What a selection means in the live deployment of a scope. */
  const selectedOf = async (scope: DeploymentTarget, selection: ValueSelection | undefined): Promise<Selected> => {
    const deployments = await platform.deployments();
    const graph = await deployments.graph(await deployments.resolve(scope));
    const { features = [], keys = [], namespace = "", tags = [] } = selection ?? {};
    return select({ features, keys, namespace, tags }, graph, await metadata.knownFeatures(scope.environment.id));
  };
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
      const keys = featureKeys(await deployments.graph(await deployments.resolve(scope)));
      const key = keys.find((one) => one.fqn === fqn);
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
      const id = (await metadata.featureIdentities(scope.environment.id, [key], clock.now())).get(fqn)?.id;
      const stored = id === undefined ? [] : await store.tableNames(id);
      if (stored.length === 0)
        throw new Failure("failed_precondition", `Nothing of ${fqn} is stored offline yet.`, {
          hint: "A feature's table is made with its first value; `store_offline=False` keeps its values out.",
        });
      const histories = historyTables((await metadata.knownFeatures(scope.environment.id)).filter((one) => one.fqn === fqn));
      const shown = includeHistorical && histories.length > 1 ? histories.slice(1) : histories.slice(0, 1);
      return { tables: shown.map(sqlName) };
    },

    async previewDeletion({ selection }, context) {
      const scope = await scopeOf(context);
      const { features } = await selectedOf(scope, selection);
      const { branch, environment } = scope;
      return { features: [...features], keys: new Set(selection?.keys).size, environment: environment.name, branch };
    },

    async deleteValues({ selection }, context) {
      const scope = await scopeOf(context);
      const { environment, branch } = scope;
      const { rows } = await selectedOf(scope, selection);
      if (branch === "") await (await platform.approvals()).refuseProtected(environment, "nothing was deleted");
      const deletions = await platform.deletions();
      const { id } = await deletions.begin(environment.id, branch, rows);
      return { deletion: deletionMessage(await deletions.settled(environment.id, id)) };
    },

    async getDeletion({ id }, context) {
      const { environment } = await scopeOf(context);
      return { deletion: deletionMessage(await (await platform.deletions()).settled(environment.id, id)) };
    },
  });
}

function deletionMessage({ deletion, waiting }: DeletionState): Deletion {
  const removed = Object.values(deletion.removed);
  const sum = (of: keyof (typeof removed)[number]): bigint => BigInt(removed.reduce((total, one) => total + one[of], 0));
  return create(DeletionSchema, {
    id: deletion.id,
    done: waiting.length === 0,
    onlineValues: sum("online"),
    offlineValues: sum("offline"),
    loggedQueries: sum("queries"),
    waitingNodes: waiting.length,
  });
}

function isReadable(store: object): store is SqlReadable {
  return "tableNames" in store;
}
