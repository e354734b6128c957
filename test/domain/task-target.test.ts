import { describe, expect, test } from "bun:test";
import { parseTarget, targetProblem, targetText } from "../../src/domain/task-target.ts";

describe("the target of a task", () => {
  test.each([
    ["scripts/report.py", false, { path: "scripts/report.py", module: "", callable: "" }],
    ["./report.py::main", false, { path: "report.py", module: "", callable: "main" }],
    ["a/b.py::Report::send", false, { path: "a/b.py", module: "", callable: "Report.send" }],
    ["scripts.report", false, { path: "", module: "scripts.report", callable: "" }],
    ["scripts.report::main", false, { path: "", module: "scripts.report", callable: "main" }],
    ["name.py", true, { path: "", module: "name.py", callable: "" }],
  ])("%s", (text, isModule, target) => {
    expect(parseTarget(text, isModule)).toEqual(target);
    expect(targetProblem(target)).toBeUndefined();
    expect(parseTarget(targetText(target), isModule)).toEqual(target);
  });

  test.each([
    ["", "names neither a file nor a module"],
    ["/etc/x.py", "is no path from the project's root, such as scripts/report.py"],
    ["a/../x.py", "is no path from the project's root, such as scripts/report.py"],
    ["a\\x.py", "is no path from the project's root, such as scripts/report.py"],
    ["a/.py", "is no Python file"],
    ["a b", "is no module, such as scripts.report"],
    ["a..b", "is no module, such as scripts.report"],
    ["a.py::", "names no function: that is file.py::function or file.py::Class::method"],
    ["a.py::b()", "names no function: that is file.py::function or file.py::Class::method"],
    ["a.py::A::b::c", "names no function: that is file.py::function or file.py::Class::method"],
    [`${"a".repeat(600)}.py`, "has more than 500 characters"],
  ])("'%s' is none", (text, problem) => {
    expect(targetProblem(parseTarget(text, false))).toBe(problem);
  });
});
