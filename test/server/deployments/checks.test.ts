import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import type { Socket } from "bun";
import { DeploymentService, DeploymentStatus } from "../../../gen/svc/v1/deployment_pb.ts";
import { Severity } from "../../../gen/svc/v1/error_pb.ts";
import { DataSourceSchema, GraphService, SourceKind } from "../../../gen/svc/v1/graph_pb.ts";
import { eventually } from "../../harness/eventually.ts";
import { isAlive } from "../../harness/is-alive.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { deploy, expectLive, graphBytes, type ProjectFiles } from "./deploying.ts";

const folder = new TempFolder();
let server: TestServer;

beforeAll(async () => {
  const db = new Database(join(folder.path, "app.db"), { create: true });
  db.run("create table app_user (uid integer primary key, display text, mail text)");
  db.run("insert into app_user values (1, 'Ada', 'ada@example.com')");
  db.close();
  server = await TestServer.start(folder.path, {
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      APP_SQLITE_PATH: join(folder.path, "app.db"),
      GONE_SQLITE_PATH: join(folder.path, "gone.db"),
    },
  });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

const project = (sql: string, sources = 'app = SQLiteSource(name="app")\n'): ProjectFiles => ({
  "features.py": `from svc.features import features

@features
class User:
    id: int
    name: str
    email: str
`,
  "sources.py": `from svc.sources import SQLiteSource\n\n${sources}`,
  "sql/get_user.svc.sql": sql,
});

describe("the server's findings", () => {
  test("a project whose statement the database takes goes live", async () => {
    const deployment = await deploy(
      server,
      project("-- resolves: User\n-- source: app\nselect uid as id, display as name, mail as email from app_user;\n"),
    );
    expectLive(deployment);
    const response = await fetch(`${server.url}/v1/query/online`, {
      method: "POST",
      headers: { authorization: `Bearer ${await server.token()}` },
      body: JSON.stringify({ inputs: { "user.id": 1 }, outputs: ["user.name"] }),
    });
    expect(await response.json()).toMatchObject({ data: [{ field: "user.name", value: "Ada" }] });
  });

  test("154: an unknown source lists what there is", async () => {
    const { status, diagnostics, error } = await deploy(
      server,
      project("-- resolves: User\n-- source: ap\nselect uid as id, display as name, mail as email from app_user\n"),
    );
    expect(status).toBe(DeploymentStatus.FAILED);
    expect(diagnostics[0]).toMatchObject({
      code: 154,
      message: "there is no source 'ap'; there are app (sqlite), gone (sqlite)",
      hint: "Did you mean 'app'?",
      span: { file: "sql/get_user.svc.sql", line: 2, column: 12, endLine: 2, endColumn: 14 },
    });
    expect(error).toContain("Error[154]");
  });

  test("a worker that starts beside the checks has ended when these have refused the project", async () => {
    const note = join(folder.path, "worker");
    const hasBegun = (): boolean => existsSync(note);
    // The database says no, which the checks report, once the worker's import hangs.
    const refusal = "SFATAL\0C28000\0Mnobody is let in\0\0";
    const refuse = (socket: Socket): void => void socket.end(Buffer.from(`E\0\0\0${String.fromCharCode(refusal.length + 4)}${refusal}`));
    using database = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      socket: { data: (socket) => void eventually(hasBegun, "the start of a worker").finally(() => refuse(socket)) },
    });
    const { status, error } = await deploy(server, {
      ...project(
        "-- resolves: User\n-- source: far\nselect uid as id, mail as email from app_user\n",
        `from svc.sources import PostgreSQLSource\nfar = PostgreSQLSource(name="far", host="127.0.0.1", port=${database.port}, user="u", database="d")\n`,
      ),
      "resolvers.py": `import os, time
from svc import online
from features import User

if "SVC_DEPLOYMENT_ID" in os.environ:
    with open(${JSON.stringify(`${note}.part`)}, "w") as stream:
        stream.write(str(os.getpid()))
    os.replace(${JSON.stringify(`${note}.part`)}, ${JSON.stringify(note)})
    time.sleep(600)

@online
def get_name(id: User.id) -> User.name:
    return str(id)
`,
    });
    expect([status, error]).toEqual([DeploymentStatus.FAILED, expect.stringContaining("Error[154]")]);
    const pid = Number(readFileSync(note, "utf8"));
    await eventually(() => !isAlive(pid), "the end of the worker");
  });

  test("154: a source that cannot be reached says why, once", async () => {
    const { diagnostics } = await deploy(server, {
      ...project("-- resolves: User\n-- source: gone\nselect uid as id, display as name from app_user\n"),
      "sql/more.svc.sql": "-- resolves: User\n-- source: gone\nselect uid as id, mail as email from app_user\n",
    });
    expect(diagnostics.map(({ code }) => code)).toEqual([154]);
    expect(diagnostics[0]?.message).toMatch(/^source 'gone' \(sqlite\) cannot be used: /);
    expect(diagnostics[0]?.hint).toBe(
      "Its settings come from the code, or from the environment of the server (GONE_SQLITE_PATH): set the variable where the server is started, and start it again.",
    );
  });

  test("154: a source without settings says whose environment is missing them, and one that nobody declared how that is done", async () => {
    const sql = (source: string) => `-- resolves: User\n-- source: ${source}\nselect uid as id from app_user\n`;
    const bare = await deploy(server, project(sql("bare"), 'bare = SQLiteSource(name="bare")\n'));
    expect(bare.diagnostics[0]).toMatchObject({
      code: 154,
      message: "source 'bare' has no file: give `path=` in code or set BARE_SQLITE_PATH",
      hint: expect.stringContaining("the environment of the server (BARE_SQLITE_PATH)"),
    });
    const undeclared = await deploy(server, project(sql("warehouse")));
    expect(undeclared.diagnostics[0]?.hint).toContain("`from svc.sources import SQLiteSource`");
  });

  test("159: what the database rejects, at its place in the file", async () => {
    const sql =
      "-- resolves: User\n-- source: app\nselect uid as id,\n  dispaly as name, mail as email\nfrom app_user where uid = ${user.id}\n";
    const { diagnostics } = await deploy(server, project(sql));
    expect(diagnostics.map(({ code }) => code)).toEqual([159]);
    expect(diagnostics[0]?.message).toContain("dispaly");
    expect(diagnostics[0]?.span).toMatchObject({ file: "sql/get_user.svc.sql", line: 4, column: 3, endLine: 4, endColumn: 10 });
  });

  test("158: `select *` is completed by the database, and columns that it lacks are said", async () => {
    const renamed = project(
      "-- resolves: User\n-- source: app\n-- fields:\n--   uid: id\n--   display: name\n--   mail: email\nselect * from app_user\n",
    );
    expectLive(await deploy(server, renamed));
    const response = await fetch(`${server.url}/v1/query/online`, {
      method: "POST",
      headers: { authorization: `Bearer ${await server.token()}` },
      body: JSON.stringify({ inputs: { "user.id": 1 }, outputs: ["user.name", "user.email"] }),
    });
    expect(await response.json()).toMatchObject({ data: [{ value: "Ada" }, { value: "ada@example.com" }] });
    const bare = await deploy(server, project("-- resolves: User\n-- source: app\nselect *, uid as id, display as name from app_user\n"));
    expectLive(bare);
    const { resolvers } = await server.client(GraphService).listResolvers({});
    expect(resolvers.map(({ outputs }) => [...outputs].sort())).toEqual([["user.name"]]);
    const missing = await deploy(server, {
      ...renamed,
      "sql/get_user.svc.sql": renamed["sql/get_user.svc.sql"]?.replace("display", "displayed") ?? "",
    });
    expect(missing.diagnostics.filter(({ severity }) => severity === Severity.ERROR).map(({ code, message }) => [code, message])).toEqual([
      [158, expect.stringContaining("no column 'displayed'")],
    ]);
  });

  test("158: a deployment of the same files has the columns that the database has by then", async () => {
    const db = new Database(join(folder.path, "app.db"));
    const star = project("-- resolves: User\n-- source: app\nselect *, uid as id from star_user\n");
    const outputs = async () => (await server.client(GraphService).listResolvers({})).resolvers.map((one) => one.outputs.toSorted());
    db.run("create table star_user (uid integer primary key, name text)");
    expectLive(await deploy(server, star));
    const first = await outputs();
    db.run("alter table star_user add column email text");
    expectLive(await deploy(server, star));
    const second = await outputs();
    db.run("alter table star_user drop column name");
    expectLive(await deploy(server, star));
    expect([first, second, await outputs()]).toEqual([[["user.name"]], [["user.email", "user.name"]], [["user.email"]]]);
    db.close();
  });

  test("validation finds the same before anything is sent", async () => {
    expectLive(
      await deploy(server, project("-- resolves: User\n-- source: app\nselect uid as id, display as name, mail as email from app_user\n")),
    );
    const { graph } = await server.client(GraphService).getGraph({});
    if (!graph) throw new Error("no graph");
    const [resolver] = graph.resolvers;
    if (resolver?.body.case !== "sql") throw new Error("no SQL resolver");
    resolver.body.value.body = "select a from nowhere";
    const { diagnostics } = await server.client(DeploymentService).validateGraph({ graph: graphBytes(graph) });
    expect(diagnostics.map(({ code, message }) => [code, message])).toEqual([[159, expect.stringContaining("nowhere")]]);
    resolver.body.value.source = "nope";
    expect(
      (await server.client(DeploymentService).validateGraph({ graph: graphBytes(graph) })).diagnostics.map(({ code }) => code),
    ).toEqual([154]);
  });

  test("a file that comes with the bundle is looked at when the bundle is there", async () => {
    const bundled = project(
      "-- resolves: User\n-- source: mine\nselect uid as id, display as name, mail as email from app_user\n",
      'mine = SQLiteSource(name="mine", path="data/mine.db")\n',
    );
    const missing = await deploy(server, bundled);
    expect(missing.diagnostics.map(({ code }) => code)).toEqual([154]);
    const { graph } = await server.client(GraphService).getGraph({});
    const [resolver] = graph?.resolvers ?? [];
    if (resolver?.body.case !== "sql") throw new Error("no SQL resolver");
    graph?.sources.splice(0, 9, create(DataSourceSchema, { name: "mine", kind: SourceKind.SQLITE, settings: { path: "data/mine.db" } }));
    resolver.body.value.source = "mine";
    expect((await server.client(DeploymentService).validateGraph({ graph: graphBytes(graph) })).diagnostics).toEqual([]);
  });
});
