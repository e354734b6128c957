/** What leaves the server for other systems, as the spec of its telemetry component says it. */

import { isJsonObject } from "../../../domain/json-value.ts";
import { numberOf, objectOf, specOf, textOf } from "./spec-value.ts";
import { yamlText } from "./yaml-text.ts";

/** A signal that is exported by OTLP. */
export interface ExportedSignal {
  /** `traces`, `logs` or `metrics`. */
  readonly signal: string;
  /** The collector's host. */
  readonly collector: string;
  readonly encoding: string;
  readonly dropped: number;
  /** Why the last batch was not taken as a whole; empty = it was, or none was sent. */
  readonly problem: string;
  /** When the collector took something last; undefined = never. */
  readonly takenAt: string | undefined;
}

/** What is exported. */
export interface Exported {
  readonly signals: readonly ExportedSignal[];
  /** Whether programs on the server's machine read `/metrics` without a token. */
  readonly isOpen: boolean;
}

/** What a spec says of the export. */
export function exportedBy(text: string): Exported {
  const { otlp, prometheus } = objectOf(specOf(text).status);
  const signals = Array.isArray(otlp) ? otlp.filter(isJsonObject) : [];
  return {
    isOpen: objectOf(prometheus).open_to_this_machine === true,
    signals: signals.map(({ collector, dropped_records, encoding, problem, signal, taken_at }) => ({
      ...{ signal: textOf(signal), collector: textOf(collector), encoding: textOf(encoding), problem: textOf(problem) },
      dropped: numberOf(dropped_records) ?? 0,
      takenAt: textOf(taken_at) || undefined,
    })),
  };
}

/** What Prometheus reads the server with. */
export function scrapeConfig({ host, origin, protocol }: Pick<URL, "host" | "origin" | "protocol">, isOpen: boolean): string {
  const credentials = { client_id: "CLIENT_ID", client_secret: "CLIENT_SECRET", token_url: `${origin}/v1/oauth/token` };
  const job = { job_name: "svc", scheme: protocol.replace(":", ""), static_configs: [{ targets: [host] }] };
  return yamlText({ scrape_configs: [isOpen ? job : { ...job, oauth2: credentials }] });
}

/** The variables with which an application sends its telemetry to the server. */
export function senderVariables({ origin }: Pick<URL, "origin">): string {
  return [
    `export OTEL_EXPORTER_OTLP_ENDPOINT=${origin}`,
    "export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf",
    'export OTEL_EXPORTER_OTLP_HEADERS="Authorization=Bearer%20$(svc token)"',
  ].join("\n");
}
