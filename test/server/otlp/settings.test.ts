/** The variables of the export. */

import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { readOtlpSettings } from "../../../src/server/otlp/settings.ts";
import { TempFolder } from "../../harness/running-server.ts";

const read = (variables: Readonly<Record<string, string>>) => readOtlpSettings(variables, Date.now());
const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318" };

test("nothing is exported without an endpoint, or when that is turned off", () => {
  expect(read({ OTEL_EXPORTER_OTLP_PROTOCOL: "grpc", OTEL_SERVICE_NAME: "a" })).toBeUndefined();
  expect(read({ ...ENDPOINT, OTEL_SDK_DISABLED: "TRUE", OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" })).toBeUndefined();
  const none = { OTEL_TRACES_EXPORTER: "none", OTEL_LOGS_EXPORTER: "none", OTEL_METRICS_EXPORTER: "none" };
  expect(read({ ...ENDPOINT, ...none })).toBeUndefined();
});

test("a file of certificates that is not there, or holds none, is refused", () => {
  using folder = new TempFolder();
  const none = join(folder.path, "none.pem");
  const empty = join(folder.path, "empty.pem");
  writeFileSync(empty, "no certificate");
  const at = (path: string) => () =>
    read({ OTEL_EXPORTER_OTLP_ENDPOINT: "https://collector", OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE: path });
  expect(at(none)).toThrow(`There is no file ${none}.`);
  expect(at(empty)).toThrow(`${empty} holds no certificate in PEM form.`);
});

test("a signal's own variables go before those of all, and its endpoint is taken as it is", () => {
  const settings = read({
    OTEL_EXPORTER_OTLP_ENDPOINT: "https://collector/otlp/",
    OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: "http://127.0.0.1:9/lines?x=1",
    OTEL_EXPORTER_OTLP_HEADERS: "a=1, b = two%2C2 ,",
    OTEL_EXPORTER_OTLP_LOGS_HEADERS: "c=3",
    OTEL_EXPORTER_OTLP_LOGS_PROTOCOL: "http/json",
    OTEL_EXPORTER_OTLP_LOGS_COMPRESSION: "none",
    OTEL_EXPORTER_OTLP_TIMEOUT: "500",
    OTEL_METRICS_EXPORTER: "none",
    OTEL_SERVICE_NAME: "shop",
    OTEL_RESOURCE_ATTRIBUTES: "service.name=other,team=a%3Db",
  });
  expect(settings).toEqual({
    signals: {
      traces: {
        ...{ url: "https://collector/otlp/v1/traces", headers: { a: "1", b: "two,2" } },
        ...{ encoding: "protobuf", isCompressed: true, timeoutMs: 500 },
      },
      logs: { url: "http://127.0.0.1:9/lines?x=1", headers: { c: "3" }, encoding: "json", isCompressed: false, timeoutMs: 500 },
    },
    resource: { "service.name": "shop", team: "a=b" },
    metricIntervalMs: 60_000,
  });
});

describe("what cannot be used is refused, and never shown where it may be secret", () => {
  test.each([
    [{ OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" }, "OTEL_EXPORTER_OTLP_PROTOCOL asks for gRPC, which this server does not export by."],
    [{ OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: "tcp" }, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL is 'tcp'."],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: "collector:4318" }, "OTEL_EXPORTER_OTLP_ENDPOINT is no address of a collector."],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: "http://a:hidden@b" }, "OTEL_EXPORTER_OTLP_ENDPOINT is no address of a collector."],
    [{ OTEL_EXPORTER_OTLP_HEADERS: "a=1,hidden" }, "OTEL_EXPORTER_OTLP_HEADERS cannot be read at its entry 2."],
    [{ OTEL_EXPORTER_OTLP_HEADERS: "a=hidden%0d%0ax:y" }, "OTEL_EXPORTER_OTLP_HEADERS has what is no header of HTTP."],
    [{ OTEL_EXPORTER_OTLP_HEADERS: "a=%hidden" }, "OTEL_EXPORTER_OTLP_HEADERS cannot be read at its entry 1."],
    [{ OTEL_EXPORTER_OTLP_TIMEOUT: "1.5" }, "OTEL_EXPORTER_OTLP_TIMEOUT is '1.5'."],
    [
      { OTEL_EXPORTER_OTLP_CERTIFICATE: "ca.pem" },
      "OTEL_EXPORTER_OTLP_CERTIFICATE is set, and the endpoint http://collector:4318 is not encrypted.",
    ],
    [
      { OTEL_EXPORTER_OTLP_ENDPOINT: "https://collector", OTEL_EXPORTER_OTLP_CLIENT_KEY: "hidden.key" },
      "OTEL_EXPORTER_OTLP_CLIENT_KEY is set without OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE.",
    ],
    [{ OTEL_METRICS_EXPORTER: "prometheus" }, "OTEL_METRICS_EXPORTER is 'prometheus'."],
  ])("%j", (variables, message) => {
    let said: unknown;
    try {
      read({ ...ENDPOINT, ...variables });
    } catch (error) {
      said = error;
    }
    expect(said).toMatchObject({ name: "StartError", code: "setting_invalid", message });
    expect(`${said} ${(said as { hint?: string }).hint}`).not.toContain("hidden");
  });
});
