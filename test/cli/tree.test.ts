/** The tree of commands is made of files, whose paths are the paths of the commands. */

import { afterAll, describe, expect, test } from "bun:test";
import { commandFile } from "../../src/cli/command-files.ts";
import { walk } from "../../src/cli/resolve.ts";
import { attachLoaders } from "../../src/cli/tree.ts";
import { treeFacts } from "../../src/cli/tree-facts.ts";
import { commandTree } from "../../src/commands/index.ts";
import { modulesByPath } from "../../src/packaging/modules-by-path.ts";
import { makeTree, removeTrees } from "../project/temp-tree.ts";

afterAll(removeTrees);

const ORDER = { "order.json": '{ "categories": ["Early", "Late"], "nouns": ["c"], "verbs": ["list"] }' };

const command = (summary: string, more = "") => `export default defineCommand({\n  summary: "${summary}",\n${more}  run() {},\n});\n`;

describe("a file below src/commands", () => {
  test.each([
    ["index.ts", "tree", ""],
    ["apply.ts", "command", "apply"],
    ["features/index.ts", "command", "features"],
    ["server/start.ts", "command", "server start"],
    ["branch/group.ts", "group", "branch"],
    ["query/answer-view.ts", "view", "query"],
    ["resolvers/view.ts", "view", "resolvers"],
    ["server/flags.ts", "flags", "server"],
    ["confirm-flags.ts", "flags", ""],
    ["traffic/review.ts", "command", "traffic review"],
  ] as const)("%s is a %s of '%s'", (file, role, path) => {
    expect(commandFile(file)).toEqual({ role, path: path === "" ? [] : path.split(" ") });
  });
});

describe("the tree", () => {
  test("has what commands say of themselves, and nothing of their flags", async () => {
    const folder = await makeTree({
      ...ORDER,
      "index.ts": "",
      "one.ts": command(
        "Do one thing",
        '  category: "A",\n  aliases: ["first"],\n  hidden: true,\n  flags: {\n    summary: text("no"),\n  },\n',
      ),
      "two/index.ts": command("Do two things", '  category: "A",\n  selfVerbs: ["list"],\n'),
      "two/again.ts": command('Do \\"it\\" again'),
      "two/flags.ts": "",
    });
    expect((await treeFacts(folder)).tree).toEqual({
      one: { summary: "Do one thing", category: "A", aliases: ["first"], hidden: true, file: "one.ts" },
      two: {
        ...{ summary: "Do two things", category: "A", selfVerbs: ["list"], file: "two/index.ts" },
        verbs: { again: { summary: 'Do "it" again', file: "two/again.ts" } },
      },
    });
  });

  test("is not made of a file that is no command, or of a group without a heading", async () => {
    await expect(treeFacts(await makeTree({ ...ORDER, "one/helper.ts": "export const x = 1;\n" }))).rejects.toThrow(
      "src/commands/one/helper.ts",
    );
    await expect(treeFacts(await makeTree({ ...ORDER, "one/two.ts": command("Do") }))).rejects.toThrow(
      "src/commands/one has neither group.ts nor index.ts",
    );
  });

  test("is in the order of headings, then the one given, then by name", async () => {
    const of = (category: string) => command("Do", `  category: "${category}",\n`);
    const below = { "c/index.ts": of("Early"), "c/get.ts": command("Do"), "c/list.ts": command("Do"), "c/add.ts": command("Do") };
    const { categories, tree } = await treeFacts(await makeTree({ ...ORDER, "a.ts": of("Late"), "b.ts": of("Early"), ...below }));
    expect(categories).toEqual(["Early", "Late"]);
    expect(Object.keys(tree)).toEqual(["c", "b", "a"]);
    expect(Object.keys(tree.c?.verbs ?? {})).toEqual(["list", "add", "get"]);
  });

  test("loads a command when it is asked for", async () => {
    const loaded: string[] = [];
    const load = async (file: string) => {
      loaded.push(file);
      return { default: {} as never };
    };
    const tree = attachLoaders({ a: { summary: "A", verbs: { b: { summary: "B", file: "a/b.ts" } } } }, load);
    expect([loaded, tree.a?.load]).toEqual([[], undefined]);
    await tree.a?.verbs?.b?.load?.();
    expect(loaded).toEqual(["a/b.ts"]);
  });
});

test("a bundle has every command of the tree, and every service", () => {
  const paths = modulesByPath(`${import.meta.dir}/../..`);
  const commands = [...walk(commandTree)].filter(({ entry }) => entry.load).length;
  expect(paths.filter((path) => path.startsWith("commands/"))).toHaveLength(commands);
  expect(paths.filter((path) => path.startsWith("server/")).length).toBeGreaterThan(5);
});
