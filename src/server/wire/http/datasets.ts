/**
 * `GET /v1/datasets/<name or id>`: a dataset with its revisions and one of them in full. With
 * `?links=true` its files have signed addresses, with `?preview=100` the answer has its first rows,
 * both for callers that may read stored values.
 */

import { Permission } from "../../../../gen/svc/v1/options_pb.ts";
import { messageJson } from "../../../contract/message-json.ts";
import { toPlainJson, typeName } from "../../../domain/value.ts";
import { authorize } from "../../access/authorize.ts";
import { resolveScope } from "../../access/scope.ts";
import type { Caller } from "../../access/tokens.ts";
import type { DatasetPreview } from "../../datasets/preview.ts";
import { Failure } from "../../failure.ts";
import type { Platform } from "../platform.ts";
import { describeDataset } from "../services/dataset-message.ts";
import { withPlainCounts } from "./json-body.ts";
import { json, methodNotAllowed } from "./respond.ts";

const PREFIX = "/v1/datasets/";
const EVERY_FILE = { includeGivens: true, includeTraces: true };

/**
 * Answers with the response of DatasetService.GetDataset as JSON, by the contract's field names.
 */
export async function serveDataset(platform: Platform, request: Request, url: URL): Promise<Response> {
  if (request.method !== "GET") return methodNotAllowed("GET");
  const caller = (await authorize(platform.callers, request.headers, Permission.READ)) as Caller;
  const wantsLinks = url.searchParams.get("links") === "true";
  const preview = url.searchParams.has("preview") ? Number(url.searchParams.get("preview")) : undefined;
  if (wantsLinks || preview !== undefined) await authorize(platform.callers, request.headers, Permission.QUERY_OFFLINE);
  const { environment } = await resolveScope(platform.environments, caller, request.headers);
  const wanted = decoded(url.pathname.slice(PREFIX.length));
  const page = {
    pageSize: Number(url.searchParams.get("page_size") ?? 0) || 0,
    pageToken: url.searchParams.get("page_token") ?? "",
  };
  const answer = await describeDataset(platform, caller, environment.id, wanted, page, request.headers);
  const described = withPlainCounts(messageJson(answer)) as unknown as { readonly files: readonly { readonly name: string }[] };
  if (preview !== undefined) {
    const shown = await (await platform.datasets()).previews.preview(environment.id, wanted, preview, request.signal);
    return json({ ...described, preview: previewJson(shown) });
  }
  if (!wantsLinks || !answer.revision || answer.files.length === 0) return json(described);
  const { datasets } = await platform.datasets();
  const links = new Map<string, object>();
  for await (const link of datasets.links(environment.id, answer.revision.id, EVERY_FILE, request.signal)) {
    if (!link) break;
    const { file, address } = link;
    links.set(file.name, { url: address.url, expires_at: new Date(address.expiresAt).toISOString() });
    if (answer.files.every(({ name }) => links.has(name))) break;
  }
  return json({ ...described, files: described.files.map((file) => ({ ...file, ...links.get(file.name) })) });
}

/** The first rows of a table: its columns with their types, and a list of values for each row. */
function previewJson({ columns, hidden, rows, shown, truncated }: DatasetPreview): object {
  return {
    columns: shown.map(({ dtype, name }) => ({ name, type: typeName(dtype) })),
    rows: Array.from({ length: rows }, (_, row) =>
      shown.map(({ dtype }, column) => toPlainJson(columns[column]?.[row] ?? null, dtype, { largeNumbers: true })),
    ),
    hidden_columns: hidden,
    truncated,
  };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new Failure("invalid_argument", "The name of the dataset is not encoded as a part of an address.");
  }
}
