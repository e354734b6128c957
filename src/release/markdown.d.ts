/** Markdown files that the binary carries as text. */
declare module "*.md" {
  const text: string;
  export default text;
}
