/**
 * The settings of the export by OTLP, from the variables that OpenTelemetry names. Without an
 * endpoint nothing is exported.
 */

import { type Certificate, readAuthorities, readCertificate } from "../certificate.ts";
import { StartError } from "../failure.ts";

/** The signals of OpenTelemetry, as paths of OTLP name them. */
export const SIGNALS = ["traces", "logs", "metrics"] as const;

/** A signal of OpenTelemetry. */
export type Signal = (typeof SIGNALS)[number];

/** Form of the bodies: protobuf's binary form, or OTLP's JSON. */
export type OtlpEncoding = "protobuf" | "json";

/** Where a signal is sent, and how. */
export interface SignalSettings {
  readonly url: string;
  /** Headers by name; they may have secrets. */
  readonly headers: Readonly<Record<string, string>>;
  readonly encoding: OtlpEncoding;
  /** Whether bodies are compressed with gzip. */
  readonly isCompressed: boolean;
  /** Milliseconds that a request may take. */
  readonly timeoutMs: number;
  /** Absent = the system's authorities, and no certificate of this server's own. */
  readonly tls?: ExportTls;
}

/** What a connection to a collector is made with, in PEM form. */
export interface ExportTls {
  /** Authorities that the collector's certificate may be of; absent = the system's. */
  readonly authorities?: string;
  /** The certificate by which the collector knows this server. */
  readonly own?: Certificate;
}

/** The settings of the export. */
export interface OtlpSettings {
  /** At least one; a signal that is absent is not exported. */
  readonly signals: Readonly<Partial<Record<Signal, SignalSettings>>>;
  /** Attributes of what all is about, this server. */
  readonly resource: Readonly<Record<string, string>>;
  /** Milliseconds between two exports of metrics. */
  readonly metricIntervalMs: number;
}

/** Environment variables by name. */
type Variables = Readonly<Record<string, string | undefined>>;

const PROTOCOLS: Readonly<Record<string, OtlpEncoding>> = { "http/protobuf": "protobuf", "http/json": "json" };
const COMPRESSIONS: Readonly<Record<string, boolean>> = { gzip: true, none: false };
/** What OTEL_TRACES_EXPORTER and its like can be, and whether the signal is exported then. */
const EXPORTERS: Readonly<Record<string, boolean>> = { otlp: true, none: false };
const TIMEOUT_MS = 10_000;
const METRIC_INTERVAL_MS = 60_000;
const MAX_MS = 3_600_000;

/**
 * The settings that the variables give, with the files that they name; undefined = nothing is
 * exported.
 * @param now epoch milliseconds
 * @throws StartError when one of them cannot be used
 */
export function readOtlpSettings(env: Variables, now: number): OtlpSettings | undefined {
  if (env.OTEL_SDK_DISABLED?.trim().toLowerCase() === "true") return undefined;
  const signals: Partial<Record<Signal, SignalSettings>> = {};
  for (const signal of SIGNALS) {
    const settings = signalSettings(env, signal, now);
    if (settings) signals[signal] = settings;
  }
  if (Object.keys(signals).length === 0) return undefined;
  const named = pairs("OTEL_RESOURCE_ATTRIBUTES", env.OTEL_RESOURCE_ATTRIBUTES);
  const name = given(env.OTEL_SERVICE_NAME) ?? named["service.name"] ?? "svc";
  const metricIntervalMs = milliseconds("OTEL_METRIC_EXPORT_INTERVAL", env.OTEL_METRIC_EXPORT_INTERVAL, METRIC_INTERVAL_MS);
  return { signals, resource: { ...named, "service.name": name }, metricIntervalMs };
}

function signalSettings(env: Variables, signal: Signal, now: number): SignalSettings | undefined {
  const upper = signal.toUpperCase();
  if (!one(`OTEL_${upper}_EXPORTER`, env[`OTEL_${upper}_EXPORTER`], EXPORTERS, "otlp")) return undefined;
  /** The signal's own variable, or that of all; the name is for messages. */
  const find: Find = (end) => {
    const own = `OTEL_EXPORTER_OTLP_${upper}_${end}`;
    return given(env[own]) === undefined ? [`OTEL_EXPORTER_OTLP_${end}`, env[`OTEL_EXPORTER_OTLP_${end}`]] : [own, env[own]];
  };
  const [endpointName, endpoint] = find("ENDPOINT");
  const text = given(endpoint);
  if (text === undefined) return undefined;
  const [protocolName, protocol] = find("PROTOCOL");
  if (given(protocol) === "grpc")
    throw new StartError(
      "setting_invalid",
      `${protocolName} asks for gRPC, which this server does not export by.`,
      "Set it to http/protobuf, and the endpoint to the collector's port for HTTP, which is 4318 unless it was changed.",
    );
  const url = endpointUrl(endpointName, text);
  if (endpointName === "OTEL_EXPORTER_OTLP_ENDPOINT") url.pathname = `${url.pathname.replace(/\/+$/, "")}/v1/${signal}`;
  const tls = tlsOf(url, now, find);
  return {
    url: url.href,
    headers: headersOf(...find("HEADERS")),
    encoding: one(protocolName, protocol, PROTOCOLS, "http/protobuf"),
    isCompressed: one(...find("COMPRESSION"), COMPRESSIONS, "gzip"),
    timeoutMs: milliseconds(...find("TIMEOUT"), TIMEOUT_MS),
    ...(tls && { tls }),
  };
}

