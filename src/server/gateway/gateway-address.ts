/** Where the gateways of other nodes reach that of this one. */

import { StartError } from "../failure.ts";
import type { ServerAddress } from "../http1/connections.ts";
import { isLoopback } from "../wire/http/guard.ts";

/** The variable that says it. */
export const GATEWAY_ADDRESS_VARIABLE = "SVC_GATEWAY_ADDRESS";

type Variables = Readonly<Record<string, string | undefined>>;

/** The address that an operator says; undefined = none. Throws StartError. */
export function saidGatewayAddress(env: Variables): string | undefined {
  const given = env[GATEWAY_ADDRESS_VARIABLE] ?? "";
  if (given === "") return undefined;
  const url = URL.canParse(given) ? new URL(given) : undefined;
  const isOrigin = url && ["http:", "https:"].includes(url.protocol) && `${url.origin}/` === url.href && url.hostname !== "";
  if (isOrigin) return url.origin;
  throw new StartError(
    "setting_invalid",
    `${GATEWAY_ADDRESS_VARIABLE} is '${given.slice(0, 200)}', which is no address of a gateway.`,
    `It is where other nodes reach the gateway of this one, for example ${GATEWAY_ADDRESS_VARIABLE}=https://node-1.internal:6669.`,
  );
}

/**
 * The address for other nodes: what an operator says, else the one that the gateway is bound to;
 * empty = nobody can tell. @param urls of its listeners, the one for other machines first
 */
export function gatewayAddress(env: Variables, host: string, urls: readonly string[]): string {
  const said = saidGatewayAddress(env);
  if (said !== undefined) return said;
  if (["0.0.0.0", "::", "[::]"].includes(host)) return "";
  return (isLoopback(host) ? urls.at(-1) : urls[0]) ?? "";
}

/** An address as connections are opened to it; undefined for none. */
export function serverAt(url: string): ServerAddress | undefined {
  if (!URL.canParse(url)) return undefined;
  const { hostname, port, protocol } = new URL(url);
  const isEncrypted = protocol === "https:";
  return { host: hostname.replace(/^\[|\]$/g, ""), port: port === "" ? (isEncrypted ? 443 : 80) : Number(port), isEncrypted };
}
