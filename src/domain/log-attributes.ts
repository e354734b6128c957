/** Attributes of a log line as text: `status=BUILDING replaced=dpl_1`. */
export function attributesText(attributes: Readonly<Record<string, string>>): string {
  return Object.entries(attributes)
    .map(([name, value]) => `${name}=${value}`)
    .join(" ");
}
