import { describe, expect, test } from "bun:test";
import {
  ConfigInvalid,
  changedConfig,
  configDocument,
  groupNames,
  NO_CONFIG,
  readConfigChange,
  resourceGroup,
  servicePatch,
  withResourceGroup,
} from "../../src/domain/environment-config.ts";
import type { JsonObject } from "../../src/domain/json-value.ts";

const SPECS: JsonObject = {
  first: 1,
  resource_groups: [
    { resource_group_name: "gpu", services: { "engine-grpc": { replicas: 2, cpu: { requests: "500m" } } } },
    { resource_group_name: "b", z: 1, a: 2 },
  ],
  last: { x: [1, 2] },
};

describe("a document of settings", () => {
  test("a dump that is given back changes nothing", () => {
    for (const config of [
      NO_CONFIG,
      {
        ...NO_CONFIG,
        specs_config: SPECS,
        additional_env_vars: { B: "2", A: "1" },
        private_pip_repositories: ["https://pypi.example.com/simple"],
        online_store_secret: "redis",
        environment_buckets: { dataset_bucket: "s3://data/x" },
      },
    ]) {
      const document = configDocument({ id: "env_1", name: "default" }, config);
      const change = readConfigChange(Bun.YAML.parse(Bun.YAML.stringify(document, null, 2)) as Record<string, unknown>);
      expect(change).toMatchObject({ id: "env_1", name: "default" });
      expect(JSON.stringify(changedConfig(config, change))).toBe(JSON.stringify(config));
    }
  });

  test("keys that are left out stay, and so do buckets; null unsets", () => {
    const before = { ...NO_CONFIG, online_store_secret: "a", environment_buckets: { dataset_bucket: "s3://a/" } };
    const after = changedConfig(before, readConfigChange({ environment_buckets: { plan_stages_bucket: "gs://b" } }));
    expect(after).toEqual({ ...before, environment_buckets: { dataset_bucket: "s3://a/", plan_stages_bucket: "gs://b" } });
    expect(changedConfig(after, readConfigChange({ environment_buckets: null, online_store_secret: null }))).toEqual(NO_CONFIG);
  });

  test.each([
    [{ additional_env_var: {} }, "did you mean 'additional_env_vars'?"],
    [{ specs_config: {}, specs_config_json: {} }, "the same key"],
    [{ specs_config: [] }, "specs_config: expected keys and values"],
    [{ specs_config: { resource_groups: {} } }, "resource_groups: expected a list"],
    [{ specs_config: { resource_groups: [{}] } }, "resource_group_name: expected text"],
    [{ specs_config: { resource_groups: [{ resource_group_name: "default" }] } }, "no group's name"],
    [{ specs_config: { resource_groups: [{ resource_group_name: "a" }, { resource_group_name: "a" }] } }, "two groups 'a'"],
    [{ specs_config: { resource_groups: [{ resource_group_name: "a", services: { b: 1 } }] } }, "services.b: expected keys"],
    [{ worker_container: { memory: "1Gi" } }, "worker_container: names no image"],
    [{ worker_container: { image: "a b" } }, "worker_container.image: expected an image"],
    [{ worker_container: { image: "host:/srv" } }, "worker_container.image: host: is the server's own machine"],
    [{ worker_container: { image: "python:3.12", memory: "1Mi" } }, "worker_container.memory: expected at least 32Mi"],
    [{ worker_container: { image: "python:3.12", cpu: "none" } }, "worker_container.cpu: expected a number of processors"],
    [{ worker_container: { image: "python:3.12", network: "no" } }, "worker_container.network: expected true or false"],
    [{ worker_container: { images: "python:3.12" } }, "there is no 'images'; did you mean 'image'?"],
    [{ specs_config: { services: { task: { replicas: 0 } } } }, "specs_config.services.task.replicas: expected the number of tasks"],
    [{ specs_config: { resource_groups: [{ resource_group_name: "a", services: { task: { replicas: 17 } } }] } }, "1 to 16"],
    [{ specs_config: { services: { task: 1 } } }, "services.task: expected keys"],
    [
      { specs_config: { services: { task: { memory: { limits: "1Mi" } } } } },
      "task.memory.limits: expected a number of bytes of at least 256Mi",
    ],
    [{ specs_config: { services: { task: { memory: "1Gi", venv: "" } } } }, "task.venv: expected the name"],
    [{ specs_config: { services: { task: { memory: 5 } } } }, "task.memory.limits"],
    [{ specs_config: { services: { task: { additional_env_vars: { PYTHONPATH: "/x" } } } } }, "the server sets this variable itself"],
    [{ specs_config: { services: { task: { additional_env_vars: [] } } } }, "additional_env_vars: expected keys and values"],
    [{ specs_config: { services: { worker: 1 } } }, "services.worker: expected keys"],
    [{ specs_config: { services: { worker: { replica: 1 } } } }, "services.worker: there is no 'replica'; did you mean 'replicas'?"],
    [{ specs_config: { services: { worker: { replicas: 65 } } } }, "worker.replicas: expected the number of workers, 1 to 64"],
    [{ specs_config: { services: { worker: { memory: "1Mi" } } } }, "worker.memory.limits: expected a number of bytes of at least 256Mi"],
    [{ specs_config: { services: { worker: { memory: { requests: "1Gi" } } } } }, "worker.memory: there is limits alone"],
    [
      { specs_config: { services: { worker: { worker_container: { cpu: "x" } } } } },
      "worker.worker_container.cpu: expected a number of processors",
    ],
    [
      { specs_config: { services: { worker: { worker_container: { image: "" } } } } },
      "a group does not leave the containers of its environment",
    ],
    [{ specs_config: { services: { worker: { memory: "1Gi", worker_container: { memory: "1Gi" } } } } }, "say one thing twice"],
    [{ specs_config: { services: { worker: { additional_env_vars: { PATH: "/x" } } } } }, "the server sets this variable itself"],
    [{ specs_config: { n: 12345678901234567890n } }, "would not be kept exactly"],
    [{ additional_env_vars: { A: 1 } }, 'additional_env_vars.A: expected text; write "1" in quotes'],
    [{ additional_env_vars: { "A-B": "x" } }, "'A-B' is no name"],
    [{ additional_env_vars: { A: "a\0b" } }, "NUL"],
    [{ additional_env_vars: { LD_PRELOAD: "/tmp/x.so" } }, "sets this variable itself"],
    [{ additional_env_vars: { PYTHONWARNINGS: "all:0:antigravity.x:0:0" } }, "sets this variable itself"],
    [{ additional_env_vars: { SVC_SERVER_KEY: "x" } }, "sets this variable itself"],
    [{ private_pip_repositories: "https://x" }, "expected a list of URLs"],
    [{ private_pip_repositories: ["ftp://x"] }, "expected a URL"],
    [{ private_pip_repositories: ["https://u:p@x/simple"] }, "keep its password in a secret"],
    [{ online_store_secret: {} }, "online_store_secret: expected text"],
    [{ protected: "yes" }, "protected: expected true or false"],
    [{ environment_buckets: {} }, "expected at least one of dataset_bucket"],
    [{ environment_buckets: { data_bucket: "s3://x" } }, "there is no 'data_bucket'"],
    [{ environment_buckets: { dataset_bucket: "x" } }, "expected a URI"],
    [{ labels: ["team"] }, "labels: expected keys and values"],
    [{ labels: { "1st": "x" } }, "labels: '1st' is no key of a label"],
    [JSON.parse('{"labels": {"__proto__": "x"}}'), "labels: '__proto__' is no key of a label"],
    [{ labels: { team: 1 } }, 'labels.team: expected text; write "1" in quotes'],
    [{ labels: { team: "" } }, "labels.team: expected text without control characters"],
    [{ labels: { team: "a\u001bb" } }, "labels.team: expected text without control characters"],
    [{ labels: { team: "x".repeat(101) } }, "labels.team: is longer than 100 characters"],
    [{ labels: Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`k${n}`, "x"])) }, "labels: there are at most 50"],
    [{ id: 1 }, "id: expected text"],
  ])("%p is refused", (document, message) => {
    expect(() => readConfigChange(document as Record<string, unknown>)).toThrow(ConfigInvalid);
    expect(() => readConfigChange(document as Record<string, unknown>)).toThrow(message);
  });
});

