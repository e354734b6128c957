/** The configuration of an environment as a message of the contract, and back. */

import type { MessageInitShape } from "@bufbuild/protobuf";
import type { EnvironmentConfigSchema, EnvironmentConfig as Message } from "../../gen/svc/v1/environment_pb.ts";
import { BUCKETS, ConfigInvalid, checkConfig, type EnvironmentConfig, NO_CONFIG } from "./environment-config.ts";
import { isJsonObject, type Json, type JsonObject } from "./json-value.ts";

/** The message of a configuration. */
export function configMessage(config: EnvironmentConfig): MessageInitShape<typeof EnvironmentConfigSchema> {
  const { specs_config, additional_env_vars, private_pip_repositories, online_store_secret, feature_store_secret } = config;
  const { dataset_bucket, plan_stages_bucket, source_bundle_bucket, model_registry_bucket } = config.environment_buckets;
  return {
    specsConfigJson: JSON.stringify(specs_config),
    additionalEnvVars: { ...additional_env_vars },
    privatePipRepositories: [...private_pip_repositories],
    onlineStoreSecret: online_store_secret,
    featureStoreSecret: feature_store_secret,
    environmentBuckets: {
      datasetBucket: dataset_bucket ?? "",
      planStagesBucket: plan_stages_bucket ?? "",
      sourceBundleBucket: source_bundle_bucket ?? "",
      modelRegistryBucket: model_registry_bucket ?? "",
    },
    labels: { ...config.labels },
    protected: config.protected,
    historyMaxAge: config.history_max_age,
    historyMaxSize: config.history_max_size,
    ...(config.worker_container.image !== "" && { workerContainer: { ...config.worker_container } }),
  };
}

/** The configuration of a message; without one nothing is set. Throws ConfigInvalid. */
export function readConfigMessage(message: Message | undefined): EnvironmentConfig {
  if (!message) return NO_CONFIG;
  const { datasetBucket, planStagesBucket, sourceBundleBucket, modelRegistryBucket } = message.environmentBuckets ?? {};
  const buckets = [datasetBucket, planStagesBucket, sourceBundleBucket, modelRegistryBucket];
  const { cpu = "", image = "", memory = "", network = false } = message.workerContainer ?? {};
  const workerContainer = { image, memory, cpu, network };
  const config: EnvironmentConfig = {
    specs_config: specsOf(message.specsConfigJson),
    additional_env_vars: message.additionalEnvVars,
    private_pip_repositories: message.privatePipRepositories,
    online_store_secret: message.onlineStoreSecret,
    feature_store_secret: message.featureStoreSecret,
    environment_buckets: Object.fromEntries(BUCKETS.flatMap((name, index) => (buckets[index] ? [[name, buckets[index]]] : []))),
    labels: message.labels,
    protected: message.protected,
    history_max_age: message.historyMaxAge,
    history_max_size: message.historyMaxSize,
    worker_container: workerContainer,
  };
  checkConfig(config);
  return config;
}

function specsOf(text: string): JsonObject {
  let value: Json;
  try {
    value = text === "" ? {} : (JSON.parse(text) as Json);
  } catch {
    throw new ConfigInvalid("specs_config_json is no JSON");
  }
  if (!isJsonObject(value)) throw new ConfigInvalid("specs_config: expected keys and values");
  return value;
}
