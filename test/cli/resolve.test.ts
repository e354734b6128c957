import { describe, expect, test } from "bun:test";
import { defineCommand, type TreeEntry } from "../../src/cli/command.ts";
import { followPath, resolve, type Tree } from "../../src/cli/resolve.ts";
import { UsageError } from "../../src/errors/cli-error.ts";
import { textView } from "../../src/output/view.ts";

const command = defineCommand({ summary: "Do it", examples: [], run: async () => "done", view: textView((text: string) => text) });
const load: TreeEntry["load"] = async () => ({ default: command });

const tree: Tree = {
  apply: { summary: "Apply", load },
  user: { summary: "User", aliases: ["whoami"], load },
  environment: { summary: "Environment", aliases: ["env"], load, verbs: { config: { summary: "Config", load } } },
  features: { summary: "Features", load, verbs: { list: { summary: "List", load }, search: { summary: "Search", load } } },
  resolvers: { summary: "Resolvers", load, selfVerbs: ["list", "display"] },
  branch: { summary: "Branch", verbs: { list: { summary: "List", load } } },
  query: { summary: "Query", load, verbs: { plan: { summary: "Plan", verbs: { get: { summary: "Get", load } } } } },
};

describe("paths", () => {
  test.each<[string, string, string, string]>([
    ["apply --force", "apply", "", "--force"],
    ["--json apply --force", "apply", "--json", "--force"],
    ["-C dir --json branch --no-color list x", "branch list", "-C dir --json --no-color", "x"],
    ["whoami", "user", "", ""],
    ["env config", "environment config", "", ""],
    ["environment prod", "environment", "", "prod"],
    ["environment -- config", "environment", "", "-- config"],
    ["feature list", "features list", "", ""],
    ["branches list", "branch list", "", ""],
    ["resolvers list --json", "resolvers", "", "--json"],
    ["resolver display", "resolvers", "", ""],
    ["features --out x", "features", "", "--out x"],
    ["features --json", "features", "", "--json"],
    ["queries plan get 5", "query plan get", "", "5"],
    ["--branch=x branch list", "branch list", "--branch=x", ""],
    ["", "", "", ""],
    ["--json", "", "", "--json"],
  ])("%s", (line, path, before, after) => {
    const resolved = resolve(
      tree,
      line.split(" ").filter((word) => word !== ""),
    );
    expect(resolved.path.join(" ")).toBe(path);
    expect(resolved.before.join(" ")).toBe(before);
    expect(resolved.after.join(" ")).toBe(after);
  });
});

describe("unknown commands", () => {
  test.each<[string, string]>([
    ["aply", "did you mean 'svc apply'?"],
    ["branch lits", "did you mean 'svc branch list'?"],
    ["lsit", "'svc features list'"],
    ["whoam", "did you mean 'svc whoami'?"],
    ["constructor", "unknown command 'svc constructor'"],
    ["--branch apply lint", "unknown command 'svc lint'"],
    ["branch __proto__", "unknown command 'svc branch __proto__'"],
  ])("%s", (line, said) => {
    expect(() => resolve(tree, line.split(" "))).toThrow(UsageError);
    expect(() => resolve(tree, line.split(" "))).toThrow(said);
  });

  test("help follows the same names", () => {
    expect(followPath(tree, ["env", "config"]).path).toEqual(["environment", "config"]);
    expect(() => followPath(tree, ["branch", "lst"])).toThrow("svc branch list");
  });
});
