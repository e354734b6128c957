/**
 * The choice of a proxy for a request, by the rules of curl: `http_proxy` (lower case only, because
 * a client can set the other through a web server's CGI), `https_proxy` and `HTTPS_PROXY`, else
 * `all_proxy` and `ALL_PROXY`; none for the hosts of `no_proxy` or `NO_PROXY`, and none for this
 * machine.
 */

import { isInNetwork, isLoopbackHost, parseAddress } from "../domain/ip-address.ts";
import { CliError } from "../errors/cli-error.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** A proxy and the variable that names it. */
export interface HttpProxy {
  /** With user and password, when it has them. */
  readonly url: string;
  /** For messages: its address without user and password, and the variable that names it. */
  readonly shown: string;
}

/**
 * The proxy for a request to an address; undefined for none. Throws CliError when the variable's
 * value is one that svc cannot use.
 */
export type Proxies = (url: string) => HttpProxy | undefined;

const VARIABLES: Readonly<Record<string, readonly string[]>> = {
  "http:": ["http_proxy", "all_proxy", "ALL_PROXY"],
  "https:": ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"],
};

/** The proxies that the environment names. */
export function createProxies(env: Env): Proxies {
  return (url) => {
    const target = new URL(url);
    const variable = VARIABLES[target.protocol]?.find((name) => env[name]);
    if (variable === undefined || isLoopbackHost(target.hostname) || isExempt(target, env.no_proxy || env.NO_PROXY || "")) return undefined;
    return parseProxy(env[variable] ?? "", variable);
  };
}

/** Text for messages about an answer that may be a proxy's: ` through the proxy ...`, or empty. */
export function throughProxy(proxies: Proxies, url: string): string {
  const proxy = proxies(url);
  return proxy ? ` through the proxy ${proxy.shown}` : "";
}

function parseProxy(given: string, variable: string): HttpProxy {
  const text = /^[a-z][a-z0-9+.-]*:\/\//i.test(given.trim()) ? given.trim() : `http://${given.trim()}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !["http:", "https:"].includes(url.protocol) || url.hostname === "") {
    const kind = url && url.hostname !== "" ? `names a proxy of the kind '${url.protocol.slice(0, -1)}'` : "is no address of a proxy";
    throw new CliError(`the environment variable ${variable} ${kind}, which svc cannot use`, {
      code: "bad_proxy",
      hint: "Write it as http://host:port or https://host:port; NO_PROXY names the hosts that are reached without one.",
    });
  }
  return { url: url.href, shown: `${url.protocol}//${url.host} (environment variable ${variable})` };
}

/**
 * Whether a list such as `example.com, .internal, 10.0.0.0/8, host:8080, [fd00::1]` matches the
 * host: by its name, a domain or network that contains it, or `*`.
 */
function isExempt(target: URL, list: string): boolean {
  const host = plainHost(target.hostname);
  const port = target.port || (target.protocol === "https:" ? "443" : "80");
  const address = parseAddress(host);
  return list
    .split(/[\s,]+/)
    .filter((entry) => entry !== "")
    .some((entry) => {
      if (entry === "*") return true;
      if (address !== undefined && entry.includes("/")) return isInNetwork(address, entry);
      const [, name = "", wanted] = /^(\[[^\]]*\]|[^:]*)(?::(\d+))?$/.exec(entry) ?? [entry, entry];
      if (wanted !== undefined && wanted !== port) return false;
      if (address !== undefined) return parseAddress(name) === address;
      const domain = plainHost(name.replace(/^\*?\.(?=.)/, ""));
      return host === domain || host.endsWith(`.${domain}`);
    });
}

function plainHost(host: string): string {
  return host.toLowerCase().replace(/\.$/, "");
}
