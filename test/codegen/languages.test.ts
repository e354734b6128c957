/**
 * What is generated of a project with features of all shapes: checked by the compilers, type
 * checkers and formatters of the languages, and run against a server.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { lacksProgram } from "../harness/needs.ts";
import { Sandbox } from "../harness/sandbox.ts";
import { SHAPES, WORD_VALUES } from "./shapes.ts";
import { lacksGo, lacksPackages, run, TOOLS } from "./tools.ts";

const SDK = join(import.meta.dir, "../../src/sdk");
/** Checkers follow the SDK's source, and say nothing of it. */
const MYPY = "[mypy]\n[mypy-svc.*]\nfollow_imports = silent\n";

let sandbox: Sandbox;
let project: string;
let env: Record<string, string>;
/** A server in front of the real one, whose first answer to each query is 503. */
let busy: Bun.Server<undefined>;
const refused = new Set<string>();

beforeAll(async () => {
  sandbox = new Sandbox();
  project = await sandbox.write(SHAPES);
  const url = await sandbox.startServer();
  const applied = await sandbox.svc(["apply", "--force", "--await"], { cwd: project });
  if (applied.exitCode !== 0) throw new Error(applied.stderr);
  const settings = await Bun.file(join(sandbox.home, ".config/svc.yml")).text();
  const told = (name: string) => new RegExp(`${name}: *"?([^"\\s]+)`, "i").exec(settings)?.[1] ?? "";
  env = { SVC_CLIENT_ID: told("clientId"), SVC_CLIENT_SECRET: told("clientSecret"), SVC_API_SERVER: url };
  busy = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const { pathname } = new URL(request.url);
      if (pathname.startsWith("/v1/query") && !refused.has(pathname)) {
        refused.add(pathname);
        return new Response("busy", { status: 503, headers: { "retry-after": "0" } });
      }
      if (pathname === "/gone/v1/oauth/token") return new Response("gone", { status: 503 });
      const headers = new Headers(request.headers);
      headers.delete("host");
      const answer = await fetch(`${url}${pathname}`, { method: request.method, headers, body: await request.arrayBuffer(), proxy: "" });
      const body = await answer.text();
      return new Response(body.replaceAll(url, busy.url.origin), {
        status: answer.status,
        headers: { "content-type": "application/json" },
      });
    },
  });
});

afterAll(async () => {
  busy?.stop(true);
  await sandbox?.[Symbol.asyncDispose]();
});

/** Generates code beside the project, and gives what the command said. */
async function codegen(...args: readonly string[]): Promise<string> {
  const { exitCode, stderr, stdout } = await sandbox.svc(["codegen", ...args], { cwd: project });
  expect([exitCode, stderr.replace("Validating the project\n", "")]).toEqual([0, expect.stringMatching(/^(Wrote .*\n)?$/)]);
  return stdout;
}

function folder(name: string): string {
  const path = join(sandbox.work, name);
  mkdirSync(path, { recursive: true });
  return path;
}

test("the same graph gives the same bytes, of the folder and of what is live", async () => {
  for (const language of ["python", "go", "typescript"]) {
    const [first, again, live] = [await codegen(language), await codegen(language), await codegen(language, "--live")];
    expect(again).toBe(first);
    expect(live.split("\n").slice(2)).toEqual(first.split("\n").slice(2));
  }
});

describe.skipIf(lacksGo() || lacksProgram("gofmt"))("Go", () => {
  test("is formatted, passes vet, and queries", async () => {
    const cwd = folder("go");
    await codegen("go", "--out", join(cwd, "features.go"));
    await Bun.write(join(cwd, "go.mod"), "module example.com/features\n\ngo 1.22\n");
    await Bun.write(join(cwd, "features_test.go"), goTest());
    expect(await run(["gofmt", "-l", "features.go"], { cwd })).toBe("");
    const go = { GOFLAGS: "-mod=mod", GOTOOLCHAIN: "local", GOPROXY: "off" };
    await run(["go", "vet", "."], { cwd, env: go });
    const said = await run(["go", "test", "-count=1", "-v", "."], { cwd, env: { ...go, ...env, BUSY: busy.url.origin } });
    expect(said).toContain("--- PASS: TestQueries");
    expect(said).toContain("--- PASS: TestFailures");
  });
});

