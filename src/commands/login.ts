import { timestampMs } from "@bufbuild/protobuf/wkt";
import { LoginSessionStatus } from "../../gen/svc/v1/auth_pb.ts";
import { entryToPage } from "../account/page-entry.ts";
import { defineCommand } from "../cli/command.ts";
import { bool } from "../cli/flag.ts";
import { DEFAULT_KEY, readEntries, updateEntry } from "../config/file.ts";
import { browserFilesDir } from "../config/home.ts";
import { IN_KEYCHAIN, removeSecret, storeSecret } from "../config/keychain.ts";
import { isProfileName } from "../config/resolve.ts";
import type { Context } from "../context/context.ts";
import { escapeControls } from "../domain/name.ts";
import { CliError, UsageError } from "../errors/cli-error.ts";
import { textView } from "../output/view.ts";
import { dataDirFlag, dataDirOf } from "./server/flags.ts";

/** Longest wait when the server does not say when the login session ends. */
const SESSION_MS = 600_000;

interface Credentials {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly environment: string | undefined;
}

/** The stored login, without its secret. */
interface Login {
  readonly client_id: string;
  readonly environment: string | null;
  readonly api_server: string;
  readonly config_file: string;
  readonly config_key: string;
  readonly secret_in: "file" | "keychain";
}

export default defineCommand({
  summary: "Log in through the browser and store the credentials",
  category: "Set up",
  description:
    "Opens a page of the server on which the login is confirmed, and stores the client ID and secret it gives, with the server's address and the " +
    "environment, for this project or, outside a project, as the default; with --profile under that name. Where the server knows an identity provider, log in with it on the page and confirm your own " +
    "login, which ends with that. Else it is confirmed by somebody who is logged in already with the permission admin: in a browser " +
    "of his, or by yourself when the server is yours (its data directory is readable to you) or an earlier login still works. With --client-id and --client-secret nothing is opened: the two are checked " +
    "and stored. What stands on the command line can be seen by other programs; --client-secret-stdin reads the secret from stdin, or asks for it on a terminal.",
  examples: [
    "svc login",
    { run: "svc login --no-prompt", does: "Open the page without asking first" },
    { run: "svc login --profile staging --api-host https://svc.example.com", does: "Beside other logins, for `--profile staging`" },
    { run: "cat secret.txt | svc login --client-id client_1 --client-secret-stdin", does: "With a secret that no other program sees" },
  ],
  flags: {
    ...dataDirFlag,
    keychain: bool("keep the secret in the keychain of the system, where there is one; =false keeps it in the config file", {
      default: true,
    }),
    clientSecretStdin: bool("read the client secret from stdin, as --client-secret - does"),
    noPrompt: bool("open the authorization window without asking first", { aliases: ["--yes", "-y"] }),
  },
  check({ clientSecretStdin }, { flags }) {
    if (clientSecretStdin && flags.clientSecret !== undefined)
      throw new UsageError("--client-secret and --client-secret-stdin exclude each other");
    if ((flags.clientId === undefined) !== (flags.clientSecret === undefined && !clientSecretStdin)) {
      throw new UsageError("--client-id and --client-secret go together", { hint: "Give both, or neither to log in through the browser." });
    }
  },
  async run(context, { clientSecretStdin, dataDir, keychain, noPrompt }): Promise<Login> {
    const { flags, progress, prompt, surroundings } = context;
    const settings = await context.settings();
    const clientSecret = clientSecretStdin ? await prompt.secret("client secret") : flags.clientSecret;
    const credentials =
      flags.clientId !== undefined && clientSecret !== undefined
        ? { clientId: flags.clientId, clientSecret, environment: settings.environment.value }
        : await confirmInBrowser(context, noPrompt, dataDirOf(context, dataDir));
    const session = await context.http.checkCredentials(credentials.clientId, credentials.clientSecret);
    const isOfProject = settings.profile === undefined && settings.configKey !== DEFAULT_KEY;
    const environment = isOfProject ? settings.environment.value : (credentials.environment ?? session.primaryEnvironment);
    const replaced = (await readEntries(settings.configFile)).get(settings.configKey);
    if (replaced) await removeSecret(replaced, surroundings);
    const owner = { apiServer: settings.apiServer.value, clientId: credentials.clientId };
    const isInKeychain = keychain && (await storeSecret(owner, credentials.clientSecret, surroundings));
    const path = await updateEntry(flags, surroundings, settings.configKey, {
      ...owner,
      name: surroundings.hostname,
      clientSecret: isInKeychain ? undefined : credentials.clientSecret,
      clientSecretIn: isInKeychain ? IN_KEYCHAIN : undefined,
      grpcServer: settings.grpcServer.source.kind === "default" ? undefined : settings.grpcServer.value,
      activeEnvironment: environment,
    });
    for (const name of ["SVC_CLIENT_ID", "SVC_CLIENT_SECRET", "SVC_ACCESS_TOKEN", "SVC_API_SERVER", "SVC_ENVIRONMENT"]) {
      if (surroundings.env[name] && flags.profile === undefined)
        progress.warn(`the environment variable ${name} is set and wins over this login`);
    }
    return {
      client_id: credentials.clientId,
      environment: environment ?? null,
      api_server: settings.apiServer.value ?? "",
      config_file: path,
      config_key: settings.configKey,
      secret_in: isInKeychain ? "keychain" : "file",
    };
  },
  view: textView(
    (login: Login) =>
      `Logged in to ${login.api_server} as ${escapeControls(login.client_id)}.\n` +
      `Stored ${placeOf(login.config_key)} in ${login.config_file}${login.secret_in === "keychain" ? ", with the secret in the keychain of this system" : ""}.`,
  ),
});

