import { visibleLines } from "../../domain/visible.ts";

/** A link to an http or https address; any other address is shown as text. */
export function ExternalLink({ address }: { readonly address: string }) {
  const text = visibleLines(address);
  if (!/^https?:\/\//i.test(address)) return <>{text}</>;
  return (
    <a href={address} rel="noreferrer noopener" target="_blank">
      {text}
    </a>
  );
}