function goTest(): string {
  const words = Object.entries(WORD_VALUES)
    .map(([name, value]) => `\t\t${JSON.stringify(name)}: ${value},`)
    .join("\n");
  return `package features

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/http/httptrace"
	"os"
	"testing"
	"time"
)

func equal[T comparable](t *testing.T, what string, got *T, err error, wanted T) {
	t.Helper()
	if err != nil || got == nil || *got != wanted {
		t.Errorf("%s: %v, %v in place of %v", what, got, err, wanted)
	}
}

func TestQueries(t *testing.T) {
	client, err := NewSvcClient(SvcOptions{APIServer: os.Getenv("BUSY"), Timeout: 2 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	of := Features.User
	connections := map[string]bool{}
	ctx := httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) { connections[info.Conn.LocalAddr().String()] = true },
	})
	result, err := client.Query(ctx, SvcQuery{Inputs: []Input{of.ID.Is(1)}, Outputs: []Output{
		of.Name, of.Nickname, of.Age, of.Height, of.Odd, of.Active, of.Photo, of.Born, of.SeenAt, of.Patience, of.Credit, of.Tier, of.Mood,
		of.Home, of.Trip, of.Scores, of.Labels, of.Tiers, of.Notes, of.Old, of.Code, of.CodeV1, of.Fails10m, of.FailsAll,
		of.Account().Balance, of.Account().Bank().Founded, of.Friend().Name, of.Txns, Named("user.txns.amount"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Errors) > 0 {
		t.Fatal(result.Errors)
	}
	name, err := of.Name.In(result)
	equal(t, "name", name, err, "Ann 1")
	if nickname, err := of.Nickname.In(result); nickname != nil || err != nil {
		t.Errorf("nickname: %v, %v", nickname, err)
	}
	age, err := of.Age.In(result)
	equal(t, "age", age, err, 1<<62+1)
	if odd, err := of.Odd.In(result); err != nil || !math.IsNaN(*odd) {
		t.Errorf("odd: %v, %v", odd, err)
	}
	tier, err := of.Tier.In(result)
	equal(t, "tier", tier, err, TierGold)
	mood, err := of.Mood.In(result)
	equal(t, "mood", mood, err, MoodClass)
	balance, err := of.Account().Balance.In(result)
	equal(t, "balance", balance, err, "0.10")
	founded, err := of.Account().Bank().Founded.In(result)
	equal(t, "founded", founded, err, "1900-01-01")
	friend, err := of.Friend().Name.In(result)
	equal(t, "friend", friend, err, "Ann 2")
	amounts, err := Named("user.txns.amount").In(result)
	if list, ok := (*amounts).([]any); err != nil || !ok || len(list) != 2 {
		t.Errorf("amounts: %v, %v", amounts, err)
	}

	var user User
	if err := result.Into(&user); err != nil {
		t.Fatal(err)
	}
	equal(t, "into name", user.Name, nil, "Ann 1")
	equal(t, "into balance", user.Account.Balance, nil, "0.10")
	equal(t, "into patience", user.Patience, nil, time.Hour+time.Microsecond)
	equal(t, "into credit", user.Credit, nil, "12.340")
	equal(t, "into window", user.FailsAll, nil, 7)
	equal(t, "into version", user.CodeV1, nil, "c")
	equal(t, "into took", &user.Trip.Took, nil, 90*time.Second)
	equal(t, "into street", &user.Trip.Places[1].Street, nil, "b")
	if user.SeenAt == nil || !user.SeenAt.Equal(time.Date(2024, 5, 1, 12, 0, 0, 250000000, time.UTC)) {
		t.Errorf("seen at: %v", user.SeenAt)
	}
	if string(user.Photo) != "\\x00\\xff" || len(user.Scores) != 2 || user.Scores[1] != nil || user.Home.Floor != nil || len(user.Tiers) != 2 {
		t.Errorf("into: %+v", user)
	}
	if notes, ok := user.Notes.(map[string]any); !ok || notes["a"].([]any)[0] != int64(1) || notes["a"].([]any)[1] != 2.5 {
		t.Errorf("notes: %v", user.Notes)
	}
	if len(user.Txns) != 2 || *user.Txns[1].Amount != 0.5 {
		t.Errorf("txns: %v", user.Txns)
	}

	bulk, err := client.QueryBulk(ctx, SvcBulkQuery{Inputs: []Column{of.ID.Are(1, 2, 101)}, Outputs: []Output{of.Name, of.Odd, of.Photo}})
	if err != nil {
		t.Fatal(err)
	}
	names, err := of.Name.Column(bulk)
	if err != nil || len(names) != 3 || *names[1] != "Ann 2" || names[2] != nil {
		t.Errorf("names: %v, %v", names, err)
	}
	if len(bulk.Errors) == 0 || *bulk.Errors[0].Row != 2 {
		t.Errorf("errors: %v", bulk.Errors)
	}

	given, err := client.Query(ctx, SvcQuery{
		Inputs: []Input{
			of.ID.Is(9), of.Name.Is("x"), of.Odd.Is(math.Inf(1)), of.Photo.Is([]byte{1}), of.SeenAt.Is(*user.SeenAt), of.Patience.Is(*user.Patience),
			of.Credit.Is("1.50"), of.Mood.Is(MoodSoSo), of.Trip.Is(*user.Trip), of.Scores.Is(user.Scores), of.Txns.Is(user.Txns), of.Notes.Is(user.Notes),
		},
		Outputs: []Output{of.Name, of.Odd, of.Photo, of.SeenAt, of.Patience, of.Credit, of.Mood, of.Trip, of.Scores, of.Txns, of.Notes},
	})
	if err != nil {
		t.Fatal(err)
	}
	var echo User
	if err := given.Into(&echo); err != nil {
		t.Fatal(err)
	}
	equal(t, "echo credit", echo.Credit, nil, "1.50")
	equal(t, "echo patience", echo.Patience, nil, *user.Patience)
	equal(t, "echo mood", echo.Mood, nil, MoodSoSo)
	if !math.IsInf(*echo.Odd, 1) || len(echo.Txns) != 2 || echo.Trip.Took != 90*time.Second {
		t.Errorf("echo: %+v", echo)
	}

	words, err := client.Query(ctx, SvcQuery{Inputs: []Input{Features.Word.ID.Is(1)}, Outputs: []Output{Named("word")}})
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]int64{
${words}
	} {
		got, err := Named(name).In(words)
		if err != nil || *got != any(value) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if len(connections) != 1 {
		t.Errorf("%d connections", len(connections))
	}
}

func TestFailures(t *testing.T) {
	of := Features.User
	fails := func(options SvcOptions, query SvcQuery, code string) *SvcError {
		t.Helper()
		client, err := NewSvcClient(options)
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Query(context.Background(), query)
		var failure *SvcError
		if !errors.As(err, &failure) || failure.Code != code {
			t.Errorf("%v in place of %s", err, code)
			return &SvcError{}
		}
		return failure
	}
	ask := SvcQuery{Inputs: []Input{of.ID.Is(1)}, Outputs: []Output{of.Name}}
	unknown := fails(SvcOptions{}, SvcQuery{Inputs: []Input{of.ID.Is(1)}, Outputs: []Output{Named("user.nmae")}}, CodeInvalidArgument)
	if len(unknown.Errors) != 1 || unknown.Status != http.StatusBadRequest {
		t.Errorf("unknown: %+v", unknown)
	}
	fails(SvcOptions{ClientSecret: "wrong"}, ask, CodeUnauthenticated)
	fails(SvcOptions{APIServer: os.Getenv("BUSY") + "/gone", Timeout: 300 * time.Millisecond}, ask, CodeUnavailable)
	fails(SvcOptions{APIServer: "http://127.0.0.1:1", Timeout: 300 * time.Millisecond}, ask, CodeUnavailable)
	client, _ := NewSvcClient(SvcOptions{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := client.Query(ctx, ask); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	result, err := client.Query(context.Background(), SvcQuery{Inputs: []Input{of.ID.Is(101)}, Outputs: []Output{of.Name, of.Old}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = of.Name.In(result)
	var detail SvcErrorDetail
	if !errors.As(err, &detail) || detail.Code != "RESOLVER_FAILED" || detail.Exception.Kind != "ValueError" {
		t.Errorf("%v", err)
	}
	if _, err := NewSvcClient(SvcOptions{APIServer: "ftp://x"}); err == nil {
		t.Error("no address")
	}
}
`;
}

