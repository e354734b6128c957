import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  arg,
  args,
  bool,
  choice,
  duration,
  float,
  int,
  json,
  keyValue,
  list,
  maybe,
  optionalArg,
  optionalValue,
  path,
  quantity,
  text,
  timestamp,
} from "../../src/cli/flag.ts";
import { toGlobalFlags } from "../../src/cli/globals.ts";
import { type ParseSpec, parse } from "../../src/cli/parse.ts";
import { UsageError } from "../../src/errors/cli-error.ts";
import { seeded } from "../harness/seed.ts";

const NOW = Date.UTC(2024, 4, 1, 12);
const BASE = { now: NOW, cwd: "/projects", homeDir: "/home/me" };
const HOUR = 3_600_000;

const spec: ParseSpec = {
  path: "thing do",
  args: { target: optionalArg("what to do"), more: args("others") },
  flags: {
    limit: int("most rows", { aliases: ["-L"], default: 50 }),
    ratio: float("a ratio"),
    dryRun: bool("print only", { aliases: ["-n", "--plan"] }),
    yes: bool("do not ask", { aliases: ["-y", "--force"] }),
    open: maybe("left open"),
    every: duration("how often"),
    start: timestamp("from"),
    exact: timestamp("from, with zone", { requireZone: true }),
    format: choice("how", ["table", "json", "env"], { default: "table" }),
    patch: json("a patch"),
    set: list(keyValue("settings")),
    tags: list(text("tags"), { split: true }),
    storage: quantity("size"),
    file: path("a file", { aliases: ["-f"] }),
    branch: optionalValue(text("the branch")),
    name: text("a name"),
    storeOnline: optionalValue(maybe("store")),
    noPromote: bool("do not promote"),
    interactive: bool("both", { aliases: ["-it", "-t"] }),
  },
};

function run(after: readonly string[], before: readonly string[] = [], over: ParseSpec = spec) {
  return parse(over, { before, after }, BASE);
}

function refused(after: readonly string[], over: ParseSpec = spec): UsageError {
  try {
    run(after, [], over);
  } catch (error) {
    expect(error).toBeInstanceOf(UsageError);
    return error as UsageError;
  }
  throw new Error(`taken: ${after.join(" ")}`);
}

describe("values", () => {
  test.each<[string[], string, unknown]>([
    [["--limit", "5"], "limit", 5],
    [["--limit=-5"], "limit", -5],
    [["--limit", "-5"], "limit", -5],
    [["-L", "7"], "limit", 7],
    [["-L7"], "limit", 7],
    [["-L=7"], "limit", 7],
    [[], "limit", 50],
    [["--ratio", "1e3"], "ratio", 1000],
    [["--ratio", "-.5"], "ratio", -0.5],
    [["--dry-run"], "dryRun", true],
    [["--dry_run"], "dryRun", true],
    [["--plan"], "dryRun", true],
    [["--dry-run=False"], "dryRun", false],
    [["--dry-run=TRUE"], "dryRun", true],
    [[], "dryRun", false],
    [[], "open", undefined],
    [["--open=false"], "open", false],
    [["-ny"], "yes", true],
    [["-nyL9"], "limit", 9],
    [["-it"], "interactive", true],
    [["--every", "1h30m"], "every", 1.5 * HOUR],
    [["--start", "-24h"], "start", NOW - 24 * HOUR],
    [["--start", "24h ago"], "start", NOW - 24 * HOUR],
    [["--start", "2024-01-01"], "start", Date.UTC(2024, 0, 1)],
    [["--start=now"], "start", NOW],
    [["--exact", "2024-01-01T00:00:00+02:00"], "exact", Date.UTC(2023, 11, 31, 22)],
    [["--format", "env"], "format", "env"],
    [["--patch", '{"a": [1, null]}'], "patch", { a: [1, null] }],
    [["--patch", "null"], "patch", null],
    [
      ["--set", "a=1", "--set", "b=x=y"],
      "set",
      [
        ["a", "1"],
        ["b", "x=y"],
      ] as unknown,
    ],
    [["--tags", "a,b", "--tags", " c , d"], "tags", ["a", "b", "c", "d"]],
    [[], "tags", []],
    [["--storage", "100Gi"], "storage", "100Gi"],
    [["--storage=500m"], "storage", "500m"],
    [["-f", "x/y.json"], "file", "/projects/x/y.json"],
    [["--file", "-"], "file", "-"],
    [["--file=~/x"], "file", "/home/me/x"],
    [["--branch"], "branch", true],
    [["--branch", "main"], "branch", "main"],
    [["--branch=main"], "branch", "main"],
    [["--branch", "--yes"], "branch", true],
    [["--store-online"], "storeOnline", true],
    [["--store-online", "FALSE"], "storeOnline", false],
    [["--store-online=false"], "storeOnline", false],
    [["--no-promote"], "noPromote", true],
    [["--name", ""], "name", ""],
    [["--name=--yes"], "name", "--yes"],
    [["one", "two", "three"], "target", "one"],
    [["one", "two", "three"], "more", ["two", "three"]],
    [["--", "--limit", "-x"], "target", "--limit"],
    [["--", "--limit", "-x"], "more", ["-x"]],
    [["-5"], "target", "-5"],
    [["--store-online", "main"], "target", "main"],
    [["--limit", "5", "--limit=5"], "limit", 5],
  ])("%j sets %s", (words, key, value) => {
    expect(run(words).input[key]).toEqual(value as never);
  });

  test("words after -- stay untouched where a command takes them", () => {
    const parsed = run(["name", "--", "ls", "-la", "--", "--json"], [], { path: "x", args: { name: arg("n") }, takesRest: "a command" });
    expect(parsed.input.name).toBe("name");
    expect(parsed.input.rest).toEqual(["ls", "-la", "--", "--json"]);
    expect(parsed.globals.json).toBeUndefined();
  });
});

