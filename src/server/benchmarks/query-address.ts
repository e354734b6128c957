/** Where the queries of a benchmark go, and whether they may. */

import { parseAddress } from "../../domain/ip-address.ts";
import { Failure } from "../failure.ts";
import { ALLOW_VARIABLE, refusalOf } from "../webhooks/address-guard.ts";
import { pin, type Resolve, systemResolve } from "../webhooks/send.ts";

const PATH = "/v1/query/online";

/** A checked address. */
export interface QueryAddress {
  /** Of the endpoint, with an IP address that was checked. */
  readonly url: string;
  /** The Host header. */
  readonly host: string;
  /** Name in the certificate; undefined when the address has none. */
  readonly serverName?: string;
}

/** The endpoint of this server. */
export function ownAddress(url: string): QueryAddress {
  return { url: `${url}${PATH}`, host: new URL(url).host };
}

/** The base address that a text names. Throws Failure invalid_argument. */
function readQueryHost(text: string): URL {
  const url = URL.parse(/^[a-z]+:\/\//i.test(text) ? text : `https://${text}`);
  if (
    url &&
    /^https?:$/.test(url.protocol) &&
    url.username === "" &&
    url.password === "" &&
    url.pathname === "/" &&
    url.search === "" &&
    url.hash === ""
  )
    return url;
  throw new Failure("invalid_argument", `The query host cannot be '${text.slice(0, 200)}'.`, {
    hint: "It is an address without a path, such as https://queries.example.com.",
  });
}

/**
 * The endpoint at another address, pinned to what its name means now. Rejects with Failure
 * invalid_argument, or failed_precondition when the server's operator does not allow it, or the
 * token would be readable on its way.
 */
export async function otherAddress(text: string, allowed: readonly string[], resolve: Resolve = systemResolve): Promise<QueryAddress> {
  const base = readQueryHost(text);
  const host = base.hostname.replace(/\.$/, "");
  const isName = parseAddress(host) === undefined;
  const addresses = isName ? await resolve(host).catch(() => []) : [host];
  const refuse = (what: string, hint: string): never => {
    throw new Failure("failed_precondition", what, { hint });
  };
  const [first] = addresses;
  if (first === undefined) return refuse(`The name '${host}' of the query host is not known here.`, "Check its spelling.");
  for (const address of addresses) {
    const refusal = refusalOf(address, allowed);
    if (refusal !== undefined)
      refuse(`The query host is not called: ${address} ${refusal}.`, `Whoever runs the server can allow networks with ${ALLOW_VARIABLE}.`);
    if (base.protocol === "http:" && refusalOf(address, []) === undefined)
      refuse(`The query host is public and is not called over http: its token could be read on the way.`, "Name it with https://.");
  }
  const pinned = pin(new URL(PATH, base), first);
  if (!pinned) return refuse(`The query host is not called: ${first} is written as no address is.`, "Name another one.");
  return { url: pinned.href, host: base.host, ...(isName && { serverName: host }) };
}
