/** Storage configurations: buckets in a cloud, and what is wrong with one that is given. */

/** Schemes of buckets' addresses, by the kind of the configuration. */
const SCHEMES = { aws: "s3", gcp: "gs" } as const;

/** The kind of a storage configuration. */
export type StorageKind = keyof typeof SCHEMES;

/** Names of the kinds. */
export const STORAGE_KINDS = Object.keys(SCHEMES);

/** Keys of the buckets of a configuration. */
export const BUCKET_KEYS = ["plan_stages_bucket", "source_upload_bucket", "dataset_bucket"] as const;

/** Keys of a configuration as it is given. */
export const STORAGE_CONFIG_KEYS = ["name", "designator", "kind", "managed", "cloud_credential_id", ...BUCKET_KEYS] as const;

/** A bucket, and the beginning of the names of objects in it. */
export interface Bucket {
  readonly name: string;
  /** Without slashes at its ends; may be empty. */
  readonly prefix: string;
}

const ADDRESS = /^([a-z0-9]+):\/\/([a-z0-9][a-z0-9._-]{1,61}[a-z0-9])((?:\/[A-Za-z0-9._~-]+)*)\/?$/;
const MAX_LENGTH = 500;

/** The bucket of an address; undefined when it is no address of a bucket. */
export function readBucket(address: string): Bucket | undefined {
  const [, , name, path = ""] = address.length > MAX_LENGTH ? [] : (ADDRESS.exec(address) ?? []);
  const prefix = path.slice(1);
  if (name === undefined || name.includes("..") || prefix.split("/").some((part) => /^\.+$/.test(part))) return undefined;
  return { name, prefix };
}

/** What is wrong with the address of a bucket, as a phrase; undefined when nothing is. */
export function bucketProblem(kind: StorageKind, address: string): string | undefined {
  const scheme = SCHEMES[kind];
  if (/^file:/i.test(address))
    return `is a folder, and a folder of the server's machine is set where the server is started: expected ${scheme}://BUCKET[/PREFIX]`;
  if (address.startsWith(`${scheme}://`) && readBucket(address)) return undefined;
  return `is no address of a bucket of ${kind}: expected ${scheme}://BUCKET[/PREFIX] of letters, digits, '.', '_', '~' and '-'`;
}