describe.skipIf(lacksProgram("javac", "java"))("Java", () => {
  test("compiles without warnings, and queries", async () => {
    const cwd = folder("java");
    const sources = join(cwd, "src/main/java/com/example/shapes");
    await codegen("java", "--out", sources);
    await Bun.write(join(sources, "Main.java"), JAVA_MAIN);
    const files = readdirSync(sources).map((name) => join(sources, name));
    await run(["javac", "-Xlint:all", "-Werror", "--release", "11", "-d", "out", ...files], { cwd });
    const said = await run(["java", "-cp", "out", "com.example.shapes.Main"], { cwd, env: { ...env, BUSY: busy.url.origin } });
    expect(said).toBe("done\n");
  });

  test("has members in snake case too", async () => {
    const cwd = folder("java-snake");
    await codegen("java", "--out", cwd, "--naming", "snake", "--package", "org.example");
    await run(["javac", "-Xlint:all", "-Werror", "--release", "11", "-d", "out", ...readdirSync(cwd).map((name) => join(cwd, name))], {
      cwd,
    });
    expect(await Bun.file(join(cwd, "User.java")).text()).toContain("public Feature<Instant> seen_at()");
  });
});

const JAVA_MAIN = `package com.example.shapes;

import java.math.BigDecimal;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

public final class Main {
  private static void equal(String what, Object got, Object wanted) {
    if (!Objects.deepEquals(got, wanted)) {
      throw new AssertionError(what + ": " + got + " in place of " + wanted);
    }
  }

  private static SvcException fails(SvcClient.Options options, SvcClient.Query query, String code) {
    try {
      new SvcClient(options).query(query);
    } catch (SvcException error) {
      equal(error.getMessage(), error.code(), code);
      return error;
    }
    throw new AssertionError("no " + code);
  }

  public static void main(String[] args) {
    User.Features of = User.FEATURES;
    String server = System.getenv("BUSY");
    SvcClient client = new SvcClient(new SvcClient.Options().apiServer(server).timeout(Duration.ofMinutes(2)));
    SvcClient.Result result =
        client.query(
            new SvcClient.Query()
                .input(of.id(), 1L)
                .output(of.name(), of.nickname(), of.age(), of.odd(), of.photo(), of.born(), of.seenAt(), of.patience())
                .output(of.credit(), of.tier(), of.mood(), of.home(), of.trip(), of.scores(), of.labels(), of.tiers(), of.notes())
                .output(of.codeV1(), of.fails10m(), of.account().balance(), of.account().bank().founded(), of.friend().name())
                .output(of.txns(), Feature.named("user.txns.amount")));
    equal("errors", result.errors(), List.of());
    equal("name", of.name().in(result), "Ann 1");
    equal("nickname", of.nickname().in(result), null);
    equal("age", of.age().in(result), (1L << 62) + 1);
    equal("odd", of.odd().in(result), Double.NaN);
    equal("photo", of.photo().in(result), new byte[] {0, (byte) 0xff});
    equal("born", of.born().in(result), LocalDate.of(2000, 2, 29));
    equal("seen", of.seenAt().in(result), Instant.parse("2024-05-01T12:00:00.250Z"));
    equal("patience", of.patience().in(result), Duration.ofHours(1).plusNanos(1000));
    equal("credit", of.credit().in(result), new BigDecimal("12.340"));
    equal("tier", of.tier().in(result), Tier.GOLD);
    equal("mood", of.mood().in(result), Mood.CLASS);
    equal("street", of.home().in(result).street, "Main St");
    equal("places", of.trip().in(result).places.get(0).floor, 1L);
    equal("took", of.trip().in(result).took, Duration.ofSeconds(90));
    equal("scores", of.scores().in(result), Arrays.asList(0.5, null));
    equal("labels", of.labels().in(result), Set.of("x"));
    equal("tiers", of.tiers().in(result), List.of(Tier.BASIC, Tier.GOLD));
    equal("notes", ((Map<?, ?>) of.notes().in(result)).get("a"), Arrays.asList(1L, 2.5, null));
    equal("version", of.codeV1().in(result), "c");
    equal("window", of.fails10m().in(result), 7L);
    equal("founded", of.account().bank().founded().in(result), LocalDate.of(1900, 1, 1));
    equal("friend", of.friend().name().in(result), "Ann 2");
    User user = result.into(new User());
    equal("into", user.account.balance, new BigDecimal("0.10"));
    equal("txns", user.txns.get(1).amount, 0.5);
    equal("not asked", user.height, null);

    SvcClient.BulkResult bulk =
        client.queryBulk(new SvcClient.BulkQuery().input(of.id(), List.of(1L, 2L, 101L)).output(of.name()));
    equal("names", of.name().in(bulk), Arrays.asList("Ann 1", "Ann 2", null));
    equal("row", bulk.errors().get(0).row, 2);

    SvcClient.Query given =
        new SvcClient.Query()
            .input(of.id(), 9L)
            .input(of.odd(), Double.NEGATIVE_INFINITY)
            .input(of.photo(), new byte[] {1})
            .input(of.patience(), user.patience)
            .input(of.credit(), new BigDecimal("1.50"))
            .input(of.mood(), Mood.SO_SO)
            .input(of.trip(), user.trip)
            .input(of.txns(), user.txns)
            .output(of.odd(), of.photo(), of.patience(), of.credit(), of.mood(), of.trip(), of.txns());
    User echo = client.query(given).into(new User());
    equal("echo odd", echo.odd, Double.NEGATIVE_INFINITY);
    equal("echo patience", echo.patience, user.patience);
    equal("echo credit", echo.credit, new BigDecimal("1.50"));
    equal("echo mood", echo.mood, Mood.SO_SO);
    equal("echo trip", echo.trip.places.get(1).street, "b");
    equal("echo txns", echo.txns.size(), 2);

    SvcClient.Query ask = new SvcClient.Query().input(of.id(), 1L).output(of.name());
    SvcClient.Query wrong = new SvcClient.Query().input(of.id(), 1L).output(Feature.named("user.nmae"));
    equal("single errors", fails(new SvcClient.Options(), wrong, "invalid_argument").errors().size(), 1);
    fails(new SvcClient.Options().credentials(System.getenv("SVC_CLIENT_ID"), "wrong"), ask, "unauthenticated");
    Duration soon = Duration.ofMillis(300);
    fails(new SvcClient.Options().apiServer(server + "/gone").timeout(soon), ask, "unavailable");
    fails(new SvcClient.Options().apiServer("127.0.0.1:1").timeout(soon), ask, "unavailable");
    SvcClient.Result failed = client.query(new SvcClient.Query().input(of.id(), 101L).output(of.name()));
    equal("failed", of.name().in(failed), null);
    equal("code", failed.errors().get(0).code, "RESOLVER_FAILED");
    System.out.println("done");
  }
}
`;

