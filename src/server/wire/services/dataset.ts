/** DatasetService: datasets and their revisions. */

import { create } from "@bufbuild/protobuf";
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import {
  ArchiveDatasetRevisionResponseSchema,
  CreateDatasetUploadResponseSchema,
  DatasetService,
  FinalizeDatasetUploadResponseSchema,
  GetDatasetUploadUrisResponseSchema,
  ListDatasetsResponseSchema,
  RenameDatasetResponseSchema,
  StreamDatasetLinksResponseSchema,
} from "../../../../gen/svc/v1/dataset_pb.ts";
import { msToTimestamp } from "../../../domain/proto-time.ts";
import { resolveScope } from "../../access/scope.ts";
import { suspended } from "../../deployments/environment-states.ts";
import type { ShownDataset } from "../../stores/metadata/datasets.ts";
import { callerOf } from "../interceptors.ts";
import type { Platform } from "../platform.ts";
import { datasetMessage, describeDataset, fileMessage, previewMessage, revisionMessage } from "./dataset-message.ts";
import { readPage } from "./page-token.ts";

/** Adds the service to a router. */
export function register(router: ConnectRouter, platform: Platform): void {
  const environmentOf = async (context: HandlerContext): Promise<string> =>
    (await resolveScope(platform.environments, callerOf(context), context.requestHeader)).environment.id;

  /** The environment, which may be written to. */
  const writable = async (context: HandlerContext): Promise<string> => {
    const { environment } = await resolveScope(platform.environments, callerOf(context), context.requestHeader);
    if (environment.suspendedAt !== undefined) throw suspended(environment);
    return environment.id;
  };

  const shown = (dataset: ShownDataset, { requestHeader }: HandlerContext) => datasetMessage(dataset, platform, requestHeader);

  router.service(DatasetService, {
    async listDatasets({ search, ...page }, context) {
      const environmentId = await environmentOf(context);
      const { datasets } = await platform.datasets();
      const filter = JSON.stringify(["datasets", environmentId, search]);
      const { items, nextPageToken } = await readPage(platform.keys.objects, filter, page, (limit, before) =>
        datasets.list({ environmentId, search: search || undefined, before, limit }),
      );
      return create(ListDatasetsResponseSchema, { datasets: items.map((dataset) => shown(dataset, context)), nextPageToken });
    },

    async getDataset({ dataset, ...page }, context) {
      return describeDataset(platform, callerOf(context), await environmentOf(context), dataset, page, context.requestHeader);
    },

    async previewDataset({ dataset, rows }, context) {
      const environmentId = await environmentOf(context);
      const { previews } = await platform.datasets();
      return previewMessage(await previews.preview(environmentId, dataset, rows, context.signal));
    },

    async renameDataset({ datasetName, newName }, context) {
      const environmentId = await environmentOf(context);
      const { datasets } = await platform.datasets();
      const { dataset, oldName } = await datasets.rename(environmentId, datasetName, newName);
      return create(RenameDatasetResponseSchema, { dataset: shown(dataset, context), oldName });
    },

    async archiveDatasetRevision({ revisionId }, context) {
      const environmentId = await environmentOf(context);
      const { datasets } = await platform.datasets();
      return create(ArchiveDatasetRevisionResponseSchema, {
        revision: revisionMessage(await datasets.archive(environmentId, revisionId)),
      });
    },

    async *streamDatasetLinks({ revisionId, ...wanted }, context) {
      const environmentId = await environmentOf(context);
      const { datasets } = await platform.datasets();
      for await (const link of datasets.links(environmentId, revisionId, wanted, context.signal))
        yield create(StreamDatasetLinksResponseSchema, {
          ...(link && {
            link: { file: fileMessage(link.file), url: link.address.url, expiresAt: msToTimestamp(link.address.expiresAt) },
          }),
        });
    },

    async createDatasetUpload({ datasetName, files, partBytes }, context) {
      const environmentId = await writable(context);
      const { uploads } = await platform.datasets();
      const { upload, datasetId } = await uploads.announce({
        ...{ environmentId, dataset: datasetName, clientId: callerOf(context).clientId },
        files: files.map(({ name, bytes, sha256 }) => ({ name, bytes: Number(bytes), sha256 })),
        partBytes: Number(partBytes),
      });
      const { id, revisionId } = upload;
      return create(CreateDatasetUploadResponseSchema, { uploadId: id, revisionId, datasetId, partBytes: BigInt(upload.partBytes) });
    },

    async getDatasetUploadUris({ uploadId, parts }, context) {
      const environmentId = await environmentOf(context);
      const { uploads } = await platform.datasets();
      const addresses = await uploads.addresses(environmentId, uploadId, parts);
      return create(GetDatasetUploadUrisResponseSchema, {
        uris: addresses.map((url) => (url === undefined ? { complete: true } : { url })),
      });
    },

    async finalizeDatasetUpload({ uploadId }, context) {
      const environmentId = await writable(context);
      const { datasets, uploads } = await platform.datasets();
      const revision = await uploads.finalize(environmentId, uploadId);
      const { dataset } = await datasets.find(environmentId, revision.id);
      return create(FinalizeDatasetUploadResponseSchema, { dataset: shown(dataset, context), revision: revisionMessage(revision) });
    },
  });
}
