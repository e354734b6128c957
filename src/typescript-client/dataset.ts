/** Datasets as the client gives them. */

/** A revision of a dataset: files that never change once it is complete. */
export interface DatasetRevision {
  readonly id: string;
  /** From 1 in its dataset; 0 before it is complete. */
  readonly number: number;
  readonly state: "writing" | "complete" | "failed" | "archived" | "removed";
  /** What made it, such as `offline_query`, and its id. */
  readonly origin: string;
  readonly originId: string;
  readonly rows: number;
  readonly bytes: number;
  /** RFC 3339. */
  readonly createdAt: string;
  readonly completedAt?: string;
}

/** A dataset. */
export interface Dataset {
  readonly id: string;
  /** Empty = it has none. */
  readonly name: string;
  /** RFC 3339. */
  readonly createdAt: string;
  readonly updatedAt?: string;
  /** The newest first, the archived among them. */
  readonly revisions: readonly DatasetRevision[];
  /** The one that was asked for, else the latest that can be read. */
  readonly revision?: DatasetRevision;
}

/** A file of a revision. */
export interface DatasetFile {
  readonly name: string;
  /** `output` for rows, `givens` for what was given, `errors`, or `trace`. */
  readonly kind: string;
  readonly bytes: number;
  readonly rows: number;
  /** Digest of its bytes, in hex. */
  readonly sha256: string;
  /** A signed address, which works for some minutes. */
  readonly url: string;
}

type Json = Readonly<Record<string, unknown>>;

/** The dataset of the server's descriptions of it, a page of revisions each. */
export function datasetOf(pages: readonly Json[]): Dataset {
  const [first = {}] = pages;
  const { created_at, id, name, updated_at } = (first.dataset ?? {}) as Json;
  return {
    ...{ id: String(id), name: String(name ?? ""), createdAt: String(created_at ?? "") },
    ...(updated_at ? { updatedAt: String(updated_at) } : {}),
    revisions: pages.flatMap(({ revisions }) => ((revisions ?? []) as readonly Json[]).map(revisionOf)),
    ...(first.revision ? { revision: revisionOf(first.revision as Json) } : {}),
  };
}

/** The files that a description has. */
export function filesOf({ files }: Json): readonly DatasetFile[] {
  return ((files ?? []) as readonly Json[]).map(({ bytes, kind, name, rows, sha256, url }) => ({
    ...{ name: String(name), kind: String(kind), bytes: Number(bytes), rows: Number(rows ?? 0) },
    ...{ sha256: String(sha256), url: String(url ?? "") },
  }));
}

/**
 * Whether bytes are those of a file. Where the runtime has no digests, as a page that came without
 * TLS, only their number is looked at.
 */
export async function isFile(file: DatasetFile, content: Uint8Array<ArrayBuffer>): Promise<boolean> {
  if (content.length !== file.bytes) return false;
  const digests = globalThis.crypto?.subtle as SubtleCrypto | undefined;
  if (!digests) return true;
  const digest = new Uint8Array(await digests.digest("SHA-256", content));
  return [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("") === file.sha256;
}

function revisionOf(said: Json): DatasetRevision {
  const { bytes, completed_at, created_at, id, number, origin, origin_id, rows, state } = said;
  return {
    ...{ id: String(id), number: Number(number ?? 0), state: state as DatasetRevision["state"] },
    ...{ origin: String(origin ?? ""), originId: String(origin_id ?? ""), rows: Number(rows ?? 0), bytes: Number(bytes ?? 0) },
    createdAt: String(created_at ?? ""),
    ...(completed_at ? { completedAt: String(completed_at) } : {}),
  };
}