describe("TypeScript", () => {
  test("is formatted, and its types are those of what the server answers", async () => {
    const cwd = folder("typescript");
    await codegen("typescript", "--out", join(cwd, "features.ts"));
    await run([TOOLS.biome, "format", "--indent-style=space", "features.ts"], { cwd });
    const outputs = [
      "user",
      "word",
      "user.account.balance",
      "user.account.bank.founded",
      "user.friend.name",
      "user.txns",
      "user.txns.amount",
    ];
    const headers = await sandbox.authorized();
    const values: string[] = [];
    for (const namespace of ["user", "word"]) {
      const own = outputs.filter((name) => name === namespace || name.startsWith(`${namespace}.`));
      const body = JSON.stringify({ inputs: { [`${namespace}.id`]: 2 }, outputs: own });
      const answer = await fetch(`${sandbox.url}/v1/query/online`, { method: "POST", headers, body });
      const { data } = (await answer.json()) as { data: { field: string; value: unknown; error?: object }[] };
      // What JSON writes otherwise than as a number, and what nothing computes.
      for (const { error, field, value } of data)
        if (!error && field !== "user.age" && field !== "user.odd") values.push(`  ${JSON.stringify(field)}: ${JSON.stringify(value)},`);
    }
    expect(values.length).toBeGreaterThan(80);
    await Bun.write(
      join(cwd, "use.ts"),
      `import type { FeaturesType, User } from "./features.ts";

const answer = {
${values.join("\n")}
} satisfies Partial<FeaturesType>;

const typed: Pick<FeaturesType, keyof typeof answer> = answer;
const mood: User["mood"] = typed["user.mood"];
// @ts-expect-error there is no such feature
const missing: FeaturesType["user.nmae"] = 1;
// @ts-expect-error it is a number
const wrong: FeaturesType["user.id"] = "1";
class Client<F extends Record<string, unknown>> {
  constructor(readonly known: Partial<F>) {}
  get<K extends keyof F>(name: K): F[K] | undefined {
    return this.known[name];
  }
}
const street: string | undefined = new Client<FeaturesType>(answer).get("user.home")?.street;
console.log(mood, street, [missing, wrong].length);
`,
    );
    await run(
      [
        TOOLS.tsc,
        "--strict",
        "--noEmit",
        "--ignoreConfig",
        "--allowImportingTsExtensions",
        "--target",
        "es2022",
        "--module",
        "nodenext",
        "use.ts",
      ],
      { cwd },
    );
    const script = new Bun.Transpiler({ loader: "ts" }).transformSync(await Bun.file(join(cwd, "use.ts")).text());
    await Bun.write(join(cwd, "use.mjs"), script);
    const runtimes = [process.execPath, ...(lacksProgram("node") ? [] : ["node"])];
    for (const runtime of runtimes) expect(await run([runtime, "use.mjs"], { cwd })).toBe('the "class" Main St 2\n');
  });

  test("goes as deep as it is told", async () => {
    const paths = async (depth: string) => (await codegen("typescript", "--max-depth", depth)).match(/^ {2}"user\..*":/gm) ?? [];
    const [one, two] = [await paths("1"), await paths("2")];
    expect(one).not.toContain('  "user.account.balance":');
    expect(two).toContain('  "user.account.balance":');
    expect(two).not.toContain('  "user.account.bank.founded":');
  });
});