/** Finds a variable by its end: its name, and its text. */
type Find = (end: string) => readonly [name: string, text: string | undefined];

/** What the variables of certificates give; undefined = nothing. */
function tlsOf(url: URL, now: number, find: Find): ExportTls | undefined {
  const [[caName, caText], [certName, certText], [keyName, keyText]] = [
    find("CERTIFICATE"),
    find("CLIENT_CERTIFICATE"),
    find("CLIENT_KEY"),
  ];
  const [ca, cert, key] = [given(caText), given(certText), given(keyText)];
  const named = ca !== undefined ? caName : cert !== undefined ? certName : key !== undefined ? keyName : undefined;
  if (named === undefined) return undefined;
  if (url.protocol !== "https:")
    throw new StartError(
      "setting_invalid",
      `${named} is set, and the endpoint ${url.origin} is not encrypted.`,
      "Give the endpoint https://, or leave the certificates out.",
    );
  if ((cert === undefined) !== (key === undefined))
    throw new StartError(
      "setting_invalid",
      `${cert === undefined ? keyName : certName} is set without ${cert === undefined ? certName : keyName}.`,
      "The collector knows this server by both: a certificate and its key.",
    );
  return {
    ...(ca !== undefined && { authorities: readAuthorities(ca, `${caName} names a file with the authorities of the collector.`) }),
    ...(cert !== undefined &&
      key !== undefined && {
        own: readCertificate({ cert, key }, now, `${certName} and ${keyName} name the certificate of this server and its key.`),
      }),
  };
}

function endpointUrl(name: string, text: string): URL {
  const url = URL.parse(text);
  if ((url?.protocol !== "http:" && url?.protocol !== "https:") || url.username !== "" || url.password !== "")
    throw new StartError(
      "setting_invalid",
      `${name} is no address of a collector.`,
      "It is http:// or https://, a host and a port, such as http://127.0.0.1:4318; credentials go into OTEL_EXPORTER_OTLP_HEADERS.",
    );
  return url;
}

function headersOf(name: string, text: string | undefined): Record<string, string> {
  const headers = pairs(name, text);
  for (const [header, value] of Object.entries(headers))
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(header) || !/^[\t\x20-\x7e]*$/.test(value))
      throw new StartError("setting_invalid", `${name} has what is no header of HTTP.`, PAIRS_HINT);
  return headers;
}

const PAIRS_HINT = "It is name=value, and a comma between two; other characters are percent-encoded.";

/** A list of names and values, as W3C Baggage writes it. Values are secret: no message has one. */
function pairs(name: string, text: string | undefined): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [at, part] of (given(text) ?? "").split(",").entries()) {
    if (part.trim() === "") continue;
    const [, key = "", value = ""] = /^([^=]+)=(.*)$/s.exec(part) ?? [];
    try {
      if (key.trim() === "") throw new URIError();
      found[decodeURIComponent(key.trim())] = decodeURIComponent(value.trim());
    } catch {
      throw new StartError("setting_invalid", `${name} cannot be read at its entry ${at + 1}.`, PAIRS_HINT);
    }
  }
  return found;
}

function one<T>(name: string, text: string | undefined, values: Readonly<Record<string, T>>, usual: string): T {
  const value = given(text) ?? usual;
  if (Object.hasOwn(values, value)) return values[value] as T;
  throw new StartError("setting_invalid", `${name} is '${value.slice(0, 100)}'.`, `It can be ${Object.keys(values).join(" or ")}.`);
}

function milliseconds(name: string, text: string | undefined, usual: number): number {
  const value = given(text);
  if (value === undefined) return usual;
  const number = Number(value);
  if (Number.isInteger(number) && number > 0 && number <= MAX_MS) return number;
  throw new StartError("setting_invalid", `${name} is '${value.slice(0, 100)}'.`, `It is a number of milliseconds, 1 to ${MAX_MS}.`);
}

/** A variable's text; an empty one is as good as none. */
function given(text: string | undefined): string | undefined {
  return text === undefined || text.trim() === "" ? undefined : text.trim();
}
