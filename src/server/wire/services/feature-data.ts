/** FeatureDataService: the stored values of features. */

import type { ConnectRouter } from "@connectrpc/connect";
import { FeatureDataService } from "../../../../gen/svc/v1/feature_data_pb.ts";
import { didYouMean } from "../../../domain/closest.ts";
import { resolveScope } from "../../access/scope.ts";
import { featureKeys } from "../../deployments/feature-keys.ts";
import { Failure } from "../../failure.ts";
import type { SqlReadable } from "../../stores/offline/store.ts";
import { callerOf } from "../interceptors.ts";
import type { Platform } from "../platform.ts";

/** Adds the service to a router. */
export function register(router: ConnectRouter, platform: Platform): void {
  const { clock, environments, metadata, onlineAddress } = platform;
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
      const scope = await resolveScope(environments, callerOf(context), context.requestHeader);
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
      const tables = id === undefined ? [] : await store.tableNames(id, includeHistorical);
      if (tables.length === 0)
        throw new Failure("failed_precondition", `Nothing of ${fqn} is stored offline yet.`, {
          hint: "A feature's table is made with its first value; `store_offline=False` keeps its values out.",
        });
      return { tables };
    },
  });
}

function isReadable(store: object): store is SqlReadable {
  return "tableNames" in store;
}