describe.skipIf(lacksPackages("black", "mypy"))("Python", () => {
  test.each([["plain"], ["dtypes"]])("definitions are formatted, typed, and queried: %s", async (kind) => {
    const cwd = folder(`python-${kind}`);
    await codegen("python", "--out", join(cwd, "shapes_client.py"), ...(kind === "dtypes" ? ["--include-dtypes"] : []));
    await Bun.write(join(cwd, "mypy.ini"), MYPY);
    await Bun.write(join(cwd, "pyrightconfig.json"), JSON.stringify({ extraPaths: [SDK] }));
    await Bun.write(join(cwd, "use.py"), PYTHON_USE);
    await run(["python3", "-m", "black", "--check", "--quiet", "shapes_client.py"], { cwd });
    if (kind === "plain") {
      await run(["python3", "-m", "mypy", "--strict", "shapes_client.py"], { cwd, env: { MYPYPATH: SDK } });
      await run([TOOLS.pyright, "shapes_client.py"], { cwd });
    }
    expect(await run(["python3", "use.py"], { cwd, env: { ...env, PYTHONPATH: SDK } })).toBe("done\n");
  });

  test("a project of the definitions has the same features", async () => {
    const cwd = folder("again");
    await codegen("python", "--out", join(cwd, "features.py"));
    await Bun.write(join(cwd, "svc.yaml"), "project: again\n");
    // Rows that are near are found by what is stored, which the definitions do not say.
    const definitions = await Bun.file(join(cwd, "features.py")).text();
    await Bun.write(join(cwd, "features.py"), definitions.replace(/^ {4}near:.*\n/m, ""));
    const again = await sandbox.svc(["codegen", "typescript", "--max-depth", "1"], { cwd });
    const types = (text: string) => text.split("\n").filter((line) => /^ {2}"|^export/.test(line) && !line.includes("user.near"));
    expect(again.stderr).toBe("Validating the project\n");
    expect(types(again.stdout)).toEqual(types(await codegen("typescript", "--max-depth", "1")));
  });
});

const PYTHON_USE = `from datetime import timedelta
from decimal import Decimal
from shapes_client import Mood, Place, Tier, Txn, User, Word
from svc.client import SvcClient

client = SvcClient()
result = client.query({User.id: 1}, [User.age, User.credit, User.tier, User.mood, User.home, User.patience, User.fails["10m"], User.code @ 1,
                                     User.account.balance, User.friend.name, User.txns]).raise_for_errors()
assert result[User.age] == 2**62 + 1
assert result[User.credit] == result[User.account.balance] * 123 + Decimal("0.04")
assert result[User.tier] is Tier.GOLD and result[User.mood] is Mood.class_
assert result[User.home] == Place("Main St", None)
assert result[User.patience] == timedelta(hours=1, microseconds=1)
assert result[User.fails["10m"]] == 7 and result[User.code @ 1] == "c"
assert result[User.friend.name] == "Ann 2"
assert [txn.amount for txn in result[User.txns]] == [0.0, 0.5]
assert isinstance(result[User.txns][0], Txn)
assert client.query({Word.id: 1}, [Word.class_, Word.wait])[Word.class_] == 8
print("done")
`;
