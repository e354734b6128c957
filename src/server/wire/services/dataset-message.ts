/** Datasets and their revisions as the contract shows them. */

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type DatasetColumnSchema,
  DatasetFileKind,
  type DatasetFileSchema,
  DatasetOrigin,
  type DatasetRevisionSchema,
  DatasetRevisionState,
  type DatasetSchema,
  type GetDatasetResponse,
  GetDatasetResponseSchema,
  type PreviewDatasetResponse,
  PreviewDatasetResponseSchema,
} from "../../../../gen/svc/v1/dataset_pb.ts";
import { allows } from "../../../domain/permissions.ts";
import { msToTimestamp } from "../../../domain/proto-time.ts";
import { toProtoValue } from "../../../domain/proto-value.ts";
import { typeName } from "../../../domain/value.ts";
import type { Caller } from "../../access/tokens.ts";
import { tableColumns } from "../../datasets/columns.ts";
import { ARCHIVED_KEPT_MS } from "../../datasets/datasets.ts";
import type { DatasetPreview } from "../../datasets/preview.ts";
import type { DatasetFileRecord, RevisionRecord, ShownDataset, StoredProfile } from "../../stores/metadata/datasets.ts";
import { pageAddress } from "../page-address.ts";
import type { Platform } from "../platform.ts";
import { type PageRequest, readPage } from "./page-token.ts";

const STATES = {
  writing: DatasetRevisionState.WRITING,
  complete: DatasetRevisionState.COMPLETE,
  failed: DatasetRevisionState.FAILED,
  archived: DatasetRevisionState.ARCHIVED,
} as const;

const ORIGINS = {
  offline_query: DatasetOrigin.OFFLINE_QUERY,
  scheduled_query: DatasetOrigin.SCHEDULED_QUERY,
  sql: DatasetOrigin.SQL,
  upload: DatasetOrigin.UPLOAD,
  evaluation: DatasetOrigin.EVALUATION,
  aggregate_backfill: DatasetOrigin.AGGREGATE_BACKFILL,
  benchmark: DatasetOrigin.BENCHMARK,
} as const;

const KINDS = {
  output: DatasetFileKind.OUTPUT,
  givens: DatasetFileKind.GIVENS,
  errors: DatasetFileKind.ERRORS,
  trace: DatasetFileKind.TRACE,
} as const;

/** A dataset, for a caller with these headers. */
export function datasetMessage(
  { id, environmentId, name, revisions, createdAt, updatedAt }: ShownDataset,
  platform: Pick<Platform, "addressFor" | "headless">,
  headers: Headers,
): MessageInitShape<typeof DatasetSchema> {
  const url = pageAddress(platform, headers, environmentId, "dataset", { name: name || id });
  const times = { createdAt: msToTimestamp(createdAt), ...(updatedAt !== undefined && { updatedAt: msToTimestamp(updatedAt) }) };
  return { id, name: name ?? "", revisions, url, ...times };
}

/** A revision. */
export function revisionMessage(revision: RevisionRecord): MessageInitShape<typeof DatasetRevisionSchema> {
  const { id, number, originId, createdBy, createdAt, completedAt, archivedAt } = revision;
  return {
    ...{ id, number: number ?? 0, originId, createdBy },
    state: STATES[revision.state],
    origin: ORIGINS[revision.origin],
    rows: BigInt(revision.rows),
    bytes: BigInt(revision.bytes),
    createdAt: msToTimestamp(createdAt),
    ...(completedAt !== undefined && { completedAt: msToTimestamp(completedAt) }),
    ...(archivedAt !== undefined && {
      archivedAt: msToTimestamp(archivedAt),
      removedAt: msToTimestamp(archivedAt + ARCHIVED_KEPT_MS),
    }),
  };
}

/** A file of a revision. */
export function fileMessage({ name, kind, bytes, rows, sha256 }: DatasetFileRecord): MessageInitShape<typeof DatasetFileSchema> {
  return { name, kind: KINDS[kind], bytes: BigInt(bytes), rows: BigInt(rows), sha256 };
}

/** The first rows of a table. */
export function previewMessage({ columns, hidden, revisionId, rows, shown, truncated }: DatasetPreview): PreviewDatasetResponse {
  return create(PreviewDatasetResponseSchema, {
    ...{ revisionId, rows, truncated, hiddenColumns: [...hidden] },
    columns: shown.map(({ name, dtype }, at) => ({ name, dtype, values: columns[at]?.map((value) => toProtoValue(value, dtype)) ?? [] })),
  });
}

function columnMessages(
  revision: RevisionRecord,
  statistics: readonly StoredProfile[] | undefined,
): MessageInitShape<typeof DatasetColumnSchema>[] {
  const byName = new Map(statistics?.map((profile) => [profile.name, profile]));
  return tableColumns(revision.columns).map(({ name, dtype }) => {
    const known = byName.get(name);
    const { min, max, mean } = known ?? {};
    return {
      ...{ name, dtype, type: typeName(dtype) },
      ...(known && {
        statistics: {
          ...{ nulls: BigInt(known.nulls), distinct: BigInt(known.distinct) },
          ...(min !== undefined && { min }),
          ...(max !== undefined && { max }),
          ...(mean !== undefined && { mean }),
        },
      }),
    };
  });
}

/**
 * A dataset with its revisions and all of one of them, as a caller may see it. Rejects with
 * Failure.
 */
export async function describeDataset(
  platform: Platform,
  caller: Caller,
  environmentId: string,
  wanted: string,
  page: PageRequest,
  headers: Headers,
): Promise<GetDatasetResponse> {
  const { datasets, statistics } = await platform.datasets();
  const { dataset, revision } = await datasets.find(environmentId, wanted);
  const filter = JSON.stringify(["dataset-revisions", dataset.id]);
  const revisions = await readPage(platform.keys.objects, filter, page, (limit, before) => datasets.revisions(dataset.id, limit, before));
  const values = allows(caller.permissions, "query.offline");
  return create(GetDatasetResponseSchema, {
    dataset: datasetMessage(dataset, platform, headers),
    revisions: revisions.items.map(revisionMessage),
    nextPageToken: revisions.nextPageToken,
    ...(revision && {
      revision: revisionMessage(revision),
      columns: columnMessages(revision, revision.state === "complete" ? await statistics.shown(revision, { values }) : undefined),
      files: (await datasets.files(revision)).map(fileMessage),
    }),
  });
}
