/** Which header fields pass the gateway, and which it says itself. */

import { type HeadField, listOf, valuesOf } from "../http1/head.ts";
import { isLoopbackPeer } from "../wire/http/guard.ts";

/** The field of a request that another gateway passed on. */
export const HOP_FIELD = "svc-gateway-hop";
/** Fields that are about one connection. */
const HOP_BY_HOP: readonly string[] = [
  ...["connection", "keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authorization"],
  ...["te", "trailer", "transfer-encoding", "upgrade", "http2-settings"],
];

/** Fields that say who asks, which the gateway says; and those of the dashboard's pages. */
const SAID_HERE: ReadonlySet<string> = new Set([
  ...["forwarded", "x-real-ip", "x-client-ip", "true-client-ip", "x-forwarded-for", "x-forwarded-host", "x-forwarded-port"],
  ...["x-forwarded-prefix", "x-forwarded-proto", "x-forwarded-server", "svc-page-key", HOP_FIELD],
]);

/**
 * Fields of an answer that count for the whole host or origin, which other programs share with the
 * one that says them, the dashboard among them.
 */
const OF_THE_HOST: ReadonlySet<string> = new Set([
  ...["strict-transport-security", "public-key-pins", "clear-site-data", "service-worker-allowed", "alt-svc"],
]);

/** Cookies of the platform: browsers send them to every port of a host. */
const OWN_COOKIE = /^[\s=]*(?:__(?:host|secure)-)?svc_/i;

/** Who sends a request, as its connection tells. */
export interface Sender {
  /** Address of the connection's other side. */
  readonly peer: string;
  readonly isEncrypted: boolean;
}

/** A request, as far as its fields depend on it. */
export interface Passing {
  readonly fields: readonly HeadField[];
  readonly sender: Sender;
  readonly host: string;
  /** What was taken from the front of the path; empty = nothing. */
  readonly prefix: string;
  /** Whether the credentials of the request were for the gateway. */
  readonly isAuthenticated: boolean;
}

/** Addresses of the clients before the connection's, where a program on this machine says them. */
function claimed({ peer }: Sender, fields: readonly HeadField[]): readonly string[] {
  return isLoopbackPeer(peer) ? valuesOf(fields, "x-forwarded-for") : [];
}

/**
 * Address of who asks: behind a proxy on this machine the one that it says, else the connection's.
 */
export function clientOf(sender: Sender, fields: readonly HeadField[]): string {
  const last = claimed(sender, fields).join().split(",").at(-1)?.trim();
  return last || sender.peer;
}

/** The fields of a request for its server, without those of its body's length. */
export function requestFields({ fields, host, isAuthenticated, prefix, sender }: Passing): HeadField[] {
  const dropped = new Set([...HOP_BY_HOP, ...listOf(fields, "connection"), "content-length", "host"]);
  if (isAuthenticated) dropped.add("authorization");
  const passed: HeadField[] = [["host", host]];
  for (const [name, value] of fields) {
    // What speaks CGI takes `_` for `-`.
    if (dropped.has(name) || SAID_HERE.has(name.replaceAll("_", "-"))) continue;
    if (name !== "cookie") passed.push([name, value]);
    else {
      const cookies = value.split(";").filter((cookie) => !OWN_COOKIE.test(cookie));
      if (cookies.length > 0) passed.push([name, cookies.map((cookie) => cookie.trim()).join("; ")]);
    }
  }
  const proto = isLoopbackPeer(sender.peer) && !sender.isEncrypted ? valuesOf(fields, "x-forwarded-proto").at(-1) : undefined;
  passed.push(
    ["x-forwarded-for", [...claimed(sender, fields), sender.peer].join(", ")],
    ["x-forwarded-host", host],
    ["x-forwarded-proto", sender.isEncrypted || proto?.toLowerCase() === "https" ? "https" : "http"],
  );
  if (prefix !== "") passed.push(["x-forwarded-prefix", prefix]);
  return passed;
}

/**
 * The fields of a request for the gateway of another node, which makes of them what its server is
 * given: those of the connection alone are left out.
 */
export function hopFields(fields: readonly HeadField[], host: string, hop: HeadField): HeadField[] {
  const dropped = new Set([...HOP_BY_HOP, ...listOf(fields, "connection"), "content-length", "host", HOP_FIELD]);
  return [["host", host], ...fields.filter(([name]) => !dropped.has(name)), hop];
}

/** The fields of an answer for the client, without those of its body's length. */
export function responseFields(fields: readonly HeadField[], prefix: string): HeadField[] {
  const dropped = new Set([...HOP_BY_HOP, ...listOf(fields, "connection"), "content-length"]);
  const passed: HeadField[] = [];
  for (const [name, value] of fields) {
    if (dropped.has(name) || OF_THE_HOST.has(name)) continue;
    if (name === "location") passed.push([name, locationUnder(prefix, value)]);
    else if (name !== "set-cookie") passed.push([name, value]);
    else if (!OWN_COOKIE.test(value)) passed.push([name, cookieUnder(prefix, value)]);
  }
  return passed;
}

/** A redirect within a server that has a prefix. */
function locationUnder(prefix: string, value: string): string {
  const isPath = value.startsWith("/") && !/^\/[/\\]/.test(value);
  return isPath && value !== prefix && !value.startsWith(`${prefix}/`) ? `${prefix}${value}` : value;
}

/** A cookie for its own server alone: under its prefix, and of no other host. */
function cookieUnder(prefix: string, value: string): string {
  const [pair = "", ...attributes] = value.split(";");
  const kept = attributes.flatMap((attribute) => {
    const [name = "", path = ""] = attribute.split("=").map((part) => part.trim());
    if (name.toLowerCase() === "domain") return [];
    if (name.toLowerCase() !== "path" || prefix === "") return [attribute];
    return path.startsWith("/") ? [` Path=${locationUnder(prefix, path)}`] : [];
  });
  return [pair, ...kept].join(";");
}
