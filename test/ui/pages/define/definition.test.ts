import { expect, test } from "bun:test";
import { definitionAt } from "../../../../src/ui/pages/define/definition.ts";

const TEXT = `import x

# Greets
@online(
    owner="me",
)
def greet(
    name: User.name,
) -> User.greeting:

    return "Hi " + name


@features
class User:
    id: int
    # Spent
    spent: float = feature(
        max_staleness="1h",
    )
    name: str

NamedQuery(
    name="q",
    output=[User.id],
)
`;
const lineOf = (part: string) => TEXT.split("\n").findIndex((line) => line.includes(part)) + 1;
const shown = (part: string) => definitionAt(TEXT, lineOf(part));

test("a definition has its decorators and comments, and ends where the next thing begins", () => {
  const lines = TEXT.split("\n");
  const from = (first: number, last: number) => ({ firstLine: first, text: lines.slice(first - 1, last).join("\n") });
  expect(shown("def greet").text).toEndWith('return "Hi " + name');
  expect(shown("spent: float")).toEqual(from(lineOf("# Spent"), lineOf("name: str") - 1));
  expect(shown("id: int")).toEqual(from(lineOf("id: int"), lineOf("id: int")));
  expect(shown("class User")).toEqual(from(lineOf("@features"), lineOf("name: str")));
  // An argument has the call that it is of.
  expect(shown('name="q"')).toEqual(from(lineOf("NamedQuery"), lineOf("output=") + 1));
});

test("a text without such a form is shown from its beginning", () => {
  expect(definitionAt("-- resolves: User\nselect 1", 1)).toEqual({ firstLine: 1, text: "-- resolves: User\nselect 1" });
  expect(definitionAt("", 7)).toEqual({ firstLine: 1, text: "" });
});
