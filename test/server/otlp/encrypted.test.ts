/** The export to a collector that speaks TLS, and wants to know who sends. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { createLog } from "../../../src/server/log.ts";
import { createMetricRecorder } from "../../../src/server/metrics/recorder.ts";
import { createOtlpExporter } from "../../../src/server/otlp/exporter.ts";
import { readOtlpSettings } from "../../../src/server/otlp/settings.ts";
import { Authority } from "../../harness/authority.ts";
import { lacksProgram } from "../../harness/needs.ts";
import { TestClock } from "../../harness/running-server.ts";

describe.skipIf(lacksProgram("openssl"))("a collector with TLS", () => {
  let authority: Authority;
  let collector: Server;
  let url: string;
  /** Of each who sent, whether the authority has signed its certificate. */
  const senders: boolean[] = [];
  const files = { cert: "", key: "", strangerCert: "", strangerKey: "" };

  beforeAll(async () => {
    authority = new Authority();
    const write = (name: string, text: string) => {
      const path = join(authority.folder, name);
      writeFileSync(path, text);
      return path;
    };
    const own = authority.sign("sender.example");
    const stranger = authority.selfSigned("sender.example");
    files.cert = write("own.pem", own.cert);
    files.key = write("own.key", own.key);
    files.strangerCert = write("stranger.pem", stranger.cert);
    files.strangerKey = write("stranger.key", stranger.key);
    const ca = readFileSync(authority.certificate, "utf8");
    collector = createServer({ ...authority.sign("localhost"), ca, requestCert: true, rejectUnauthorized: false }, (request, response) => {
      const socket = request.socket as TLSSocket;
      senders.push(socket.authorized);
      request.resume().on("end", () => response.writeHead(socket.authorized ? 200 : 401).end());
    });
    await new Promise<void>((resolve) => collector.listen(0, "127.0.0.1", resolve));
    url = `https://localhost:${(collector.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    collector?.close();
    authority?.[Symbol.dispose]();
  });

  /** Exports a line; the reasons why that failed. */
  async function exported(variables: Readonly<Record<string, string>>): Promise<unknown[]> {
    senders.length = 0;
    const clock = new TestClock();
    const settings = readOtlpSettings({ OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: `${url}/v1/logs`, ...variables }, Date.now());
    if (!settings) throw new Error("nothing is exported");
    const failures: unknown[] = [];
    const log = createLog({ write: (line) => void failures.push((JSON.parse(line) as { reason?: string }).reason), clock });
    const metrics = createMetricRecorder({ store: () => Promise.reject(new Error("none")), clock, log, isOff: true });
    const exporter = createOtlpExporter({
      ...{ settings, version: "1", node: () => "a", metrics, log },
      environmentNames: async () => new Map(),
      now: () => clock.now(),
    });
    exporter.line({ at: 1, level: "info", component: "server", environmentId: "", message: "hello", attributes: {} });
    await exporter.close();
    metrics.end();
    return failures;
  }

  test("is known by its authority, and knows this server by its certificate", async () => {
    const failures = await exported({
      OTEL_EXPORTER_OTLP_CERTIFICATE: authority.certificate,
      OTEL_EXPORTER_OTLP_LOGS_CLIENT_CERTIFICATE: files.cert,
      OTEL_EXPORTER_OTLP_CLIENT_KEY: files.key,
    });
    expect([failures, senders]).toEqual([[], [true]]);
  });

  test("gets nothing when its certificate is of another authority", async () => {
    const failures = await exported({});
    expect(senders).toEqual([]);
    expect(String(failures[0])).toMatch(/cannot be reached: \w*(SELF_SIGNED|UNABLE_TO)/);
  });

  test("does not know a server without a certificate, or with a stranger's", async () => {
    const trusted = { OTEL_EXPORTER_OTLP_CERTIFICATE: authority.certificate };
    const stranger = { OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: files.strangerCert, OTEL_EXPORTER_OTLP_CLIENT_KEY: files.strangerKey };
    for (const variables of [trusted, { ...trusted, ...stranger }])
      expect([await exported(variables), senders]).toEqual([["the collector answered 401"], [false]]);
  });

  test("a key of another certificate is refused before anything is sent", () => {
    const variables = { OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: files.cert, OTEL_EXPORTER_OTLP_CLIENT_KEY: files.strangerKey };
    expect(() => readOtlpSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: url, ...variables }, Date.now())).toThrow(
      `The key ${files.strangerKey} is not that of the certificate ${files.cert}.`,
    );
  });
});
