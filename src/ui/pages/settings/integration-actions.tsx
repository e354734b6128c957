import { useSignal } from "@preact/signals";
import type { IntegrationJson } from "../../../../gen/svc/v1/integration_pb.ts";
import {
  INTEGRATION_KIND_NAMES,
  INTEGRATION_KINDS,
  type IntegrationKind,
  type IntegrationVariable,
  isIntegrationKind,
} from "../../../domain/integrations.ts";
import { escapeControls } from "../../../domain/name.ts";
import { CallError, call } from "../../api/call.ts";
import { Action } from "../../app/action.tsx";
import { environmentScope } from "../../app/who.ts";

interface ActionsParts {
  readonly integration: IntegrationJson;
  readonly onDone: () => void;
}

/** What can be done with an integration: it is tested, set anew, or deleted. */
export function IntegrationActions({ integration, onDone }: ActionsParts) {
  const { name = "" } = integration;
  return (
    <span class="actions">
      <Test name={name} />
      <SetIntegration integration={integration} onDone={onDone} />
      <Delete name={name} onDone={onDone} />
    </span>
  );
}

interface SetParts {
  /** The one that is set anew; absent = a new one is made. */
  readonly integration?: IntegrationJson;
  readonly onDone: () => void;
}

/** Makes an integration, or replaces the variables of one. */
export function SetIntegration({ integration, onDone }: SetParts) {
  const [own = "", ownKind = ""] = [integration?.name, integration?.kind];
  const name = useSignal(own);
  const kind = useSignal<IntegrationKind>(isIntegrationKind(ownKind) ? ownKind : "postgresql");
  const values = useSignal<Readonly<Record<string, string>>>({});
  const choose = (chosen: string) => {
    if (isIntegrationKind(chosen)) kind.value = chosen;
  };
  const set = async () => {
    const variables = INTEGRATION_KINDS[kind.value].flatMap((one) =>
      values.value[one.name] ? [[one.name, values.value[one.name] ?? ""]] : [],
    );
    const { approvalId = "" } = await call(
      "IntegrationService/ApplyIntegration",
      { name: name.value, kind: kind.value, environmentVariables: Object.fromEntries(variables), mustBeNew: own === "" },
      environmentScope.value,
    );
    values.value = {};
    const shown = name.value;
    name.value = own;
    return approvalId === "" ? `${shown} is set.` : `Another person has to approve it: ${approvalId}.`;
  };
  const shownName = escapeControls(own);
  const words = own === "" ? ["insert", "--name", name.value || "NAME", "--kind", kind.value] : ["apply", "--file", `${own}.yaml`];
  return (
    <Action
      verb={own === "" ? "Add" : "Set"}
      question={own === "" ? "Add an integration?" : `Set ${shownName} anew?`}
      permission="secrets.write"
      words={["integration", ...words]}
      act={set}
      onDone={onDone}
    >
      {own === "" ? (
        <label class="field">
          <span>Name</span>
          <input value={name} autocomplete="off" required onInput={({ currentTarget }) => (name.value = currentTarget.value)} />
        </label>
      ) : (
        <p>All its variables are replaced: those that are left empty are gone.</p>
      )}
      <label class="field">
        <span>Kind</span>
        <select value={kind} onChange={({ currentTarget }) => choose(currentTarget.value)}>
          {INTEGRATION_KIND_NAMES.map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      </label>
      {INTEGRATION_KINDS[kind.value].map((variable) => (
        <VariableField
          key={variable.name}
          variable={variable}
          value={values.value[variable.name] ?? ""}
          onValue={(value) => (values.value = { ...values.value, [variable.name]: value })}
        />
      ))}
    </Action>
  );
}

interface FieldParts {
  readonly variable: IntegrationVariable;
  readonly value: string;
  readonly onValue: (value: string) => void;
}

function VariableField({ variable: { isRequired, isSecret, meaning, name, type }, value, onValue }: FieldParts) {
  const onInput = ({ currentTarget }: { readonly currentTarget: { readonly value: string } }) => onValue(currentTarget.value);
  const id = `variable-${name}`;
  const shared = { id, required: isRequired, autocomplete: "off", value, onInput } as const;
  return (
    <label class="field" for={id}>
      <span>
        <code>{name}</code> <span class="dim">{`${meaning}${isRequired ? "" : ", optional"}`}</span>
      </span>
      {typeof type !== "string" ? (
        <select id={id} value={value} onChange={onInput}>
          <option value="">not given</option>
          {type.map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      ) : isSecret ? (
        <input type="password" {...shared} />
      ) : (
        <input spellcheck={false} {...shared} />
      )}
    </label>
  );
}

function Test({ name }: { readonly name: string }) {
  const test = async () => {
    const { message = "", status } = await call("IntegrationService/TestIntegration", { name }, environmentScope.value);
    if (status === "INTEGRATION_TEST_STATUS_FAILED") throw new CallError("failed_precondition", `${name} cannot be used: ${message}`);
    return status === "INTEGRATION_TEST_STATUS_OK" ? `${name} answered.` : `${name} was not tested: ${message}`;
  };
  return (
    <Action
      verb="Test"
      question={`Test ${escapeControls(name)}?`}
      permission="secrets.write"
      words={["integration", "test", name]}
      act={test}
    >
      <p>The server makes one call of the system that it reaches, which changes nothing there.</p>
    </Action>
  );
}

function Delete({ name, onDone }: { readonly name: string; readonly onDone: () => void }) {
  const remove = async () => {
    const { approvalId = "" } = await call("IntegrationService/DeleteIntegrations", { names: [name] }, environmentScope.value);
    return approvalId === "" ? `${name} is deleted.` : `Another person has to approve it: ${approvalId}.`;
  };
  return (
    <Action
      verb="Delete"
      question={`Delete ${escapeControls(name)}?`}
      permission="secrets.write"
      typed={name}
      words={["integration", "delete", name]}
      act={remove}
      onDone={onDone}
    >
      <p>Sources and resolvers that are given its variables fail from then on.</p>
    </Action>
  );
}
