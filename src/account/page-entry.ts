/**
 * Access to the confirmation page for users who are already known to the server: its owner, and
 * users who are logged in to it.
 */

import { normalizeAddress } from "../config/address.ts";
import { type ConfigEntry, DEFAULT_KEY, readEntries } from "../config/file.ts";
import { secretOf } from "../config/keychain.ts";
import { readOwner } from "../config/local-server.ts";
import { locateConfig } from "../config/location.ts";
import type { Context } from "../context/context.ts";

interface Credentials {
  readonly clientId: string;
  readonly clientSecret: string;
}

/**
 * An address that opens a page of the server logged in, once; undefined when no credentials here
 * prove who the user is. Credentials are only sent to the server that they belong to.
 */
export async function entryToPage(context: Context, path: string, dataDir: string): Promise<string | undefined> {
  const { api, http, signal } = context;
  for (const { clientId, clientSecret } of await candidates(context, dataDir)) {
    try {
      const { accessToken } = await http.checkCredentials(clientId, clientSecret);
      const entry = await (await api.auth()).createEntry({ path }, { headers: { authorization: `Bearer ${accessToken}` } });
      return entry.url;
    } catch {
      // These credentials no longer work, and the login needs none of them.
      signal.throwIfAborted();
    }
  }
  return undefined;
}

async function candidates(context: Context, dataDir: string): Promise<Credentials[]> {
  const { flags, surroundings } = context;
  const { apiServer, configKey, grpcServer } = await context.settings();
  const server = apiServer.value ?? "";
  if (grpcServer.value !== server) return [];
  const owner = await readOwner(dataDir);
  const { read } = locateConfig(flags, surroundings);
  const entries = read === undefined ? new Map<string, ConfigEntry>() : await readEntries(read);
  const stored: Credentials[] = [];
  for (const entry of [entries.get(configKey), entries.get(DEFAULT_KEY)]) {
    const { apiServer: of, clientId } = entry ?? {};
    if (entry === undefined || of === undefined || clientId === undefined || normalizeAddress(of, "the config file") !== server) continue;
    const clientSecret = await secretOf(entry, surroundings, () => undefined);
    if (clientSecret !== undefined) stored.push({ clientId, clientSecret });
  }
  return [...(owner?.url === server ? [owner] : []), ...stored];
}