describe("resource groups", () => {
  test("are named, and the default one is what stands beside them", () => {
    expect(groupNames(SPECS)).toEqual(["default", "gpu", "b"]);
    expect(resourceGroup(SPECS, "default")).toEqual({ first: 1, last: { x: [1, 2] } });
    expect(resourceGroup(SPECS, "none")).toBeUndefined();
  });

  test("one is replaced in its place, and the others stay byte for byte", () => {
    for (const name of groupNames(SPECS))
      expect(JSON.stringify(withResourceGroup(SPECS, name, resourceGroup(SPECS, name) ?? {}))).toBe(JSON.stringify(SPECS));
    const changed = withResourceGroup(SPECS, "gpu", { resource_group_name: "gpu" });
    expect(JSON.stringify(changed)).toBe(
      '{"first":1,"resource_groups":[{"resource_group_name":"gpu"},{"resource_group_name":"b","z":1,"a":2}],"last":{"x":[1,2]}}',
    );
    expect(JSON.stringify(withResourceGroup(SPECS, "default", {}))).toBe(JSON.stringify({ resource_groups: SPECS.resource_groups }));
  });
});

describe("settings of a service by dotted keys", () => {
  test("make nested objects of JSON values and texts", () => {
    expect(
      servicePatch("engine", [
        ["cpu.requests", "500m"],
        ["cpu.limits", "2"],
        ["tags", '["a"]'],
        ["gone", "null"],
        ["name", '"2"'],
      ]),
    ).toEqual({ services: { engine: { cpu: { requests: "500m", limits: 2 }, tags: ["a"], gone: null, name: "2" } } });
  });

  test.each([
    [["a..b"], "no dotted key"],
    [["a", "a"], "set twice"],
    [["a.b", "a"], "set twice"],
    [["a", "a.b"], "below a key that is set itself"],
  ])("%p are refused", (keys, message) => {
    expect(() =>
      servicePatch(
        "s",
        (keys as string[]).map((key) => [key, "1"] as const),
      ),
    ).toThrow(message as string);
  });
});
