/** The view of a storage configuration. */

import type { StorageConfig } from "../../../../../gen/svc/v1/storage_config_pb.ts";
import type { FieldViews } from "../../../../output/message-view.ts";

/** All fields of a configuration; those that may be absent are null in JSON. */
export const CONFIG_FIELDS: FieldViews<StorageConfig> = {
  id: "ID",
  name: "Name",
  designator: { header: "Designator", json: null },
  kind: "Kind",
  managed: "Managed",
  cloudCredentialId: { header: "Cloud credential", json: null },
  planStagesBucket: { header: "Plan stages", json: null },
  sourceUploadBucket: { header: "Source upload", json: null },
  datasetBucket: { header: "Datasets", json: null },
  createdAt: "Created",
  updatedAt: "Updated",
};