describe("refusals name the flag, what was wanted and what was given", () => {
  test.each<[string[], string[]]>([
    [
      ["--limit", "ten"],
      ["--limit", "whole number", "'ten'"],
    ],
    [
      ["--limit", "1.5"],
      ["whole number", "'1.5'"],
    ],
    [["--limit", "9007199254740993"], ["whole number"]],
    [
      ["-L", "x"],
      ["-L wants", "'x'"],
    ],
    [
      ["--ratio", "NaN"],
      ["a number", "'NaN'"],
    ],
    [["--dry-run=maybe"], ["true or false", "'maybe'"]],
    [
      ["--every", "5"],
      ["such as 90s", "'5'"],
    ],
    [
      ["--start", "yesterday"],
      ["ISO 8601", "'yesterday'"],
    ],
    [
      ["--exact", "2024-01-01T00:00:00"],
      ["zone", "'2024-01-01T00:00:00'"],
    ],
    [["--exact", "24h"], ["zone"]],
    [
      ["--format", "tabel"],
      ["one of table, json, env", "'tabel'", "did you mean 'table'?"],
    ],
    [
      ["--patch", "{a}"],
      ["JSON document", "'{a}'"],
    ],
    [
      ["--set", "novalue"],
      ["key=value", "'novalue'"],
    ],
    [["--set", "=x"], ["key=value"]],
    [
      ["--storage", "10 GB"],
      ["quantity", "'10 GB'"],
    ],
    [["--file", ""], ["a path"]],
    [["--tags", " , "], ["at least one value"]],
    [["--limit"], ["--limit needs a value", "whole number"]],
    [["--limit", "--yes"], ["--limit needs a value"]],
    [["--name", "-x"], ["--name needs a value"]],
    [
      ["--limt", "5"],
      ["unknown flag '--limt' for 'svc thing do'", "did you mean '--limit'?"],
    ],
    [["-limit"], ["unknown flag '-limit'", "did you mean '--limit'?"]],
    [["-z"], ["unknown flag '-z'"]],
    [["--no-yes"], ["unknown flag '--no-yes'", "--yes=false"]],
    [
      ["--dry-run", "--plan=false"],
      ["--dry-run was given twice", "'--plan=false'"],
    ],
    [["--limit", "1", "-L2"], ["--limit was given twice"]],
    [["--name", "\u001b[31m", "--name", "b"], ["\\x1b[31m"]],
  ])("%j", (words, parts) => {
    const { message, exitCode } = refused(words);
    for (const part of parts) expect(message).toContain(part);
    expect(message).not.toContain("\u001b");
    expect(exitCode).toBe(2);
  });

  test("an unknown flag leads to the flags and arguments that mean it, to no others, and to none of too many", () => {
    const naming: ParseSpec = {
      path: "notebook exec",
      args: { code: arg("Python code") },
      flags: {
        id: text("id of the notebook"),
        name: text("title of the notebook"),
        old: text("notebook of old", { hidden: true }),
        maxRows: int("most rows of a page"),
      },
    };
    const said = (word: string, over = naming) => {
      try {
        parse(over, { before: [], after: [word, "x"] }, BASE);
      } catch (error) {
        return (error as Error).message;
      }
      return "";
    };
    expect(said("--notebook")).toBe(
      "unknown flag '--notebook' for 'svc notebook exec'; --id takes the id of the notebook; --name takes the title of the notebook",
    );
    expect(said("--notebook-title")).toEndWith("; --name takes the title of the notebook");
    expect(said("--pages")).toEndWith("; --max-rows takes the most rows of a page");
    expect(said("--code")).toEndWith("; it is an argument, which stands without a flag: Python code");
    expect(said("--nam")).toEndWith("; did you mean '--name'?");
    expect(said("--kernel")).toBe("unknown flag '--kernel' for 'svc notebook exec'");
    const many = Object.fromEntries(["one", "two", "three", "four"].map((key) => [key, text("a notebook")]));
    expect(said("--notebook", { path: "x", flags: many })).toBe("unknown flag '--notebook' for 'svc x'");
  });

  test("secrets are warned of once for each flag, and never repeated", () => {
    const spec: ParseSpec = { path: "x", flags: { key: text("key", { aliases: ["-k"], secret: "a prompt" }), name: text("name") } };
    const warnings = (after: readonly string[], before: readonly string[] = []) => parse(spec, { before, after }, BASE).warnings;
    expect(warnings(["--name", "n"])).toEqual([]);
    expect(
      warnings(["-k", "hidden", "--client_secret=hidden", "--token=hidden"]).map((line) => line.replace(/ can be seen.*; /, " ... ")),
    ).toEqual([
      "a secret on the command line (-k) ... a prompt avoids that",
      "a secret on the command line (--client_secret) ... `svc login` alone, --client-secret - or SVC_CLIENT_SECRET avoids that",
      "a secret on the command line (--token) ... --access-token - or SVC_ACCESS_TOKEN avoids that",
    ]);
    expect(warnings([], ["--client-secret", "hidden"]).length).toBe(1);
    expect(warnings(["--client-secret", "-", "--token=-"])).toEqual([]);
    expect(refused(["-k", "hidden", "-k", "other"], spec).message).toBe("--key was given twice with different values");
  });

  test("arguments: missing, surplus, and not one of the words", () => {
    const one: ParseSpec = { path: "x", args: { shell: arg("the shell", { values: ["bash", "zsh"] }) } };
    expect(refused([], one).message).toBe("missing argument <shell>: the shell");
    expect(refused(["bash", "zsh"], one).message).toContain("unexpected argument 'zsh' for 'svc x'; it takes <shell>");
    expect(refused(["zhs"], one).message).toContain("did you mean 'zsh'?");
    expect(refused(["bash", "--", "-x"], one).message).toContain("unexpected argument '-x'");
    expect(refused([], { path: "x", args: { names: args("names", { required: true }) } }).message).toContain("missing argument <names>");
    expect(refused([], { path: "x", flags: { fqns: list(text("names", { required: true }), { split: true }) } }).message).toBe(
      "--fqns is required: names",
    );
  });
});

