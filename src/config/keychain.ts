/**
 * Client secrets in the keychain of the system: the Keychain of macOS, the Credential Manager of
 * Windows, or the Secret Service of a Linux desktop. An entry of the config file says
 * `clientSecretIn: keychain` where its secret is there.
 */

import type { Surroundings } from "../context/machine.ts";
import { errorText } from "../domain/error-text.ts";
import { normalizeAddress } from "./address.ts";
import type { ConfigEntry } from "./file.ts";

/** What a secret is stored under: the server's address and the client. */
export type SecretOwner = Pick<ConfigEntry, "apiServer" | "clientId">;

type Here = Pick<Surroundings, "env" | "platform">;

const SERVICE = "svc";

/** The value of `clientSecretIn` for secrets in the keychain. */
export const IN_KEYCHAIN = "keychain";

/**
 * Whether the system may have a keychain that this session can use. SVC_KEYCHAIN=off says no; on
 * Linux one is reached over the session's bus.
 */
function hasKeychain({ env, platform }: Here): boolean {
  if (/^(off|0|false|no)$/i.test(env.SVC_KEYCHAIN ?? "")) return false;
  return platform === "darwin" || platform === "win32" || Boolean(env.DBUS_SESSION_BUS_ADDRESS);
}

/** Stores a secret. Resolves with false where there is no keychain, or it takes none. */
export async function storeSecret(owner: SecretOwner, secret: string, here: Here): Promise<boolean> {
  if (!hasKeychain(here)) return false;
  try {
    await Bun.secrets.set({ service: SERVICE, name: nameOf(owner), value: secret });
    return (await Bun.secrets.get({ service: SERVICE, name: nameOf(owner) })) === secret;
  } catch {
    return false;
  }
}

/**
 * The client secret of an entry, from the file or the keychain. Undefined where it has none;
 * `warn` is told why the keychain does not give one.
 */
export async function secretOf(entry: ConfigEntry, here: Here, warn: (text: string) => void): Promise<string | undefined> {
  if (entry.clientSecret !== undefined || entry.clientSecretIn !== IN_KEYCHAIN) return entry.clientSecret;
  const problem = (reason: string) =>
    warn(`the client secret of ${entry.clientId} is in the keychain of this system, ${reason}; log in again, or set SVC_CLIENT_SECRET`);
  if (!hasKeychain(here)) {
    problem("which this session cannot use");
    return undefined;
  }
  try {
    const found = await Bun.secrets.get({ service: SERVICE, name: nameOf(entry) });
    if (found === null) problem("which does not have it");
    return found ?? undefined;
  } catch (error) {
    problem(`which cannot be read: ${errorText(error)}`);
    return undefined;
  }
}

/** Removes the secret of an entry from the keychain, where it is there. */
export async function removeSecret(entry: ConfigEntry, here: Here): Promise<void> {
  if (entry.clientSecretIn !== IN_KEYCHAIN || !hasKeychain(here)) return;
  await Bun.secrets.delete({ service: SERVICE, name: nameOf(entry) }).catch(() => undefined);
}

function nameOf({ apiServer, clientId }: SecretOwner): string {
  return `${clientId} at ${apiServer === undefined ? "" : normalizeAddress(apiServer, "the config file")}`;
}
