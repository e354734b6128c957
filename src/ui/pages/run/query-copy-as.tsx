import { Code } from "../../parts/code.tsx";
import { Copy } from "../../parts/copy.tsx";
import { curlText, type IsText, pythonText } from "./query-copies.ts";
import { type QueryForm, writeForm } from "./query-form.ts";

interface CopyParts {
  readonly form: QueryForm;
  readonly isText: IsText;
  readonly scope: { readonly environment: string; readonly branch: string; readonly deployment: string };
}

/** The query as a link, for Python and for curl. */
export function CopyAs({ form, isText, scope: { environment, branch, deployment } }: CopyParts) {
  const isLinked = writeForm(form) !== undefined;
  return (
    <details class="copy-as">
      <summary>The same elsewhere</summary>
      <p>
        {isLinked ? (
          <>
            The address of this page holds the query. <Copy text={location.href} what="the link" />
          </>
        ) : (
          <span class="warn">The query is too long for an address: a link to this page does not hold it.</span>
        )}
      </p>
      <Code file="Python" language="python" text={pythonText(form, isText, { environment, branch })} />
      <Code file="curl" text={curlText(form, isText, location.origin, { environment, branch, deployment })} />
    </details>
  );
}
