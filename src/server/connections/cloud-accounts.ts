/** Cloud accounts of teams, with their secrets sealed. */

import { CLOUD_ACCOUNT_KINDS, type CloudAccountKind } from "../../domain/cloud-account.ts";
import { kindProblem, type Settings, settingsProblem } from "../../domain/kind-settings.ts";
import type { Sealer } from "../access/sealing.ts";
import { type Collection, type CollectionParts, createCollection, type Document } from "../documents/collection.ts";
import { Failure } from "../failure.ts";
import { createSettingsVault, maskedSettings, resealDocuments, type SealedSettings } from "./sealed-settings.ts";

/** A cloud account. Times are epoch milliseconds. */
export interface CloudAccount {
  readonly id: string;
  readonly name: string;
  readonly kind: CloudAccountKind;
  /** Values by setting, secrets masked. */
  readonly settings: Record<string, string>;
  readonly updatedAt: number;
}

/** A cloud account with its secrets. */
export interface OpenAccount extends CloudAccount {
  readonly values: Settings;
}

/** The cloud accounts of all teams. */
export interface CloudAccounts {
  /** Accounts of a team, by name. */
  list(teamId: string): Promise<CloudAccount[]>;
  /** The account of an id or name. Rejects with Failure not_found. */
  get(teamId: string, idOrName: string): Promise<CloudAccount>;
  /** The same with secrets. Rejects with failed_precondition too, when they cannot be opened. */
  open(teamId: string, idOrName: string): Promise<OpenAccount>;
  /** Rejects with Failure invalid_argument, already_exists or resource_exhausted. */
  create(teamId: string, name: string, kind: string, settings: Settings): Promise<CloudAccount>;
  /** Rejects with Failure not_found. */
  delete(teamId: string, idOrName: string): Promise<CloudAccount>;
  /** Seals what another key sealed with the key that seals now; returns how many were. */
  reseal(signal: AbortSignal): Promise<number>;
  close(): Promise<void>;
}

interface Content {
  readonly kind: CloudAccountKind;
  readonly settings: SealedSettings;
}

const KIND = "cloud-account";
const MAX_ACCOUNTS = 200;

/** Makes the capability. */
export function createCloudAccounts(parts: CollectionParts, sealer: Sealer): CloudAccounts {
  const collection: Collection<Content> = createCollection<Content>(parts, {
    kind: KIND,
    noun: "cloud account",
    idPrefix: "cred",
    listedBy: "svc cloud-account list",
    maxPerScope: MAX_ACCOUNTS,
  });
  const vault = createSettingsVault(sealer, KIND);
  const read = ({ id, name, content: { kind, settings }, updatedAt }: Document<Content>): CloudAccount => ({
    id,
    name,
    kind,
    settings: maskedSettings(CLOUD_ACCOUNT_KINDS[kind], settings),
    updatedAt,
  });

  return {
    list: async (teamId) => (await collection.list(teamId)).map(read),
    get: async (teamId, idOrName) => read(await collection.get(teamId, idOrName)),
    async open(teamId, idOrName) {
      const document = await collection.get(teamId, idOrName);
      return { ...read(document), values: await vault.open(document.content.settings, teamId) };
    },
    async create(teamId, name, given, settings) {
      const wrong = kindProblem("kind of cloud account", Object.keys(CLOUD_ACCOUNT_KINDS), given);
      if (wrong !== undefined) throw new Failure("invalid_argument", wrong);
      const kind = given as CloudAccountKind;
      const problem = settingsProblem(CLOUD_ACCOUNT_KINDS[kind], kind, settings);
      if (problem !== undefined) throw new Failure("invalid_argument", problem);
      return read(
        await collection.create(teamId, name, { kind, settings: await vault.close(CLOUD_ACCOUNT_KINDS[kind], settings, teamId) }),
      );
    },
    delete: async (teamId, idOrName) => read(await collection.delete(teamId, idOrName)),
    reseal: (signal) => resealDocuments(collection, vault, signal),
    close: () => collection.close(),
  };
}
