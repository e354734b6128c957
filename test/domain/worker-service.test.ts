import { expect, test } from "bun:test";
import { NO_CONTAINER } from "../../src/domain/worker-container.ts";
import { addressSpace, containerOf, containerProblem, workerService, workerServiceProblem } from "../../src/domain/worker-service.ts";

const of = (settings: object) => workerService({ services: { worker: settings } } as Parameters<typeof workerService>[0]);

test("a group that says nothing of its workers has those of the environment", () => {
  expect(workerService({})).toEqual({ replicas: undefined, memory: "", variables: {}, container: {} });
  expect(workerServiceProblem({ services: { task: { replicas: 2 } } })).toBeUndefined();
  expect(addressSpace(workerService({}))).toBeUndefined();
});

test("a limit of memory is the address space of a process, or all of a container", () => {
  const service = of({ memory: { limits: "1Gi" } });
  expect(addressSpace(service)).toBe(1024 ** 3);
  expect(addressSpace(of({ memory: "512Mi" }))).toBe(512 * 1024 ** 2);
  expect(containerOf(NO_CONTAINER, service)).toEqual(NO_CONTAINER);
  const environment = { image: "python", memory: "2Gi", cpu: "1", network: true };
  expect(containerOf(environment, service)).toEqual({ ...environment, memory: "1Gi" });
});

test("what a group states of its containers goes before what the environment does", () => {
  const environment = { image: "python", memory: "2Gi", cpu: "1", network: true };
  const service = of({ worker_container: { cpu: "2", network: false } });
  expect(containerOf(environment, service)).toEqual({ image: "python", memory: "2Gi", cpu: "2", network: false });
  expect(containerProblem(environment, service)).toBeUndefined();
  expect(containerProblem(NO_CONTAINER, service)).toContain("names no image");
});
