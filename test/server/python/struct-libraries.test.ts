/** Features whose values are attrs classes and pydantic models, on a real worker. */

import { expect, test } from "bun:test";
import { ErrorCode } from "../../../gen/svc/v1/error_pb.ts";
import { CheckedValue } from "../../../src/domain/validations.ts";
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

const STREAM = module(
  `from pydantic import BaseModel, Field
from svc.features import DataFrame, FeatureTime, Validation
from svc.sources import TopicSource
from svc.streams import stream


def is_no_seven(value: float) -> bool:
    return value != 7


class Reading(BaseModel):
    sensor: int = Field(gt=0)
    value: float = 0.0


@features
class Measure:
    id: int
    value: float = feature(validations=[Validation(check=is_no_seven)])
    less: float = feature(validations=[Validation(check=is_no_seven, strict=True)])
`,
  `@stream(source=TopicSource(name="readings"))
def on_readings(readings: DataFrame[Reading]) -> DataFrame[Measure.id, Measure.value, Measure.less]:
    values = readings.column("value")
    less = [value - 1 for value in values]
    return DataFrame({Measure.id: readings.column("sensor"), Measure.value: values, Measure.less: less})
`,
);

test.skipIf(isAbsent)("messages that came together are models; one that does not validate fails alone", async () => {
  await using live = await startPool(STREAM, { python: python as string, resolverFqns: ["mod.on_readings"] });
  const messages = [{ sensor: 1, value: 2.5 }, { sensor: 0 }, { sensor: 2 }, { sensor: 3, value: 7 }, { sensor: 4, value: 8 }];
  const { counted, errors, groups } = await live.pool.call({
    ...{ resolver: "mod.on_readings", rows: messages.length, now: [], deadlineMs: 60_000 },
    columns: { message: messages.map((message) => JSON.stringify(message)) },
    context: { queryId: "", traceId: "", tags: [], queryContext: {} },
  });
  expect(errors.map(({ code, message, row }) => [row, ErrorCode[code], message])).toEqual([
    [
      1,
      "PARSE_FAILED",
      expect.stringMatching(/^ValidationError: 1 validation error for Reading\s+sensor\s+Input should be greater than 0/),
    ],
  ]);
  expect(groups).toEqual({
    offsets: [0, 4],
    columns: {
      "measure.id": [1, 2, 3, 4],
      "measure.value": [2.5, 0, 7, 8],
      "measure.less": [1.5, -1, 6, new CheckedValue(7, "check=is_no_seven")],
    },
  });
  expect(counted).toEqual({ "measure.value": 1 });
});

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