describe("global flags", () => {
  test("stand before or after the path", () => {
    expect(run(["--json", "-C", "sub"], ["--environment", "prod"]).globals).toEqual({
      json: true,
      dir: "/projects/sub",
      environment: "prod",
    });
    expect(run(["--file", "a"], ["--dir=/other"]).input.file).toBe("/other/a");
    expect(run([], ["-vv"]).globals).toEqual({ debug: true });
    expect(run(["-v"]).globals).toEqual({ verbose: true });
  });

  test("--json takes names of fields behind = alone, and never the next word", () => {
    const parsed = (...words: string[]) =>
      toGlobalFlags(parse({ path: "x", args: { name: optionalArg("a name") } }, { before: [], after: words }, BASE).globals, {
        env: {},
        dir: "/",
      });
    expect(parsed("--json", "id")).not.toHaveProperty("shape");
    expect(parsed("--json=true")).not.toHaveProperty("shape");
    expect(parsed("--json=False")).toMatchObject({ json: false });
    expect(parsed("--json=id, name")).toMatchObject({ json: true, shape: { fields: ["id", "name"] }, updateCheck: false });
    expect(parsed("--jq", ".id")).toMatchObject({ json: true, shape: { jq: ".id" }, updateCheck: false });
    expect(() => parsed("--json=")).toThrow("--json= needs names of fields, such as --json=id,name; --json alone prints all");
    expect(() => parsed("--json=false", "--jq", ".")).toThrow("--json=false does not go with --jq or --template");
    expect(() => parsed("--jq", ".", "--template", "x")).toThrow("--jq and --template exclude each other");
  });

  test("a local flag of the same name and type sets both, wherever it stands", () => {
    for (const parsed of [run(["--branch", "b"]), run([], ["--branch", "b"])]) {
      expect(parsed.input.branch).toBe("b");
      expect(parsed.globals.branch).toBe("b");
    }
  });

  test("a local flag of another type wins after the path", () => {
    const local: ParseSpec = { path: "x", flags: { json: text("a text"), cluster: text("c", { aliases: ["-C"] }) } };
    const parsed = run(["--json", "document", "-C", "here"], ["--json"], local);
    expect(parsed.input).toMatchObject({ json: "document", cluster: "here" });
    expect(parsed.globals).toEqual({ json: true });
    expect(parsed.dir).toBe("/projects");
  });
});

