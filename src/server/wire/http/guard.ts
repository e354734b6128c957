/**
 * The check of every request before its token is read. A page on the web can make a browser send
 * requests to a local port, and can point a name of its own at 127.0.0.1; so the Host header must
 * name this server, and an Origin header, if there is one, must be this server's own.
 */

/** The addresses and names of the server. */
export interface GuardOptions {
  /** The address it is bound to. */
  readonly host: string;
  readonly port: number;
  /** The port for gRPC, if there is one. */
  readonly grpcPort?: number;
  /**
   * Further names of the server, such as that of a proxy in front: `svc.example.com` without a
   * port, or with the server's; `svc.example.com:8443` with that port.
   */
  readonly allowedHosts: readonly string[];
  /** Refuse connections of other machines with this message; undefined = do not refuse them. */
  readonly othersRefused?: string | undefined;
}

/** The reason for refusing a request; undefined when it may pass. */
export type Guard = (headers: Headers, peer?: () => string | undefined) => string | undefined;

const LOOPBACK_NAMES = ["127.0.0.1", "localhost", "[::1]"];

/** Whether an address to bind reaches this machine only. */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, "").toLowerCase();
  return bare === "localhost" || bare === "::1" || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(bare);
}

/**
 * Whether a peer's address is this machine's, also in the form that IPv6 sockets give to IPv4
 * peers.
 */
export function isLoopbackPeer(address: string | undefined): boolean {
  return address !== undefined && isLoopback(address.replace(/^::ffff:/i, ""));
}

/**
 * Whether a peer is this machine, which connects to the bound address from that same address.
 * Requests of this process itself have no peer.
 */
function isThisMachine(peer: string | undefined, host: string): boolean {
  return peer === undefined || isLoopbackPeer(peer) || peer.replace(/^::ffff:/i, "") === host.replace(/^\[|\]$/g, "");
}

/** A host name or address in the form that a URL needs: IPv6 in brackets. */
export function urlHost(host: string): string {
  return host.includes(":") && !host.startsWith("[") ? `[${host}]` : host;
}

/** The bound address of a server and its further names. */
type Names = Pick<GuardOptions, "host" | "port" | "allowedHosts">;

/**
 * The Host headers that other machines may send: those of the allowed hosts, and of the bound
 * address unless it is loopback.
 */
export function remoteHosts({ host, port, allowedHosts }: Names): ReadonlySet<string> {
  const bound = isLoopback(host) ? [] : [urlHost(host)];
  return new Set(
    [...allowedHosts, ...bound]
      .map((name) => name.toLowerCase())
      .flatMap((name) => (/:\d+$/.test(name) && !name.endsWith("]") ? [name.replace(/:(80|443)$/, ""), name] : [name, `${name}:${port}`])),
  );
}

/**
 * A URL of the server for other machines; undefined when no host is allowed and the bound address
 * is loopback or a wildcard.
 */
export function remoteUrl({ host, port, allowedHosts, encrypted }: Names & { readonly encrypted: boolean }): string | undefined {
  const bound = ["0.0.0.0", "::", "[::]"].includes(host) || isLoopback(host) ? [] : [urlHost(host)];
  const [name] = [...allowedHosts, ...bound];
  if (name === undefined) return undefined;
  const named = /:\d+$/.test(name) && !name.endsWith("]") ? name : `${name}:${port}`;
  return new URL(`${encrypted ? "https" : "http"}://${named}`).origin;
}

/**
 * Makes the guard of a server. Loopback names pass with any port, because a forwarded port (ssh, a
 * container) keeps the name and changes the number; a page elsewhere cannot make a browser send
 * such a Host. An Origin must have the same host as the Host header.
 */
export function createGuard({ host, port, grpcPort = port, allowedHosts, othersRefused }: GuardOptions): Guard {
  const names = new Set(LOOPBACK_NAMES);
  const bound = urlHost(host).toLowerCase();
  const hosts = new Set(
    [port, grpcPort].flatMap((one) => [one === 80 ? bound : `${bound}:${one}`, ...remoteHosts({ host, port: one, allowedHosts })]),
  );
  return (headers, peer) => {
    if (othersRefused !== undefined && !isThisMachine(peer?.(), host)) return othersRefused;
    const given = headers.get("host")?.toLowerCase();
    if (given === undefined || !(hosts.has(given) || names.has(given.replace(/:\d+$/, ""))))
      return "The Host header does not name this server. `svc server start --allowed-host <name>` gives it further names.";
    const origin = headers.get("origin")?.toLowerCase();
    if (origin !== undefined && origin !== `http://${given}` && origin !== `https://${given}`)
      return "Requests from other origins are not allowed.";
    const site = headers.get("sec-fetch-site");
    if (site !== null && site !== "same-origin" && site !== "none" && headers.get("sec-fetch-mode") !== "navigate")
      return "Requests from other sites are not allowed.";
    return undefined;
  };
}
