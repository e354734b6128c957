/**
 * The interactive view of the log, in a real terminal multiplexer: what is on the screen at three
 * widths, keys, a change of size, and the terminal as it was, however the view is left.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { eventually } from "../harness/eventually.ts";
import { Multiplexer } from "../harness/multiplexer.ts";
import { lacksProgram } from "../harness/needs.ts";
import { Sandbox } from "../harness/sandbox.ts";
import { Terminal } from "../harness/terminal.ts";

const NO_TMUX = lacksProgram("tmux");

const RESOLVERS = `
from svc import online
from svc.features import features

@features
class User:
    id: int
    name: str

@online
def name(id: User.id) -> User.name:
    for n in range(40):
        print("line", n, "of user", id, "x" * 300)
    print("\\x1b[2J\\x07 é 😀")
    return "n"
`;

describe.skipIf(NO_TMUX)("svc logs --tui", () => {
  let sandbox: Sandbox;
  let project = "";

  beforeAll(async () => {
    sandbox = new Sandbox();
    await sandbox.startServer();
    project = await sandbox.write({ "svc.yaml": "project: demo\n", "features.py": RESOLVERS });
    for (const words of [
      ["apply", "--force", "--await"],
      ["query", "--in", "user.id=1", "--out", "user.name"],
    ]) {
      const { exitCode, stderr } = await sandbox.svc(words, { cwd: project });
      if (exitCode !== 0) throw new Error(stderr);
    }
    await eventually(async () => (await sandbox.svc(["logs", "--query", "resolver:*"])).stdout.includes("line 39"), "the lines are there");
  }, 300_000);
  afterAll(() => sandbox[Symbol.asyncDispose]());

  const begin = (terminal: Multiplexer, ...words: string[]) => {
    const quoted = words.map((word) => `'${word}'`).join(" ");
    terminal.type(`cd ${project} && clear && ${sandbox.binary} logs --tui ${quoted}; echo "left with $?"`);
    terminal.press("Enter");
  };
  const isShown = (screen: string[]) => screen.some((row) => row.startsWith("> "));

  test.each([60, 80, 200])(
    "%d columns are filled, and keys move, search, open and leave",
    async (columns) => {
      using terminal = new Multiplexer(sandbox, columns, 24);
      begin(terminal, "--query", "resolver:*");
      const screen = await terminal.until(isShown, "the lines");
      expect(screen[0]).toStartWith(" resolver:*");
      expect(screen[23]).toContain("q quit");
      expect(screen.filter((row) => row.includes("INFO")).length).toBe(21);
      for (const row of screen) expect(Bun.stringWidth(row)).toBeLessThanOrEqual(columns);
      expect(screen.join("\n")).toContain("\\x1b[2J\\x07 é");
      const chosen = () => terminal.screen().find((row) => row.startsWith("> ")) ?? "";
      terminal.press("Up");
      await terminal.until(() => chosen().includes("line 39"), "the line above");
      terminal.press("PageUp");
      await terminal.until(() => chosen().includes("line 18"), "a page above");
      terminal.press("g");
      await terminal.until(() => chosen().includes("line 0"), "the first");
      terminal.press("Enter");
      await terminal.until((rows) => rows.some((row) => /^logger +stdout$/.test(row)), "the fields");
      terminal.press("Enter");
      await terminal.until(isShown, "the lines again");
      terminal.press("/", "C-u");
      terminal.type("ok levl:x");
      terminal.press("Enter");
      const wrong = await terminal.until((rows) => rows.join().includes("did you mean 'level'?"), "the error");
      expect(wrong[0]).toBe("/ok levl:x_");
      expect(wrong[22]).toBe("    ^^^^");
      terminal.press("C-u");
      terminal.type("resolver:* line 7");
      terminal.press("Enter");
      await terminal.until(
        (rows) => rows.filter((row) => row.includes("INFO")).length === 4 && chosen().includes("line 37"),
        "what was searched",
      );
      terminal.resize(columns + 20, 12);
      await terminal.until((rows) => (rows[11] ?? "").includes("q quit"), "the other size");
      terminal.press("q");
      const left = await terminal.until((rows) => rows.some((row) => row.includes("left with 0")), "the shell again");
      expect(left.join("\n")).not.toContain("q quit");
    },
    300_000,
  );

  test("new lines are followed, and Ctrl-C leaves with 130 and the terminal as it was", async () => {
    using terminal = new Multiplexer(sandbox, 80, 24);
    terminal.type(`stty -a > ${project}/before`);
    terminal.press("Enter");
    begin(terminal, "--query", "resolver:*");
    await terminal.until(isShown, "the lines");
    terminal.press("f");
    await terminal.until((screen) => screen.join().includes("following"), "following");
    expect((await sandbox.svc(["query", "--in", "user.id=77", "--out", "user.name"], { cwd: project })).exitCode).toBe(0);
    await terminal.until((screen) => screen.join().includes("of user 77"), "new lines");
    terminal.press("C-c");
    await terminal.until((screen) => screen.some((row) => row.includes("left with 130")), "the shell again");
    terminal.type(`stty -a > ${project}/after; cmp ${project}/before ${project}/after && echo same`);
    terminal.press("Enter");
    await terminal.until((screen) => screen.includes("same"), "the terminal as it was");
  }, 300_000);

  test("following has what came before f was pressed, each line once", async () => {
    using terminal = new Multiplexer(sandbox, 80, 60);
    begin(terminal, "--query", 'resolver:* "line 3"');
    await terminal.until(isShown, "the lines");
    const ask = async (id: number) => {
      expect((await sandbox.svc(["query", "--in", `user.id=${id}`, "--out", "user.name"], { cwd: project })).exitCode).toBe(0);
      const has = async () => (await sandbox.svc(["logs", "--query", `resolver:* "line 39 of user ${id}"`])).stdout !== "";
      await eventually(has, "the lines are stored");
    };
    await ask(501);
    terminal.press("f");
    await terminal.until((screen) => screen.join().includes("line 39 of user 501"), "lines of before");
    await ask(502);
    const screen = await terminal.until((rows) => rows.join().includes("line 39 of user 502"), "new lines");
    for (const id of [501, 502]) expect(screen.filter((row) => row.includes(`of user ${id} `)).length).toBe(11);
    terminal.press("q");
    await terminal.until((rows) => rows.some((row) => row.includes("left with 0")), "the shell again");
  }, 300_000);

  test("lines are cleared before they are written: behind a full one, terminals would clear its last sign", async () => {
    const terminal = Terminal.start(sandbox, ["logs", "--tui"], { columns: 60 });
    await terminal.until("q quit");
    terminal.press("q");
    const { exitCode, screen } = await terminal.ended();
    expect(exitCode).toBe(0);
    const [, ...drawn] = screen.split("\u001b[K");
    expect(drawn.length).toBeGreaterThan(23);
    expect(screen.match(/(?:\u001b\[H|\r\n)\u001b\[0m\u001b\[K/g)?.length).toBe(drawn.length);
    expect(screen.lastIndexOf("\u001b[?7h")).toBeGreaterThan(screen.lastIndexOf("\u001b[?7l"));
  }, 300_000);

  test("a server that is away is said, and the terminal comes back", async () => {
    using terminal = new Multiplexer(sandbox, 80, 24);
    begin(terminal, "--api-server", "http://127.0.0.1:9");
    await terminal.until((screen) => screen.join().includes("left with 1") || screen.join().includes("127.0.0.1:9"), "the error");
    terminal.press("q");
    await terminal.until((screen) => screen.some((row) => row.includes("left with")), "the shell again");
  }, 300_000);
});
