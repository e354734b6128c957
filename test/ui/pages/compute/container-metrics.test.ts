import { expect, test } from "bun:test";
import { parseMetricExpression } from "../../../../src/domain/metrics/expression.ts";
import { replicasExpression, useExpression } from "../../../../src/ui/pages/compute/container-metrics.ts";
import { boundsText, replicasText } from "../../../../src/ui/pages/compute/scaling-text.ts";

test("expressions are of the thing and of nothing else", () => {
  const use = useExpression("container.cpu", { label: "container", kind: "sandbox", name: "try" });
  expect(use).toBe("sum:container.cpu{container:try,kind:sandbox}");
  expect(useExpression("container.memory", { label: "group", name: "site" })).toBe("sum:container.memory{group:site}");
  expect(replicasExpression("site", "ready")).toBe("sum:scaling_group.replicas{group:site,state:ready}");
  expect(parseMetricExpression(use).kind).toBe("term");
});

test("bounds and replicas in words", () => {
  expect(boundsText({ minReplicas: 2, maxReplicas: 2 })).toBe("always 2");
  expect(boundsText({ maxReplicas: 3 })).toBe("0 to 3");
  expect(replicasText(1, 2, { minReplicas: 1, maxReplicas: 4, targetCpu: 70 })).toBe(
    "1 of 2 ready; 1 to 4, another one at 70 % of their processors",
  );
});
