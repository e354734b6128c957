/** Whatever stands in a file, its names are read, soon, and only where they are written. */

import { expect, test } from "bun:test";
import fc from "fast-check";
import { RenameRefused } from "../../../src/project/editor/rename.ts";
import { isNearLinear } from "../../harness/growth.ts";
import { seeded } from "../../harness/seed.ts";
import { readNames, renamed } from "./places.ts";

const MODELS = `from svc.features import _, features
from svc.streams import Windowed, windowed


@features
class User:
    id: int
    name: str
    best: "User"
    fails: Windowed[int] = windowed("10m")
`;
const parts = fc.constantFrom(
  ..."User user id name fails best _ . : ( ) [ ] { } ${ } -- # ' \" \n import as * select where order by group = , | 😀 é __600__".split(
    " ",
  ),
  "\n",
  "from models import User\n",
  "from models import User as 人\nx = 人.best.name\n",
  "import models as m\ny = m.User(name=m.User.id)\n",
  "def f(a: User.name, rows: 'DataFrame[User]') -> \"User.fails['10m']\":\n    from models import User\n    return rows['name']\n",
  "for User in [User.name for User in 'user.name']: print(User.name, 'user.best.name')\n",
  "__all__ = ['User']\n",
  "-- resolves: User\n-- source: x\nselect ",
  "-- fields: {x: name, y: fails__600__}\n",
  "t.name, sum(x) as name, cast(name as int), fails__600__ ",
  "from t where name = ${user.best.name} order by name, x",
);
const anyText = fc.array(parts, { maxLength: 12 }).map((list) => list.join(""));

test("no text is too much, and every place has the name or what an import calls it", () => {
  let found = 0;
  fc.assert(
    fc.property(anyText, fc.constantFrom("a.py", "a.svc.sql", "tests/a.py"), (text, path) => {
      const project = readNames({ "models.py": MODELS, [path]: text });
      for (const { from, nameKind, symbol, to, aliasAt } of project.occurrences.in(path)) {
        const written = text.slice(from, to);
        if (nameKind === "python") expect(written).toBe(symbol.name);
        if (nameKind === "query") expect(written.toLowerCase()).toBe(symbol.queryName as string);
        if (nameKind === "alias") expect(written).not.toBe(symbol.name);
        if (aliasAt !== undefined) expect(aliasAt).toBeGreaterThanOrEqual(to);
        found++;
      }
    }),
    seeded(500),
  );
  expect(found).toBeGreaterThan(100);
});

test("whatever else a project holds, a renamed feature is found again in as many places", () => {
  let done = 0;
  fc.assert(
    fc.property(anyText, fc.constantFrom("a.py", "a.svc.sql", "tests/a.py"), (text, path) => {
      const project = readNames({ "models.py": MODELS, [path]: text });
      const at = project.occurrences.in("models.py").find(({ symbol: { name } }) => name === "name");
      if (!at) throw new Error("the feature is not there");
      try {
        const after = readNames(renamed(project, at.path, at.from, "label"));
        expect(after.occurrences.of((after.occurrences.at(at.path, at.from) as typeof at).symbol).length).toBe(
          project.occurrences.of(at.symbol).length,
        );
        done++;
      } catch (error) {
        if (!(error instanceof RenameRefused)) throw error;
      }
    }),
    seeded(300),
  );
  expect(done).toBeGreaterThan(50);
});

test("the cost of a long text grows as the text does", () => {
  const sql = "-- resolves: User\n-- source: x\nselect ";
  const texts: readonly (readonly [size: number, text: (size: number) => string])[] = [
    [20_000, (size) => `x = User${".best".repeat(size)}\n`],
    [20_000, (size) => `x = a${".b".repeat(size)}\n`],
    [20_000, (size) => `x = [${"User.name, ".repeat(size)}]\n`],
    [190, (size) => `x = ${"(".repeat(size)}User.name${")".repeat(size)}\n`],
    [20_000, (size) => `${"x, ".repeat(size)} = User.name\n`],
    [5_000, (size) => `def f():\n${"    from models import User\n".repeat(size)}`],
    [20_000, (size) => `x = "${"user.best.".repeat(size)}name"\n`],
    [20_000, (size) => `${sql}${"name, ".repeat(size)} id`],
    [20_000, (size) => `${sql}sum(x) as name from t order by ${"name, ".repeat(size)} id`],
    [20_000, (size) => `${sql}${`\${user${".best".repeat(size)}}`} as name`],
  ];
  for (const [size, text] of texts)
    for (const path of ["a.py", "a.svc.sql"]) {
      const whole = (length: number) => (path === "a.py" ? `from models import User\n${text(length)}` : text(length));
      const isCheap = isNearLinear(size, (length) => void readNames({ "models.py": MODELS, [path]: whole(length) }));
      expect([path, text(1), isCheap]).toEqual([path, text(1), true]);
    }
}, 300_000);
