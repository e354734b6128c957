import { expect, test } from "bun:test";
import { parse } from "yaml";
import { configText } from "../../../../src/ui/pages/settings/config-text.ts";
import { exportedBy, scrapeConfig, senderVariables } from "../../../../src/ui/pages/settings/exported.ts";
import { keptRecords } from "../../../../src/ui/pages/settings/kept-records.ts";
import { yamlText } from "../../../../src/ui/pages/settings/yaml-text.ts";

test("YAML is read back as what was written, by another's reader", () => {
  const texts = [
    "",
    "yes",
    "No",
    "null",
    "~",
    "1",
    "1e3",
    "0x1",
    "a: b",
    "- a",
    "#",
    " a ",
    "a\nb",
    '"',
    "'",
    "\u2028",
    "\u0000",
    "2024-01-01",
    "{}",
    "&a",
    "*a",
    "<<",
    "a-b",
    "x/y.z",
  ];
  const values = [
    null,
    true,
    1.5,
    -0.1,
    "plain",
    [],
    {},
    ["a", ["b", {}], { c: [1, { d: null }] }],
    { a: { b: { c: [] } }, list: [{ x: 1, y: ["z"] }] },
  ];
  for (const value of [...values, texts, Object.fromEntries(texts.map((text, at) => [text, texts[texts.length - 1 - at]])), ...texts])
    for (const version of ["1.1", "1.2"] as const) expect(parse(yamlText(value as never), { version, merge: false })).toEqual(value);
});

test("a configuration is said whole, also what is not set", () => {
  const given = { specsConfigJson: '{"engine":{"cpu":"2"}}', labels: { team: "risk" }, protected: true };
  const read = parse(configText({ id: "env_1", name: "prod" }, given)) as Record<string, unknown>;
  expect(read).toMatchObject({ id: "env_1", name: "prod", labels: { team: "risk" }, protected: true, additional_env_vars: {} });
  expect(JSON.stringify(read)).toContain('"cpu":"2"');
});

test("what is kept is told by what acts, else by the spec, and by nothing that is not there", () => {
  const logs = { max_age: "3d", max_size_bytes: 1024, size_bytes: 10 };
  const [queries, spans, lines, metrics] = keptRecords(
    JSON.stringify({ retention: "14d", storage: "2Gi", log_retention: "14d", trace_retention: 7, status: { logs } }),
  );
  expect(queries).toEqual({ what: "Query log", age: "14d", size: "2Gi", bytes: undefined, settings: ["retention", "storage"] });
  expect(lines).toMatchObject({ age: "3d", size: "2 kB", bytes: 10, settings: ["log_retention", "log_storage"] });
  expect([spans?.age, spans?.size, metrics?.bytes]).toEqual(["", "", undefined]);
});

test("what is exported is told by the telemetry's status, and Prometheus' reader is a file of it", () => {
  const otlp = [
    { signal: "logs", collector: "https://a", encoding: "json", dropped_records: 2, problem: "no", taken_at: "2026-01-01T00:00:00Z" },
  ];
  expect(exportedBy(JSON.stringify({ status: { otlp, prometheus: { open_to_this_machine: true } } }))).toEqual({
    isOpen: true,
    signals: [{ signal: "logs", collector: "https://a", encoding: "json", dropped: 2, problem: "no", takenAt: "2026-01-01T00:00:00Z" }],
  });
  expect(exportedBy("{}")).toEqual({ isOpen: false, signals: [] });
  const url = new URL("https://svc.example:8443");
  const read = (isOpen: boolean) => (parse(scrapeConfig(url, isOpen)) as { scrape_configs: Record<string, unknown>[] }).scrape_configs[0];
  const job = { job_name: "svc", scheme: "https", static_configs: [{ targets: ["svc.example:8443"] }] };
  expect(read(true)).toEqual(job);
  expect(read(false)).toMatchObject({ ...job, oauth2: { token_url: "https://svc.example:8443/v1/oauth/token" } });
  expect(senderVariables(url)).toContain("OTEL_EXPORTER_OTLP_ENDPOINT=https://svc.example:8443\n");
});
