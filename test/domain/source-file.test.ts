import { expect, test } from "bun:test";
import { analyzedFiles, isPythonModule, isSqlFile, moduleOf, sqlResolverFqn } from "../../src/domain/source-file.ts";

test("which files the analyzer reads", () => {
  const paths = [
    "svc.yaml",
    "b/c.svc.sql",
    "features.py",
    "tests/test_a.py",
    "pkg/tests/x.py",
    "conftest.py",
    "setup.py",
    "pkg/setup.py",
    ".hidden/x.py",
    "pkg/__init__.py",
    "pkg/__main__.py",
    "a.sql",
    ".svc.sql",
  ];
  expect(analyzedFiles(paths)).toEqual(["b/c.svc.sql", "features.py", "pkg/__init__.py", "pkg/setup.py"]);
  expect(isPythonModule("x/.py")).toBe(false);
  expect(isSqlFile("x/.svc.sql")).toBe(false);
});

test("modules and names", () => {
  expect(["features.py", "pkg/mod.py", "pkg/__init__.py", "__init__.py"].map(moduleOf)).toEqual(["features", "pkg.mod", "pkg", "__init__"]);
  expect(["get_user.svc.sql", "sql/a.b.svc.sql"].map(sqlResolverFqn)).toEqual(["get_user", "a.b"]);
});
