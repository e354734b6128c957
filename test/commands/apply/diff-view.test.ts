import { describe, expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { ChangeKind, type DeploymentDiff, DeploymentDiffSchema } from "../../../gen/svc/v1/deployment_pb.ts";
import { FeatureSchema } from "../../../gen/svc/v1/graph_pb.ts";
import { diffText } from "../../../src/commands/apply/diff-view.ts";
import { plainStyle } from "../../../src/output/style.ts";

const features = (change: ChangeKind, count: number) => Array.from({ length: count }, (_, i) => ({ fqn: `user.f${i}`, change }));
const only = (diff: DeploymentDiff) => ({ diff, outliving: [] });
const terminal = plainStyle({ width: 80, isTTY: true });

describe("the diff of an apply", () => {
  test("one line says what the tables above it come to", () => {
    const diff = create(DeploymentDiffSchema, {
      resolvers: [{ fqn: "a.b", change: ChangeKind.CHANGED, oldVersion: 1, newVersion: 2 }],
      features: [...features(ChangeKind.ADDED, 505), ...features(ChangeKind.REMOVED, 39)],
    });
    expect(diffText(only(diff), plainStyle()).split("\n").at(-1)).toBe("Plan: 1 resolver changed; 505 features added, 39 removed");
  });

  test("a terminal gets the beginning of a long table and its rest as a number; a pipe gets everything", () => {
    const diff = create(DeploymentDiffSchema, { features: features(ChangeKind.ADDED, 31) });
    const text = diffText(only(diff), terminal);
    expect(text.match(/^user\./gm)).toHaveLength(25);
    expect(text).toContain("\n... and 6 more; a pipe or --json gets them all\n");
    expect(diffText(only(diff), plainStyle()).match(/^user\./gm)).toHaveLength(31);
    expect(diffText(only(create(DeploymentDiffSchema, { features: features(ChangeKind.ADDED, 30) })), terminal)).not.toContain("more");
  });

  test("on a terminal what goes is red, what comes green, what changes yellow", () => {
    const diff = create(DeploymentDiffSchema, {
      features: [
        { fqn: "user.a", change: ChangeKind.ADDED },
        { fqn: "user.b", change: ChangeKind.CHANGED, details: ["type int -> str"] },
        { fqn: "user.c", change: ChangeKind.REMOVED },
      ],
    });
    const marked = {
      ...terminal,
      red: (text: string) => `r(${text})`,
      green: (text: string) => `g(${text})`,
      yellow: (text: string) => `y(${text})`,
    };
    for (const cell of ["g(user.a)", "y(user.b)", "r(user.c)"]) expect(diffText(only(diff), marked)).toContain(cell);
  });

  test("of many features whose cached values stay, five are named", () => {
    const diff = create(DeploymentDiffSchema, { resolvers: [{ fqn: "a.b", change: ChangeKind.CHANGED, oldVersion: 1, newVersion: 2 }] });
    const outliving = Array.from({ length: 7 }, (_, i) =>
      create(FeatureSchema, { fqn: `user.f${i}__86400__`, maxStaleness: { seconds: 3600n, nanos: 0 } }),
    );
    expect(diffText({ diff, outliving }, plainStyle()).split("\n").slice(-2)).toEqual([
      "Values that are cached already stay until they are that old: user.f0[1d] (1h), user.f1[1d] (1h), user.f2[1d] (1h), user.f3[1d] (1h), user.f4[1d] (1h) and 2 more",
      "To compute one anew: svc query --staleness user.f0__86400__=0s --out user.f0__86400__ --in ...",
    ]);
  });
});
