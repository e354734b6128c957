import type { FeatureProviderJson } from "../../../../gen/svc/v1/graph_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { ResolverLink } from "../run/answer.tsx";
import { providerText } from "./feature-text.ts";

/** What gives a feature's value, in the order in which a query takes them, and why. */
export function Providers({ all }: { readonly all: readonly FeatureProviderJson[] }) {
  const usable = all.filter((one) => one.usable);
  const others = all.filter((one) => !one.usable);
  return (
    <>
      <p class="dim">
        {usable.length > 0 ? "A value that the query gives, and else the first of these:" : "Queries give it, or its values are uploaded."}
      </p>
      {usable.length > 0 && (
        <ol aria-label="Providers">
          {usable.map((one) => (
            <Provider key={`${one.kind} ${one.resolver}`} one={one} />
          ))}
        </ol>
      )}
      {others.length > 0 && (
        <ul aria-label="Providers that no query takes">
          {others.map((one) => (
            <Provider key={`${one.kind} ${one.resolver}`} one={one} />
          ))}
        </ul>
      )}
    </>
  );
}

function Provider({ one }: { readonly one: FeatureProviderJson }) {
  const { reason = "", resolver = "" } = one;
  return (
    <li>
      {resolver === "" ? providerText(one) : <ResolverLink fqn={resolver} />}
      {reason !== "" && <span class="dim">: {escapeControls(reason)}</span>}
    </li>
  );
}
