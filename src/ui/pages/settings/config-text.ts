/**
 * The configuration of an environment as YAML, as `svc environment config` prints it. A chunk of
 * its own.
 */

import type { EnvironmentConfigJson } from "../../../../gen/svc/v1/environment_pb.ts";
import { configDocument } from "../../../domain/environment-config.ts";
import { readConfigMessage } from "../../../domain/environment-config-message.ts";
import { asJson } from "../../../domain/json-value.ts";
import { yamlText } from "./yaml-text.ts";

/**
 * The text of a configuration; what is not said in the message is as the contract's defaults are.
 */
export function configText(environment: { readonly id: string; readonly name: string }, json: EnvironmentConfigJson): string {
  const { environmentBuckets: buckets = {} } = json;
  const config = readConfigMessage({
    $typeName: "svc.v1.EnvironmentConfig",
    specsConfigJson: json.specsConfigJson ?? "",
    additionalEnvVars: json.additionalEnvVars ?? {},
    privatePipRepositories: json.privatePipRepositories ?? [],
    onlineStoreSecret: json.onlineStoreSecret ?? "",
    featureStoreSecret: json.featureStoreSecret ?? "",
    environmentBuckets: {
      $typeName: "svc.v1.EnvironmentBuckets",
      datasetBucket: buckets.datasetBucket ?? "",
      planStagesBucket: buckets.planStagesBucket ?? "",
      sourceBundleBucket: buckets.sourceBundleBucket ?? "",
      modelRegistryBucket: buckets.modelRegistryBucket ?? "",
    },
    labels: json.labels ?? {},
    protected: json.protected ?? false,
    historyMaxAge: json.historyMaxAge ?? "",
    historyMaxSize: json.historyMaxSize ?? "",
    ...(json.workerContainer && {
      workerContainer: { $typeName: "svc.v1.WorkerContainer", image: "", memory: "", cpu: "", network: false, ...json.workerContainer },
    }),
  });
  return yamlText(asJson(configDocument(environment, config)));
}
