interface Named {
  readonly name: string;
  readonly title: string;
}

interface ChoiceParts {
  /** All columns; the first is always shown. */
  readonly columns: readonly Named[];
  /** Names of those that are left out, with commas between them; empty = all are shown. */
  readonly hidden: string;
  /** Called with the next value of `hidden`. */
  readonly onChoose: (hidden: string) => void;
}

/** The columns that are shown: all but those that are named, and always the first. */
export function shownColumns<Column extends Named>(columns: readonly Column[], hidden: string): readonly Column[] {
  const names = new Set(hidden.split(","));
  return columns.filter(({ name }, at) => at === 0 || !names.has(name));
}

/** Which columns of a table are shown. */
export function ColumnChoice({ columns, hidden, onChoose }: ChoiceParts) {
  const names = new Set(hidden.split(",").filter((name) => columns.some((column) => column.name === name)));
  const toggle = (name: string, isShown: boolean) => {
    if (isShown) names.delete(name);
    else names.add(name);
    onChoose([...names].join(","));
  };
  return (
    <details class="choice">
      <summary>{names.size === 0 ? "Columns" : `Columns (${columns.length - names.size} of ${columns.length})`}</summary>
      <fieldset>
        <legend>Columns that are shown</legend>
        {columns.slice(1).map(({ name, title }) => (
          <label key={name}>
            <input type="checkbox" checked={!names.has(name)} onChange={({ currentTarget }) => toggle(name, currentTarget.checked)} />
            {title}
          </label>
        ))}
      </fieldset>
    </details>
  );
}
