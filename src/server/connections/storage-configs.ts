/** Storage configurations of teams. */

import { kindProblem } from "../../domain/kind-settings.ts";
import { type BUCKET_KEYS, bucketProblem, STORAGE_KINDS, type StorageKind } from "../../domain/storage-config.ts";
import { type Collection, type CollectionParts, createCollection, type Document } from "../documents/collection.ts";
import { Failure } from "../failure.ts";
import type { CloudAccounts } from "./cloud-accounts.ts";

/** The addresses of a configuration's buckets; empty = none. */
export interface Buckets {
  readonly planStagesBucket: string;
  readonly sourceUploadBucket: string;
  readonly datasetBucket: string;
}

/** What a configuration holds beside its name. */
export interface StorageConfigContent extends Buckets {
  readonly designator: string;
  readonly kind: StorageKind;
  readonly managed: boolean;
  /** Empty = none. */
  readonly cloudCredentialId: string;
}

/** A configuration as it is given: its account by id or name. */
export interface NewStorageConfig extends Omit<StorageConfigContent, "kind"> {
  readonly name: string;
  readonly kind: string;
}

/** The storage configurations of all teams. */
export interface StorageConfigs {
  /** The documents that they are. */
  readonly documents: Collection<StorageConfigContent>;
  /**
   * Rejects with Failure invalid_argument, not_found when the account does not exist,
   * already_exists or resource_exhausted.
   */
  create(teamId: string, config: NewStorageConfig): Promise<Document<StorageConfigContent>>;
  /** Those that use an account, by name. */
  usersOf(teamId: string, accountId: string): Promise<Document<StorageConfigContent>[]>;
  close(): Promise<void>;
}

/** The keys of buckets in documents, by their field. */
export const BUCKET_FIELDS = {
  planStagesBucket: "plan_stages_bucket",
  sourceUploadBucket: "source_upload_bucket",
  datasetBucket: "dataset_bucket",
} as const satisfies Readonly<Record<keyof Buckets, (typeof BUCKET_KEYS)[number]>>;

const MAX_CONFIGS = 200;
const MAX_DESIGNATOR = 200;

/** Makes the capability. */
export function createStorageConfigs(parts: CollectionParts, accounts: Pick<CloudAccounts, "get">): StorageConfigs {
  const documents = createCollection<StorageConfigContent>(parts, {
    kind: "storage-config",
    noun: "storage configuration",
    idPrefix: "sc",
    listedBy: "svc cloud storage configs list",
    maxPerScope: MAX_CONFIGS,
  });

  return {
    documents,
    async create(teamId, { name, kind: given, designator, managed, cloudCredentialId, ...buckets }) {
      const refuse = (problem: string | undefined): void => {
        if (problem !== undefined) throw new Failure("invalid_argument", problem);
      };
      refuse(kindProblem("kind of storage", STORAGE_KINDS, given));
      const kind = given as StorageKind;
      for (const [field, key] of Object.entries(BUCKET_FIELDS)) {
        const address = buckets[field as keyof Buckets];
        const problem = address === "" ? undefined : bucketProblem(kind, address);
        refuse(problem && `The key ${key} ${problem}.`);
      }
      if (designator.length > MAX_DESIGNATOR || /[\p{Cc}\p{Cf}]/u.test(designator))
        refuse(`The key designator has at most ${MAX_DESIGNATOR} characters, none of them control characters.`);
      const account = cloudCredentialId === "" ? undefined : await accounts.get(teamId, cloudCredentialId);
      if (account && account.kind !== kind)
        refuse(`The cloud account '${account.name}' is of ${account.kind}, and a storage configuration of ${kind} needs one of ${kind}.`);
      return documents.create(teamId, name, { ...buckets, designator, kind, managed, cloudCredentialId: account?.id ?? "" });
    },
    usersOf: async (teamId, accountId) => (await documents.list(teamId)).filter(({ content }) => content.cloudCredentialId === accountId),
    close: () => documents.close(),
  };
}
