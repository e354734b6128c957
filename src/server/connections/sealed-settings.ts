/** Settings as they are stored: secrets sealed one by one, all others as they are. */

import { MASKED, type Setting, type Settings } from "../../domain/kind-settings.ts";
import type { Sealer } from "../access/sealing.ts";
import type { Collection } from "../documents/collection.ts";
import { Failure } from "../failure.ts";

/** Settings that are stored. */
export interface SealedSettings {
  /** What the secrets are sealed for: it never changes, whatever the document is renamed to. */
  readonly seal: string;
  readonly plain: Settings;
  /** Sealed values by setting. */
  readonly sealed: Settings;
}

/** Settings of the documents of one kind. */
export interface SettingsVault {
  /** Seals the secrets among the values. */
  close(table: readonly Setting[], values: Settings, scope: string): Promise<SealedSettings>;
  /** All values. Rejects with Failure failed_precondition when a secret cannot be opened. */
  open(settings: SealedSettings, scope: string): Promise<Settings>;
  /** The same settings sealed by the key that seals now. Rejects like `open`. */
  reseal(settings: SealedSettings, scope: string): Promise<SealedSettings>;
  /** Whether every secret is sealed by the key that seals now. */
  isCurrent(settings: SealedSettings): boolean;
}

/** Makes the vault of a kind of documents. */
export function createSettingsVault(sealer: Sealer, kind: string): SettingsVault {
  const context = (scope: string, seal: string, name: string): string[] => [scope, kind, seal, name];
  const mapped = async (settings: Settings, of: (name: string, value: string) => Promise<string>): Promise<Settings> =>
    Object.fromEntries(await Promise.all(Object.entries(settings).map(async ([name, value]) => [name, await of(name, value)] as const)));
  const sealAll = (settings: Settings, scope: string, seal: string): Promise<Settings> =>
    mapped(settings, (name, value) => sealer.seal(value, context(scope, seal, name)));
  const openAll = ({ sealed, seal }: SealedSettings, scope: string): Promise<Settings> =>
    mapped(sealed, (name, value) => sealer.open(value, context(scope, seal, name)));

  return {
    async close(table, values, scope) {
      const secrets = new Set(table.filter(({ isSecret }) => isSecret).map(({ name }) => name));
      const those = (wanted: boolean): Settings =>
        Object.fromEntries(Object.entries(values).filter(([name]) => secrets.has(name) === wanted));
      const seal = crypto.randomUUID();
      return { seal, plain: those(false), sealed: await sealAll(those(true), scope, seal) };
    },
    open: async (settings, scope) => ({ ...settings.plain, ...(await openAll(settings, scope)) }),
    reseal: async (settings, scope) => ({ ...settings, sealed: await sealAll(await openAll(settings, scope), scope, settings.seal) }),
    isCurrent: ({ sealed }) => Object.values(sealed).every((value) => sealer.isCurrent(value)),
  };
}

/** The settings as answers have them, in the order of their table. */
export function maskedSettings(table: readonly Setting[], { plain, sealed }: SealedSettings): Record<string, string> {
  return Object.fromEntries(
    table.flatMap(({ name }) => {
      const value = name in sealed ? MASKED : plain[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/**
 * Seals what another key sealed with the key that seals now; returns the number of documents. What
 * cannot be opened, or is gone meanwhile, is passed over.
 */
export async function resealDocuments<C extends { readonly settings: SealedSettings }>(
  collection: Collection<C>,
  vault: SettingsVault,
  signal: AbortSignal,
): Promise<number> {
  let count = 0;
  for (const { id, scope, content } of await collection.list()) {
    signal.throwIfAborted();
    if (vault.isCurrent(content.settings)) continue;
    try {
      await collection.update(scope, id, async (document) => ({
        content: { ...document.content, settings: await vault.reseal(document.content.settings, scope) },
      }));
      count++;
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
    }
  }
  return count;
}