function placeOf(key: string): string {
  if (key === DEFAULT_KEY) return "as the default";
  return isProfileName(key) ? `as the profile ${key}` : `for the project ${key}`;
}

async function confirmInBrowser(context: Context, noPrompt: boolean, dataDir: string): Promise<Credentials> {
  const { clock, io, flags, machine, prompt, progress, signal } = context;
  const auth = await context.api.auth();
  const session = await auth.createLoginSession({ deviceName: context.surroundings.hostname });
  const path = `/cli/${session.loginSessionId}`;
  const entry = await entryToPage(context, path, dataDir);
  io.writeErr(`Confirm the login ${escapeControls(session.userCode)} on this page:\n  ${escapeControls(entry ?? session.url)}\n`);
  if (entry === undefined) {
    io.writeErr(
      `Confirm it in a browser that is logged in to this server, or let its owner run \`svc dashboard ${escapeControls(path)}\`.\n`,
    );
  }
  const interactive = io.stdinIsTTY && io.stderrIsTTY && !flags.json;
  if (noPrompt || (interactive && (await prompt.confirm("Open it in the browser?")))) {
    const opened =
      entry === undefined
        ? await machine.openUrl(session.url)
        : await machine.openUrl(entry, { privately: browserFilesDir(context.surroundings) });
    if (!opened) progress.warn("no browser could be opened; open the page yourself");
  }
  const endsAt = session.expiresAt ? timestampMs(session.expiresAt) : clock.now() + SESSION_MS;
  return progress.step("Waiting for the confirmation", async () => {
    while (clock.now() < endsAt) {
      const state = await auth.getLoginSession({ loginSessionId: session.loginSessionId, sessionSecret: session.sessionSecret });
      switch (state.status) {
        case LoginSessionStatus.CONFIRMED:
          return { clientId: state.clientId, clientSecret: state.clientSecret, environment: state.environmentId || undefined };
        case LoginSessionStatus.DENIED:
          throw new CliError("the login was refused on the page", { code: "login_denied", exitCode: 4 });
        case LoginSessionStatus.EXPIRED:
          throw expired();
        default:
          await clock.sleep(1000, signal);
      }
    }
    throw expired();
  });
}

function expired(): CliError {
  return new CliError("the login was not confirmed in time", { code: "login_expired", hint: "Run `svc login` again.", exitCode: 4 });
}
