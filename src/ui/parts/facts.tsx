import type { ComponentChildren } from "preact";

/** A name with what is known of it; nothing known (empty, null, false) leaves the name out. */
export type Fact = readonly [name: string, value: ComponentChildren];

/** Names and what is known of them. */
export function Facts({ facts }: { readonly facts: readonly Fact[] }) {
  const known = facts.filter(([, value]) => value !== "" && value !== undefined && value !== null && value !== false);
  return (
    <dl class="facts">
      {known.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