test("canonical words parse to the same input", () => {
  const words = ["one", "--limit", "-5", "-ny", "--set", "a=b", "--tags", "x,y", "--branch", "--every=5m", "two"];
  const first = run(words);
  expect(first.canonical).toEqual([
    "--limit=-5",
    "--dry-run",
    "--yes",
    "--set=a=b",
    "--tags=x,y",
    "--branch",
    "--every=5m",
    "--",
    "one",
    "two",
  ]);
  expect(run(first.canonical).input).toEqual(first.input);
});

describe("properties", () => {
  const word = fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 }).filter((given) => !given.startsWith("-"));
  const flagWords = fc.oneof(
    fc.integer().map((value) => ["--limit", String(value)]),
    fc.boolean().map((value) => [`--dry_run=${value}`]),
    fc
      .tuple(
        word.filter((key) => !key.includes("=")),
        fc.string(),
      )
      .map(([key, value]) => ["--set", `${key}=${value}`]),
    fc.string().map((value) => [`--name=${value}`]),
    fc.constantFrom(
      ["-y"],
      ["--branch=x"],
      ["--noPromote"].map(() => "--no-promote"),
    ),
    word.map((value) => [value]),
  );

  test("parsing is the same after a round through the canonical form", () => {
    fc.assert(
      fc.property(fc.array(flagWords, { maxLength: 8 }), (groups) => {
        const words = groups.flat();
        let first: ReturnType<typeof run>;
        try {
          first = run(words);
        } catch (error) {
          expect(error).toBeInstanceOf(UsageError);
          return;
        }
        const second = run(first.canonical);
        expect(second.input).toEqual(first.input);
        expect(second.globals).toEqual(first.globals);
      }),
      seeded(500),
    );
  });

  test("any words are parsed or refused with a UsageError, and every positional arrives", () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.string(), fc.constantFrom("--", "-", "--limit", "-y", "--tags", "--branch")), { maxLength: 10 }),
        (words) => {
          try {
            const { input } = run(words);
            const taken = [input.target, ...(input.more as string[])].filter((value) => value !== undefined);
            for (const value of taken) expect(words).toContain(value as string);
          } catch (error) {
            expect(error).toBeInstanceOf(UsageError);
          }
        },
      ),
      seeded(500),
    );
  });

  test("key=value and repeated flags keep every value in order", () => {
    const pair = fc.tuple(
      fc.string({ minLength: 1 }).filter((key) => !key.includes("=")),
      fc.string(),
    );
    fc.assert(
      fc.property(fc.array(pair, { maxLength: 6 }), (pairs) => {
        const parsed = run(pairs.map(([key, value]) => `--set=${key}=${value}`));
        expect(parsed.input.set).toEqual(pairs);
      }),
      seeded(300),
    );
  });
});
