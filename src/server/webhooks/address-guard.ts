/**
 * The addresses that webhooks may be delivered to: public ones, and those of networks that the
 * server's operator allows. Whoever creates webhooks could otherwise make the server call what only
 * the server can reach.
 */

import { isInNetwork, parseAddress } from "../../domain/ip-address.ts";
import { StartError } from "../failure.ts";

/** The variable of the server's environment that allows networks. */
export const ALLOW_VARIABLE = "SVC_WEBHOOK_ALLOW";

/** Networks that nobody can allow, with what they are. */
const NEVER: readonly (readonly [network: string, is: string])[] = [
  ["169.254.0.0/16", "link-local"],
  ["fe80::/10", "link-local"],
  ["fd00:ec2::254/128", "a metadata service's"],
  ["0.0.0.0/8", "unspecified"],
  ["::/128", "unspecified"],
  ["224.0.0.0/4", "multicast"],
  ["ff00::/8", "multicast"],
  ["240.0.0.0/4", "reserved"],
];

const NOT_PUBLIC: readonly (readonly [network: string, is: string])[] = [
  ["127.0.0.0/8", "loopback"],
  ["::1/128", "loopback"],
  ["10.0.0.0/8", "private"],
  ["172.16.0.0/12", "private"],
  ["192.168.0.0/16", "private"],
  ["100.64.0.0/10", "of a carrier's network"],
  ["fc00::/7", "private"],
  ["fec0::/10", "private"],
  ["192.0.0.0/24", "reserved"],
  ["192.0.2.0/24", "reserved"],
  ["192.88.99.0/24", "reserved"],
  ["198.18.0.0/15", "reserved"],
  ["198.51.100.0/24", "reserved"],
  ["203.0.113.0/24", "reserved"],
  ["2001::/23", "reserved"],
  ["2001:db8::/32", "reserved"],
  ["3fff::/20", "reserved"],
];

/** Networks whose addresses stand for an IPv4 address, and the position of its last bit. */
const CARRIERS: readonly (readonly [network: string, shift: bigint])[] = [
  ["64:ff9b::/96", 0n],
  ["64:ff9b:1::/48", 0n],
  ["2002::/16", 80n],
  ["::/96", 0n],
];
const IPV4 = 0xffffn << 32n;

/**
 * The networks of a comma list such as `10.1.0.0/16,127.0.0.1`; empty for undefined.
 * @throws StartError for an entry that is neither an address nor a network
 */
export function readAllowedNetworks(list: string | undefined): readonly string[] {
  const entries = (list ?? "").split(",").map((entry) => entry.trim());
  return entries.filter(Boolean).map((entry) => {
    const network = entry.includes("/") ? entry : `${entry}/${entry.includes(":") ? 128 : 32}`;
    const base = parseAddress(network.slice(0, network.indexOf("/")));
    if (base !== undefined && isInNetwork(base, network)) return network;
    throw new StartError(
      "setting_invalid",
      `${ALLOW_VARIABLE} has the entry '${entry}': expected addresses and networks, separated by commas.`,
      `For example ${ALLOW_VARIABLE}=127.0.0.0/8,10.1.0.0/16`,
    );
  });
}

/**
 * Why nothing is delivered to an address, in words that follow its text, for example `is loopback`;
 * undefined when it may be delivered to. What is no address is refused.
 */
export function refusalOf(text: string, allowed: readonly string[]): string | undefined {
  const address = parseAddress(text);
  if (address === undefined) return "is no address";
  const forms = [address, ...carriedBy(address)];
  const never = NEVER.find(([network]) => forms.some((form) => isInNetwork(form, network)));
  if (never) return `is ${never[1]}, which is never called`;
  if (allowed.some((network) => forms.some((form) => isInNetwork(form, network)))) return undefined;
  const known = NOT_PUBLIC.find(([network]) => forms.some((form) => isInNetwork(form, network)));
  if (known) return `is ${known[1]}`;
  return forms.some((form) => isInNetwork(form, "0.0.0.0/0") || isInNetwork(form, "2000::/3")) ? undefined : "is reserved";
}

/** The IPv4 address that an IPv6 address stands for. */
function carriedBy(address: bigint): bigint[] {
  if (isInNetwork(address, "::/127")) return [];
  return CARRIERS.filter(([network]) => isInNetwork(address, network)).map(([, shift]) => ((address >> shift) & 0xffffffffn) | IPV4);
}
