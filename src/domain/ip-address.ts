/** Internet addresses as numbers, with tests for a network and for this machine's own. */

const IPV4 = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/;
/** IPv4 addresses are kept as IPv6 ones, `::ffff:a.b.c.d`. */
const MAPPED = 0xffffn << 32n;
const IPV4_BITS = 32;
const ALL_BITS = 128;

/**
 * The number of an IPv4 or IPv6 address, the latter with or without brackets; the two forms of an
 * IPv4 address are one. Undefined for names.
 */
export function parseAddress(text: string): bigint | undefined {
  const four = IPV4.exec(text);
  if (four) {
    const parts = four.slice(1).map(Number);
    return parts.every((part) => part <= 255) ? parts.reduce((sum, part) => (sum << 8n) | BigInt(part), 0n) | MAPPED : undefined;
  }
  const bare = text.replace(/^\[(.*)\]$/, "$1");
  if (!/^[0-9a-f:.]*:[0-9a-f:.]*$/i.test(bare) || !URL.canParse(`http://[${bare}]`)) return undefined;
  const [head = "", tail] = new URL(`http://[${bare}]`).hostname.slice(1, -1).split("::");
  const groups = (part: string) => (part === "" ? [] : part.split(":").map((group) => BigInt(`0x${group}`)));
  const [before, after] = [groups(head), groups(tail ?? "")];
  const gap = Array<bigint>(8 - before.length - after.length).fill(0n);
  return [...before, ...gap, ...after].reduce((sum, group) => (sum << 16n) | group, 0n);
}

/**
 * Whether an address is in a network such as `10.0.0.0/8` or `fd00::/8`; false when the network is
 * none.
 */
export function isInNetwork(address: bigint, network: string): boolean {
  const [, base = "", length = ""] = /^(.*)\/(\d{1,3})$/.exec(network) ?? [];
  const start = parseAddress(base);
  if (start === undefined) return false;
  const ignored = BigInt((IPV4.test(base) ? IPV4_BITS : ALL_BITS) - Number(length));
  return ignored >= 0n && address >> ignored === start >> ignored;
}

/**
 * Whether a host of a URL is this machine, whatever its network: `localhost` and names below it,
 * 127.0.0.0/8, `::1`, and the addresses that stand for all of its own.
 */
export function isLoopbackHost(host: string): boolean {
  if (/^(?:.+\.)?localhost\.?$/i.test(host)) return true;
  const address = parseAddress(host);
  if (address === undefined) return false;
  return isInNetwork(address, "127.0.0.0/8") || isInNetwork(address, "::/127") || isInNetwork(address, "0.0.0.0/32");
}

/** Networks whose addresses are no single machine beyond this one and its link. */
const NOT_ELSEWHERE = [...["0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/3"], ...["::/127", "fe80::/10", "ff00::/8"]];

/**
 * Whether a text is the address of one machine beyond this one: no name, not this machine's own,
 * and not its link's, where clouds tell secrets.
 */
export function isElsewhere(host: string): boolean {
  const address = parseAddress(host);
  return address !== undefined && !NOT_ELSEWHERE.some((network) => isInNetwork(address, network));
}
