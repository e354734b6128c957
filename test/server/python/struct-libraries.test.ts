/** Features whose values are attrs classes and pydantic models, on a real worker. */

import { expect, test } from "bun:test";
import { lacks } from "../../harness/needs.ts";
import { anyPython, module, startPool } from "./project.ts";

/** An interpreter that has both libraries. */
async function pythonWithBoth(): Promise<string | undefined> {
  for (const runtime of ["python313", "python312", "python311", "python310"]) {
    const python = await anyPython(runtime);
    const check = "import attrs, pydantic; assert pydantic.VERSION >= '2'";
    if (python && Bun.spawnSync([python, "-I", "-c", check], { stderr: "ignore" }).success) return python;
  }
  return undefined;
}

const python = await pythonWithBoth();
const isAbsent = lacks("attrs and pydantic 2 of Python", python !== undefined);

const FILES = module(
  `import attrs
import pydantic


@attrs.define
class Place:
    town: str
    zip: Optional[int] = None


class Contact(pydantic.BaseModel):
    mail: str = pydantic.Field(pattern=".+@.+")
    places: list[str] = []


@features
class Thing:
    id: int
    place: Place
    contact: Contact
    summary: str
`,
  `@online
def first(id: Thing.id) -> Thing.place:
    return Place("Berlin")


@online
def contact(id: Thing.id) -> Thing.contact:
    return Contact(mail="a@b") if id == 1 else {"mail": "no mail" if id == 2 else "c@d", "places": ["x"]}


@online
def summary(place: Thing.place, contact: Thing.contact) -> Thing.summary:
    return f"{type(place).__name__} {place.town}, {type(contact).__name__} {contact.mail}"
`,
);

test.skipIf(isAbsent)("instances go there and back, and what a model refuses is an error of its row", async () => {
  await using live = await startPool(FILES, { python: python as string, resolverFqns: ["mod.first", "mod.contact", "mod.summary"] });
  expect(await live.value("mod.first", { id: 1 })).toEqual({ town: "Berlin", zip: null });
  const returned = await live.rows("mod.contact", { id: [1, 2, 3] });
  expect(returned.columns["thing.contact"]).toEqual([{ mail: "a@b", places: [] }, null, { mail: "c@d", places: ["x"] }]);
  expect(returned.errors.map(({ row, exception }) => [row, exception?.kind])).toEqual([[1, "ValidationError"]]);
  const [place, known] = [
    { town: "Rome", zip: 1 },
    { mail: "a@b", places: [] },
  ];
  const given = await live.rows("mod.summary", { place: [place, place], contact: [known, { ...known, mail: "no mail" }] });
  expect(given.columns["thing.summary"]).toEqual(["Place Rome, Contact a@b", null]);
  expect(given.errors.map(({ row, exception }) => [row, exception?.kind])).toEqual([[1, "ValidationError"]]);
});
