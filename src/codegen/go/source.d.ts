/** Go source, imported as text. */
declare module "*.go" {
  const text: string;
  export default text;
}
