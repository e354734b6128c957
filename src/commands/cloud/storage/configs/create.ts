import type { CreateStorageConfigResponse } from "../../../../../gen/svc/v1/storage_config_pb.ts";
import { defineCommand } from "../../../../cli/command.ts";
import { optionalArg } from "../../../../cli/flag.ts";
import { STORAGE_CONFIG_KEYS } from "../../../../domain/storage-config.ts";
import { UsageError } from "../../../../errors/cli-error.ts";
import { resourceFields } from "../../../../output/message-view.ts";
import { checkKeys, documentError, readDocument, textAt } from "../../../document-flags.ts";

const EXAMPLE = `echo '{"name": "main", "kind": "aws", "dataset_bucket": "s3://my-datasets"}' | svc cloud storage configs create`;

export default defineCommand({
  summary: "Create a storage configuration",
  description:
    "The keys are name and kind (aws or gcp), which are required, designator, managed, cloud_credential_id, the id or name of a cloud account of that kind, and " +
    "the buckets plan_stages_bucket, source_upload_bucket and dataset_bucket: s3://NAME[/PREFIX] for aws, gs://NAME[/PREFIX] for gcp.",
  examples: [
    "svc cloud storage configs create storage.json",
    { run: "cat storage.json | svc cloud storage configs create", does: "From stdin" },
  ],
  needs: ["session"],
  args: { file: optionalArg("JSON or YAML file; left out or -: stdin") },
  async run(context, { file }) {
    if (file === undefined && context.io.stdinIsTTY)
      throw new UsageError("no file was given, and stdin is a terminal", { hint: `For example: ${EXAMPLE}` });
    const document = await readDocument(context, file ?? "-");
    checkKeys(document, STORAGE_CONFIG_KEYS);
    const text = (key: (typeof STORAGE_CONFIG_KEYS)[number]): string => textAt(document, key);
    for (const key of ["name", "kind"] as const) if (text(key) === "") throw documentError(document, `has no ${key}, which is required`);
    const managed = document.value.managed ?? false;
    if (typeof managed !== "boolean") throw documentError(document, "has a managed that is neither true nor false");
    const config = {
      name: text("name"),
      designator: text("designator"),
      kind: text("kind"),
      managed,
      cloudCredentialId: text("cloud_credential_id"),
      planStagesBucket: text("plan_stages_bucket"),
      sourceUploadBucket: text("source_upload_bucket"),
      datasetBucket: text("dataset_bucket"),
    };
    return (await context.api.storageConfigs()).createStorageConfig({ config });
  },
  view: resourceFields(({ config }: CreateStorageConfigResponse) => config, { name: "Name", id: "ID" }),
});
