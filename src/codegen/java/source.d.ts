/** Java source, imported as text. */
declare module "*.java" {
  const text: string;
  export default text;
}
