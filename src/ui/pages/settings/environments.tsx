import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { EnvironmentJson, GetEnvironmentConfigResponseJson } from "../../../../gen/svc/v1/environment_pb.ts";
import { addressOf } from "../../../domain/addresses.ts";
import { escapeControls } from "../../../domain/name.ts";
import { call } from "../../api/call.ts";
import { reloadShown, useAnswer } from "../../api/load.ts";
import { Action } from "../../app/action.tsx";
import { useCommand } from "../../app/command.ts";
import { environmentScope, useEnvironments } from "../../app/who.ts";
import { Code } from "../../parts/code.tsx";
import { Command } from "../../parts/command.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Status } from "../../parts/status.tsx";
import { Time } from "../../parts/time.tsx";
import { type Column, WindowTable } from "../../parts/window-table.tsx";

const COLUMNS: readonly Column<EnvironmentJson>[] = [
  {
    name: "name",
    title: "Environment",
    width: "10rem",
    cell: ({ id = "", name = "" }) => (
      <a href={addressOf("setting", { section: "environments" }, { environment: id })} class="name">
        {escapeControls(name)}
      </a>
    ),
  },
  { name: "project", title: "Project", width: "8rem", cell: ({ projectName = "" }) => escapeControls(projectName) },
  {
    name: "state",
    title: "State",
    width: "7rem",
    cell: ({ suspendedAt }) => <Status tone={suspendedAt ? "warn" : "good"}>{suspendedAt ? "suspended" : "active"}</Status>,
  },
  { name: "created", title: "Made", width: "10rem", cell: ({ createdAt }) => <Time at={createdAt} /> },
  { name: "id", title: "Id", width: "19rem", cell: ({ id = "" }) => <code>{id}</code> },
  { name: "actions", title: "Actions", width: "8.5rem", cell: (row) => <Suspension environment={row} /> },
];

/** The environments of the team, and the configuration of the one that is shown. */
export default function Environments() {
  const command = useCommand();
  const { environments, ...loaded } = useEnvironments();
  const config = useAnswer("EnvironmentService/GetEnvironmentConfig", {}, environmentScope.value);
  return (
    <>
      <Loading of={loaded} lines={4}>
        {() => <WindowTable label="Environments" columns={COLUMNS} rows={environments} keyOf={({ id = "" }) => id} />}
      </Loading>
      <h2>Configuration of this environment</h2>
      <Command line={command("environment", "config")} />
      <Loading of={config} lines={6}>
        {(answer) => <Config answer={answer} />}
      </Loading>
    </>
  );
}

function Config({ answer }: { readonly answer: GetEnvironmentConfigResponseJson }) {
  const text = useSignal<string | undefined>(undefined);
  useEffect(() => {
    let isWanted = true;
    const { config = {}, environment: { id = "", name = "" } = {} } = answer;
    void import("./config-text.ts").then(({ configText }) => {
      if (isWanted) text.value = configText({ id, name }, config);
    });
    return () => {
      isWanted = false;
    };
  }, [answer]);
  return text.value === undefined ? null : <Code text={text.value} file="environment.yaml" />;
}

function Suspension({ environment: { id = "", name = "", suspendedAt } }: { readonly environment: EnvironmentJson }) {
  const shown = escapeControls(name);
  const resume = async () => {
    await call("EnvironmentService/ResumeEnvironment", { environment: id }, environmentScope.value);
    return `${shown} is active.`;
  };
  const suspend = async () => {
    await call("EnvironmentService/SuspendEnvironment", { environment: id }, environmentScope.value);
    return `${shown} is suspended.`;
  };
  if (suspendedAt)
    return (
      <Action verb="Resume" question={`Resume ${shown}?`} permission="settings.write" act={resume} onDone={reloadShown}>
        <p>Workers, schedules, builds and queries go on.</p>
      </Action>
    );
  return (
    <Action verb="Suspend" question={`Suspend ${shown}?`} permission="settings.write" typed={name} act={suspend} onDone={reloadShown}>
      <p>Everything that runs in it stops: workers, schedules and builds. Its queries fail until it is resumed.</p>
    </Action>
  );
}
