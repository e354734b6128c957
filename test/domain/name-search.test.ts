import { describe, expect, test } from "bun:test";
import { searchNames } from "../../src/domain/name-search.ts";

const NAMES = [
  "user.id",
  "user.name",
  "user.name_length",
  "user.email",
  "user.email_domain",
  "account.user_name",
  "transaction.amount",
  "user.fails[10m]",
  "usurper.nickname.average_measure",
];

describe("a fuzzy pattern", () => {
  const firsts: [pattern: string, best: string][] = [
    ["user.name", "user.name"],
    ["username", "user.name"],
    ["un", "user.name"],
    ["unl", "user.name_length"],
    ["emdom", "user.email_domain"],
    ["AMOUNT", "transaction.amount"],
    ["fails", "user.fails[10m]"],
    ["user id", "user.id"],
  ];
  for (const [pattern, best] of firsts) test(`${pattern} finds ${best} first`, () => expect(searchNames(pattern, NAMES)[0]).toBe(best));
  test("letters must occur in order, all of them", () => {
    expect(searchNames("emanresu", NAMES)).toEqual([]);
    expect(searchNames("user.idx", NAMES)).toEqual([]);
    expect(searchNames("zzz", NAMES)).toEqual([]);
  });
  test("everything found holds the letters in order", () => {
    for (const pattern of ["u", "na", "er", "mail", "a.m"]) {
      const inOrder = new RegExp([...pattern].map((letter) => letter.replace(".", "\\.")).join(".*"), "i");
      expect(new Set(searchNames(pattern, NAMES))).toEqual(new Set(NAMES.filter((name) => inOrder.test(name))));
    }
  });
});

describe("a glob", () => {
  test("fits the whole name", () => {
    expect(searchNames("user.*", NAMES)).toEqual([
      "user.email",
      "user.email_domain",
      "user.fails[10m]",
      "user.id",
      "user.name",
      "user.name_length",
    ]);
    expect(searchNames("*name", NAMES)).toEqual(["account.user_name", "user.name"]);
    expect(searchNames("USER.I?", NAMES)).toEqual(["user.id"]);
    expect(searchNames("user.?", NAMES)).toEqual([]);
  });
  test("other signs mean themselves", () => {
    expect(searchNames("user.fails[10m]*", NAMES)).toEqual(["user.fails[10m]"]);
    expect(searchNames("userXi*", NAMES)).toEqual([]);
  });
  test("many stars, which trying every place for each would never come to the end of", () => {
    expect(searchNames(`${"*a".repeat(12)}*z`, ["a".repeat(60)])).toEqual([]);
  });
});
